import CRequestsPOSIX
@_spi(Lock) package import Requests

/// A socket that a task reads and writes in place, suspending only if the kernel is not ready.
///
/// At most one task waits in each direction. Each wait requests one report from the reactor, so that its thread wakes
/// only for tasks that wait (decision 0011); a connection that never waits, or only waits in place (`waitInPlace`),
/// does not involve the reactor. The descriptor is closed when the last reference is released, and only then.
package final class Channel: Sendable {
    package let socket: Socket
    package let reactor: Reactor
    private let point = WaitPoint()
    /// The registration with the reactor, and the directions that tasks wait for.
    let registration = Lock(Registration())
    /// The faults that a test has injected; nil in production.
    let faults: TransferFaults?

    struct Registration {
        var token: SlotToken?
        /// Whether the reactor watches the descriptor, with `token` or for the event that connecting signals.
        var isAdded = false
        /// The directions that tasks wait for.
        var wanted: Interest = []
        /// Whether the reactor reports all that arrives without a new request.
        var isStanding = false
        /// The token of the function that receives reports; nil while tasks wait.
        var observer: SlotToken?
    }

    /// Creates a channel that owns `socket` and waits with `reactor`.
    package init(_ socket: consuming Socket, reactor: Reactor, faults: TransferFaults? = nil) {
        self.socket = socket
        self.reactor = reactor
        self.faults = faults
    }

    deinit {
        // A forked child only closes the descriptor: the reactor is its parent's, and a thread that does not exist in
        // the child may have held the locks (decision 0019).
        guard !reactor.isInherited else { return }
        let (token, observer, isAdded) = registration.withLock { ($0.token, $0.observer, $0.isAdded) }
        if isAdded { reactor.core.queue.remove(socket.number) }
        if let token { _ = reactor.core.table.withLock { $0.remove(token) } }
        // Released without the lock: its function may own events, which remove themselves from the table.
        if let observer { _ = reactor.core.table.withLock { $0.remove(observer) } }
    }
}

// MARK: Transfers

extension Channel {
    /// Receives the bytes that have arrived, without waiting.
    package func read(into buffer: UnsafeMutableRawBufferPointer) throws(SystemError) -> TransferResult {
        guard let faults else { return try socket.receive(into: buffer) }
        guard let count = try faults.admit(.reading, count: buffer.count) else { return delay(.reading) }
        let result = try socket.receive(into: UnsafeMutableRawBufferPointer(rebasing: buffer.prefix(count)))
        faults.countRead(result)
        return result
    }

    /// Sends as many bytes as the socket accepts, without waiting.
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
        let secondPart = UnsafeRawBufferPointer(rebasing: second.prefix(max(0, count - first.count)))
        return try socket.send(UnsafeRawBufferPointer(rebasing: first.prefix(count)), secondPart)
    }

    /// Sends part of a file, without waiting for the socket.
    package func writeFile(
        _ file: borrowing FileReader, from offset: Int64, count: Int
    ) throws(SystemError) -> TransferResult {
        guard let faults else { return try socket.sendFile(file, from: offset, count: count) }
        guard let count = try faults.admit(.writing, count: count) else { return delay(.writing) }
        return try socket.sendFile(file, from: offset, count: count)
    }

    /// Delays a transfer for a test: returns `.wouldBlock`, and makes the next wait end at once.
    private func delay(_ direction: Interest) -> TransferResult {
        point.deliver(direction)
        return .wouldBlock
    }
}

// MARK: Waits

extension Channel {
    /// Suspends until bytes can be read or the peer has closed.
    ///
    /// Call it after a read returned `.wouldBlock`, and read again afterwards, because a wait may end early. Readiness
    /// that exists already ends the wait even if the deadline has passed. With `poll` that thread waits instead of the
    /// reactor's.
    ///
    /// - Throws: `.timedOut`, `.cancelled` or `.failed`.
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

    /// Suspends until bytes can be written or read, or the peer is gone, as for an upload whose response may come
    /// early.
    ///
    /// No other task may wait for reading meanwhile. Try both directions afterwards: the wait consumes the readiness of
    /// both.
    package func waitUntilWritableOrReadable(
        by deadline: Deadline? = nil, on poll: ThreadPoll? = nil
    ) async throws(WaitError) {
        try await wait(for: .both, by: deadline, on: poll)
    }

    /// Ends the current wait of the channel, or the next one, as if it were ready.
    package func signal() {
        point.deliver(.both)
    }

