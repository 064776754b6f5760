@_spi(Lock) import Requests

// A reactor whose thread runs tasks between its waits: a task that waits for a socket is resumed on the thread that
// received the report, without a thread switch (decision 0040).

extension Reactor {
    package var runsTasks: Bool { core.jobs != nil }

    /// Begins to run the jobs of `executor`, which calls ``enqueue(_:)`` for them.
    ///
    /// It must be the object that tasks name as their preferred executor, because the runtime retains and releases that
    /// object.
    package func begin(_ executor: any TaskExecutor) {
        core.jobs?.begin(executor)
    }

    /// Adds a job of the executor, and wakes the thread if necessary.
    package func enqueue(_ job: consuming ExecutorJob) {
        if let jobs = core.jobs, jobs.append(UnownedJob(job)) { core.signal.signal() }
    }
}

/// The jobs of the tasks that run on a reactor's thread.
final class ReactorJobs: Sendable {
    private struct State {
        var queue = JobQueue()
        /// Whether the thread is waiting, or about to, and must be woken for a job.
        var isWaiting = false
        var isClosed = false
        /// The executor of the jobs; it exists as long as a job does, because the task of the job retains it.
        unowned(unsafe) var executor: (any TaskExecutor)?
    }

    private let state = Lock(State())

    /// Adds a job, and returns whether the thread must be woken for it.
    func append(_ job: UnownedJob) -> Bool {
        let (isClosed, wasWaiting) = state.withLock { state in
            if state.isClosed { return (true, false) }
            state.queue.append(job)
            defer { state.isWaiting = false }
            return (false, state.isWaiting)
        }
        if isClosed { globalConcurrentExecutor.enqueue(job) }
        return wasWaiting
    }

    /// Marks the thread as waiting if there are no jobs.
    ///
    /// Returns whether there are none.
    func beginWait() -> Bool {
        state.withLock { state in
            state.isWaiting = state.queue.isEmpty
            return state.isWaiting
        }
    }

    /// Removes the mark that the thread is waiting.
    ///
    /// Returns whether it was set.
    func endWait() -> Bool {
        state.withLock { state in
            defer { state.isWaiting = false }
            return state.isWaiting
        }
    }

    /// Sets the executor of the jobs, before the first one.
    func begin(_ executor: any TaskExecutor) {
        state.withLock { $0.executor = executor }
    }

    /// Runs the jobs, and the jobs that they add, on the calling thread, but at most 64.
    ///
    /// Jobs that always create others must not keep the thread from its events.
    func run() {
        for _ in 0..<64 {
            // Retained during the job, which may be the last one that needs it.
            let (job, executor) = state.withLock { state in
                let job = state.queue.take()
                return (job, job == nil ? nil : state.executor)
            }
            guard let job, let executor else { return }
            job.runSynchronously(on: executor.asUnownedTaskExecutor())
        }
    }

    /// Passes remaining and future jobs to the global executor, because the thread ends.
    func close() {
        let remaining = state.withLock { state in
            state.isClosed = true
            return state.queue.takeAll()
        }
        for job in remaining { globalConcurrentExecutor.enqueue(job) }
    }
}
