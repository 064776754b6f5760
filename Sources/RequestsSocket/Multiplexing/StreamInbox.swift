import Requests
import RequestsHTTP2

/// The parts of a response that an exchange over HTTP/2 has taken from its ``StreamArrivals``, and how far it has read.
struct StreamInbox: ~Copyable, Sendable {
    /// Whether the request is a HEAD, whose response has no body.
    private let isHEAD: Bool
    /// The heads of responses that the exchange has not read.
    private var heads: [ResponseEvent] = []
    private var body: [UInt8] = []
    /// The number of bytes of `body` that the exchange has read.
    private var bodyStart = 0
    /// The length that the final head declares.
    private var declaredLength: Int?
    private var trailers = Header.empty
    private var end = StreamArrivals.End.none
    /// Whether the peer has reset the stream only because it needs no more of the request (RFC 9113 §8.1).
    private(set) var isStopped = false
    /// The reason why the stream ended before the response; nil if it has not, or if the connection has failed.
    private(set) var refusal: StreamRefusal?
    /// Whether a head has arrived, of an interim response or of the final one.
    private(set) var hasBegun = false
    /// Whether the head of the final response has arrived.
    private(set) var hasHead = false
    /// The number of body bytes that ``nextEvent()`` has reported and that were not read.
    private(set) var pending = 0
    /// The number of body bytes that have arrived.
    private var received = 0

    init(isHEAD: Bool = false) {
        self.isHEAD = isHEAD
    }

    /// Whether the response has ended, or the stream has failed.
    var hasEnded: Bool { if case .none = end { false } else { true } }

    /// The number of body bytes that were not read; events count as one byte.
    var unread: Int { body.count - bodyStart + (heads.isEmpty && !hasEnded ? 0 : 1) }

    /// The length of the body in bytes, if the head declares it.
    var bodyLength: Int? {
        if isHEAD { return 0 }
        if let declaredLength { return declaredLength }
        return hasEnded && unreadBody.isEmpty ? 0 : nil
    }

    /// Whether the next bytes to arrive belong to the body, and everything before them was read.
    var isReadyForBody: Bool {
        hasHead && body.isEmpty && heads.isEmpty && !hasEnded && received < bodyLength ?? .max
    }

    private var unreadBody: ArraySlice<UInt8> { body[bodyStart...] }
}

extension StreamInbox {
    /// Takes what has arrived, and returns the number of bytes and events; nil if nothing has.
    mutating func take(_ arrivals: inout StreamArrivals) -> Int? {
        guard arrivals.count > 0 else { return nil }
        defer { arrivals.count = 0 }
        for head in arrivals.heads {
            hasBegun = true
            guard case .head(let status, let header) = head else { continue }
            hasHead = true
            declaredLength = status.forbidsBody ? 0 : header[.contentLength].flatMap { Int($0) }
        }
        if heads.isEmpty { swap(&heads, &arrivals.heads) } else { heads += arrivals.heads }
        arrivals.heads.removeAll(keepingCapacity: true)
        received += arrivals.body.count
        if body.isEmpty { swap(&body, &arrivals.body) } else { body += arrivals.body }
        arrivals.body.removeAll(keepingCapacity: true)
        if !arrivals.trailers.isEmpty { swap(&trailers, &arrivals.trailers) }
        (end, isStopped, refusal) = (arrivals.end, arrivals.isStopped, arrivals.refusal)
        return arrivals.count
    }

    /// Records that the exchange has received `count` bytes of the body at their destination.
    mutating func recordBody(_ count: Int) { received += count }

    mutating func nextEvent() throws(RequestError) -> ResponseEvent {
        if !heads.isEmpty { return heads.removeFirst() }
        if !unreadBody.isEmpty {
            pending = unreadBody.count
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
        space.copyBytes(from: unreadBody.prefix(count))
        pending -= count
        consume(count)
        return count
    }

    /// Returns the body of a response that has ended; nil if it has not, or if the body is longer than `limit`.
    mutating func takeWholeBody(upTo limit: Int) -> Data? {
        guard case .complete = end, heads.isEmpty, unreadBody.count <= limit else { return nil }
        defer { consume(unreadBody.count) }
        return Data(unreadBody)
    }

    private mutating func consume(_ count: Int) {
        bodyStart += count
        guard bodyStart == body.count else { return }
        body.removeAll(keepingCapacity: true)
        bodyStart = 0
    }
}
