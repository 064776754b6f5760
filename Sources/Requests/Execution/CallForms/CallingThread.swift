import Synchronization

/// A thread that waits for a call and runs its jobs meanwhile, so that the call needs no other thread (decision 0010).
///
/// It is the task executor of that call: middleware, child tasks and default actors run on it. Only code with an
/// executor of its own, such as the main actor, runs elsewhere. Jobs that arrive after the call has ended run in the
/// global pool.
package final class CallingThread: TaskExecutor {
    private struct State {
        var jobs = JobQueue()
        /// Whether the thread runs jobs at present.
        var isDraining = false
        var isDone = false
        /// Whether the thread is waiting and must be woken for a job.
        var isWaiting = false
        var pause: any ThreadPause = SemaphorePause()
        var sleepers = SleepQueue()
        /// The time of the next check of the call's limits and of its cancellation.
        var nextCheck = Deadline.distantFuture

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

    private let state = Lock(State())
    private init() {}
}

// MARK: Calls

extension CallingThread {
    private struct Threads {
        var busy: [CallingThread] = []
        var idle: [CallingThread] = []
    }

    private static let threads = Lock(Threads())
    /// The number of busy threads, which is the only thing to read in a program without blocking calls.
    private static let busyCount = Atomic(0)

    /// The thread that runs the current task while it waits for it; nil in every other task.
    package static var current: CallingThread? {
        guard busyCount.load(ordering: .relaxed) > 0,
            let executor = withUnsafeCurrentTask(body: { $0?.unownedTaskExecutor })
        else { return nil }
        return threads.withLock { $0.busy.first { $0.asUnownedTaskExecutor() == executor } }
    }

    /// Returns a thread for a call, reusing an idle one if there is one.
    private static func begin() -> CallingThread {
        let thread = threads.withLock { threads in
            let thread = threads.idle.popLast() ?? CallingThread()
            threads.busy.append(thread)
            busyCount.store(threads.busy.count, ordering: .relaxed)
            return thread
        }
        let soon = nextCheck
        thread.state.withLock { state in
            if !state.pause.isUsable { state.pause = SemaphorePause() }
            state.isDraining = true
            state.nextCheck = soon
        }
        return thread
    }

    /// Records that the call on `thread` has ended; with `isReusable` none of its jobs are left.
    private static func end(_ thread: CallingThread, isReusable: Bool) {
        threads.withLock { threads in
            if let place = threads.busy.lastIndex(where: { $0 === thread }) {
                threads.busy.swapAt(place, threads.busy.count - 1)
                threads.busy.removeLast()
            }
            busyCount.store(threads.busy.count, ordering: .relaxed)
            // At most 16 are kept, which bounds the descriptors that their pauses hold.
            if isReusable, threads.idle.count < 16 { threads.idle.append(thread) }
        }
    }

    /// Runs `operation` as a task on the calling thread until it ends; nil when `limits` ends first.
    ///
    /// If a task calls this function, the operation is cancelled with that task, at most 10 ms later.
    package static func run<Value>(
        limits: BlockingCallTimeLimits?, _ operation: @escaping @Sendable () async -> sending Value
    ) -> sending Value? {
        let thread = begin()
        let outcome = ResultBox<Value>()
        let task = thread.start {
            outcome.put(await operation())
            thread.finish()
        }
        let hasEnded = thread.wait(for: task, limits)
        end(thread, isReusable: hasEnded)
        return hasEnded ? outcome.take() : nil
    }

    /// Starts `operation` on this thread; where possible, it begins before the function returns.
    private func start(_ operation: sending @escaping @isolated(any) () async -> Void) -> Task<Void, Never> {
        // The task of a cancelled caller must be cancelled before it begins, which an immediate task cannot be.
        if #available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *), !Task.isCancelled {
            return Task.immediate(executorPreference: self, operation: operation)
        }
        return Task(executorPreference: self, operation: operation)
    }

    /// Runs the jobs of `task` until it has ended; returns false when `limits` ends first.
    private func wait(for task: Task<Void, Never>, _ limits: BlockingCallTimeLimits?) -> Bool {
        if leaveAtOnce() { return true }
        let hasEnded = drain(task, limits)
        leave()
        return hasEnded
    }

    private func finish() {
        state.withLock { state in
            state.isDone = true
            return state.endWait()
        }?.wake()
    }

    /// Ends the use of the thread if its call has ended and no jobs remain; returns false otherwise.
    private func leaveAtOnce() -> Bool {
        state.withLock { state in
            guard state.isDone, state.jobs.isEmpty, state.sleepers.isUnused else { return false }
            state.isDone = false
            state.isDraining = false
            return true
        }
    }

    /// Moves the remaining jobs, and all later ones, to the global pool.
    private func leave() {
        let remaining = state.withLock { state in
            let remaining = state.jobs.takeAll()
            state.isDraining = false
            state.isDone = false
            state.isWaiting = false
            if !state.sleepers.isUnused { state.sleepers = SleepQueue() }
            return remaining
        }
        for job in remaining { globalConcurrentExecutor.enqueue(job) }
    }
}

