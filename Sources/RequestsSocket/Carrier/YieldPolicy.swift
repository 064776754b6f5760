/// The policy by which a call that is the only one of its origin lets other threads run before it suspends (decision
/// 0054).
///
/// A peer on the same core has often responded once its thread has run, and the response is then received without the
/// two thread switches of a suspended task. A peer elsewhere has not responded by then, and a thread that computes on
/// the same core keeps it for several milliseconds. So the first trial follows 64 waits, and trials continue while each
/// response arrives during the yield and within 250 µs.
package struct YieldPolicy: Sendable {
    /// The number of waits until the next trial.
    private var remaining = Self.shortestPause
    /// The number of waits before the present trials began.
    private var pause = Self.shortestPause
    /// The number of trials in a row that have helped, at most 64.
    private var successes: UInt8 = 0
    /// Whether a trial has begun whose result is unknown.
    private var isOnTrial = false
    /// Whether the yield of this trial took too long.
    private var wasLong = false

    private static let shortestPause: UInt16 = 64
    private static let longestPause: UInt16 = 4096
    /// The longest yield, in nanoseconds, that counts as a success.
    private static let longestYield: Int64 = 250_000

    package init() {}

    /// Records a wait before the body of a response; a second wait in the same exchange ends the trial.
    ///
    /// - Returns: Whether the thread should yield, in place of this wait.
    package mutating func beginWait() -> Bool {
        if isOnTrial {
            end()
            return false
        }
        if remaining > 0 {
            remaining -= 1
            return false
        }
        isOnTrial = true
        wasLong = false
        return true
    }

    /// Records the length of the yield.
    package mutating func recordYield(nanoseconds: Int64) {
        wasLong = nanoseconds > Self.longestYield
    }

    /// Records that the exchange has ended.
    package mutating func endExchange() {
        guard isOnTrial else { return }
        if wasLong { return end() }
        isOnTrial = false
        successes = min(successes + 1, 64)
    }

    /// Ends the trials, and doubles the pause unless 64 trials have helped.
    private mutating func end() {
        pause = successes == 64 ? Self.shortestPause : min(2 * pause, Self.longestPause)
        remaining = pause
        successes = 0
        isOnTrial = false
    }
}
