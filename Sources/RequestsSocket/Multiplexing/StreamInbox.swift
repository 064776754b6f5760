import Requests
import RequestsHTTP2

/// A stream of HTTP/2 as its exchange sees it: how far it is, and what has arrived and was not taken.
struct StreamInbox: ~Copyable {
    private enum End {
        case none
        case complete
        case failed(RequestError)
    }

    /// Whether the request is a HEAD, whose response has no body.
    let isHEAD: Bool
    /// The maximum length of a collected body; nil if the body is not collected.
    let collectingLimit: Int?
    /// The stream, once it is open.
    var stream: StreamSlot?
    /// Whether the peer has reset the stream, so that it reads nothing more of the request.
    private(set) var isReset = false
    /// Whether the peer has reset it only because it needs no more of the request (RFC 9113 §8.1).
    private(set) var isStopped = false
    /// The way in which the stream ended alone, before the response; nil if it has not.
    private(set) var refusal: StreamRefusal?
    /// The heads of responses that were not taken.
    private var heads: [ResponseEvent] = []
    private var body = ReceiveBuffer()
    /// The length that the final head declares.
    private var declaredLength: Int?
    private var trailers = Header.empty
    private var end = End.none
    /// Whether a head has arrived, of an interim response or of the final one.
    private(set) var hasBegun = false
    /// Whether the head of the final response has arrived.
    private(set) var hasHead = false
    /// The number of body bytes that ``nextEvent()`` has reported and that were not taken.
    private(set) var pending = 0
    /// The number of bytes, or events without any, that have arrived and were not reported.
    private var news = 0

    /// Creates the inbox of an exchange, or of none.
    init(isHEAD: Bool = false, collectingUpTo collectingLimit: Int? = nil) {
        self.isHEAD = isHEAD
        self.collectingLimit = collectingLimit
    }

    /// Whether anything has arrived that ``takeNews()`` has not returned.
    var hasNews: Bool { news > 0 }

    /// Whether the response has ended, or the stream has failed.
    var hasEnded: Bool { if case .none = end { false } else { true } }

    /// The number of body bytes that were not taken; events count as one byte.
    var unread: Int { body.unread.count + (heads.isEmpty && !hasEnded ? 0 : 1) }

    /// The length of the body in bytes, if the head declares it.
    var bodyLength: Int? {
        if isHEAD { return 0 }
        if let declaredLength { return declaredLength }
        return hasEnded && body.isEmpty ? 0 : nil
    }
}

// MARK: Arrivals

extension StreamInbox {
    mutating func addInterim(_ status: HTTPStatus, _ header: Header) {
        heads.append(.interim(status, header))
        hasBegun = true
        news += 1
    }

    mutating func addHead(_ status: HTTPStatus, _ header: Header) {
        heads.append(.head(status, header))
        declaredLength = status.forbidsBody ? 0 : header[.contentLength].flatMap { Int($0) }
        (hasBegun, hasHead) = (true, true)
        news += 1
    }

    mutating func addBody(_ bytes: UnsafeRawBufferPointer) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let space = body.space()
            let part = rest.prefix(space.count)
            space.copyMemory(from: UnsafeRawBufferPointer(rebasing: part))
            body.add(part.count)
            rest = rest.dropFirst(part.count)
        }
        news += bytes.count
    }

    mutating func addTrailers(_ trailers: Header) {
        self.trailers = trailers
        news += 1
    }

    /// Records the end of the response.
    mutating func complete() {
        end = .complete
        news += 1
    }

    /// Records that the stream has failed with `error`, unless the response has ended.
    mutating func fail(_ error: RequestError, as refusal: StreamRefusal? = nil) {
        guard !hasEnded else { return }
        end = .failed(error)
        self.refusal = refusal
        news += 1
    }

    /// Records that the peer has reset the stream.
    mutating func reset(_ error: RequestError, with reset: StreamReset) {
        isReset = true
        isStopped = reset.code == .noError
        fail(error, as: reset.isUnprocessed ? .unprocessed : .reset)
    }
}

// MARK: Taking

extension StreamInbox {
    /// Returns the number of bytes or events that have arrived since the last call.
    mutating func takeNews() -> Int {
        defer { news = 0 }
        return news
    }

    /// Returns the next event; what ``takeNews()`` has not returned does not count as arrived.
    mutating func nextEvent() throws(RequestError) -> ResponseEvent {
        if hasNews { return .needMore }
        if !heads.isEmpty { return heads.removeFirst() }
        if !body.isEmpty {
            pending = body.unread.count
            return .data
        }
        switch end {
        case .none: return .needMore
        case .complete: return .end(trailers: trailers)
        case .failed(let error): throw error
        }
    }

    /// Copies body bytes into `space`, and returns their number.
    mutating func takeBody(into space: UnsafeMutableRawBufferPointer) -> Int {
        let count = min(pending, space.count)
        space.copyMemory(from: UnsafeRawBufferPointer(rebasing: body.unread.prefix(count)))
        body.consume(count)
        pending -= count
        return count
    }

    /// Returns the body of a response that has ended; nil if it has not, or if the body is longer than `limit`.
    mutating func takeWholeBody(upTo limit: Int) -> Data? {
        guard case .complete = end, !hasNews, body.unread.count <= limit else { return nil }
        let bytes = body.unread
        defer { body.consume(bytes.count) }
        return bytes.baseAddress.map { Data(bytes: $0, count: bytes.count) } ?? Data()
    }
}
