package import Requests

/// A reader of one request, over a buffer that the connection owns (RFC 9112 §3, §6, §7).
///
/// Use it like ``ResponseReader``, with a new reader for each request. Bytes that remain after
/// ``Event/end(trailers:)`` are the start of the next request. After an error the server sends
/// ``WireError/statusHint`` and closes the connection.
package struct RequestReader: Sendable {
    /// An event in the consumed bytes.
    package enum Event: Hashable, Sendable {
        case needMore
        /// The head of the request.
        case head(ReceivedRequest)
        /// Bytes of the body, as a range of the bytes passed.
        case data(Range<Int>)
        /// The end of the message, with the fields of its trailer section, which are not merged into the header.
        case end(trailers: Header)
    }

    private enum Phase { case emptyLine, requestLine, header, body }

    private let limits: WireLimits
    private var phase = Phase.emptyLine
    private var line = RequestLine(method: .get, target: "")
    private var lineReader = RequestLineReader()
    private var section: FieldSection
    private var body: BodyReader

    /// Whether a byte of a request has arrived; if not, the end of the connection is not an error.
    package private(set) var hasStarted = false

    package init(limits: WireLimits = WireLimits()) {
        self.limits = limits
        section = FieldSection(tolerating: .request)
        body = BodyReader(.none, tolerating: .request)
    }

    /// The number of bytes to come that belong to the body; 0 if the reader must see the bytes.
    package var remaining: Int { phase == .body ? body.remaining : 0 }

    /// Records that `count` bytes of the body, at most ``remaining``, were received without passing through the reader.
    package mutating func advance(_ count: Int) {
        if phase == .body { body.advance(count) }
    }

    /// Reads `bytes` and returns the number of bytes consumed and their meaning.
    ///
    /// Call it again with the remaining bytes until it needs more. At the end of the message `bytes` may be empty.
    package mutating func next(in bytes: Span<UInt8>) throws(WireError) -> (consumed: Int, event: Event) {
        var position = 0
        if phase == .emptyLine {
            guard let end = try skipEmptyLine(bytes) else { return (0, .needMore) }
            position = end
        }
        // An empty line before the request is not a part of it.
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

    /// Reads `bytes`, memory that the caller keeps valid during the call.
    package mutating func next(in bytes: UnsafeRawBufferPointer) throws(WireError) -> (consumed: Int, event: Event) {
        try next(in: bytes.assumingMemoryBound(to: UInt8.self).span)
    }

    /// Records that the client closed the connection or its sending half; call it after all received bytes have been
    /// read.
    ///
    /// - Throws: `WireError.truncated` unless the message is complete; with `beforeMessage` if no byte has arrived,
    ///   which is not an error of the client.
    package mutating func receiveEnd() throws(WireError) -> Event {
        guard phase == .body else { throw .truncated(hasStarted ? .head : .beforeMessage) }
        try body.receiveEnd()
        return .end(trailers: .empty)
    }

    /// Skips one empty line, which some clients send after the previous request (RFC 9112 §2.2).
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
        guard let (line, end) = try lineReader.read(bytes, from: start, limits: limits) else { return nil }
        self.line = line
        section = FieldSection(tolerating: .request, bytesRead: end &- start)
        phase = .header
        return end
    }

    private mutating func endHead() throws(WireError) -> Event {
        let framingFields = section.framing
        let header = section.takeFields()
        // HTTP/1.0 has requests without Host; several are invalid in every version (RFC 9112 §3.2).
        guard framingFields.hostCount == 1 || framingFields.hostCount == 0 && line.version < .http11 else {
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
