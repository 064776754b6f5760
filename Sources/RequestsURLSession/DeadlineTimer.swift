import Dispatch
@_spi(Lock) import Requests

/// A timer that fires at the earliest of the instants that were set.
///
/// One timer serves all calls of a session. Only an instant earlier than the current one schedules a new event, so
/// limits that move forward while bytes arrive cost nothing.
final class DeadlineTimer: Sendable {
    private let queue = DispatchQueue(label: "Requests.URLSessionExecutor.deadlines")
    private let scheduled = Lock<Deadline?>(nil)
    private let onFire: @Sendable (Deadline) -> Deadline?

    /// Creates a timer that calls `onFire` with the current time.
    ///
    /// The function returns the next instant to fire at, or nil.
    init(_ onFire: @escaping @Sendable (Deadline) -> Deadline?) {
        self.onFire = onFire
    }

    /// Ensures that the timer fires at `instant` or earlier.
    func set(for instant: Deadline) {
        let isEarlier = scheduled.withLock { scheduled in
            if let scheduled, scheduled <= instant { return false }
            scheduled = instant
            return true
        }
        guard isEarlier else { return }
        let seconds = instant.remaining / .seconds(1)
        // Capped at one day, because an instant may be arbitrarily far away. The timer then fires early, which has no
        // effect.
        queue.asyncAfter(deadline: .now() + min(seconds, 86_400)) { [weak self] in self?.fire(instant) }
    }

    private func fire(_ instant: Deadline) {
        let isCurrent = scheduled.withLock { scheduled in
            guard scheduled == instant else { return false }
            scheduled = nil
            return true
        }
        guard isCurrent, let next = onFire(.now) else { return }
        set(for: next)
    }
}
