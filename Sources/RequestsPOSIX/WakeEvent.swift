@_spi(Lock) import Requests

/// Something one task waits for and anyone can signal: a finished lookup, a free place in a pool.
///
/// Signals are not counted; one that comes while nobody waits is kept for the next wait.
package final class WakeEvent: Sendable {
    private let reactor: Reactor
    private let point = WaitPoint()
    private let token: SlotToken

    package init(on reactor: Reactor) {
        self.reactor = reactor
        let point = point
        token = reactor.core.table.withLock { $0.insert(point) }
    }

    deinit {
        // A thread that no longer exists in a forked child may have held the table's lock.
        guard !reactor.isInherited else { return }
        let token = token
        reactor.core.table.withLock { $0.remove(token) }
    }

    package func signal() {
        point.deliver(.reading)
    }

    /// Waits for a signal, the deadline or cancellation; one task at a time.
    package func wait(by deadline: Deadline?) async throws(WaitError) {
        do {
            try reactor.checkProcess()
        } catch {
            throw .failed(error)
        }
        guard let ticket = try point.begin(.reading) else { return }
        try await point.wait(
            for: .reading, ticket: ticket, by: deadline?.nanoseconds ?? .max, clock: reactor.core
        ).check()
    }
}
