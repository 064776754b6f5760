import Requests

/// A budget of events that a peer may cause; useful work restores it.
struct Allowance: Sendable {
    private let maximum: Int
    private var remaining: Int

    init(_ maximum: Int) {
        self.maximum = maximum
        remaining = maximum
    }

    /// Takes one event; returns false if none remains.
    mutating func take() -> Bool {
        guard remaining > 0 else { return false }
        remaining -= 1
        return true
    }

    /// Restores `count` events, up to the maximum.
    mutating func restore(_ count: Int) {
        remaining = min(maximum, remaining + min(count, maximum))
    }
}

/// A count of events that decreases by a number of events each second.
struct LeakingCount: Sendable {
    private let burst: Int
    private let perSecond: Int
    /// The count in billionths: each nanosecond subtracts `perSecond`.
    private var level = 0
    private var updated: Deadline

    init(_ limit: (burst: Int, perSecond: Int), at now: Deadline) {
        (burst, perSecond) = limit
        updated = now
    }

    /// Adds an event at `now`; returns false if the count has reached its limit.
    mutating func add(at now: Deadline) -> Bool {
        let nanoseconds = Int(clamping: max(0, now.nanoseconds(since: updated)))
        let (leaked, overflow) = nanoseconds.multipliedReportingOverflow(by: perSecond)
        level = max(0, level - (overflow ? .max : leaked)) + 1_000_000_000
        updated = max(updated, now)
        return level < burst * 1_000_000_000
    }
}
