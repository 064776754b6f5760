/// When a blocking call is given up that does not end by itself: its limit and a little more.
struct CallPatience {
    /// After this the call is cancelled.
    let cancelling: Moment

    /// After this the thread goes on without it.
    let leaving: Moment

    /// What obeys `limit` has ended 2 s after it; what then does not obey a cancellation within 1 s is left behind.
    init(after limit: Duration) {
        cancelling = .now + (limit + .seconds(2))
        leaving = cancelling + .seconds(1)
    }
}

/// What a thread looks at while it waits for a call.
struct Watch {
    private let task: Task<Void, Never>
    private let patience: CallPatience?
    private var hasCancelled = false

    init(over task: Task<Void, Never>, _ patience: CallPatience?) {
        self.task = task
        self.patience = patience
    }

    /// Cancels the call when it is time, or when the task is cancelled that makes it; false when it is given up.
    mutating func goesOn() -> Bool {
        // Of the task that makes the call, if one does.
        if Task.isCancelled { cancel() }
        guard let patience else { return true }
        let now = Moment.now
        if now >= patience.cancelling { cancel() }
        return now < patience.leaving
    }

    private mutating func cancel() {
        guard !hasCancelled else { return }
        hasCancelled = true
        task.cancel()
    }

    /// When to look again, at `moment` at the latest.
    func next(before moment: Moment?) -> Moment? {
        var next = moment
        if let patience {
            let own = hasCancelled ? patience.leaving : patience.cancelling
            next = min(next ?? own, own)
        }
        // Nobody tells a thread that the task on it was cancelled.
        if !hasCancelled, withUnsafeCurrentTask(body: { $0 != nil }) {
            let soon = Moment.now + .milliseconds(10)
            next = min(next ?? soon, soon)
        }
        return next
    }
}
