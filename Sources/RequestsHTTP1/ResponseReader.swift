package import Requests

/// Reads the answer to one request out of a buffer that the connection owns (RFC 9112 §4, §6, §7).
///
/// The reader keeps no bytes. Give it those that were received and not consumed; when it needs more, receive behind
/// them and give it the whole again:
/// ```swift
/// let (consumed, event) = try reader.next(in: buffer.unread)
/// ```
/// What it leaves is at most one unfinished line, and so within the limits it was given.
/// What is not consumed after ``Event/end(trailers:)`` belongs to nobody: such a connection is not reused.
/// An error is final: the reader is not to be used after it.
package struct ResponseReader: Sendable {
    /// What the bytes consumed amount to.
    package enum Event: Hashable, Sendable {
        /// Nothing that can be told yet.
        case needMore
        /// A 1xx response, 101 excepted; the final one follows.
        case interim(StatusLine, Header)
        /// The final response's head, or that of 101 when an upgrade was asked for.
        case head(ReceivedResponse)
        /// Bytes of the body: where they lie in those given.
        case data(Range<Int>)
        /// The end of the message, with the fields of its trailer section, which are never part of the header.
        case end(trailers: Header)
    }

    private enum Phase { case statusLine, header, body }

    private let method: HTTPMethod
    private let acceptsUpgrade: Bool
    private let limits: WireLimits
    private var phase = Phase.statusLine
    private var line = StatusLine(status: 0, reason: "")
    private var search = StartLineSearch()
    private var section: FieldSection
    private var body: BodyReader
    private var interimResponses = 0

    /// Whether a byte of the answer has come; one that has not may be asked for again elsewhere.
    package private(set) var hasStarted = false

    /// A reader of the answer to a request of `method`.
    ///
    /// 101 (Switching Protocols) is an error unless `acceptsUpgrade`. The bytes behind a 101 are the new protocol's.
    package init(answering method: HTTPMethod, acceptsUpgrade: Bool = false, limits: WireLimits = WireLimits()) {
        self.method = method
        self.acceptsUpgrade = acceptsUpgrade
        self.limits = limits
        section = FieldSection(tolerating: .response)
        body = BodyReader(.none, tolerating: .response)
    }

    /// Whether the next line to be read is a response's first: nothing, or only interim responses, has been read.
    package var awaitsResponse: Bool { phase == .statusLine }

    /// How many of the bytes to come are certainly the body's: they may be received straight to their destination.
    ///
    /// The rest of a counted body or of the chunk being read; `Int.max` in a body that ends with the connection; 0
    /// where the reader must see the bytes.
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
        let event = try read(bytes, &position)
        return (position, event)
    }

    /// The same over memory that the caller keeps valid during the call.
    package mutating func next(in bytes: UnsafeRawBufferPointer) throws(WireError) -> (consumed: Int, event: Event) {
        try next(in: bytes.assumingMemoryBound(to: UInt8.self).span)
    }

    /// The same with what is consumed apart: a pair would be copied.
    package mutating func next(
        in bytes: UnsafeRawBufferPointer, consumed: inout Int
    ) throws(WireError) -> Event {
        consumed = 0
        return try read(bytes.assumingMemoryBound(to: UInt8.self).span, &consumed)
    }

    private mutating func read(_ bytes: Span<UInt8>, _ position: inout Int) throws(WireError) -> Event {
        if !bytes.isEmpty { hasStarted = true }
        if phase == .statusLine {
            guard let end = try readStatusLine(bytes) else { return .needMore }
            position = end
        }
        if phase == .header {
            let isComplete: Bool
            (position, isComplete) = try section.read(bytes, from: position, limits: limits)
            return isComplete ? try endHead() : .needMore
        }
        let (end, event) = try body.next(in: bytes, from: position, &section, limits: limits)
        position = end
        return switch event {
        case .needMore: .needMore
        case .data(let range): .data(range)
        case .end(let trailers): .end(trailers: trailers)
        }
    }

    /// Takes note that the peer closed the connection, when all bytes received have been read.
    ///
    /// Gives the end of a body that runs until then. Throws `truncated` for any other message (RFC 9112 §8).
    package mutating func receiveEnd() throws(WireError) -> Event {
        guard phase == .body else { throw .truncated(hasStarted ? .head : .beforeMessage) }
        try body.receiveEnd()
        return .end(trailers: .empty)
    }

    private mutating func readStatusLine(_ bytes: Span<UInt8>) throws(WireError) -> Int? {
        guard try search.isWorthwhile(in: bytes, from: 0, limits: limits),
            let (line, end) = try statusLine(in: bytes, limits: limits)
        else { return nil }
        self.line = line
        search = StartLineSearch()
        section = FieldSection(tolerating: .response, bytesRead: section.bytesRead &+ end)
        phase = .header
        return end
    }

    private mutating func endHead() throws(WireError) -> Event {
        let framingFields = section.framing
        let header = section.takeFields()
        if line.status == 101 {
            guard acceptsUpgrade else { throw .violation(.unexpectedUpgrade) }
            phase = .body
            return .head(ReceivedResponse(line: line, header: header, framing: .none, isReusable: false))
        }
        if line.status.isInformational {
            interimResponses &+= 1
            guard interimResponses <= limits.interimResponses else {
                throw .tooLarge(limit: .interimResponses(count: limits.interimResponses))
            }
            phase = .statusLine
            return .interim(line, header)
        }
        let framing = try framingFields.framing(of: line, answering: method)
        body = BodyReader(framing, tolerating: .response)
        phase = .body
        let isReusable = framingFields.persists(after: line.version, framing)
        return .head(
            ReceivedResponse(
                line: line, header: header, framing: framing, isReusable: isReusable,
                keepAlive: framingFields.keepAlive.map(KeepAlive.init)))
    }
}
