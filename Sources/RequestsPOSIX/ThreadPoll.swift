import CRequestsPOSIX
@_spi(Lock) package import Requests

/// A thread's own wait, with poll(2), for all descriptors of the tasks on that thread; the reactor is not involved.
///
/// One thread calls `wait` and `processEvents`; any thread may call `wake`. The tasks pass this value to the functions
/// of `Channel` to wait.
package final class ThreadPoll: ThreadPause {
    /// A descriptor that a task waits for.
    private struct Watched: Sendable {
        let ticket: UInt64
        let number: Int32
        let events: Int16
        let deadline: Int64
        let point: WaitPoint
        /// Whether the task has been resumed, and only has to remove this entry.
        var isReported = false
    }

    private struct State: Sendable {
        var watched: [Watched] = []
        var lastTicket: UInt64 = 0
        var isPolling = false
        var hasEnded = false
    }

    private let state = Lock(State())
    private let signal: WakeSignal

    package init() throws(SystemError) {
        signal = try WakeSignal()
    }
}

// MARK: The thread's side

extension ThreadPoll {
    /// Blocks the calling thread, then calls `awake` and resumes the tasks concerned.
    ///
    /// The wait ends when a watched descriptor is ready, a task's deadline or `deadline` has passed, or ``wake()`` is
    /// called.
    package func wait(until deadline: Deadline?, then awake: () -> Void) {
        let watched = state.withLock { state in
            state.isPolling = true
            return state.watched
        }
        let first = watched.reduce((deadline ?? .distantFuture).nanoseconds) { min($0, $1.deadline) }
        poll(watched, Deadline(nanoseconds: first).pollTimeout, then: awake)
    }

    /// Resumes the tasks whose wait is over, without blocking.
    package func processEvents() {
        let watched = state.withLock { $0.watched }
        if !watched.isEmpty { poll(watched, 0) }
    }

    /// Ends the current wait of the thread, or its next one.
    package func wake() {
        signal.signal()
    }

    package var isWatching: Bool { state.withLock { !$0.watched.isEmpty } }

    /// Ends the waits of all tasks as if their descriptors were ready.
    package func end() {
        let watched = state.withLock { state in
            state.hasEnded = true
            return state.watched
        }
        for entry in watched { entry.point.deliver(.both) }
    }

    /// Polls the descriptors of `watched` and the wake signal, calls `awake`, and resumes the tasks whose wait is over.
    private func poll(_ watched: [Watched], _ timeout: Int32, then awake: () -> Void = {}) {
        withUnsafeTemporaryAllocation(of: pollfd.self, capacity: watched.count + 1) { list in
            list.initializeElement(at: 0, to: pollfd(fd: signal.reading.number, events: Int16(POLLIN), revents: 0))
            for (index, entry) in watched.enumerated() {
                // poll ignores a negative descriptor.
                let descriptor = pollfd(fd: entry.isReported ? -1 : entry.number, events: entry.events, revents: 0)
                list.initializeElement(at: index + 1, to: descriptor)
            }
            let count = CRequestsPOSIX.poll(list.baseAddress, nfds_t(list.count), timeout)
            state.withLock { $0.isPolling = false }
            awake()
            if count > 0 {
                if list[0].revents != 0 { signal.drain() }
                for (index, entry) in watched.enumerated() where list[index + 1].revents != 0 {
                    report(entry, list[index + 1].revents)
                }
            }
            list.deinitialize()
        }
        expire(watched)
    }

    /// Resumes the task of `entry`, for which poll reported `events`.
    private func report(_ entry: Watched, _ events: Int16) {
        state.withLock { state in
            guard let place = state.watched.firstIndex(where: { $0.ticket == entry.ticket }) else { return }
            state.watched[place].isReported = true
        }
        // Errors and hang-ups end waits in both directions.
        let isOver = events & Int16(POLLERR | POLLHUP | POLLNVAL) != 0
        var ready = Interest.none
        if isOver || events & Int16(POLLIN) != 0 { ready.insert(.reading) }
        if isOver || events & Int16(POLLOUT) != 0 { ready.insert(.writing) }
        entry.point.deliver(ready)
    }

    /// Ends the waits of `watched` whose deadline has passed.
    private func expire(_ watched: [Watched]) {
        guard watched.contains(where: { $0.deadline != .max }) else { return }
        let now = Deadline.now.nanoseconds
        for entry in watched where entry.deadline <= now { _ = entry.point.expire(now: now) }
    }
}

// MARK: The tasks' side

extension ThreadPoll {
    /// Watches `number` until ``forget(_:)`` is called; the descriptor must stay open until then.
    func watch(_ number: Int32, _ wanted: Interest, for point: WaitPoint, by deadline: Int64) -> UInt64 {
        let events = wanted.pollEvents
        let (ticket, isPolling, hasEnded) = state.withLock { state in
            state.lastTicket &+= 1
            state.watched.append(
                Watched(ticket: state.lastTicket, number: number, events: events, deadline: deadline, point: point))
            return (state.lastTicket, state.isPolling, state.hasEnded)
        }
        if hasEnded { point.deliver(.both) }
        // A job that runs elsewhere for a moment added this: the thread's poll does not include it yet.
        if isPolling { signal.signal() }
        return ticket
    }

    /// Ends the watch that `ticket` identifies.
    func forget(_ ticket: UInt64) {
        state.withLock { state in
            guard let place = state.watched.firstIndex(where: { $0.ticket == ticket }) else { return }
            state.watched.remove(at: place)
        }
    }

    /// The number of watched descriptors; for tests.
    package var count: Int { state.withLock { $0.watched.count } }
}

extension ThreadPoll: WaitClock {
    /// Does nothing: the thread reads the deadlines of all entries itself.
    func schedule(_ deadline: Int64) {}
}
