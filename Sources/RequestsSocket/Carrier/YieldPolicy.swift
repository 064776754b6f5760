/// The policy by which a call that is the only one of its origin lets other threads run before it suspends (decision
/// 0054).
///
/// A peer on the same core has often responded once its thread has run, and the response is then received without the
/// two thread switches of a suspended task. A peer elsewhere has not responded by then, and a thread that computes on
/// the same core keeps it for longer. So the first trial follows 64 waits, and trials continue while responses arrive
/// during the yield, and exchanges seldom take longer than with a wait. A millisecond after the first yield a wait
/// suspends, so that other tasks run, and the time of an exchange with a wait remains known.
package struct YieldPolicy: Sendable {
    /// The way in which the present exchange has waited for its response.
    private enum Progress {
        case atOnce, waiting, onTrial
        /// Nothing arrived during the yield, so the exchange has waited as well.
        case failed
    }

    private var progress = Progress.atOnce
    /// The time of the first wait or yield of the present exchange.
    private var start: Int64 = 0
    /// Whether the yield of the present exchange took too long.
    private var wasLong = false
    /// The number of waits until the next trial.
    private var remaining = Self.shortestPause
    /// The number of waits before the present trials began.
    private var pause = Self.shortestPause
    /// The number of trials that have helped, at most 64; each that took longer than a wait subtracts four.
    private var successes = 0
    /// The mean time from a wait to the end of its exchange, in nanoseconds; later waits count more.
    private var waitTime = Self.longestTime
    /// The time of the first yield since the last wait.
    private var firstYield: Int64?

    private static let shortestPause: UInt16 = 64
    private static let longestPause: UInt16 = 4096
    /// The longest yield in nanoseconds that counts as a success.
    private static let longestYield: Int64 = 250_000
    /// The longest time in nanoseconds that counts for an exchange with a wait.
    private static let longestTime: Int64 = 1_000_000
    /// The time in nanoseconds after which other tasks run.
    private static let turn: Int64 = 1_000_000

    package init() {}

    /// Records the need to wait, at a time in nanoseconds, before the body of a response; a second one in the same
    /// exchange ends the trial.
    ///
    /// - Returns: Whether the thread should yield, in place of a wait.
    package mutating func beginWait(at now: Int64) -> Bool {
        switch progress {
        case .atOnce:
            start = now
            guard isTrialDue(at: now) else {
                progress = .waiting
                firstYield = nil
                return false
            }
            progress = .onTrial
            return true
        case .onTrial:
            progress = .failed
            end()
        case .waiting, .failed: break
        }
        return false
    }

    private mutating func isTrialDue(at now: Int64) -> Bool {
        if remaining > 0 {
            remaining -= 1
            return false
        }
        let first = firstYield ?? now
        firstYield = first
        return now - first < Self.turn
    }

    /// Records a yield that took a time in nanoseconds.
    package mutating func recordYield(nanoseconds: Int64) {
        wasLong = nanoseconds > Self.longestYield
    }

    /// Records that the exchange ended at a time in nanoseconds.
    package mutating func endExchange(at end: Int64) {
        switch progress {
        case .atOnce, .failed: break
        case .waiting: waitTime += (min(end - start, Self.longestTime) - waitTime) / 4
        case .onTrial:
            successes = min(successes + (end - start > waitTime ? -4 : 1), 64)
            // What a long yield costs, many others have to save.
            if wasLong { successes = 0 }
            if successes <= 0 { self.end() }
        }
        progress = .atOnce
    }

    /// Ends the trials, and doubles the pause unless at least 60 of them have helped.
    private mutating func end() {
        pause = successes >= 60 ? Self.shortestPause : min(2 * pause, Self.longestPause)
        remaining = pause
        successes = 0
    }
}
