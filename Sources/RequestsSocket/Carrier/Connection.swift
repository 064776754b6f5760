import Requests
import RequestsHTTP1
import RequestsPOSIX

/// An established connection, which carries one exchange at a time, as HTTP/1.1 messages (RFC 9112).
///
/// When the last reference is released, it is closed and its slot in the pool becomes free.
final class Connection: Carrier, PooledConnection, @unchecked Sendable {  // one exchange owns it at a time
    // Declared before the slot, so that the descriptor is closed before another call may open one.
    @exclusivity(unchecked) var stream: ByteStream
    let slot: Slot
    var place: Int { slot.place }
    /// Whether tasks run on the thread that waits for the socket (decision 0040).
    private let runsTasks: Bool
    // The values of one exchange are stored here, because creating and moving them takes longer than resetting them.
    // Only the one owner writes them (`wasAlone` under the pool's lock, too): exclusivity needs no check at run time.
    @exclusivity(unchecked) private var inbound = ReceiveBuffer()
    @exclusivity(unchecked) private var reader = ResponseReader(answering: .get)
    @exclusivity(unchecked) private var framing = BodyFraming.untilClose
    @exclusivity(unchecked) private var isReusable = false
    @exclusivity(unchecked) private(set) var keepAlive: KeepAlive?
    @exclusivity(unchecked) private(set) var pending = 0
    /// The way in which files are sent; nil chooses, see ``sendsFiles``.
    @exclusivity(unchecked) private var fileSending: FileSending?
    /// Whether this was the only connection of its origin in use when it was taken or established.
    @exclusivity(unchecked) var wasAlone = false
    /// Whether an earlier exchange used this connection.
    @exclusivity(unchecked) var isReused = false
    /// Whether the reactor may report arrivals that nothing waits for (decision 0011).
    @exclusivity(unchecked) private var hasStandingReports = false
    /// The times at which it was established; empty when it is used again.
    @exclusivity(unchecked) var stamps: RawResponse.Metrics.Stamps
    /// Whether bytes may have arrived that no wait reports, because the TLS handshake has received them.
    var mayHaveReceived: Bool { stream.isSecured && !isReused }
    /// The result of the TLS handshake; nil without TLS.
    let tls: TLSConfiguration.Negotiation?
    /// The instant until which the connection may be used again.
    var idleUntil = Deadline.distantFuture

    init(
        _ stream: consuming ByteStream, in slot: Slot, _ stamps: RawResponse.Metrics.Stamps,
        _ tls: TLSConfiguration.Negotiation? = nil
    ) {
        self.stamps = stamps
        self.tls = tls
        runsTasks = stream.channel.reactor.runsTasks
        self.stream = stream
        self.slot = slot
    }

    deinit {
        stream.end()
    }

    var channel: Channel { stream.channel }
}

// MARK: Between exchanges

extension Connection {
    /// The state of a connection that carries no exchange.
    enum IdleState {
        /// It can carry an exchange.
        case usable
        /// The peer has closed it.
        case closed
        /// It was idle for too long, or the peer has sent bytes that belong to no response.
        case unusable
    }

    func beginReuse() {
        isReused = true
        stamps = RawResponse.Metrics.Stamps()
        if wasAlone, !runsTasks { endReports() }
    }

    /// Begins an exchange; `answersHead` if its request is a HEAD.
    func beginExchange(answersHead: Bool, _ limits: WireLimits, _ fileSending: FileSending?) {
        reader.begin(answersHead: answersHead, limits: limits)
        framing = .untilClose
        isReusable = false
        keepAlive = nil
        pending = 0
        self.fileSending = fileSending
    }

    /// Releases the memory of the exchange, before the connection returns to the pool.
    func endExchange() {
        inbound.shrink()
    }

    /// Checks the idle time and whether bytes have arrived.
    func idleState(at now: Deadline) -> IdleState {
        guard now < idleUntil else { return .unusable }
        return switch stream.liveness() {
        case .idle: .usable
        case .closed: .closed
        case .strayBytes: .unusable
        }
    }
}

// MARK: The request

extension Connection {
    /// Sends two consecutive parts from `offset` on, at most 1 MiB of the second one.
    func send(_ head: [UInt8], _ body: Data, from offset: Int) throws(StreamError) -> TransferResult {
        let result = head.withUnsafeBytes { head in
            body.withUnsafeBytes { body in
                let inHead = min(offset, head.count)
                let inBody = min(offset - inHead, body.count)
                let first = head[inHead...]
                let second = body[inBody..<min(body.count, inBody + (1 << 20))]
                return Result<TransferResult, StreamError> { () throws(StreamError) in
                    try stream.write(
                        UnsafeRawBufferPointer(rebasing: first), UnsafeRawBufferPointer(rebasing: second))
                }
            }
        }
        return try result.get()
    }

