import Requests
import RequestsHTTP2
import RequestsPOSIX

/// A stream of HTTP/2 that carries one exchange (RFC 9113 §8.1).
///
/// When it is released before its end, the stream is reset.
final class HTTP2Stream: PooledCarrier, @unchecked Sendable {  // one exchange owns it
    let connection: Connection
    private let session: HTTP2Session
    private var inbox = StreamInbox()
    /// The head of the request, until the stream is open.
    private var fields: OutgoingFields?
    /// The number of bytes of the body that remain to be queued; nil if its length is unknown.
    private var remaining: Int?
    /// The fields that end a body of unknown length, possibly none; nil before its end.
    private var trailers: Header?
    /// Whether the last attempt ended after much work, so that more may have arrived.
    private var mayHaveMore = false

    init(on connection: Connection, _ session: HTTP2Session) {
        self.connection = connection
        self.session = session
    }

    deinit {
        resetStream()
    }

    /// A stream waits for the frames of its connection, and for space while output remains.
    func directions(for wanted: Interest) -> Interest {
        if wanted.isEmpty { return wanted }
        // Received frames may have made room since the last attempt to send; a socket with space is ready at once.
        let canSend = wanted.contains(.writing) && (!acceptsRequest || session.canQueue(for: inbox.stream))
        return session.hasOutput || canSend || mayHaveMore ? .both : .reading
    }

    func end() {
        resetStream()
        connection.end()
    }

    /// Resets the stream unless both sides have ended it; from then on, the session belongs to another exchange.
    private func resetStream() {
        if let stream = inbox.stream { session.reset(stream) }
        inbox.stream = nil
    }
}

// MARK: The request

extension HTTP2Stream {
    func begin(_ request: borrowing OutgoingRequest) {
        fields = request.fields()
        remaining = request.length
        let limit: Int? = if case .collected(let limit) = request.request.delivery { limit } else { nil }
        inbox = StreamInbox(isHEAD: request.request.hasMethod(.head), collectingUpTo: limit)
    }

    func beginPiece(of count: Int) {}

    func endPiece() -> Bool { false }

    func endBody(with trailers: Header) {
        self.trailers = trailers
    }

    func send(_ piece: Data, from offset: Int) throws(StreamError) -> TransferResult {
        for _ in 0..<HTTP2Session.receives {
            if let count = try sendQueued(piece, from: offset) { return .bytes(count) }
            // Frames of the peer may open the window.
            if case .bytes = try receiveFrames() { mayHaveMore = true } else { break }
        }
        if acceptsRequest { return .wouldBlock }
        throw .system(.peerIsGone)
    }

    /// Whether the peer reads more of the request.
    private var acceptsRequest: Bool { !session.isOver && !inbox.isReset }

    /// Queues and sends a part of the piece, and returns the number of its bytes that were queued; nil if nothing more
    /// is accepted now.
    private func sendQueued(_ piece: Data, from offset: Int) throws(StreamError) -> Int? {
        let written = session.written
        guard acceptsRequest else { return nil }
        // What is queued is sent together with the head and the piece.
        guard try session.finishOutput(to: &connection.stream) else { return session.written > written ? 0 : nil }
        guard let stream = openStream() else { return nil }
        let count = piece.count - offset
        let queued = session.queue(count, of: stream, endsStream: remaining == count)
        if let remaining { self.remaining = remaining - queued }
        if queued == count, let trailers {
            let fields = OutgoingFields(trailers: trailers) { Redaction.standard.isSecret($0) }
            session.end(stream, trailers.isEmpty ? nil : fields)
            self.trailers = nil
        }
        let result = piece.withUnsafeBytes { piece in
            let body = UnsafeRawBufferPointer(rebasing: piece[offset..<offset + queued])
            return Result { () throws(StreamError) in try session.flush(to: &connection.stream, body: body) }
        }
        _ = try result.get()
        return queued > 0 || count == 0 && !session.hasOutput ? queued : nil
    }

    private func openStream() -> StreamSlot? {
        if let fields, session.open(fields, endsStream: remaining == 0, for: &inbox) { self.fields = nil }
        return inbox.stream
    }

    var hasUnsentPrefix: Bool { fields != nil || trailers != nil || session.hasOutput }

    /// Frames are sent from memory.
    var sendsFiles: Bool { false }

    func send(
        _ file: borrowing FileReader, from position: Int64, count: Int
    ) throws(StreamError) -> TransferResult {
        .wouldBlock
    }

    var hasWritten: Bool {
        inbox.stream.map { session.hasSentHead(of: $0) || connection.stream.hasPartialWrite } ?? false
    }

    var refusal: StreamRefusal? { inbox.refusal }
}

// MARK: The response

extension HTTP2Stream {
    func receive() throws(StreamError) -> TransferResult {
        // The error of sending follows when nothing more arrives.
        var failure: StreamError?
        do throws(StreamError) {
            _ = try session.flush(to: &connection.stream)
        } catch {
            failure = error
        }
        for _ in 0..<HTTP2Session.receives {
            if inbox.hasNews { return .bytes(inbox.takeNews()) }
            let result = try receiveFrames()
            if case .wouldBlock = result, let failure { throw failure }
            guard case .bytes = result else { return result }
        }
        if inbox.hasNews { return .bytes(inbox.takeNews()) }
        mayHaveMore = true
        return .wouldBlock
    }

    private func receiveFrames() throws(StreamError) -> TransferResult {
        mayHaveMore = false
        return try session.receive(from: &connection.stream, into: &inbox)
    }

    func nextEvent() throws(RequestError) -> ResponseEvent { try inbox.nextEvent() }

    func receiveEnd(after failure: StreamError?) throws(RequestError) { throw session.ended(inbox, after: failure) }

    var receivesDirectly: Bool { false }

    func receiveBody(into space: UnsafeMutableRawBufferPointer) throws(StreamError) -> TransferResult { .wouldBlock }

    func takeBody(into space: UnsafeMutableRawBufferPointer) -> Int {
        let count = inbox.takeBody(into: space)
        if let stream = inbox.stream { session.consumed(count, of: stream) }
        // The caller may pause now; a failure ends the next receive.
        _ = try? session.flush(to: &connection.stream)
        return count
    }

    func takeWholeBody(upTo limit: Int) -> Data? { inbox.takeWholeBody(upTo: limit) }

    var unread: Int { inbox.unread }
    var pending: Int { inbox.pending }
    var expectsBody: Bool { false }
    var hasBegunResponse: Bool { inbox.hasBegun }
    var awaitsResponse: Bool { !inbox.hasHead }
    var bodyLength: Int? { inbox.bodyLength }
    var isChunked: Bool { false }
    var persists: Bool { !inbox.isStopped }
    var httpVersion: RawResponse.Metrics.HTTPVersion { .http2 }

    func isReusable(afterWholeRequest isWhole: Bool, hasRespondedFirst: Bool) -> Bool {
        // A server that responds early without a reset of the stream may be about to close the connection.
        session.isUsable && (isWhole || inbox.isReset)
    }
}
