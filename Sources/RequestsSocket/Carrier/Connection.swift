import Requests
import RequestsHTTP1
import RequestsPOSIX

/// An established connection, with the buffer for its responses.
///
/// When the last reference is released, it is closed and its slot in the pool becomes free.
final class Connection: PooledConnection, @unchecked Sendable {  // one exchange owns it at a time
    // Declared before the slot, so that the descriptor is closed before another call may open one.
    @exclusivity(unchecked) var stream: ByteStream
    let slot: Slot
    var place: Int { slot.place }
    /// Whether tasks run on the thread that waits for the socket (decision 0040).
    private let runsTasks: Bool
    @exclusivity(unchecked) var inbound = ReceiveBuffer()
    /// The reader of its responses, which stays here because creating and moving it takes longer than beginning again.
    @exclusivity(unchecked) var reader = ResponseReader(answering: .get)
    /// Whether this was the only connection of its origin in use when it was taken or established.
    // These are written only by the one owner, or under the pool's lock, so that exclusivity needs no check at run
    // time.
    @exclusivity(unchecked) var wasAlone = false
    /// Whether it has carried an exchange before the current one.
    @exclusivity(unchecked) var isReused = false
    /// Whether the reactor may report arrivals here without a new request.
    @exclusivity(unchecked) private var hasStandingReports = false
    /// Whether a call yields its thread before it suspends (decision 0054).
    @exclusivity(unchecked) private var yieldPolicy = YieldPolicy()
    /// The times at which it was established; empty when it is used again.
    @exclusivity(unchecked) var stamps: RawResponse.Metrics.Stamps
    /// Whether a response is received at once when the request has been sent, as in ``Exchange/receivesAtOnce``.
    ///
    /// A TLS handshake may have received bytes that no wait reports.
    var receivesAtOnce: Bool { wasAlone || stream.isSecured && !isReused }
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
        slot.holding.begin(channel)
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

    /// Begins another exchange.
    func beginReuse() {
        isReused = true
        stamps = RawResponse.Metrics.Stamps()
        if wasAlone, !runsTasks { endReports() }
    }

    /// Records that the exchange ended, before the connection returns to the pool.
    func endExchange(at end: Deadline) {
        yieldPolicy.endExchange(at: end.nanoseconds)
    }

    /// Returns the state at `now`, after checking whether bytes have arrived.
    func idleState(at now: Deadline) -> IdleState {
        guard now < idleUntil else { return .unusable }
        return switch stream.liveness() {
        case .idle: .usable
        case .closed: .closed
        case .strayBytes: .unusable
        }
    }
}

// MARK: Transfers without waiting

extension Connection {
    /// Receives into the buffer; for a head only a little more than a head needs.
    func fill(isHead: Bool) throws(StreamError) -> TransferResult {
        let result = try stream.read(into: isHead ? inbound.spaceForHead() : inbound.space())
        if case .bytes(let count) = result { inbound.add(count) }
        return result
    }

    /// Receives into the buffer, blocking the calling thread for at most 10 ms.
    func fillInPlace() throws(StreamError) -> TransferResult {
        let result = try stream.readInPlace(into: inbound.spaceForHead())
        if case .bytes(let count) = result { inbound.add(count) }
        return result
    }

    /// Sends two consecutive parts from `offset` on, at most 1 MiB of the second one.
    func write(_ head: [UInt8], _ body: Data, from offset: Int) throws(StreamError) -> TransferResult {
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
}

// MARK: Waiting

extension Connection {
    /// Suspends until a direction of `wanted` is ready, or returns before, after it has yielded the thread once
    /// (decision 0054).
    ///
    /// Many calls at once wait for heads with standing reports: nearly every such wait suspends, and needs no request
    /// then (decision 0011). So do all waits to read on a thread that runs the tasks itself (decision 0040).
    func wait(for wanted: Interest, by deadline: Deadline, atHead: Bool) async throws(WaitError) {
        let wanted = stream.directions(for: wanted)
        if wanted.isEmpty { return try await takeTurn(by: deadline) }
        guard let thread = CallingThread.current else {
            if atHead, wasAlone, !runsTasks, wanted == .reading, DetachedThread.yieldsBeforeSuspending {
                return try await waitAlone(by: deadline)
            }
            let standing = atHead && !wasAlone || runsTasks
            hasStandingReports = standing
            return try await channel.wait(for: wanted, by: deadline, standing: standing)
        }
        try await wait(for: wanted, by: deadline, on: thread)
    }

    /// Blocks the calling thread until a direction of `wanted` is ready.
    func waitInPlace(for wanted: Interest, by deadline: Deadline) throws(WaitError) {
        let wanted = stream.directions(for: wanted)
        if wanted.isEmpty { return try deadline.checkTurn() }
        try channel.waitInPlace(for: wanted, by: deadline)
    }

    /// Lets other tasks run, in place of a wait for bytes that may have arrived.
    @inline(never)  // as below
    private func takeTurn(by deadline: Deadline) async throws(WaitError) {
        try deadline.checkTurn()
        await channel.yield()
    }

    /// Yields the thread or, unless the policy begins a trial, suspends until bytes can be read.
    private func waitAlone(by deadline: Deadline) async throws(WaitError) {
        let start = Deadline.now
        if yieldPolicy.beginWait(at: start.nanoseconds) {
            DetachedThread.yield()
            yieldPolicy.recordYield(nanoseconds: Deadline.now.nanoseconds(since: start))
        } else {
            hasStandingReports = false
            try await channel.wait(for: .reading, by: deadline)
        }
    }

    /// Ends the standing reports, for a call that may find its response without a wait.
    func endReports() {
        guard hasStandingReports else { return }
        hasStandingReports = false
        channel.endReports()
    }

    /// Suspends in a task that a blocked thread runs.
    @inline(never)  // keeps its variables out of the frame of the function that suspends (decision 0012)
    private func wait(
        for wanted: Interest, by deadline: Deadline, on thread: CallingThread
    ) async throws(WaitError) {
        guard let poll = thread.poll else { return try await channel.wait(for: wanted, by: deadline) }
        // On an actor with its own executor, this is not the blocked thread.
        let isolation: (any Actor)? = #isolation
        if isolation == nil, !Task.isCancelled,
            thread.waitInPlace({ poll.waitInPlace(for: wanted, on: channel, by: deadline) })
        {
            return
        }
        try await channel.wait(for: wanted, by: deadline, on: poll)
    }
}
