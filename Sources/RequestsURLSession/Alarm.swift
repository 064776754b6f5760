import Dispatch
@_spi(Lock) import Requests

/// Rings at the earliest instant it has been asked for.
///
/// One timer serves all the calls of a session, and only an instant earlier than the one it waits for costs a new one:
/// limits that move on while bytes arrive cost nothing.
final class Alarm: Sendable {
    private let queue = DispatchQueue(label: "Requests.URLSessionExecutor.alarm")
    private let armed = Lock<ContinuousClock.Instant?>(nil)
    private let ring: @Sendable (ContinuousClock.Instant) -> ContinuousClock.Instant?

    /// An alarm that calls `ring` with the time, which gives the next instant to ring at.
    init(_ ring: @escaping @Sendable (ContinuousClock.Instant) -> ContinuousClock.Instant?) {
        self.ring = ring
    }

    /// Asks for a ring at `instant`, or before.
    func set(for instant: ContinuousClock.Instant) {
        let isEarlier = armed.withLock { armed in
            if let armed, armed <= instant { return false }
            armed = instant
            return true
        }
        guard isEarlier else { return }
        let seconds = max(0, (instant - .now) / .seconds(1))
        // No timer lasts for ever: it rings in vain once a day.
        queue.asyncAfter(deadline: .now() + min(seconds, 86_400)) { [weak self] in self?.fire(instant) }
    }

    private func fire(_ instant: ContinuousClock.Instant) {
        let isCurrent = armed.withLock { armed in
            guard armed == instant else { return false }
            armed = nil
            return true
        }
        guard isCurrent, let next = ring(.now) else { return }
        set(for: next)
    }
}
