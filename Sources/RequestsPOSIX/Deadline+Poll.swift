import Requests

extension Deadline {
    /// The remaining time in milliseconds, rounded up so that no wait ends early; -1 (no limit) for the distant future.
    var pollTimeout: Int32 {
        guard self != .distantFuture else { return -1 }
        let left = nanoseconds(since: .now)
        guard left > 0 else { return 0 }
        return Int32(clamping: (left - 1) / 1_000_000 + 1)
    }
}
