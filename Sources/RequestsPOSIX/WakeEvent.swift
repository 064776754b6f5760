@_spi(Lock) package import Requests

/// An event that one task waits for and any thread can signal, such as the end of a lookup or a lease from a pool.
///
/// Signals are not counted; one without a wait is kept for the next wait.
package final class WakeEvent: Sendable {
    let reactor: Reactor
    private let point = WaitPoint()
    /// The slot of the event; reports of descriptors can be sent to it.
    let token: SlotToken

    /// Creates an event whose waits `reactor` ends.
    package init(on reactor: Reactor) {
        self.reactor = reactor
        let point = point
        token = reactor.core.table.withLock { $0.insert(point) }
    }

    deinit {
        // In a forked child a thread that does not exist there may have held the table's lock (decision 0019).
        guard !reactor.isInherited else { return }
        let token = token
        _ = reactor.core.table.withLock { $0.remove(token) }
    }

    /// Ends the current wait, or the next one.
    package func signal() {
        point.deliver(.reading)
    }

    /// Suspends until a signal, the deadline or cancellation; one task at a time.
    package func wait(by deadline: Deadline?) async throws(WaitError) {
        try checkProcess()
        guard let ticket = try beginWait() else { return }
        try await point.wait(
            for: .writing, ticket: ticket, by: deadline?.nanoseconds ?? .max, clock: reactor.core
        ).check()
    }

    /// Begins a wait for both directions, because a descriptor can report either to the event.
    private func beginWait() throws(WaitError) -> UInt64? {
        try point.begin(.writing, isForBoth: true)
    }

    private func checkProcess() throws(WaitError) {
        do throws(SystemError) {
            try reactor.checkProcess()
        } catch {
            throw .failed(error)
        }
    }
}
