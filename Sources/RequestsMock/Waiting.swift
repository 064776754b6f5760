/// The limits under which an exchange waits.
struct Waiting: Sendable {
    private let timeouts: Timeouts
    private let deadline: ContinuousClock.Instant?
    /// When waits for a body end, whatever the other limits are.
    private var end: ContinuousClock.Instant?

    init(_ request: PreparedRequest) {
        timeouts = request.timeouts
        deadline = request.deadline
    }

    /// These limits, and `duration` from now for all waits together.
    func ending(after duration: Duration) -> Waiting {
        var copy = self
        copy.end = .now + duration
        return copy
    }

    /// Waits; the limit of `phase`, the deadline and cancellation end it with their error, whichever comes first.
    func wait(for pause: MockResponse.Pause, phase: RequestError.Phase) async throws(RequestError) {
        if Task.isCancelled { throw RequestError(.cancelled) }
        let now = ContinuousClock.now
        let phaseLimit = (phase == .firstByte ? timeouts.firstByte : timeouts.betweenBytes).map { now + $0 }
        let limit = [phaseLimit, self.end].compactMap(\.self).min()
        let end: ContinuousClock.Instant? =
            switch pause {
            case .lasting(let duration): now + duration
            case .endless: nil
            }
        while true {
            let now = ContinuousClock.now
            if let deadline, deadline <= now { throw RequestError(.timedOut(.total)) }
            if let limit, limit <= now { throw RequestError(.timedOut(phase)) }
            if let end, end <= now { return }
            let next = [limit, deadline, end].compactMap(\.self).min() ?? now + .seconds(3_600)
            try await CallingThread.sleep(until: next)
        }
    }
}
