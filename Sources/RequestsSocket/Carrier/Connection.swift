import Requests
import RequestsPOSIX
import RequestsTLS

/// A carrier over a connection of a pool.
protocol PooledCarrier: Carrier {
    var connection: Connection { get }

    /// Whether the connection has already carried an exchange; over HTTP/2, whether its server has responded before.
    var isReused: Bool { get }

    /// The times at which the connection was established; empty if an earlier exchange used it.
    var stamps: RawResponse.Metrics.Stamps { get }

    /// Returns whether an exchange tries to receive before it waits; see ``Exchange/receivesAtOnce``.
    func receivesAtOnce(on thread: CallingThread?) -> Bool

    /// Begins a wait for a direction of `wanted`, or for ``readiness``, and returns what to wait for.
    func beginWait(for wanted: Interest, by caller: WaitingCaller) -> CarrierWait

    /// Returns whether the exchange continues once more after the time limit of a wait, to receive bytes that have
    /// arrived.
    func continuesAfterTimeOut() -> Bool

    /// Records that the time limit of a wait has passed, so that the exchange ends.
    func timeOut()

    /// Records that the exchange makes no progress until its caller continues.
    func pause()

    /// A function that ends the present wait, or the next one.
    var readiness: @Sendable () -> Void { get }

    /// Ends an exchange after which another one can use the connection.
    func end()
}

/// The wait of an exchange.
enum CarrierWait: Sendable {
    /// For the connection's socket.
    case socket(Interest)
    /// For the event of a place; a blocked thread first waits for the `inPlace` directions of the socket. At `until`,
    /// the time limits of the connection are checked.
    case event(WakeEvent, of: ExchangePlace, inPlace: Interest, until: Deadline)
    /// No wait, but other tasks run first.
    case turn
}

/// An established connection, which carries one exchange at a time as HTTP/1.1 messages (RFC 9112), or several as
/// streams of its ``http2``.
///
/// When the last reference is released, it is closed and its slot in the pool becomes free.
// One exchange owns it at a time; with HTTP/2, the lock of the session guards what exchanges change.
final class Connection: HTTP1Carrier, PooledCarrier, PooledConnection, @unchecked Sendable {
    // Declared before the slot, so that the descriptor is closed before another call may open one.
    @exclusivity(unchecked) var stream: ByteStream
    /// The socket; read without the lock that guards ``stream`` if exchanges share the connection.
    let channel: Channel
    /// The settings of TLS; nil without TLS.
    let context: TLSContext?
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
    var sharing: PoolSharing?
    @exclusivity(unchecked) var isReused = false
    /// Whether the reactor may report arrivals that nothing waits for (decision 0011).
    @exclusivity(unchecked) private var hasStandingReports = false
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
        http2 = usingHTTP2 ? HTTP2Session(configuration.http2Limits, beginningWith: configuration.firstStream) : nil
        channel = stream.channel
        context = stream.context
        runsTasks = channel.reactor.runsTasks
        self.stream = stream
        self.slot = slot
        if let http2 { channel.observe { [weak self] in self?.report(to: http2) } }
    }

    deinit {
        // A forked child sends nothing on the connections of its parent.
        if let http2, !channel.reactor.isInherited { http2.access { $0.close(&stream) } }
        stream.end()
    }

    /// Whether the connection carries several calls at once.
    var isShared: Bool { http2 != nil }
}

// MARK: Between exchanges

extension Connection {
    var connection: Connection { self }

    func beginReuse() {
        // Several exchanges use such a connection, and each has its own values.
        guard http2 == nil else { return }
        isReused = true
        stamps = RawResponse.Metrics.Stamps()
        if wasAlone, !runsTasks { endReports() }
    }

    /// Releases the memory of the exchange, before the connection returns to the pool.
    func end() {
        request.end()
        response.end()
        http2?.access { state in _ = state.flush(to: &stream) }
    }

    /// Checks the idle time and whether bytes have arrived.
    func idleState(at now: Deadline) -> IdleState {
        guard now < idleUntil else { return .unusable }
        if let http2 { return http2.access { $0.idleState(&stream) } }
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
        let directions = stream.directions(for: wanted)
        if directions.isEmpty, !wanted.isEmpty { return try await takeTurn(by: deadline) }
        guard let thread else {
            let standing = response.isAtHead && !wasAlone || runsTasks
            hasStandingReports = standing
            return try await channel.wait(for: directions, by: deadline, standing: standing)
        }
        try await wait(for: directions, by: deadline, on: thread)
    }

    func beginWait(for wanted: Interest, by caller: WaitingCaller) -> CarrierWait { .socket(wanted) }

    func continuesAfterTimeOut() -> Bool { false }

    func timeOut() {}

    func pause() {}

    var readiness: @Sendable () -> Void { { [weak channel] in channel?.signal() } }

    /// Lets other tasks run, in place of a wait for bytes that may have arrived.
    func takeTurn(by deadline: Deadline) async throws(WaitError) {
        try deadline.checkTurn()
        await Task.yield()
    }

    /// Ends the standing reports, which a lone call that receives without a wait does not need.
    func endReports() {
        guard hasStandingReports else { return }
        hasStandingReports = false
        channel.endReports()
    }

    /// Waits on the blocked thread that runs the current task, in place if no other job can run meanwhile.
    private func wait(
        for wanted: Interest, by deadline: Deadline, on thread: CallingThread
    ) async throws(WaitError) {
        if waitInPlace(for: wanted, by: deadline, on: thread, #isolation) { return }
        try await channel.wait(for: wanted, by: deadline, on: thread.poll)
    }

    /// Blocks the thread for a moment, and returns whether a direction of `wanted` has become ready.
    func waitInPlace(
        for wanted: Interest, by deadline: Deadline, on thread: CallingThread, _ isolation: (any Actor)?
    ) -> Bool {
        // On an actor with its own executor, the job does not run on the blocked thread.
        isolation == nil && !Task.isCancelled && !wanted.isEmpty
            && thread.waitInPlace { channel.becomesReady(for: wanted, by: deadline) }
    }
}
