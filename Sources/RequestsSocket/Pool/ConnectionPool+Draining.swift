@_spi(Lock) import Requests
import RequestsPOSIX

extension ConnectionPool {
    /// Closes the idle connections, accepts no new requests, and waits until no connection is open.
    ///
    /// - Returns: Whether no connection was open at `deadline`, or when the task was cancelled.
    func drain(until deadline: Deadline) async -> Bool {
        close(isDraining: true)
        // Without a reactor, no connection was ever established.
        guard let reactor = try? reactor() else { return true }
        let event = WakeEvent(on: reactor)
        // Registered before the connections are counted, so that the end of the last one is not missed.
        state.withLock { $0.drains.append(event) }
        defer { state.withLock { $0.drains.removeAll { $0 === event } } }
        while counts.open > 0 {
            do throws(WaitError) {
                try await event.wait(by: deadline)
            } catch {
                return counts.open == 0
            }
        }
        return true
    }
}
