import Requests
import RequestsPOSIX

/// A connection that stands, with the buffer its responses are received into.
///
/// It is closed when the last reference goes away, and its place in the pool is free again.
final class Connection: PooledConnection, @unchecked Sendable {  // one exchange owns it at a time
    // Before the slot, so that the descriptor is closed when somebody else may open one.
    let channel: Channel
    let slot: Slot
    var place: Int { slot.place }
    let inbound = ReceiveBuffer()
    /// Whether it was the only one of its origin in use when it was taken.
    // Written under the pool's lock only: access is not checked at run time.
    @exclusivity(unchecked) var wasAlone = false
    /// Whether the reactor may go on to report what arrives here.
    private var hasReports = false
    /// Until when it may be used again.
    var idleUntil = Deadline.distantFuture

    init(_ channel: Channel, in slot: Slot) {
        self.channel = channel
        self.slot = slot
        slot.holding.begin(channel)
    }

    /// Whether an idle connection can carry another request.
    ///
    /// Its time is not over, the peer has not closed it, and no unsolicited bytes have arrived.
    func isUsable(at now: Deadline) -> Bool {
        now < idleUntil && channel.socket.liveness() == .idle
    }
}

// MARK: Transfers without waiting

extension Connection {
    /// Receives into the buffer, with `isHead` only a little behind a head.
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

    /// Sends what comes from `offset` on of two parts that follow each other, at most 256 KiB of it.
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
    /// Suspends until what is wanted is ready.
    ///
    /// Of an answer's beginning, among many, the reactor tells each time without being asked: nearly every such wait is a
    /// real one.
    func wait(for wanted: Interest, by deadline: Deadline, atHead: Bool) async throws(WaitError) {
        guard let thread = CallingThread.current else {
            let standing = atHead && !wasAlone
            hasReports = standing
            return try await channel.wait(for: wanted, by: deadline, standing: standing)
        }
        try await wait(for: wanted, by: deadline, on: thread)
    }

    /// Has the reactor tell nothing that nobody waits for: of a call that may find its answer without a wait.
    func endReports() {
        guard hasReports else { return }
        hasReports = false
        channel.endReports()
    }

    /// The same in a task that a blocked thread runs.
    @inline(never)
    private func wait(
        for wanted: Interest, by deadline: Deadline, on thread: CallingThread
    ) async throws(WaitError) {
        guard let poll = thread.poll else { return try await channel.wait(for: wanted, by: deadline) }
        // An actor may have an executor of its own: then this is not that thread.
        let isolation: (any Actor)? = #isolation
        if isolation == nil, !Task.isCancelled,
            thread.waitInPlace({ poll.waitInPlace(for: wanted, on: channel, by: deadline) })
        {
            return
        }
        try await channel.wait(for: wanted, by: deadline, on: poll)
    }
}