    func send(
        _ file: borrowing FileReader, from position: Int64, count: Int
    ) throws(StreamError) -> TransferResult {
        try stream.writeFile(file, from: position, count: count)
    }

    var hasPartialWrite: Bool { stream.hasPartialWrite }

    /// True for a peer on another machine, where sendfile saves a copy.
    ///
    /// To a peer on this machine all bytes are copied in any case, and faster from one buffer, which stays in the
    /// cache, than from the file's pages (decision 0014).
    var sendsFiles: Bool {
        if stream.isSecured { return false }
        if let fileSending { return fileSending == .byKernel }
        return (try? channel.socket.peerAddress())?.isLocal != true
    }
}

// MARK: The response

extension Connection {
    func receive() throws(StreamError) -> TransferResult {
        if isChunked { inbound.widen() }
        let result = try stream.read(into: isAtHead ? inbound.spaceForHead() : inbound.space())
        if case .bytes(let count) = result { inbound.add(count) }
        return result
    }

    func nextEvent() throws(WireError) -> ResponseReader.Event {
        var consumed = 0
        let event = try reader.next(in: inbound.unread, consumed: &consumed)
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
        inbound.consume(consumed)
        return event
    }

    func receiveEnd() throws(WireError) -> ResponseReader.Event {
        isReusable = false
        return try reader.receiveEnd()
    }

    var receivesDirectly: Bool { inbound.isEmpty && reader.remaining >= leastDirect }

    /// The least number of expected bytes for which the buffer is bypassed.
    ///
    /// The end of a chunk is best received together with the bytes after it, so a small remainder goes through the
    /// buffer.
    private var leastDirect: Int { isChunked ? 64 << 10 : 1 }

    func receiveBody(into space: UnsafeMutableRawBufferPointer) throws(StreamError) -> TransferResult {
        let room = UnsafeMutableRawBufferPointer(rebasing: space.prefix(min(reader.remaining, 1 << 20)))
        let result = try stream.read(into: room)
        if case .bytes(let count) = result { reader.advance(count) }
        return result
    }

    func takeBody(into space: UnsafeMutableRawBufferPointer) -> Int {
        let count = min(pending, space.count)
        space.copyMemory(from: UnsafeRawBufferPointer(rebasing: inbound.unread.prefix(count)))
        inbound.consume(count)
        pending -= count
        return count
    }

    func takeWholeBody(_ length: Int) -> Data {
        let body = inbound.unread.baseAddress.map { Data(bytes: $0, count: length) } ?? Data()
        inbound.consume(length)
        reader.advance(length)
        return body
    }

    var unread: Int { inbound.unread.count }
    var expectsBody: Bool { reader.remaining > 0 }
    var hasBegunResponse: Bool { reader.hasStarted || !inbound.isEmpty }
    var awaitsResponse: Bool {
        if case .statusLine = reader.phase { inbound.isEmpty } else { false }
    }

    /// Whether the head of the final response is incomplete.
    var isAtHead: Bool { if case .body = reader.phase { false } else { true } }
}

// MARK: The message

extension Connection {
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
}

// MARK: Waiting

extension Connection {
    /// Suspends until a direction of `wanted` is ready; without one, until the channel is signalled.
    ///
    /// A blocking call waits on its `thread`.
    /// Among many calls, a wait for a head uses standing reports, which need no system call for each wait (decision
    /// 0011). So does every wait to read on a thread that runs the tasks itself (decision 0040).
    func wait(
        for wanted: Interest, by deadline: Deadline, atHead: Bool, on thread: CallingThread?
    ) async throws(WaitError) {
        let directions = stream.directions(for: wanted)
        if directions.isEmpty, !wanted.isEmpty { return try await takeTurn(by: deadline) }
        guard let thread else {
            let standing = atHead && !wasAlone || runsTasks
            hasStandingReports = standing
            return try await channel.wait(for: directions, by: deadline, standing: standing)
        }
        try await wait(for: directions, by: deadline, on: thread)
    }

    /// Lets other tasks run, in place of a wait for bytes that may have arrived.
    private func takeTurn(by deadline: Deadline) async throws(WaitError) {
        try deadline.checkTurn()
        await Task.yield()
    }

    /// Ends the standing reports, which would only disturb a lone call that receives without a wait.
    func endReports() {
        guard hasStandingReports else { return }
        hasStandingReports = false
        channel.endReports()
    }

    /// Waits on the blocked thread that runs the current task, in place if no other job can run meanwhile.
    private func wait(
        for wanted: Interest, by deadline: Deadline, on thread: CallingThread
    ) async throws(WaitError) {
        // On an actor with its own executor, the job does not run on the blocked thread.
        let isolation: (any Actor)? = #isolation
        if isolation == nil, !Task.isCancelled, !wanted.isEmpty,
            thread.waitInPlace({ channel.becomesReady(for: wanted, by: deadline) })
        {
            return
        }
        try await channel.wait(for: wanted, by: deadline, on: thread.poll)
    }
}
