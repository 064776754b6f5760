import Requests
import RequestsPOSIX

/// An established connection, with the buffer for its responses.
///
/// When the last reference is released, it is closed and its slot in the pool becomes free.
final class Connection: PooledConnection, @unchecked Sendable {  // one exchange owns it at a time
    // Declared before the slot, so that the descriptor is closed before another call may open one.
    let channel: Channel
    let slot: Slot
    var place: Int { slot.place }
    let inbound = ReceiveBuffer()
    /// Whether this was the only connection of its origin in use when it was taken.
    // These are written only by the one owner, or under the pool's lock, so that exclusivity needs no check at run time.
    @exclusivity(unchecked) var wasAlone = false
    /// Whether it has carried an exchange before the current one.
    @exclusivity(unchecked) var isReused = false
    /// Whether the reactor may report arrivals here without a new request.
    private var hasStandingReports = false
    /// The times at which it was established; empty when it is used again.
    @exclusivity(unchecked) var stamps: RawResponse.Metrics.Stamps
    /// The instant until which the connection may be used again.
    var idleUntil = Deadline.distantFuture

    init(_ channel: Channel, in slot: Slot, _ stamps: RawResponse.Metrics.Stamps) {
        self.stamps = stamps
        self.channel = channel
        self.slot = slot
        slot.holding.begin(channel)
    }
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

    /// Returns the state at `now`, after a look at what has arrived.
    func idleState(at now: Deadline) -> IdleState {
        guard now < idleUntil else { return .unusable }
        return switch channel.socket.liveness() {
        case .idle: .usable
        case .closed: .closed
        case .strayBytes: .unusable
        }
    }
}

// MARK: Transfers without waiting

extension Connection {
    /// Receives into the buffer; for a head only a little more than a head needs.
    func fill(isHead: Bool) throws(SystemError) -> TransferResult {
        let result = try channel.read(into: isHead ? inbound.spaceForHead() : inbound.space())
        if case .bytes(let count) = result { inbound.add(count) }
        return result
    }

    /// Receives into the buffer, blocking the calling thread for at most 10 ms.
    func fillInPlace() throws(SystemError) -> TransferResult {
        let result = try channel.readInPlace(into: inbound.spaceForHead())
        if case .bytes(let count) = result { inbound.add(count) }
        return result
    }

    /// Sends two consecutive parts from `offset` on, at most 1 MiB of the second one.
    func write(_ head: [UInt8], _ body: Data, from offset: Int) throws(SystemError) -> TransferResult {
        let result = head.withUnsafeBytes { head in
            body.withUnsafeBytes { body in
                let first = head.dropFirst(offset)
                let second = body.dropFirst(max(0, offset - head.count)).prefix(1 << 20)
                return Result<TransferResult, SystemError> { () throws(SystemError) in
                    try channel.write(
                        UnsafeRawBufferPointer(rebasing: first), UnsafeRawBufferPointer(rebasing: second))
                }
            }
        }
        return try result.get()
    }
}

// MARK: Waiting

extension Connection {
    /// Suspends until a direction of `wanted` is ready.
    ///
    /// Many calls at once wait for heads with standing reports: nearly every such wait suspends, and needs no request
    /// then (decision 0011).
    func wait(for wanted: Interest, by deadline: Deadline, atHead: Bool) async throws(WaitError) {
        guard let thread = CallingThread.current else {
            let standing = atHead && !wasAlone
            hasStandingReports = standing
            return try await channel.wait(for: wanted, by: deadline, standing: standing)
        }
        try await wait(for: wanted, by: deadline, on: thread)
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
        // On an actor with an executor of its own, this is not the blocked thread.
        let isolation: (any Actor)? = #isolation
        if isolation == nil, !Task.isCancelled,
            thread.waitInPlace({ poll.waitInPlace(for: wanted, on: channel, by: deadline) })
        {
            return
        }
        try await channel.wait(for: wanted, by: deadline, on: poll)
    }
}
