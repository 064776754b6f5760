/// The policy by which a call that is the only one of its origin lets other threads run before it suspends (decision
/// 0054).
///
/// A peer on the same core has often responded once its thread has run, and the response is then received without the
/// two thread switches of a suspended task. A peer elsewhere has not responded by then, and a thread that computes on
/// the same core keeps it for longer. So the first trial follows 64 waits, and trials continue while responses arrive
/// during the yield, and a yield seldom takes longer than a wait. Half a millisecond after the first yield a wait
/// suspends, so that other tasks run, and the time that a wait takes remains known.
package struct YieldPolicy: Sendable {
    /// The number of waits until the next trial.
    private var remaining = Self.shortestPause
    /// The number of waits before the present trials began.
    private var pause = Self.shortestPause
    /// The number of trials that have helped, at most 64; each that took longer than a wait subtracts four.
    private var successes = 0
    /// Whether a trial has begun whose result is unknown.
    private var isOnTrial = false
    /// The time of the yield of this trial, in nanoseconds.
    private var yieldTime: Int64 = 0
    /// The mean time that waits take, in nanoseconds; later waits count more.
    private var waitTime = Self.longestWait
    /// The time of the first yield since the last wait.
    private var firstYield: Int64?

    private static let shortestPause: UInt16 = 64
    private static let longestPause: UInt16 = 4096
    /// The longest time in nanoseconds that counts for a wait: a peer that takes longer saves little.
    private static let longestWait: Int64 = 250_000
    /// The time in nanoseconds after which other tasks run.
    private static let turn: Int64 = 500_000

    package init() {}

    /// Records the need to wait, at `now`, before the body of a response; a second one in the same exchange ends the
    /// trial.
    ///
    /// - Returns: Whether the thread should yield, in place of a wait.
    package mutating func beginWait(at now: Int64) -> Bool {
        if isOnTrial {
            end()
            return false
        }
        if remaining > 0 {
            remaining -= 1
            return false
        }
        let first = firstYield ?? now
        if now - first >= Self.turn { return false }
        firstYield = first
        isOnTrial = true
        return true
    }

    /// Records a wait that took a time.
    package mutating func recordWait(nanoseconds: Int64) {
        firstYield = nil
        waitTime += (min(nanoseconds, Self.longestWait) - waitTime) / 4
    }

    /// Records a yield that took a time.
    package mutating func recordYield(nanoseconds: Int64) {
        yieldTime = nanoseconds
    }

    /// Records that the exchange has ended.
    package mutating func endExchange() {
        guard isOnTrial else { return }
        successes += yieldTime > waitTime ? -4 : 1
        // What such a yield costs, many others have to save.
        if yieldTime > Self.longestWait { successes = 0 }
        if successes <= 0 { return end() }
        successes = min(successes, 64)
        isOnTrial = false
    }

    /// Ends the trials, and doubles the pause unless at least 60 of them have helped.
    private mutating func end() {
        pause = successes >= 60 ? Self.shortestPause : min(2 * pause, Self.longestPause)
        remaining = pause
        successes = 0
        isOnTrial = false
    }
}
