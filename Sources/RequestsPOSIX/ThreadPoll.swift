import CRequestsPOSIX
@_spi(Lock) import Requests

/// Where tasks wait for descriptors when the thread they run on waits for all of them at once: poll(2) in place, instead
/// of the reactor.
///
/// One thread calls `wait` and `look`; anyone may wake it. The tasks wait by `Channel`'s functions, given this.
package final class ThreadPoll: Sendable {
    private struct Watched: Sendable {
        let ticket: UInt64
        let number: Int32
        let events: Int16
        let deadline: Int64
        let point: WaitPoint
        /// Whether its waiter has been told, and only has to take it away.
        var isTold = false
    }

    private struct State: Sendable {
        var watched: [Watched] = []
        var lastTicket: UInt64 = 0
        var isPolling = false
    }

    private let state = Lock(State())
    private let signal: WakeSignal

    package init() throws(SystemError) {
        signal = try WakeSignal()
    }

    /// Whether this is the process that made it; a forked child can neither be woken here nor wake its parent.
    package var isOwn: Bool { signal.isOwn }
}

// MARK: The thread's side

extension ThreadPoll {
    /// Blocks the calling thread until something watched is ready, a waiter's deadline or `deadline` has passed, or
    /// somebody wakes it; then calls `awake` and resumes the tasks concerned.
    package func wait(by deadline: Deadline, then awake: () -> Void) {
        let watched = state.withLock { state in
            state.isPolling = true
            return state.watched
        }
        let first = watched.reduce(deadline.nanoseconds) { min($0, $1.deadline) }
        poll(watched, Deadline(nanoseconds: first).pollTimeout, then: awake)
    }

    /// Blocks the calling thread, for at most 10 ms, until `channel` is ready; whether it is.
    ///
    /// It does not when others wait here too, and it ends early when somebody wakes the thread.
    package func waitInPlace(for wanted: Interest, on channel: Channel, by deadline: Deadline) -> Bool {
        guard state.withLock({ $0.watched.isEmpty }) else { return false }
        let timeout = deadline.pollTimeout
        let ready = rp_poll(
            channel.socket.number, wanted.pollEvents, signal.reading.number, timeout < 0 ? 10 : min(timeout, 10))
        guard ready > 0 else { return false }
        if ready & 2 != 0 { signal.drain() }
        return ready & 1 != 0
    }

    /// Resumes the tasks of which the wait is over, without blocking.
    package func look() {
        let watched = state.withLock { $0.watched }
        if !watched.isEmpty { poll(watched, 0) }
    }

    /// Ends the wait of the thread, or the next one.
    package func wake() {
        signal.signal()
    }

    private func poll(_ watched: [Watched], _ timeout: Int32, then awake: () -> Void = {}) {
        withUnsafeTemporaryAllocation(of: pollfd.self, capacity: watched.count + 1) { list in
            list.initializeElement(at: 0, to: pollfd(fd: signal.reading.number, events: Int16(POLLIN), revents: 0))
            for (index, entry) in watched.enumerated() {
                // A negative descriptor is passed over by poll.
                let descriptor = pollfd(fd: entry.isTold ? -1 : entry.number, events: entry.events, revents: 0)
                list.initializeElement(at: index + 1, to: descriptor)
            }
            let count = CRequestsPOSIX.poll(list.baseAddress, nfds_t(list.count), timeout)
            state.withLock { $0.isPolling = false }
            awake()
            if count > 0 {
                if list[0].revents != 0 { signal.drain() }
                for (index, entry) in watched.enumerated() where list[index + 1].revents != 0 {
                    tell(entry, list[index + 1].revents)
                }
            }
            list.deinitialize()
        }
        expire(watched)
    }

    private func tell(_ entry: Watched, _ events: Int16) {
        state.withLock { state in
            guard let place = state.watched.firstIndex(where: { $0.ticket == entry.ticket }) else { return }
            state.watched[place].isTold = true
        }
        // Errors and hang-ups concern whatever is waited for.
        let isOver = events & Int16(POLLERR | POLLHUP | POLLNVAL) != 0
        var ready: Interest = []
        if isOver || events & Int16(POLLIN) != 0 { ready.insert(.reading) }
        if isOver || events & Int16(POLLOUT) != 0 { ready.insert(.writing) }
        entry.point.deliver(ready)
    }

    private func expire(_ watched: [Watched]) {
        guard watched.contains(where: { $0.deadline != .max }) else { return }
        let now = rp_now()
        for entry in watched where entry.deadline <= now { _ = entry.point.expire(now: now) }
    }
}

// MARK: The tasks' side

extension ThreadPoll {
    /// Has the thread look after `number` until ``forget(_:)``; the descriptor must stay open until then.
    func watch(_ number: Int32, _ wanted: Interest, for point: WaitPoint, by deadline: Int64) -> UInt64 {
        let events = wanted.pollEvents
        let (ticket, isPolling) = state.withLock { state in
            state.lastTicket &+= 1
            state.watched.append(
                Watched(ticket: state.lastTicket, number: number, events: events, deadline: deadline, point: point))
            return (state.lastTicket, state.isPolling)
        }
        // A job that runs elsewhere for a moment; the thread does not know of this descriptor yet.
        if isPolling { signal.signal() }
        return ticket
    }

    func forget(_ ticket: UInt64) {
        state.withLock { state in
            guard let place = state.watched.firstIndex(where: { $0.ticket == ticket }) else { return }
            state.watched.remove(at: place)
        }
    }

    /// Descriptors being looked after; for tests.
    package var count: Int { state.withLock { $0.watched.count } }
}

extension ThreadPoll: WaitClock {
    /// Nothing to do: the thread sees the deadline of everything it watches.
    func expect(_ deadline: Int64) {}
}
