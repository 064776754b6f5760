/// The waits of a simulated exchange, which end by the time limits and the deadline of its request.
struct ResponseDelay: Sendable {
    private let timeouts: Timeouts
    private let deadline: ContinuousClock.Instant?
    // Whether there are instants, because reading an optional one is slow: its layout is determined at run time.
    private let hasDeadline: Bool
    private var hasEnd = false
    /// The instant at which all waits for a body end; nil if there is none besides the other limits.
    private var end: ContinuousClock.Instant?
    /// The clock of the pauses; nil for the real time.
    private let clock: (any Clock<Duration>)?

    init(_ request: PreparedRequest, _ clock: (any Clock<Duration>)? = nil) {
        self.clock = clock
        timeouts = request.timeouts
        hasDeadline = request.hasDeadline
        deadline = hasDeadline ? request.deadline : nil
    }

    /// Returns these waits with another limit: `duration` from now for all of them together.
    func ending(after duration: Duration) -> ResponseDelay {
        var copy = self
        copy.end = .now + duration
        copy.hasEnd = true
        return copy
    }

    /// Waits for `pause`; throws if the limit of `phase` or the deadline passes first, or if the task is cancelled.
    func wait(for pause: MockResponse.Pause, phase: RequestError.Phase) async throws(RequestError) {
        if Task.isCancelled { throw RequestError(.cancelled) }
        if pause == .lasting(.zero), let isLate = isLate(in: phase) {
            // Without a wait, and so without a reading of the clock unless there is a deadline.
            if isLate { throw RequestError(.timedOut(.total)) }
            return
        }
        if let clock, pause != .lasting(.zero) { return try await wait(for: pause, phase: phase, on: clock) }
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
            // Without any limit only cancellation ends the wait, and it ends the sleep immediately.
            let next = [limit, deadline, end].compactMap(\.self).min() ?? now + .seconds(3_600)
            try await CallingThread.sleep(until: next)
        }
    }

    /// Returns whether the deadline has passed; nil if another limit could have ended.
    private func isLate(in phase: RequestError.Phase) -> Bool? {
        let limit = phase == .firstByte ? timeouts.firstByte : timeouts.betweenBytes
        guard !hasEnd, limit.map({ $0 > .zero }) ?? true else { return nil }
        if !hasDeadline { return false }
        return deadline.map { $0 <= .now } ?? false
    }

    /// Waits for `pause` on `clock`, whose durations are compared with the limits.
    private func wait(
        for pause: MockResponse.Pause, phase: RequestError.Phase, on clock: any Clock<Duration>
    ) async throws(RequestError) {
        let now = ContinuousClock.now
        let phaseLimit = phase == .firstByte ? timeouts.firstByte : timeouts.betweenBytes
        let limits: [(duration: Duration, error: RequestError.Reason)] = [
            deadline.map { (now.duration(to: $0), .timedOut(.total)) }, phaseLimit.map { ($0, .timedOut(phase)) },
            end.map { (now.duration(to: $0), .timedOut(phase)) },
        ].compactMap(\.self)
        let first = limits.min { $0.duration < $1.duration }
        let length: Duration? = if case .lasting(let duration) = pause { duration } else { nil }
        // Without any limit only cancellation ends the wait, and it ends the sleep immediately.
        let duration = [length, first?.duration].compactMap(\.self).min() ?? .seconds(3_600)
        repeat {
            try await RequestError.wrapping(.other) { try await clock.sleep(for: max(.zero, duration)) }
            if Task.isCancelled { throw RequestError(.cancelled) }
        } while length == nil && first == nil
        guard let first, length.map({ first.duration < $0 }) ?? true else { return }
        throw RequestError(first.error)
    }
}