// MARK: Jobs

extension CallingThread {
    /// Adds `job` to the queue, and wakes the thread if it is waiting.
    package func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        let (isDraining, pause) = state.withLock { state in
            guard state.isDraining else { return (false, nil as (any ThreadPause)?) }
            state.jobs.append(job)
            return (true, state.endWait())
        }
        if !isDraining { globalConcurrentExecutor.enqueue(job) }
        pause?.wake()
    }

    /// Runs jobs until the call has ended; returns false when `limits` ends first.
    private func drain(_ task: Task<Void, Never>, _ limits: BlockingCallTimeLimits?) -> Bool {
        var monitor = CallMonitor(over: task, limits)
        var turns: UInt8 = 0
        guard check(&monitor) else { return false }
        while true {
            switch next() {
            case .done: return true
            case .ring(let continuations): continuations.forEach { $0.resume(returning: true) }
            case .job(let job):
                job.runSynchronously(on: asUnownedTaskExecutor())
                turns &+= 1
                // Jobs that create jobs, or wait in place, must not keep the thread from the other events that it waits
                // for.
                if turns & 63 == 0 || isCheckDue, !processEvents(&monitor) { return false }
            case .idle(let pause, let deadline):
                guard check(&monitor) else { return false }
                // The flag is cleared first, because jobs that the wait itself adds need not wake the thread.
                pause.wait(until: monitor.next(before: deadline)) { state.withLock { $0.isWaiting = false } }
            }
        }
    }

    /// Processes the events that have occurred; returns false when the limits have ended.
    private func processEvents(_ monitor: inout CallMonitor) -> Bool {
        let (pause, due) = state.withLock { ($0.pause, $0.sleepers.takeDue()) }
        due.forEach { $0.resume(returning: true) }
        pause.processEvents()
        return check(&monitor)
    }

    private static var nextCheck: Deadline { Deadline.now.advanced(byNanoseconds: 10_000_000) }

    /// Checks the limits and the cancellation of the call; returns false when the limits have ended.
    private func check(_ monitor: inout CallMonitor) -> Bool {
        guard monitor.shouldContinue() else { return false }
        let soon = Self.nextCheck
        state.withLock { $0.nextCheck = soon }
        return true
    }

    /// Whether 10 ms have passed since the last check of the limits and of the cancellation.
    package var isCheckDue: Bool { state.withLock { $0.nextCheck }.hasPassed }

    private func next() -> Turn {
        state.withLock { state in
            if state.isDone { return .done }
            if let job = state.jobs.take() { return .job(job) }
            let due = state.sleepers.takeDue()
            guard due.isEmpty else { return .ring(due) }
            state.isWaiting = true
            return .idle(state.pause, until: state.sleepers.next)
        }
    }

    /// The pause with which the thread waits.
    package var pause: any ThreadPause { state.withLock { $0.pause } }

    /// Makes the thread wait with `pause` from now on.
    package func wait(with pause: any ThreadPause) {
        // A thread that is already waiting, while a job of its call runs elsewhere, must wait again with the new pause.
        state.withLock { state in
            let old = state.endWait()
            state.pause = pause
            return old
        }?.wake()
    }
}

// MARK: Waiting in place

extension CallingThread {
    /// Calls `wait` in the middle of a job if no other job could run meanwhile, and returns its result; otherwise
    /// false, and every 10 ms, so that the job ends and the call is checked.
    ///
    /// Call this function only from a job that this thread runs, not from a job of its call that runs elsewhere.
    package func waitInPlace(_ wait: () -> Bool) -> Bool {
        let now = Deadline.now
        let isAlone = state.withLock { state in
            guard state.jobs.isEmpty, state.sleepers.isEmpty, now < state.nextCheck else { return false }
            state.isWaiting = true
            return true
        }
        guard isAlone else { return false }
        defer { state.withLock { $0.isWaiting = false } }
        return wait()
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
        guard let thread = current else {
            return try await RequestError.wrapping(.other) {
                try await Task.sleep(until: deadline.instant, clock: .continuous)
            }
        }
        guard await thread.sleep(until: deadline) else { throw RequestError(.cancelled) }
    }

    /// Sleeps until `deadline` on this thread, and returns false when cancelled first.
    private func sleep(until deadline: Deadline) async -> Bool {
        let id = state.withLock { $0.sleepers.makeID() }
        return await withTaskCancellationHandler {
            // Resumed exactly once: at its time, by the cancellation, or here if it was not set.
            await withUnsafeContinuation { continuation in
                let (isSet, pause) = state.withLock { state in
                    let isSet = state.isDraining && state.sleepers.set(id, to: deadline, continuation)
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
