/// The running time limit of one exchange, and the deadline of its call.
///
/// URLSession does not report when a connection is established. A request without a body therefore waits for its first
/// byte from the start, connecting included; a request with a body counts as connecting until the session reads the
/// body's first byte.
struct SessionTimeLimits: Sendable {
    let timeouts: Timeouts
    private let deadline: Deadline
    private var phase = RequestError.Phase.total
    private var limit: Deadline?

    init(_ request: PreparedRequest) {
        timeouts = request.timeouts
        deadline = request.limit
    }

    /// The next instant at which a limit may have passed; nil for none.
    var next: Deadline? {
        let next = min(deadline, limit ?? .distantFuture)
        return next == .distantFuture ? nil : next
    }

    /// Starts the limit of `phase`, shortened to `maximum` if that is less.
    mutating func wait(for phase: RequestError.Phase, atMost maximum: Duration? = nil) {
        self.phase = phase
        let duration =
            switch phase {
            case .resolving, .waitingForConnection, .connecting, .securing: timeouts.connect
            case .firstByte: timeouts.firstByte
            case .sending, .betweenBytes: timeouts.betweenBytes
            case .total: Duration?.none
            }
        limit = [duration, maximum].compactMap(\.self).min().map { .after($0) }
    }

    /// Stops the running limit; the deadline stays.
    mutating func stopWaiting() {
        limit = nil
    }

    /// Returns the phase whose limit has passed at `now`; nil if none has.
    func passed(at now: Deadline) -> RequestError.Phase? {
        if deadline <= now, limit.map({ deadline <= $0 }) ?? true { return .total }
        if let limit, limit <= now { return phase }
        return nil
    }
}
