import Requests
import RequestsPOSIX

/// A carrier over a connection of a pool.
protocol PooledCarrier: Carrier {
    var connection: Connection { get }

    /// Returns the directions in which an exchange waits that waits for `wanted`.
    func directions(for wanted: Interest) -> Interest

    /// Ends an exchange after which another one can use the connection.
    func end()
}

/// An established connection, which carries one exchange at a time: as HTTP/1.1 messages (RFC 9112), or as a stream of
/// its ``http2``.
///
/// When the last reference is released, it is closed and its slot in the pool becomes free.
// One exchange owns it at a time.
final class Connection: HTTP1Carrier, PooledCarrier, PooledConnection, @unchecked Sendable {
    // Declared before the slot, so that the descriptor is closed before another call may open one.
    @exclusivity(unchecked) var stream: ByteStream
    let slot: Slot
    var slotNumber: SlotNumber { slot.number }
    /// Whether tasks run on the thread that waits for the socket (decision 0040).
    private let runsTasks: Bool
    // Only the one owner writes these (`wasAlone` under the pool's lock, too): exclusivity needs no check at run time.
    @exclusivity(unchecked) var request = HTTP1Request()
    @exclusivity(unchecked) var response: HTTP1Response
    /// Whether this was the only connection of its origin in use when it was taken or established.
    @exclusivity(unchecked) var wasAlone = false
    /// The calls that use the connection at once; the pool reads and writes it under its lock.
    @exclusivity(unchecked) var sharing: PoolSharing?
    /// Whether an earlier exchange used this connection.
    @exclusivity(unchecked) var isReused = false
    /// Whether the reactor may report arrivals that nothing waits for (decision 0011).
    @exclusivity(unchecked) private var hasStandingReports = false
    /// The times at which the connection was established; empty for later exchanges.
    @exclusivity(unchecked) var stamps: RawResponse.Metrics.Stamps
    /// The method of sending files; nil leaves the choice to ``sendsFiles``.
    private let fileSending: FileSending?
    /// The result of the TLS handshake; nil without TLS.
    let tls: TLSConfiguration.Negotiation?
    /// HTTP/2 on this connection; nil for HTTP/1.1.
    let http2: HTTP2Session?
    /// The instant until which the connection may be used again.
    var idleUntil = Deadline.distantFuture

    init(
        _ stream: consuming ByteStream, in slot: Slot, _ stamps: RawResponse.Metrics.Stamps,
        _ configuration: SocketExecutor.Configuration, _ tls: TLSConfiguration.Negotiation? = nil,
        usingHTTP2: Bool = false
    ) {
        response = HTTP1Response(limits: configuration.wireLimits)
        fileSending = configuration.fileSending
        self.stamps = stamps
        self.tls = tls
        http2 = usingHTTP2 ? HTTP2Session(configuration.http2Limits, at: .now) : nil
        runsTasks = stream.channel.reactor.runsTasks
        self.stream = stream
        self.slot = slot
    }

    deinit {
        // A forked child sends nothing on the connections of its parent.
        if let http2, !channel.reactor.isInherited { http2.close(&stream) }
        stream.end()
    }

    var channel: Channel { stream.channel }

    /// Whether the connection carries several calls at once.
    var isShared: Bool { http2 != nil && HTTP2Session.carriesSeveralStreams }
}

// MARK: Between exchanges

extension Connection {
    var connection: Connection { self }

    func directions(for wanted: Interest) -> Interest { wanted }

    func beginReuse() {
        isReused = true
        stamps = RawResponse.Metrics.Stamps()
        if wasAlone, !runsTasks { endReports() }
    }

    /// Releases the memory of the exchange, before the connection returns to the pool.
    func end() {
        request.end()
        response.end()
        // A failure ends the next exchange.
        if let http2 { _ = try? http2.flush(to: &stream) }
    }

    /// Checks the idle time and whether bytes have arrived.
    func idleState(at now: Deadline) -> IdleState {
        guard now < idleUntil else { return .unusable }
        if let http2 { return http2.idleState(&stream) }
        return switch stream.liveness() {
        case .idle: .usable
        case .closed: .closed
        case .strayBytes: .unusable
        }
    }
}

// MARK: The request

extension Connection {
    func write(
        _ first: UnsafeRawBufferPointer, _ second: UnsafeRawBufferPointer
    ) throws(StreamError) -> TransferResult {
        try stream.write(first, second)
    }

    func send(
        _ file: borrowing FileReader, from position: Int64, count: Int
    ) throws(StreamError) -> TransferResult {
        try stream.writeFile(file, from: position, count: count)
    }

    var hasPartialWrite: Bool { stream.hasPartialWrite }

    /// Whether the peer is on another machine, where sendfile saves a copy.
    ///
    /// To a peer on this machine all bytes are copied in any case, and faster from one buffer, which stays in the
    /// cache, than from the file's pages (decision 0014).
    var sendsFiles: Bool {
        if stream.isSecured { return false }
        if let fileSending { return fileSending == .byKernel }
        return (try? channel.socket.peerAddress())?.isLocal != true
    }
}

extension Connection {
    func read(into buffer: UnsafeMutableRawBufferPointer) throws(StreamError) -> TransferResult {
        try stream.read(into: buffer)
    }
}

// MARK: Waiting

extension Connection {
    /// Returns whether an exchange tries to receive before it waits; see ``Exchange/receivesAtOnce``.
    ///
    /// True for the only call of its origin, and after a TLS handshake, which may have received bytes that no wait
    /// reports.
    func receivesAtOnce(on thread: CallingThread?) -> Bool {
        wasAlone && thread == nil || stream.isSecured && !isReused
    }

    /// Suspends until a direction of `wanted` is ready; without one, until the channel is signalled.
    ///
    /// A blocking call waits on its `thread`.
    /// Among many calls, a wait for a head uses standing reports, which need no system call for each wait (decision
    /// 0011). So does every wait to read on a thread that runs the tasks itself (decision 0040).
    func wait(
        for wanted: Interest, by deadline: Deadline, on thread: CallingThread?
    ) async throws(WaitError) {
        // All that arrived was read, so that readiness is new; a peer that sends only pings must not prevent the end.
        if http2 != nil { try deadline.checkTurn() }
        let directions = stream.directions(for: wanted)
        if directions.isEmpty, !wanted.isEmpty { return try await takeTurn(by: deadline) }
        guard let thread else {
            let standing = http2 == nil && response.isAtHead && !wasAlone || runsTasks
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
