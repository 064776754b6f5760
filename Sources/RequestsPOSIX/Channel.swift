import CRequestsPOSIX
@_spi(Lock) import Requests
import Synchronization

/// A socket a task reads and writes in place, suspending only when the kernel says "not yet".
///
/// At most one task waits in each direction. Each wait asks the reactor for one report, so that its thread wakes for who
/// waits and for nothing else; a connection that never waits, or only waits in place (`waitInPlace`), never meets it. The
/// descriptor is closed when the last reference goes away, and by nobody else; `abandon()` only marks and wakes.
package final class Channel: Sendable {
    package let socket: Socket
    package let reactor: Reactor
    private let point = WaitPoint()
    private let registration = Lock(Registration())
    let faults: TransferFaults?
    /// Whether the socket may wait where a call does not forbid it.
    private let allowsWaiting = Atomic(false)

    private struct Registration {
        var token: SlotToken?
        /// What the waits there are wait for.
        var wanted: Interest = []
        /// Whether all that arrives is reported, without being asked for.
        var isStanding = false
    }

    package init(_ socket: consuming Socket, reactor: Reactor, faults: TransferFaults? = nil) {
        self.socket = socket
        self.reactor = reactor
        self.faults = faults
    }

    deinit {
        // To close the descriptor is all that a forked child does: the reactor is its parent's, and a thread that no longer
        // exists may have held the locks.
        guard !reactor.isInherited, let token = registration.withLock({ $0.token }) else { return }
        reactor.core.queue.remove(socket.number)
        reactor.core.table.withLock { $0.remove(token) }
    }

    /// Wakes who waits, with `.closed`, and fails every later wait; the descriptor stays open until the last reference
    /// goes away.
    package func abandon() {
        point.close()
    }

    package var isAbandoned: Bool { point.isClosed }

    /// The state of the waits here, for observers that must not keep the descriptor open.
    package var waitReport: WaitReport { WaitReport(point: point) }

    /// Lets other tasks of the executor run before the current one.
    package func yield() async {
        await point.yield()
    }
}

/// The state of the waits of a channel.
package struct WaitReport: Sendable {
    fileprivate let point: WaitPoint

    /// A number that differs from wait to wait while a task that was resumed has not been run; nil otherwise.
    package var dueTicket: UInt64? { point.dueTicket }
}

// MARK: Transfers

extension Channel {
    /// Receives what has arrived, without waiting.
    package func read(into buffer: UnsafeMutableRawBufferPointer) throws(SystemError) -> TransferResult {
        guard let faults else { return try socket.receive(into: buffer) }
        guard let count = try faults.admit(.reading, count: buffer.count) else { return delay(.reading) }
        let result = try socket.receive(into: UnsafeMutableRawBufferPointer(rebasing: buffer.prefix(count)))
        faults.note(result)
        return result
    }

    /// Receives what has arrived, blocking the calling thread for at most 10 ms: one system call where a wait and a read
    /// are two.
    package func readInPlace(into buffer: UnsafeMutableRawBufferPointer) throws(SystemError) -> TransferResult {
        if faults != nil { return .wouldBlock }
        if !allowsWaiting.load(ordering: .relaxed) {
            guard socket.allowWaiting() else { return .wouldBlock }
            allowsWaiting.store(true, ordering: .relaxed)
        }
        return try socket.receiveInPlace(into: buffer)
    }

    /// Sends what the socket takes, without waiting.
    package func write(_ bytes: UnsafeRawBufferPointer) throws(SystemError) -> TransferResult {
        guard let faults else { return try socket.send(bytes) }
        guard let count = try faults.admit(.writing, count: bytes.count) else { return delay(.writing) }
        return try socket.send(UnsafeRawBufferPointer(rebasing: bytes.prefix(count)))
    }

    /// Sends two buffers with one system call, without waiting.
    package func write(
        _ first: UnsafeRawBufferPointer, _ second: UnsafeRawBufferPointer
    ) throws(SystemError) -> TransferResult {
        guard let faults else { return try socket.send(first, second) }
        let whole = first.count &+ second.count
        guard let count = try faults.admit(.writing, count: whole) else { return delay(.writing) }
        let rest = UnsafeRawBufferPointer(rebasing: second.prefix(max(0, count - first.count)))
        return try socket.send(UnsafeRawBufferPointer(rebasing: first.prefix(count)), rest)
    }

    /// Sends part of a file, without waiting for the socket.
    package func writeFile(
        _ file: borrowing FileReader, from offset: Int64, count: Int
    ) throws(SystemError) -> TransferResult {
        // The one call that cannot be told not to wait.
        if allowsWaiting.exchange(false, ordering: .relaxed) { socket.forbidWaiting() }
        guard let faults else { return try socket.sendFile(file, from: offset, count: count) }
        guard let count = try faults.admit(.writing, count: count) else { return delay(.writing) }
        return try socket.sendFile(file, from: offset, count: count)
    }

    /// A transfer that a test has delayed: the wait that follows it ends at once.
    private func delay(_ direction: Interest) -> TransferResult {
        point.deliver(direction)
        return .wouldBlock
    }
}

// MARK: Waits

extension Channel {
    /// Suspends until bytes can be read or the peer has closed.
    ///
    /// Call it when a read answered `.wouldBlock`, and read again afterwards: a wake may be early. What is ready already
    /// is consumed even when the deadline has passed. With `poll` it is that thread which waits, not the reactor's.
    /// Throws `.timedOut`, `.cancelled`, `.closed` or `.failed`.
    package func waitUntilReadable(
        by deadline: Deadline? = nil, on poll: ThreadPoll? = nil
    ) async throws(WaitError) {
        try await wait(for: .reading, by: deadline, on: poll)
    }

