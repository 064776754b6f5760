/// A thread that waits for a call and runs its jobs meanwhile, so that the call needs no other thread (decision 0072).
///
/// It is the task executor of that call: middleware, child tasks and default actors run on it. Only code with an
/// executor of its own, such as the main actor, runs elsewhere. Jobs that arrive after the call has ended run in the
/// global pool.
package final class CallingThread: TaskExecutor {
    private struct State {
        var jobs = JobQueue()
        var sleepers = SleepQueue()
        /// The object with which the thread waits; nil before its first wait without a job.
        var pause: (any ThreadPause)?
        /// Whether the thread is waiting and must be woken up to run a job.
        var isWaiting = false
        /// Whether a job was late because the thread waited in the middle of another job.
        var isShared = false
        /// Whether the call has ended.
        var isDone = false
        /// Whether the thread has stopped running jobs.
        var hasLeft = false
        /// The time of the next check of the limits and the cancellation of the call.
        var nextCheck: Deadline

        /// Marks the wait of the thread as ended, and returns the pause to wake; nil if it is not waiting.
        mutating func endWait() -> (any ThreadPause)? {
            guard isWaiting else { return nil }
            isWaiting = false
            return pause
        }
    }

    private enum Turn {
        case job(UnownedJob)
        case ring([SleepQueue.Continuation])
        case idle(any ThreadPause, until: Deadline?)
        case done
    }

    private let state: Lock<State>
    /// Whether the thread runs the task that made the call, so that other tasks may be waiting for the thread.
    package let occupiesTask: Bool

    private init() {
        state = Lock(State(nextCheck: Self.nextCheck))
        occupiesTask = withUnsafeCurrentTask { $0 != nil }
    }
}

// MARK: Calls

extension CallingThread {
    /// Runs `operation` as a task on the calling thread until it ends.
    ///
    /// Returns nil if `limits` end first.
    ///
    /// If a task calls this function, the operation is cancelled with that task, at most 10 ms later.
    package static func run<Value>(
        limits: BlockingCallTimeLimits?,
        _ operation: @escaping @Sendable () async throws(RequestError) -> sending Value
    ) -> sending Result<Value, RequestError>? {
        let thread = CallingThread()
        let outcome = ResultBox<Result<Value, RequestError>>()
        let task = thread.start {
            do throws(RequestError) {
                outcome.put(.success(try await operation()))
            } catch {
                outcome.put(.failure(error))
            }
            thread.finish()
        }
        let hasEnded = thread.drain(task, limits)
        thread.leave()
        return hasEnded ? outcome.take() : nil
    }

    /// Starts `operation` on this thread; where possible, it begins before the function returns.
    private func start(_ operation: @escaping @Sendable @isolated(any) () async -> Void) -> Task<Void, Never> {
        guard #available(macOS 26.4, iOS 26.4, tvOS 26.4, watchOS 26.4, visionOS 26.4, *) else {
            return Self.$ofTask.withValue(self) { Task(executorPreference: self, operation: operation) }
        }
        // The task of a cancelled caller must be cancelled before it begins, which an immediate task cannot be.
        if Task.isCancelled { return Task(executorPreference: self, operation: operation) }
        return Self.startTask(on: self, operation)
    }

    /// Starts `operation` as a separate task on the executor of the current task; where possible, it begins before the
    /// function returns.
    package static func startTask(
        _ operation: @escaping @Sendable @isolated(any) () async -> Void
    ) -> Task<Void, Never> {
        guard #available(macOS 26.4, iOS 26.4, tvOS 26.4, watchOS 26.4, visionOS 26.4, *) else {
            return startTask(on: current, operation)
        }
        return startTask(on: withUnsafeCurrentTask { $0?.unownedTaskExecutor?.asTaskExecutor() }, operation)
    }

    /// Starts `operation` as a task of `executor`; where possible, it begins before the function returns.
    package static func startTask(
        on executor: (any TaskExecutor)?, _ operation: @escaping @Sendable @isolated(any) () async -> Void
    ) -> Task<Void, Never> {
        guard #available(macOS 26.0, iOS 26.0, tvOS 26.0, watchOS 26.0, visionOS 26.0, *) else {
            return Task(executorPreference: executor, operation: operation)
        }
        return Task.immediate(executorPreference: executor, operation: operation)
    }

    /// Starts `operation` as a separate task on the executor of the current task, after the jobs that wait there.
    package static func queueTask(_ operation: @escaping @Sendable @isolated(any) () async -> Void) {
        guard #available(macOS 26.4, iOS 26.4, tvOS 26.4, watchOS 26.4, visionOS 26.4, *) else {
            Task(executorPreference: current, operation: operation)
            return
        }
        Task(
            executorPreference: withUnsafeCurrentTask { $0?.unownedTaskExecutor?.asTaskExecutor() },
            operation: operation)
    }

    private func finish() {
        state.withLock { state in
            state.isDone = true
            return state.endWait()
        }?.wake()
    }

    /// Moves the remaining jobs, and all later ones, to the global pool.
    ///
    /// Tasks that wait here then wait elsewhere.
    private func leave() {
        let (jobs, sleepers, pause) = state.withLock { state in
            state.hasLeft = true
            state.isWaiting = false
            return (state.jobs.takeAll(), state.sleepers.takeAll(), state.pause)
        }
        for job in jobs { globalConcurrentExecutor.enqueue(job) }
        for sleeper in sleepers { sleeper.resume(returning: false) }
        pause?.end()
    }
}

