package import Requests

/// A reader of the response to one request, over a buffer that the connection owns (RFC 9112 §4, §6, §7).
///
/// The reader stores no bytes. Pass it the bytes that were received and not consumed; when it needs more, append
/// further bytes to them and pass the whole again:
/// ```swift
/// let (consumed, event) = try reader.next(in: buffer.unread)
/// ```
/// The bytes it leaves unconsumed are at most one unfinished line, so they stay within its limits.
/// Bytes that remain after ``Event/end(trailers:)`` are unsolicited: do not reuse such a connection.
/// An error is final: do not use the reader after it.
package struct ResponseReader: Sendable {
    /// An event in the consumed bytes.
    package enum Event: Hashable, Sendable {
        case needMore
        /// An interim response (1xx, except 101); the final response follows.
        case interim(StatusLine, Header)
        /// The head of the final response, or of 101 if an upgrade was requested.
        case head(ReceivedResponse)
        /// Bytes of the body, as a range of the bytes passed.
        case data(Range<Int>)
        /// The end of the message, with the fields of its trailer section, which are not merged into the header.
        case end(trailers: Header)
    }

    /// A part of a response.
    package enum Phase: Sendable { case statusLine, header, body }

    /// Whether the request is a HEAD, whose response has no body.
    private var respondsToHead: Bool
    /// Whether the request is a CONNECT, after whose 2xx response the connection is a tunnel.
    private let respondsToConnect: Bool
    private let acceptsUpgrade: Bool
    private var limits: WireLimits
    private var line = StatusLine(status: 0, reason: "")
    private var lineReader = StatusLineReader()
    private var section: FieldSection
    private var body: BodyReader
    private var interimResponses = 0

    // These three are stored, because a computed property of a reader in an object would copy the reader when another
    // module reads it: 200 instructions.
    /// The part that is read next; an interim response is followed by another status line.
    package private(set) var phase = Phase.statusLine

    /// Whether a byte of the response has arrived; if not, the request may be sent again on another connection.
    package private(set) var hasStarted = false

    /// The number of bytes to come that belong to the body, and so can be received directly at their destination.
    ///
    /// In a body with Content-Length or in a chunk it is the number of remaining bytes, in a body that ends with the
    /// connection `Int.max`, and 0 if the reader must see the bytes.
    package private(set) var remaining = 0

    /// Creates a reader of the response to a request of `method`.
    ///
    /// A 2xx to CONNECT has no body, whatever its fields say; the bytes after its head belong to the tunnel.
    /// 101 (Switching Protocols) is an error unless `acceptsUpgrade` is true. The bytes after a 101 belong to the new
    /// protocol.
    package init(answering method: HTTPMethod, acceptsUpgrade: Bool = false, limits: WireLimits = WireLimits()) {
        respondsToHead = method == .head
        respondsToConnect = method == .connect
        self.acceptsUpgrade = acceptsUpgrade
        self.limits = limits
        section = FieldSection(tolerating: .response)
        body = BodyReader(.none, tolerating: .response)
    }

    /// Begins the response to the next request on the same connection.
    package mutating func begin(respondsToHead: Bool, limits: WireLimits) {
        self.respondsToHead = respondsToHead
        self.limits = limits
        phase = .statusLine
        lineReader = StatusLineReader()
        section = FieldSection(tolerating: .response)
        body = BodyReader(.none, tolerating: .response)
        interimResponses = 0
        hasStarted = false
        remaining = 0
    }

    /// Records that `count` bytes of the body, at most ``remaining``, were received without passing through the reader.
    package mutating func advance(_ count: Int) {
        guard phase == .body else { return }
        body.advance(count)
        remaining = body.remaining
    }

    /// Reads `bytes` and returns the number of bytes consumed and their meaning.
    ///
    /// Call it again with the remaining bytes until it needs more. At the end of the message `bytes` may be empty.
    package mutating func next(in bytes: Span<UInt8>) throws(WireError) -> (consumed: Int, event: Event) {
        var consumed = 0
        let event = try bytes.withUnsafeBytes { (bytes) throws(WireError) in try next(in: bytes, consumed: &consumed) }
        return (consumed, event)
    }

    /// Reads `bytes`, memory that the caller keeps valid during the call, and stores the number of bytes consumed.
    ///
    /// The number is a parameter because a returned pair would be copied with the event: 80 instructions.
    package mutating func next(
        in bytes: UnsafeRawBufferPointer, consumed position: inout Int
    ) throws(WireError) -> Event {
        let bytes = bytes.assumingMemoryBound(to: UInt8.self).span
        // Copied once, not for each call below.
        let limits = limits
        position = 0
        if !bytes.isEmpty { hasStarted = true }
        if phase == .statusLine {
            guard let end = try readStatusLine(bytes, limits) else { return .needMore }
            position = end
        }
        if phase == .header {
            let isComplete: Bool
            (position, isComplete) = try section.read(bytes, from: position, limits: limits)
            return isComplete ? try endHead() : .needMore
        }
        let (end, event) = try body.next(in: bytes, from: position, &section, limits: limits)
        position = end
        remaining = body.remaining
        return switch event {
        case .needMore: .needMore
        case .data(let range): .data(range)
        case .end(let trailers): .end(trailers: trailers)
        }
    }

    /// Records that the peer closed the connection; call it after all received bytes have been read.
    ///
    /// - Returns: The end event, if the body ends with the connection.
    /// - Throws: `WireError.truncated` for any other message (RFC 9112 §8).
    package mutating func receiveEnd() throws(WireError) -> Event {
        guard phase == .body else {
            if interimResponses > 0, phase == .statusLine { throw .truncated(.afterInterim) }
            throw .truncated(hasStarted ? .head : .beforeMessage)
        }
        try body.receiveEnd()
        remaining = 0
        return .end(trailers: .empty)
    }

    private mutating func readStatusLine(
        _ bytes: Span<UInt8>, _ limits: WireLimits
    ) throws(WireError) -> Int? {
        guard let (line, end) = try lineReader.read(bytes, limits: limits) else { return nil }
        self.line = line
        lineReader = StatusLineReader()
        section.begin(afterLine: end)
        phase = .header
        return end
    }

    private mutating func endHead() throws(WireError) -> Event {
        let header = section.takeFields()
        if line.status == 101 {
            guard acceptsUpgrade else { throw .violation(.unexpectedUpgrade) }
            phase = .body
            // The message ends here; the bytes after it belong to the new protocol.
            return .head(ReceivedResponse(line: line, header: header, framing: .none, isReusable: false))
        }
        if line.status.isInformational {
            interimResponses &+= 1
            guard interimResponses <= limits.interimResponses else {
                throw .tooLarge(limit: .interimResponses(count: limits.interimResponses))
            }
            phase = .statusLine
            // The limit of the head includes the interim responses before it.
            section = FieldSection(tolerating: .response, bytesRead: section.bytesRead)
            return .interim(line, header)
        }
        let framing = try section.framing.framing(
            of: line, respondsToHead: respondsToHead, respondsToConnect: respondsToConnect)
        body = BodyReader(framing, tolerating: .response)
        remaining = body.remaining
        phase = .body
        let isReusable = section.framing.persists(after: line.version, framing)
        return .head(
            ReceivedResponse(
                line: line, header: header, framing: framing, isReusable: isReusable,
                keepAlive: section.framing.keepAlive.map(KeepAlive.init)))
    }
}