    /// Suspends until bytes can be written, connecting has ended, or the peer is gone.
    package func waitUntilWritable(
        by deadline: Deadline? = nil, on poll: ThreadPoll? = nil
    ) async throws(WaitError) {
        try await wait(for: .writing, by: deadline, on: poll)
    }

    /// Suspends until bytes can be written or read, or the peer is gone: what an upload waits for that may be answered
    /// before its end.
    ///
    /// No other task may wait for reading meanwhile. Try both afterwards: the readiness of both is consumed.
    package func waitUntilWritableOrReadable(
        by deadline: Deadline? = nil, on poll: ThreadPoll? = nil
    ) async throws(WaitError) {
        try await wait(for: [.reading, .writing], by: deadline, on: poll)
    }

    /// Suspends until what is wanted is ready: the three above in one.
    ///
    /// With `standing` a wait for reading has the reactor go on to report what arrives, so that the next such wait asks
    /// for nothing; every other wait ends that. All that had arrived before must have been read by then.
    package func wait(
        for wanted: Interest, by deadline: Deadline? = nil, on poll: ThreadPoll? = nil, standing: Bool = false
    ) async throws(WaitError) {
        guard let poll else { return try await wait(for: wanted, by: deadline?.nanoseconds ?? .max, standing) }
        try await wait(for: wanted, by: deadline?.nanoseconds ?? .max, on: poll)
    }

    private func wait(for wanted: Interest, by deadline: Int64, _ standing: Bool) async throws(WaitError) {
        guard let ticket = try beginWait(for: wanted, standing) else { return }
        let outcome = await point.wait(for: wanted.direction, ticket: ticket, by: deadline, clock: reactor.core)
        try endWait(for: wanted, outcome)
    }

    private func wait(for wanted: Interest, by deadline: Int64, on poll: ThreadPoll) async throws(WaitError) {
        if let error = faults?.nextWaitError() { throw .failed(error) }
        let watched = poll.watch(socket.number, wanted, for: point, by: deadline)
        defer { poll.forget(watched) }
        guard let ticket = try point.begin(wanted.direction, isForBoth: wanted.isForBoth) else { return }
        let outcome = await point.wait(for: wanted.direction, ticket: ticket, by: deadline, clock: poll)
        try outcome.check()
    }

    /// The ticket of the wait; nil when what is wanted is ready already.
    @inline(never)  // so that the frame of who waits has nothing of it
    private func beginWait(for wanted: Interest, _ standing: Bool) throws(WaitError) -> UInt64? {
        if let error = faults?.nextWaitError() { throw .failed(error) }
        try watch(wanted, standing)
        do throws(WaitError) {
            if let ticket = try point.begin(wanted.direction, isForBoth: wanted.isForBoth) { return ticket }
        } catch {
            endWatch(wanted)
            throw error
        }
        endWatch(wanted)
        return nil
    }

    @inline(never)
    private func endWait(for wanted: Interest, _ outcome: WaitPoint.Outcome) throws(WaitError) {
        endWatch(wanted)
        try outcome.check()
    }

    /// Asks the reactor for one report of what is wanted, and of what others wait for; with `standing` for all of them.
    private func watch(_ wanted: Interest, _ standing: Bool) throws(WaitError) {
        let result = registration.withLock { registration in
            Result { () throws(SystemError) in
                try watch(registration.wanted.union(wanted), standing, as: &registration)
                registration.wanted.formUnion(wanted)
            }
        }
        do throws(SystemError) {
            try result.get()
        } catch {
            throw .failed(error)
        }
    }

    /// The wait for `wanted` is over; a report that ended it was also that of who still waits in the other direction.
    private func endWatch(_ wanted: Interest) {
        registration.withLock { registration in
            registration.wanted.subtract(wanted)
            guard !registration.wanted.isEmpty else { return }
            // It was possible a moment ago; if it no longer is, the deadline ends that wait.
            try? watch(registration.wanted, false, as: &registration)
        }
    }

    /// Ends the reports that nobody asks for; to be called when nobody waits.
    package func endReports() {
        registration.withLock { registration in
            guard registration.isStanding, registration.wanted.isEmpty else { return }
            // A report more costs time and nothing else.
            try? watch([], false, as: &registration)
        }
    }

    private func watch(
        _ wanted: Interest, _ standing: Bool, as registration: inout Registration
    ) throws(SystemError) {
        let standing = standing && wanted == .reading
        if standing, registration.isStanding { return }
        let core = reactor.core
        if let token = registration.token {
            try core.queue.watch(socket.number, token: token, interest: wanted, standing: standing)
        } else {
            // The queue checks as well, but after the table has been changed.
            try reactor.checkProcess()
            let token = core.table.withLock { $0.insert(point) }
            do throws(SystemError) {
                try core.queue.add(socket.number, token: token, interest: wanted, standing: standing)
            } catch {
                core.table.withLock { $0.remove(token) }
                throw error
            }
            registration.token = token
        }
        registration.isStanding = standing && ReadinessQueue.canStand
    }
}

extension Interest {
    /// Where the wait for it is: one for both directions is one for writing.
    fileprivate var direction: Direction { self == .reading ? .reading : .writing }
    fileprivate var isForBoth: Bool { self == [.reading, .writing] }
}
