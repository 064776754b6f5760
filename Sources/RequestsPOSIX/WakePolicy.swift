/// Whether the thread of a reactor interrupts other threads when it wakes (decision 0053).
///
/// The scheduler prefers a thread that rarely runs. With many connections, such a thread wakes for each event, also if
/// others are about to arrive. As a batch thread it lets the others continue, so that events arrive together; but then
/// a thread that computes can delay it by some milliseconds. So it becomes one only while that helps: if 8 descriptors
/// are registered, for a trial, and then for as long as it receives at least two events a turn.
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

    /// Records a turn with `events`, and returns whether `isBatch` has changed.
    package mutating func record(events: Int, registrations: @autoclosure () -> Int) -> Bool {
        guard isPossible, events > 0 else { return false }
        turns += 1
        if isBatch {
            mean += (Double(events) - mean) / 4
            guard mean < 2 else { return false }
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
