import Requests
import RequestsHTTP1
import RequestsPOSIX

/// A connection that carries one exchange at a time, as HTTP/1.1 messages (RFC 9112).
struct HTTP1Carrier: Carrier, ~Copyable {
    let connection: Connection
    private var framing = BodyFraming.untilClose
    private var isReusable = false
    private(set) var keepAlive: KeepAlive?
    private(set) var pending = 0
    /// The way in which files are sent; nil chooses by the location of the peer.
    private let fileSending: FileSending?

    init(_ connection: consuming Connection, answersHead: Bool, _ limits: WireLimits, _ fileSending: FileSending?) {
        connection.reader.begin(answersHead: answersHead, limits: limits)
        self.connection = connection
        self.fileSending = fileSending
    }
}

// MARK: The request

extension HTTP1Carrier {
    func send(_ head: [UInt8], _ body: Data, from offset: Int) throws(StreamError) -> TransferResult {
        try connection.write(head, body, from: offset)
    }

    func send(
        _ file: borrowing FileReader, from position: Int64, count: Int
    ) throws(StreamError) -> TransferResult {
        try connection.stream.writeFile(file, from: position, count: count)
    }

    var hasPartialWrite: Bool { connection.stream.hasPartialWrite }

    /// To another machine, sendfile saves a copy.
    ///
    /// To a peer on this machine all bytes are copied in any case, and faster from one buffer, which stays in the
    /// cache, than from the file's pages (decision 0014).
    var sendsFiles: Bool {
        if connection.stream.isSecured { return false }
        if let fileSending { return fileSending == .byKernel }
        return (try? connection.channel.socket.peerAddress())?.isLocal != true
    }
}

// MARK: The response

extension HTTP1Carrier {
    mutating func receive() throws(StreamError) -> TransferResult {
        if isChunked { connection.inbound.widen() }
        return try connection.fill(isHead: isAtHead)
    }

    /// Receives a part of the head, blocking the calling thread for at most 10 ms.
    func receiveHeadInPlace() throws(StreamError) -> TransferResult {
        try connection.fillInPlace()
    }

    mutating func nextEvent() throws(WireError) -> ResponseReader.Event {
        var consumed = 0
        let event = try connection.reader.next(in: connection.inbound.unread, consumed: &consumed)
        switch event {
        case .data(let range):
            consumed = range.lowerBound
            pending = range.count
        case .head(let received):
            framing = received.framing
            isReusable = received.isReusable
            keepAlive = received.keepAlive
        case .needMore, .interim, .end: break
        }
        connection.inbound.consume(consumed)
        return event
    }

    mutating func receiveEnd() throws(WireError) -> ResponseReader.Event {
        isReusable = false
        return try connection.reader.receiveEnd()
    }

    var receivesDirectly: Bool { connection.inbound.isEmpty && connection.reader.remaining >= leastDirect }

    /// The number of bytes from which it is worth bypassing the buffer: the end of a chunk is best received with what
    /// follows.
    private var leastDirect: Int { isChunked ? 64 << 10 : 1 }

    mutating func receiveBody(into space: UnsafeMutableRawBufferPointer) throws(StreamError) -> TransferResult {
        let room = UnsafeMutableRawBufferPointer(rebasing: space.prefix(min(connection.reader.remaining, 1 << 20)))
        let result = try connection.stream.read(into: room)
        if case .bytes(let count) = result { connection.reader.advance(count) }
        return result
    }

    mutating func takeBody(into space: UnsafeMutableRawBufferPointer) -> Int {
        let count = min(pending, space.count)
        space.copyMemory(from: UnsafeRawBufferPointer(rebasing: connection.inbound.unread.prefix(count)))
        connection.inbound.consume(count)
        pending -= count
        return count
    }

    mutating func takeWholeBody(_ length: Int) -> Data {
        let body = connection.inbound.unread.baseAddress.map { Data(bytes: $0, count: length) } ?? Data()
        connection.inbound.consume(length)
        connection.reader.advance(length)
        return body
    }

    var unread: Int { connection.inbound.unread.count }
    var expectsBody: Bool { connection.reader.remaining > 0 }
    var hasBegunResponse: Bool { connection.reader.hasStarted || !connection.inbound.isEmpty }
    var awaitsResponse: Bool {
        if case .statusLine = connection.reader.phase { connection.inbound.isEmpty } else { false }
    }

    /// Whether the head of the final response is incomplete.
    var isAtHead: Bool { if case .body = connection.reader.phase { false } else { true } }
}

// MARK: The message

extension HTTP1Carrier {
    var bodyLength: Int? {
        switch framing {
        case .none: 0
        case .counted(let bytes): bytes
        case .chunked, .untilClose: nil
        }
    }

    // Patterns, because the equality of an enum of another module is called through its conformance.
    var isChunked: Bool { if case .chunked = framing { true } else { false } }

    var persists: Bool { if case .untilClose = framing { false } else { isReusable } }
}
