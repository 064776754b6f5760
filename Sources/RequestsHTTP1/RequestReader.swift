package import Requests

/// Reads one request out of a buffer that the connection owns (RFC 9112 §3, §6, §7).
///
/// It is used as ``ResponseReader`` is, with a new reader for each request. What is not consumed after
/// ``Event/end(trailers:)`` is the start of the next request. After an error the server answers with
/// ``WireError/statusHint`` and closes the connection.
package struct RequestReader: Sendable {
    /// What the bytes consumed amount to.
    package enum Event: Hashable, Sendable {
        /// Nothing that can be told yet.
        case needMore
        /// The head.
        case head(ReceivedRequest)
        /// Bytes of the body: where they lie in those given.
        case data(Range<Int>)
        /// The end of the message, with the fields of its trailer section, which are never part of the header.
        case end(trailers: Header)
    }

    private enum Phase { case emptyLine, requestLine, header, body }

    private let limits: WireLimits
    private var phase = Phase.emptyLine
    private var line = RequestLine(method: .get, target: "")
    private var search = StartLineSearch()
    private var section: FieldSection
    private var body: BodyReader

    /// Whether a byte of a request has come; a connection that ends before is closed, not broken.
    package private(set) var hasStarted = false

    /// A reader of the next request on a connection.
    package init(limits: WireLimits = WireLimits()) {
        self.limits = limits
        section = FieldSection(tolerating: .request)
        body = BodyReader(.none, tolerating: .request)
    }

    /// How many of the bytes to come are certainly the body's; 0 where the reader must see them.
    package var remaining: Int { phase == .body ? body.remaining : 0 }

    /// Takes note of `count` bytes of the body, at most ``remaining``, that went past the reader.
    package mutating func advance(_ count: Int) {
        if phase == .body { body.advance(count) }
    }

    /// Reads `bytes`, and says how many of them are consumed and what they amount to.
    ///
    /// Call it again with the rest until it needs more. At the end of the message it may be called without bytes.
    package mutating func next(in bytes: Span<UInt8>) throws(WireError) -> (consumed: Int, event: Event) {
        var position = 0
        if phase == .emptyLine {
            guard let end = try skipEmptyLine(bytes) else { return (0, .needMore) }
            position = end
        }
        if position < bytes.count { hasStarted = true }
        if phase == .requestLine {
            guard let end = try readRequestLine(bytes, from: position) else { return (position, .needMore) }
            position = end
        }
        if phase == .header {
            let (end, isComplete) = try section.read(bytes, from: position, limits: limits)
            return (end, isComplete ? try endHead() : .needMore)
        }
        let (end, event) = try body.next(in: bytes, from: position, &section, limits: limits)
        return switch event {
        case .needMore: (end, .needMore)
        case .data(let range): (end, .data(range))
        case .end(let trailers): (end, .end(trailers: trailers))
        }
    }

    /// The same over memory that the caller keeps valid during the call.
    package mutating func next(in bytes: UnsafeRawBufferPointer) throws(WireError) -> (consumed: Int, event: Event) {
        try next(in: bytes.assumingMemoryBound(to: UInt8.self).span)
    }

    /// Takes note that the client closed the connection, or its half of it, when all bytes received have been read.
    ///
    /// Throws `truncated` unless the message is complete; before the first byte of one that is no one's fault.
    package mutating func receiveEnd() throws(WireError) -> Event {
        guard phase == .body else { throw .truncated(hasStarted ? .head : .beforeMessage) }
        try body.receiveEnd()
        return .end(trailers: .empty)
    }

    /// Skips the one empty line that some clients send after the request before (RFC 9112 §2.2).
    private mutating func skipEmptyLine(_ bytes: Span<UInt8>) throws(WireError) -> Int? {
        guard !bytes.isEmpty else { return nil }
        if bytes[0] == Octet.carriageReturn {
            guard let end = try bytes.lineEnd(at: 0, tolerating: .request) else { return nil }
            phase = .requestLine
            return end
        }
        phase = .requestLine
        return 0
    }

    private mutating func readRequestLine(_ bytes: Span<UInt8>, from start: Int) throws(WireError) -> Int? {
        guard try search.isWorthwhile(in: bytes, from: start, limits: limits),
            let (line, end) = try requestLine(in: bytes, from: start, limits: limits)
        else { return nil }
        self.line = line
        section = FieldSection(tolerating: .request, bytesRead: end &- start)
        phase = .header
        return end
    }

    private mutating func endHead() throws(WireError) -> Event {
        let framingFields = section.framing
        let header = section.takeFields()
        guard framingFields.hosts == 1 || framingFields.hosts == 0 && line.version < .http11 else {
            throw .violation(.host)
        }
        guard !framingFields.hasInvalidHost else { throw .violation(.hostValue) }
        let framing = try framingFields.framing(of: line)
        body = BodyReader(framing, tolerating: .request)
        phase = .body
        let isReusable = framingFields.persists(after: line.version, framing)
        return .head(ReceivedRequest(line: line, header: header, framing: framing, isReusable: isReusable))
    }
}
