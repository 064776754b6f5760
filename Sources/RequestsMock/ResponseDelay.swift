/// The waits of a simulated exchange, which end by the time limits and the deadline of its request.
struct ResponseDelay: Sendable {
    private let timeouts: Timeouts
    private let deadline: Deadline
    /// The instant at which all waits for a body end, apart from the other limits.
    private var end = Deadline.distantFuture
    /// The clock for the pauses; nil for real time.
    private let clock: (any Clock<Duration>)?

    init(_ request: PreparedRequest, _ clock: (any Clock<Duration>)? = nil) {
        self.clock = clock
        timeouts = request.timeouts
        deadline = request.limit
    }

    /// Returns these waits with another limit: all of them together end `duration` from now.
    func ending(after duration: Duration) -> ResponseDelay {
        var copy = self
        copy.end = .after(duration)
        return copy
    }

    /// Waits for `pause`; throws if the limit of `phase` or the deadline passes first, or if the task is cancelled.
    func wait(for pause: MockResponse.Pause, phase: RequestError.Phase) async throws(RequestError) {
        try deadline.check()
        let phaseLimit = phase == .firstByte ? timeouts.firstByte : timeouts.betweenBytes
        // No other limit has passed before a wait.
        if pause == .lasting(.zero), end == .distantFuture, phaseLimit.map({ $0 > .zero }) ?? true { return }
        if let clock, pause != .lasting(.zero) { return try await wait(for: pause, phase: phase, on: clock) }
        let start = Deadline.now
        let limit = min(end, phaseLimit.map { start.advanced(by: $0) } ?? .distantFuture)
        let wanted: Deadline =
            switch pause {
            case .lasting(let duration): start.advanced(by: duration)
            case .endless: .distantFuture
            }
        while true {
            let now = Deadline.now
            if deadline <= now { throw RequestError(.timedOut(.total)) }
            if limit <= now { throw RequestError(.timedOut(phase)) }
            if wanted <= now { return }
            let next = min(limit, deadline, wanted)
            // Without any limit only cancellation ends the wait, and it ends the sleep immediately.
            try await CallingThread.sleep(until: min(next, now.advanced(by: .seconds(3_600))))
        }
    }

    /// Waits for `pause` on `clock`, whose durations are compared with the limits.
    private func wait(
        for pause: MockResponse.Pause, phase: RequestError.Phase, on clock: any Clock<Duration>
    ) async throws(RequestError) {
        let now = Deadline.now
        func left(until deadline: Deadline) -> Duration? {
            deadline == .distantFuture ? nil : .nanoseconds(deadline.nanoseconds(since: now))
        }
        let phaseLimit = phase == .firstByte ? timeouts.firstByte : timeouts.betweenBytes
        let limits: [(duration: Duration, error: RequestError.Reason)] = [
            left(until: deadline).map { ($0, .timedOut(.total)) }, phaseLimit.map { ($0, .timedOut(phase)) },
            left(until: end).map { ($0, .timedOut(phase)) },
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
