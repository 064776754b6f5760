import Requests
package import RequestsHTTP1

/// The response of an exchange as an HTTP/1.1 message (RFC 9112), with its received bytes.
///
/// A connection has one value for all its exchanges, because creating and moving it takes longer than resetting it.
package struct HTTP1Response: ~Copyable {
    private var inbound = ReceiveBuffer()
    private var reader = ResponseReader(answering: .get)
    private let limits: WireLimits
    private var framing = BodyFraming.untilClose
    private var isReusable = false
    /// The parameters of the Keep-Alive field.
    private(set) var keepAlive: KeepAlive?
    /// The version of the final response, once its head has been read.
    private(set) var version: HTTPVersion?
    /// The number of body bytes that ``nextEvent()`` has reported and that have not been taken yet.
    private(set) var pending = 0

    package init(limits: WireLimits) {
        self.limits = limits
    }

    /// Begins an exchange; `respondsToHead` is true if its request is a HEAD.
    mutating func begin(respondsToHead: Bool) {
        reader.begin(respondsToHead: respondsToHead, limits: limits)
        framing = .untilClose
        isReusable = false
        keepAlive = nil
        version = nil
        pending = 0
    }

    /// Releases the memory that the exchange needed.
    mutating func end() {
        inbound.shrink()
    }
}

// MARK: Receiving

extension HTTP1Response {
    /// Returns the space for the next bytes, never empty.
    mutating func space() -> UnsafeMutableRawBufferPointer {
        if isChunked { inbound.widen() }
        return isAtHead ? inbound.spaceForHead() : inbound.space()
    }

    /// Records that `count` bytes were received into the ``space()``.
    mutating func add(_ count: Int) {
        inbound.add(count)
    }

    /// Returns the part of `space`, the destination of the body, that the next bytes may fill.
    func directSpace(in space: UnsafeMutableRawBufferPointer) -> UnsafeMutableRawBufferPointer {
        UnsafeMutableRawBufferPointer(rebasing: space.prefix(min(reader.remaining, 1 << 20)))
    }

    /// Records that `count` body bytes were received directly at their destination.
    mutating func advance(_ count: Int) {
        reader.advance(count)
    }

    /// Whether the next bytes belong to the body and should be received directly at their destination.
    var receivesDirectly: Bool { inbound.isEmpty && reader.remaining >= leastDirect }

    /// The minimum number of expected bytes for which the buffer is bypassed.
    ///
    /// The end of a chunk is best received together with the bytes after it, so a small remainder goes through the
    /// buffer.
    private var leastDirect: Int { isChunked ? 64 << 10 : 1 }
}

// MARK: Reading

extension HTTP1Response {
    /// Returns the next event in the received bytes.
    mutating func nextEvent() throws(RequestError) -> ResponseEvent {
        do throws(WireError) {
            return try readEvent()
        } catch {
            throw RequestError(error)
        }
    }

    private mutating func readEvent() throws(WireError) -> ResponseEvent {
        var consumed = 0
        defer { inbound.consume(consumed) }
        switch try reader.next(in: inbound.unread, consumed: &consumed) {
        case .needMore: return .needMore
        case .interim(let line, let header): return .interim(line.status, header)
        case .head(let received):
            framing = received.framing
            isReusable = received.isReusable
            keepAlive = received.keepAlive
            version = received.line.version
            return .head(received.line.status, received.header)
        case .data(let range):
            // The bytes of the body stay until they are taken.
            consumed = range.lowerBound
            pending = range.count
            return .data
        case .end(let trailers): return .end(trailers: trailers)
        }
    }

    /// Records that the peer has closed the connection, which can be the end of a body.
    ///
    /// - Parameter failure: The error that ended sending before, if any.
    /// - Throws: The error of a response that is truncated.
    mutating func receiveEnd(after failure: StreamError?) throws(RequestError) {
        isReusable = false
        do throws(WireError) {
            _ = try reader.receiveEnd()
            // A failed send may have taken the error of a reset, and a reset is not the end of a body.
            if let failure, failure.isReset { throw .truncated(.body) }
        } catch {
            throw RequestError(error, cause: failure)
        }
    }

    mutating func takeBody(into space: UnsafeMutableRawBufferPointer) -> Int {
        let count = min(pending, space.count)
        space.copyMemory(from: UnsafeRawBufferPointer(rebasing: inbound.unread.prefix(count)))
        inbound.consume(count)
        pending -= count
        return count
    }

    mutating func takeWholeBody(_ length: Int) -> Data {
        let body = inbound.unread.baseAddress.map { Data(bytes: $0, count: length) } ?? Data()
        inbound.consume(length)
        reader.advance(length)
        return body
    }
}

// MARK: State

extension HTTP1Response {
    var unread: Int { inbound.unread.count }
    var expectsBody: Bool { reader.remaining > 0 }
    var hasBegunResponse: Bool { reader.hasStarted || !inbound.isEmpty }
    var awaitsResponse: Bool {
        if case .statusLine = reader.phase { inbound.isEmpty } else { false }
    }

    /// Whether the head of the final response is incomplete.
    var isAtHead: Bool { if case .body = reader.phase { false } else { true } }

    var bodyLength: Int? {
        switch framing {
        case .none: 0
        case .counted(let bytes): bytes
        case .chunked, .untilClose: nil
        }
    }

    // Patterns, because `==` of another module's enum would be called through its conformance.
    var isChunked: Bool { if case .chunked = framing { true } else { false } }

    var persists: Bool { if case .untilClose = framing { false } else { isReusable } }

    /// Whether the final response uses HTTP/1.0.
    var isHTTP10: Bool { version.map { $0 < .http11 } ?? false }
}
