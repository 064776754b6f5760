/// The policy by which the thread of a reactor wakes (decision 0053).
///
/// The Linux scheduler prefers a thread that rarely runs. Such a thread interrupts the running one at each event, even
/// if more events are about to arrive. A batch thread does not interrupt, so events arrive together; but a thread that
/// computes on the same core can delay it by several milliseconds. So the reactor's thread waits as a batch thread only
/// for trials, while at least 8 descriptors are registered, and for as long as at least as many events arrive in a
/// second as before the trial, and at least four in a turn on average.
package struct WakePolicy {
    /// Whether the system allows batch threads; if not, there are no more trials.
    package var isPossible: Bool
    /// Whether the thread should wait as a batch thread.
    package private(set) var isBatch = false
    /// The mean number of events in a turn; later turns count more.
    private var mean = 0.0
    /// The number of turns since `isBatch` changed.
    private var turns = 0
    /// The number of turns until the next trial; it doubles with each trial that does not help.
    private var pause = Self.window
    /// The window of turns in which events are counted at present.
    private var count = (events: 0, start: Int64(0))
    /// The events of a nanosecond before the trial.
    private var earlierRate = 0.0

    /// The number of turns in which events are counted; also the shortest pause.
    private static let window = 64
    private static let longestPause = 4096
    /// The number of turns after which a trial is judged.
    private static let trial = 8

    package init(isPossible: Bool = true) {
        self.isPossible = isPossible
    }

    /// Records a turn with `events` events; a turn without events is ignored.
    ///
    /// - Parameters:
    ///   - events: The number of events.
    ///   - registrations: The number of descriptors that are registered.
    ///   - now: The time in nanoseconds, which is read at most twice in 64 turns.
    package mutating func record(
        events: Int, registrations: @autoclosure () -> Int, now: @autoclosure () -> Int64
    ) {
        guard isPossible, events > 0 else { return }
        turns += 1
        count.events += events
        if isBatch {
            mean += (Double(min(events, 16)) - mean) / 4
            if mean < 4 { return end(hasHelped: turns > Self.window) }
            guard turns == Self.trial || turns % Self.window == 0 else { return }
            let time = now()
            if rate(at: time) < earlierRate { return end(hasHelped: turns > Self.window) }
            count = (0, time)
        } else if turns == pause - Self.window + 1 {
            count = (0, now())
        } else if turns > pause {
            guard registrations() >= 8 else { return end(hasHelped: true) }
            let time = now()
            earlierRate = rate(at: time)
            count = (0, time)
            isBatch = true
            turns = 0
            // With this mean, a trial ends after three turns if each has one event.
            mean = 8
        }
    }

    private func rate(at time: Int64) -> Double { Double(count.events) / Double(max(1, time - count.start)) }

    private mutating func end(hasHelped: Bool) {
        pause = hasHelped ? Self.window : min(2 * pause, Self.longestPause)
        isBatch = false
        turns = 0
    }
}