// MARK: The current thread

extension CallingThread {
    /// The calling thread that runs the current task; nil in every other task.
    package static var current: CallingThread? {
        guard let executor = withUnsafeCurrentTask(body: { $0?.unownedTaskExecutor }) else { return nil }
        let thread = found(executor)
        return thread?.state.withLock { $0.hasLeft } == true ? nil : thread
    }

    /// The thread of the current task, for systems that do not return the task's executor as an object.
    @TaskLocal private static var ofTask: CallingThread?

    private static func found(_ executor: UnownedTaskExecutor) -> CallingThread? {
        if #available(macOS 26.4, iOS 26.4, tvOS 26.4, watchOS 26.4, visionOS 26.4, *) {
            return executor.asTaskExecutor() as? CallingThread
        }
        // A task inherits the value, but not always the executor.
        return ofTask?.asUnownedTaskExecutor() == executor ? ofTask : nil
    }
}

// MARK: Jobs

extension CallingThread {
    /// Adds `job` to the queue, and wakes the thread if it is waiting.
    package func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        let (hasLeft, pause) = state.withLock { state in
            if state.hasLeft { return (true, nil as (any ThreadPause)?) }
            state.jobs.append(job)
            return (false, state.endWait())
        }
        if hasLeft { globalConcurrentExecutor.enqueue(job) }
        pause?.wake()
    }

    /// Runs jobs until the call has ended.
    ///
    /// Returns false if `limits` end first.
    private func drain(_ task: Task<Void, Never>, _ limits: BlockingCallTimeLimits?) -> Bool {
        if state.withLock({ $0.isDone }) { return true }
        var monitor = CallMonitor(over: task, limits, isInTask: occupiesTask)
        var turns: UInt8 = 0
        guard check(&monitor) else { return false }
        while true {
            switch next() {
            case .done: return true
            case .ring(let continuations): continuations.forEach { $0.resume(returning: true) }
            case .job(let job):
                job.runSynchronously(on: asUnownedTaskExecutor())
                turns &+= 1
                // Jobs that create jobs, or that wait in place, would otherwise delay sleepers, sockets and limits.
                if turns & 63 == 0 || isCheckDue, !processEvents(&monitor) { return false }
            case .idle(let pause, let deadline):
                guard check(&monitor) else { return false }
                // The flag is cleared first, because jobs that the wait itself adds need not wake the thread.
                pause.wait(until: monitor.next(before: deadline)) { state.withLock { $0.isWaiting = false } }
            }
        }
    }

    /// Resumes what has become due while jobs ran.
    ///
    /// Returns false if the limits have ended.
    private func processEvents(_ monitor: inout CallMonitor) -> Bool {
        let (pause, due) = state.withLock { ($0.pause, $0.sleepers.takeDue()) }
        due.forEach { $0.resume(returning: true) }
        pause?.processEvents()
        return check(&monitor)
    }

    private static var nextCheck: Deadline { Deadline.now.advanced(byNanoseconds: 10_000_000) }

    /// Checks the limits and the cancellation of the call.
    ///
    /// Returns false if the limits have ended.
    private func check(_ monitor: inout CallMonitor) -> Bool {
        guard monitor.shouldContinue() else { return false }
        let soon = Self.nextCheck
        state.withLock { $0.nextCheck = soon }
        return true
    }

    /// Whether at least 10 ms have passed since the limits and the cancellation were checked.
    package var isCheckDue: Bool { state.withLock { $0.nextCheck }.hasPassed }

    private func next() -> Turn {
        state.withLock { state in
            if state.isDone { return .done }
            if let job = state.jobs.take() { return .job(job) }
            let due = state.sleepers.takeDue()
            guard due.isEmpty else { return .ring(due) }
            state.isWaiting = true
            let pause = state.pause ?? SemaphorePause()
            state.pause = pause
            return .idle(pause, until: state.sleepers.next)
        }
    }

    /// Returns the pause with which the thread waits.
    ///
    /// `make` creates it if there is none of this type. The result is nil if the thread has left or `make` returns nil.
    package func pause<Pause: ThreadPause>(_ make: () -> Pause?) -> Pause? {
        let (pause, old) = state.withLock { state -> (Pause?, (any ThreadPause)?) in
            if state.hasLeft { return (nil, nil) }
            if let pause = state.pause as? Pause { return (pause, nil) }
            guard let pause = make() else { return (nil, nil) }
            // A thread that is waiting, while a job of its call runs elsewhere, must wait again with the new pause.
            let old = state.endWait()
            state.pause = pause
            return (pause, old)
        }
        old?.wake()
        return pause
    }
}

