/// Which limit of one call is running, and when it passes.
///
/// URLSession does not tell when a connection stands. So a request without a body waits for its first byte from the
/// start, connecting included; one with a body is connecting until its first byte is asked for.
struct Patience: Sendable {
    let timeouts: Timeouts
    private let deadline: ContinuousClock.Instant?
    private var phase = RequestError.Phase.total
    private var limit: ContinuousClock.Instant?

    init(_ request: PreparedRequest) {
        timeouts = request.timeouts
        deadline = request.deadline
    }

    /// The next instant at which something may have passed; nil for never.
    var next: ContinuousClock.Instant? {
        guard let limit, let deadline else { return limit ?? deadline }
        return min(limit, deadline)
    }

    /// A wait begins; `maximum` shortens the limit of its phase.
    mutating func wait(for phase: RequestError.Phase, atMost maximum: Duration? = nil) {
        self.phase = phase
        let duration =
            switch phase {
            case .resolving, .waitingForConnection, .connecting: timeouts.connect
            case .firstByte: timeouts.firstByte
            case .sending, .betweenBytes: timeouts.betweenBytes
            case .total: Duration?.none
            }
        limit = [duration, maximum].compactMap(\.self).min().map { .now + $0 }
    }

    /// Nothing is waited for; the deadline stays.
    mutating func rest() {
        limit = nil
    }

    /// The limit that has passed at `now`; nil when none has.
    func passed(at now: ContinuousClock.Instant) -> RequestError.Phase? {
        if let deadline, deadline <= now, limit.map({ deadline <= $0 }) ?? true { return .total }
        if let limit, limit <= now { return phase }
        return nil
    }
}
