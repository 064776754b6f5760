/// The times at which an unfinished blocking call is cancelled, and then abandoned.
package struct BlockingCallTimeLimits {
    let cancellation: Deadline

    /// The time at which the thread stops waiting for the call.
    let abandonment: Deadline

    /// Creates limits for a call with the time limit `limit`.
    ///
    /// It is cancelled 2 s after `limit`, when every call that obeys its limit has ended, and abandoned 1 s later, for
    /// code that ignores cancellation.
    init(after limit: Duration) {
        cancellation = .after(limit).advanced(by: .seconds(2))
        abandonment = cancellation.advanced(by: .seconds(1))
    }

    /// Returns `error`; but if these limits, and not the caller, have cancelled the call, a time-out instead.
    func error(_ error: RequestError) -> RequestError {
        guard error.isCancellation, cancellation.hasPassed, !Task.isCancelled else { return error }
        return error.timedOut()
    }
}

/// The checks that a thread makes while it waits for a call.
struct CallMonitor {
    private let task: Task<Void, Never>
    private let limits: BlockingCallTimeLimits?
    /// Whether a task made the call, so that the cancellation of that task must be checked.
    private let isInTask: Bool
    private var hasCancelled = false

    init(over task: Task<Void, Never>, _ limits: BlockingCallTimeLimits?, isInTask: Bool) {
        self.task = task
        self.limits = limits
        self.isInTask = isInTask
    }

    /// Cancels the call when its time is over or the calling task was cancelled.
    ///
    /// Returns false when the call is abandoned.
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