// MARK: Waiting in place

extension CallingThread {
    /// Calls `wait` in the middle of a job if no other job could run meanwhile, and returns its result.
    ///
    /// Returns false otherwise, and once every 10 ms: the job then ends, and the call is checked.
    ///
    /// `wait` must return within 10 ms. A job that arrives from elsewhere meanwhile is late; then the thread waits only
    /// between jobs from now on. Call this function only from a job that this thread runs, not from a job of its call
    /// that runs elsewhere.
    package func waitInPlace(_ wait: () -> Bool) -> Bool {
        let now = Deadline.now
        let isAlone = state.withLock { state in
            if !state.jobs.isEmpty { state.isShared = true }
            return !state.hasLeft && !state.isShared && state.sleepers.isEmpty && now < state.nextCheck
                && state.pause?.isWatching != true
        }
        return isAlone && wait()
    }
}

// MARK: Sleeping

extension CallingThread {
    /// Sleeps until `deadline`.
    ///
    /// A blocking call sleeps without another thread, because a pool whose threads are all blocked has none to run a
    /// timer.
    ///
    /// - Throws: ``RequestError/Reason/cancelled``.
    package static func sleep(until deadline: Deadline) async throws(RequestError) {
        if let thread = current, await thread.sleep(until: deadline) { return }
        // Reached also by a task that outlives the call: its sleep ended when the thread left.
        try await RequestError.wrapping(.other) {
            try await Task.sleep(until: deadline.instant, clock: .continuous)
        }
    }

    /// Sleeps until `deadline` on this thread, and returns false when cancelled first, or when the thread leaves.
    private func sleep(until deadline: Deadline) async -> Bool {
        let id = state.withLock { $0.sleepers.makeID() }
        return await withTaskCancellationHandler {
            // Resumed exactly once: at its time, by the cancellation, or here if it was not set.
            await withUnsafeContinuation { continuation in
                let (isSet, pause) = state.withLock { state in
                    let isSet = !state.hasLeft && state.sleepers.set(id, to: deadline, continuation)
                    return (isSet, state.endWait())
                }
                pause?.wake()
                if !isSet { continuation.resume(returning: false) }
            }
        } onCancel: {
            state.withLock { $0.sleepers.cancel(id) }?.resume(returning: false)
        }
    }
}
