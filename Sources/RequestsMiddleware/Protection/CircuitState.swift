import Requests

/// The circuit of one origin: closed, open, or half-open with a limited number of probes.
struct CircuitState: Sendable {
    enum Outcome: Sendable {
        case success, failure
        /// Neither, such as a cancellation.
        case neutral
    }

    enum Admission: Equatable, Sendable {
        /// The request may be sent; the number identifies the state in which it was admitted.
        case admitted(UInt64)
        /// The request must not be sent; this is the minimum time until another one may be.
        case rejected(Duration)
    }

    private enum Phase: Sendable {
        case closed(failures: Int)
        case open(until: Deadline)
        case halfOpen(running: Int, successes: Int)
    }

    private let policy: CircuitBreaker.Policy
    private var phase = Phase.closed(failures: 0)
    /// The number of the current phase; results of requests from earlier phases are not counted.
    private var number: UInt64 = 0
    /// The number of times that the circuit has opened since it was last closed.
    private var openings = 0

    init(_ policy: CircuitBreaker.Policy) { self.policy = policy }

    /// Whether the state equals the state of an origin without requests.
    ///
    /// After an opening it is not, because its number separates earlier requests from later ones.
    var isInitial: Bool { if case .closed(failures: 0) = phase { number == 0 } else { false } }

    var isClosed: Bool { if case .closed = phase { true } else { false } }

    mutating func admit(at now: Deadline) -> Admission {
        if case .open(let end) = phase, now >= end { change(to: .halfOpen(running: 0, successes: 0)) }
        switch phase {
        case .closed: return .admitted(number)
        case .open(let end): return .rejected(.nanoseconds(end.nanoseconds(since: now)))
        case .halfOpen(let running, let successes):
            guard running + successes < policy.probes else { return .rejected(.zero) }
            phase = .halfOpen(running: running + 1, successes: successes)
            return .admitted(number)
        }
    }

    mutating func record(_ outcome: Outcome, admittedAs number: UInt64, at now: Deadline) {
        guard number == self.number else { return }
        switch (phase, outcome) {
        case (.closed, .success): phase = .closed(failures: 0)
        case (.closed(let failures), .failure):
            if failures + 1 < policy.failures { phase = .closed(failures: failures + 1) } else { open(at: now) }
        case (.halfOpen(let running, let successes), .success):
            guard successes + 1 >= policy.probes else {
                phase = .halfOpen(running: running - 1, successes: successes + 1)
                return
            }
            openings = 0
            change(to: .closed(failures: 0))
        case (.halfOpen, .failure): open(at: now)
        case (.halfOpen(let running, let successes), .neutral):
            phase = .halfOpen(running: running - 1, successes: successes)
        case (.open, _), (.closed, .neutral): break
        }
    }

    /// Counts the head of a streamed response to a request that was admitted with `number`.
    ///
    /// Returns the number with which the end of its body must be counted; nil if it does not count.
    ///
    /// A stream can have no end, so its head is the success of a probe.
    mutating func recordHead(admittedAs number: UInt64, at now: Deadline) -> UInt64? {
        guard number == self.number, case .halfOpen = phase else { return number }
        record(.success, admittedAs: number, at: now)
        // While other probes run, the same request must not count twice.
        return isClosed ? self.number : nil
    }

    private mutating func open(at now: Deadline) {
        // Doubled with each opening that a failed probe causes; 20 times are more than any longest pause.
        let factor = 1 << min(openings, 20)
        openings += 1
        change(to: .open(until: now.advanced(by: min(policy.pause * factor, policy.longestPause))))
    }

    private mutating func change(to phase: Phase) {
        self.phase = phase
        number &+= 1
    }
}
