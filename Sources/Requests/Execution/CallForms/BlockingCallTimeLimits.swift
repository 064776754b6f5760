/// The times at which a blocking call that has not ended is cancelled, and then abandoned.
package struct BlockingCallTimeLimits {
    let cancellation: Deadline

    /// The time at which the thread stops waiting for the call.
    let abandonment: Deadline

    /// Creates limits 2 s after `limit`, when every call that obeys it has ended, and 1 s later for code that ignores
    /// cancellation.
    init(after limit: Duration) {
        cancellation = .after(limit).advanced(by: .seconds(2))
        abandonment = cancellation.advanced(by: .seconds(1))
    }

    /// Returns `error`, or a time-out in its place if it is a cancellation by these limits and not by the caller.
    func error(_ error: RequestError) -> RequestError {
        guard error.isCancellation, cancellation.hasPassed, !Task.isCancelled else { return error }
        return error.timedOut()
    }
}

/// The checks that a thread makes while it waits for a call.
struct CallMonitor {
    private let task: Task<Void, Never>
    private let limits: BlockingCallTimeLimits?
    /// Whether a task made the call: its cancellation must then be checked.
    private let isInTask: Bool
    private var hasCancelled = false

    init(over task: Task<Void, Never>, _ limits: BlockingCallTimeLimits?, isInTask: Bool) {
        self.task = task
        self.limits = limits
        self.isInTask = isInTask
    }

    /// Cancels the call if it is time or the calling task was cancelled; returns false when the call is abandoned.
    mutating func shouldContinue() -> Bool {
        // The current task is the one that made the blocking call, if there is one; not `task`.
        if Task.isCancelled { cancel() }
        guard let limits else { return true }
        let now = Deadline.now
        if now >= limits.cancellation { cancel() }
        return now < limits.abandonment
    }

    private mutating func cancel() {
        guard !hasCancelled else { return }
        hasCancelled = true
        task.cancel()
    }

    /// Returns the time of the next check, `deadline` at the latest.
    func next(before deadline: Deadline?) -> Deadline? {
        var next = deadline
        if let limits {
            let own = hasCancelled ? limits.abandonment : limits.cancellation
            next = min(next ?? own, own)
        }
        // A blocked thread is not notified when the task on it is cancelled, so it checks every 10 ms.
        if !hasCancelled, isInTask {
            let soon = Deadline.after(.milliseconds(10))
            next = min(next ?? soon, soon)
        }
        return next
    }
}