    /// Suspends until a direction of `wanted` is ready; if it is empty, until ``signal()`` is called.
    ///
    /// With `standing`, a wait for reading makes the reactor report all arrivals from then on, so that the next such
    /// wait needs no request; any other wait ends this. All bytes that arrived before must have been read by then,
    /// because each arrival is reported once (decision 0011).
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
        let watched = poll.watch(wanted.isEmpty ? -1 : socket.number, wanted, for: point, by: deadline)
        defer { poll.forget(watched) }
        guard let ticket = try point.begin(wanted.direction, isForBoth: wanted.isForBoth) else { return }
        let outcome = await point.wait(for: wanted.direction, ticket: ticket, by: deadline, clock: poll)
        try outcome.check()
    }

    /// Returns the ticket for a new wait; nil if a wanted direction is ready already.
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

    private func endWait(for wanted: Interest, _ outcome: WaitPoint.Outcome) throws(WaitError) {
        endWatch(wanted)
        try outcome.check()
    }

    /// Requests one report of `wanted` and of the directions that other tasks wait for; with `standing`, all reports.
    private func watch(_ wanted: Interest, _ standing: Bool) throws(WaitError) {
        let result = registration.withLock { registration in
            Result { () throws(SystemError) in
                // Even without a direction the kernel would report the end of the connection, again and again.
                guard !wanted.isEmpty else {
                    _ = try addPoint(to: &registration)
                    return
                }
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

    /// Ends the watch for `wanted`.
    ///
    /// If a wait for the other direction remains, its report is requested again, because both directions share one.
    private func endWatch(_ wanted: Interest) {
        registration.withLock { registration in
            registration.wanted.subtract(wanted)
            guard !registration.wanted.isEmpty else { return }
            // An error is ignored: then the deadline ends that wait.
            try? watch(registration.wanted, false, as: &registration)
        }
    }

    /// Ends the standing reports; call it when no task waits.
    package func endReports() {
        registration.withLock { registration in
            guard registration.isStanding, registration.wanted.isEmpty else { return }
            // A superfluous report costs time and has no other effect.
            try? watch([], false, as: &registration)
        }
    }

    private func watch(
        _ wanted: Interest, _ standing: Bool, as registration: inout Registration
    ) throws(SystemError) {
        let standing = standing && wanted == .reading
        if standing, registration.isStanding { return }
        let token = try addPoint(to: &registration)
        if registration.isAdded {
            try reactor.core.queue.watch(socket.number, token: token, interest: wanted, standing: standing)
        } else {
            try reactor.core.queue.add(socket.number, token: token, interest: wanted, standing: standing)
            registration.isAdded = true
        }
        registration.isStanding = standing && ReadinessQueue.supportsStandingReports
    }

    /// Adds the channel's wait point to the reactor's table, which ends waits at their deadlines.
    private func addPoint(to registration: inout Registration) throws(SystemError) -> SlotToken {
        if let token = registration.token { return token }
        // The queue checks as well, but only after the table has been changed.
        try reactor.checkProcess()
        let token = reactor.core.table.withLock { $0.insert(point) }
        registration.token = token
        return token
    }
}

// MARK: Reports

extension Channel {
    /// Sets the function that receives the requested reports, on the reactor's thread.
    ///
    /// From now on, no task may wait for the channel.
    package func observe(with onReport: @escaping @Sendable () -> Void) {
        registration.withLock { registration in
            registration.observer = reactor.core.table.withLock { $0.insert(WaitPoint(onReport: onReport)) }
        }
    }

    /// Requests one report when a direction of `wanted` is ready, at once if it already is.
    ///
    /// It replaces the previous request. If the peer closes, both directions are ready. Call ``observe(with:)`` first.
    package func requestReport(of wanted: Interest) throws(SystemError) {
        try faults?.admitReport()
        let result = registration.withLock { registration in
            Result { () throws(SystemError) in
                guard let token = registration.observer else { return }
                if registration.isAdded {
                    try reactor.core.queue.watch(socket.number, token: token, interest: wanted, standing: false)
                } else {
                    try reactor.core.queue.add(socket.number, token: token, interest: wanted, standing: false)
                    registration.isAdded = true
                }
            }
        }
        try result.get()
    }

    /// Throws the failure of a wait that a test has injected.
    package func checkWait() throws(WaitError) {
        if let error = faults?.nextWaitError() { throw .failed(error) }
    }

    /// Returns whether a test has delayed a transfer since the last call, which must be tried again.
    package func takeDelay() -> Bool { faults != nil && point.takeReadiness() }
}

extension Interest {
    /// The direction whose wait is used; a wait for both directions is one for writing.
    fileprivate var direction: Direction { self == .reading ? .reading : .writing }
    fileprivate var isForBoth: Bool { self == .both }
}
