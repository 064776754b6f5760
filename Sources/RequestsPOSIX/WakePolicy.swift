/// The policy by which the thread of a reactor wakes (decision 0053).
///
/// The Linux scheduler prefers a thread that rarely runs. Such a thread interrupts the running one at each event, even
/// if more events are about to arrive. A batch thread does not interrupt, so events arrive together; but a thread that
/// computes on the same core can delay it by several milliseconds. So the reactor's thread is a batch thread only for
/// trials, while at least 8 descriptors are registered, and for as long as a turn has at least two events on average.
package struct WakePolicy {
    /// Whether the system allows batch threads; if not, there are no more trials.
    package var isPossible: Bool
    /// Whether the thread should be a batch thread.
    package private(set) var isBatch = false
    /// The mean number of events in a turn; later turns count more.
    private var mean = 0.0
    /// The number of turns since `isBatch` changed.
    private var turns = 0
    /// The number of turns until the next trial; it doubles with each trial that does not help.
    private var pause = Self.shortestPause

    private static let shortestPause = 64
    private static let longestPause = 4096

    package init(isPossible: Bool = true) {
        self.isPossible = isPossible
    }

    /// Records a turn with `events` events, and returns whether `isBatch` changed; a turn without events is ignored.
    package mutating func record(events: Int, registrations: @autoclosure () -> Int) -> Bool {
        guard isPossible, events > 0 else { return false }
        turns += 1
        if isBatch {
            mean += (Double(events) - mean) / 4
            guard mean < 2 else { return false }
            // A trial that lasted longer than the shortest pause has helped.
            pause = turns >= Self.shortestPause ? Self.shortestPause : min(2 * pause, Self.longestPause)
        } else {
            guard turns >= pause else { return false }
            // With a mean of 4, a trial has four turns if each has one event.
            mean = 4
            guard registrations() >= 8 else {
                turns = 0
                return false
            }
        }
        isBatch.toggle()
        turns = 0
        return true
    }
}
