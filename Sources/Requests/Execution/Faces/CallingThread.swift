import Synchronization

/// A thread that waits for a call and runs its jobs meanwhile, so that the call needs no other thread.
///
/// It is the task executor of that call: middleware, child tasks and default actors run here; only what has an executor
/// of its own, such as the main actor, runs elsewhere. What it is asked to run when its call has ended goes to the pool.
package final class CallingThread: TaskExecutor {
    private struct State {
        var jobs: [UnownedJob] = []
        /// The first of the jobs that has not been run.
        var first = 0
        /// Whether the thread is here to run them.
        var isDraining = false
        var isDone = false
        /// Whether the thread waits, and has to be woken for a job.
        var isWaiting = false
        var pause: any ThreadPause = SemaphorePause()
        var alarms = Alarms()

        mutating func takeJob() -> UnownedJob? {
            guard first < jobs.count else { return nil }
            let job = jobs[first]
            first += 1
            if first == jobs.count {
                jobs.removeAll(keepingCapacity: true)
                first = 0
            } else if first >= 64 {
                jobs.removeFirst(first)
                first = 0
            }
            return job
        }

        /// Ends the thread's wait, if it waits: what is returned has to be woken.
        mutating func endWait() -> (any ThreadPause)? {
            guard isWaiting else { return nil }
            isWaiting = false
            return pause
        }
    }

    private enum Turn {
        case job(UnownedJob)
        case ring([Alarms.Continuation])
        case idle(any ThreadPause, until: Moment?)
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
    /// How many are busy: in a program without blocking calls, that is all anyone asks.
    private static let busyCount = Atomic(0)

    /// The thread that runs the current task because it waits for it; nil in every other task.
    package static var current: CallingThread? {
        guard busyCount.load(ordering: .relaxed) > 0,
            let executor = withUnsafeCurrentTask(body: { $0?.unownedTaskExecutor })
        else { return nil }
        return threads.withLock { $0.busy.first { $0.asUnownedTaskExecutor() == executor } }
    }

    /// A thread to make a call on, one that has made one before if there is.
    private static func begin() -> CallingThread {
        busyCount.add(1, ordering: .relaxed)
        let used = threads.withLock { $0.idle.popLast() }
        let thread = used.flatMap { $0.pause.isUsable ? $0 : nil } ?? CallingThread()
        threads.withLock { $0.busy.append(thread) }
        return thread
    }

    /// The call on `thread` is over; with `isReusable` no job of it is left.
    private static func end(_ thread: CallingThread, isReusable: Bool) {
        threads.withLock { threads in
            threads.busy.removeAll { $0 === thread }
            if isReusable, threads.idle.count < 16 { threads.idle.append(thread) }
        }
        busyCount.subtract(1, ordering: .relaxed)
    }

    /// Runs `operation` as a task on the calling thread until it has ended; nil when `patience` was over before that.
    ///
    /// Called from inside a task, it is cancelled with that task, at the latest 10 ms later.
    static func run<Value>(
        patience: CallPatience?, _ operation: @escaping @Sendable () async -> sending Value
    ) -> sending Value? {
        let thread = begin()
        let outcome = Handover<Value>()
        thread.state.withLock { $0.isDraining = true }
        let task = Task(executorPreference: thread) {
            outcome.put(await operation())
            thread.finish()
        }
        let hasEnded = thread.drain(task, patience)
        thread.leave()
        end(thread, isReusable: hasEnded)
        return hasEnded ? outcome.take() : nil
    }

    private func finish() {
        state.withLock { state in
            state.isDone = true
            return state.endWait()
        }?.wake()
    }

    /// Hands what still comes to the pool.
    private func leave() {
        let rest = state.withLock { state in
            let rest = state.first == state.jobs.count ? [] : Array(state.jobs[state.first...])
            state.jobs.removeAll(keepingCapacity: true)
            state.first = 0
            state.isDraining = false
            state.isDone = false
            state.isWaiting = false
            if !state.alarms.isUnused { state.alarms = Alarms() }
            return rest
        }
        for job in rest { globalConcurrentExecutor.enqueue(job) }
    }
}

// MARK: Jobs

extension CallingThread {
    /// Runs `job` when its turn comes.
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

    /// Runs jobs until the call has ended; false when patience was over before.
    private func drain(_ task: Task<Void, Never>, _ patience: CallPatience?) -> Bool {
        var watch = Watch(over: task, patience)
        var turns: UInt8 = 0
        guard watch.goesOn() else { return false }
        while true {
            switch next() {
            case .done: return true
            case .ring(let continuations): continuations.forEach { $0.resume(returning: true) }
            case .job(let job):
                job.runSynchronously(on: asUnownedTaskExecutor())
                turns &+= 1
                // Jobs that beget jobs must not keep the thread from what else it waits for.
                if turns & 63 == 0, !look(&watch) { return false }
            case .idle(let pause, let moment):
                guard watch.goesOn() else { return false }
                // Jobs that come of the wait itself need not wake anyone.
                pause.wait(until: watch.next(before: moment)) { state.withLock { $0.isWaiting = false } }
            }
        }
    }

    /// Takes note of what has come meanwhile; false when patience is over.
    private func look(_ watch: inout Watch) -> Bool {
        let (pause, due) = state.withLock { ($0.pause, $0.alarms.takeDue()) }
        due.forEach { $0.resume(returning: true) }
        pause.look()
        return watch.goesOn()
    }

    private func next() -> Turn {
        state.withLock { state in
            if state.isDone { return .done }
            if let job = state.takeJob() { return .job(job) }
            let due = state.alarms.takeDue()
            guard due.isEmpty else { return .ring(due) }
            state.isWaiting = true
            return .idle(state.pause, until: state.alarms.next)
        }
    }

    /// What the thread waits with.
    package var pause: any ThreadPause { state.withLock { $0.pause } }

    /// Has the thread wait with `pause` from now on.
    package func wait(with pause: any ThreadPause) {
        // A thread that waits already, while a job of its call runs elsewhere, waits anew.
        state.withLock { state in
            let old = state.endWait()
            state.pause = pause
            return old
        }?.wake()
    }
}

// MARK: Waiting in place

extension CallingThread {
    /// Waits by `wait` in the middle of a job, when nothing but that job could run meanwhile; what `wait` returns, else
    /// false.
    ///
    /// To be called by a job that this thread runs, not by one of its call that runs elsewhere.
    package func waitInPlace(_ wait: () -> Bool) -> Bool {
        let isAlone = state.withLock { state in
            guard state.first == state.jobs.count, state.alarms.isEmpty else { return false }
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
    /// Sleeps until `instant`; in a blocking call without any other thread, which a pool that is all blocked cannot lend.
    ///
    /// - Throws: ``RequestError/Reason/cancelled``.
    package static func sleep(until instant: ContinuousClock.Instant) async throws(RequestError) {
        guard let thread = current else {
            return try await RequestError.wrapping(.other) { try await Task.sleep(until: instant, clock: .continuous) }
        }
        guard await thread.sleep(until: instant) else { throw RequestError(.cancelled) }
    }

    /// Whether it was slept that long.
    private func sleep(until instant: ContinuousClock.Instant) async -> Bool {
        let id = state.withLock { $0.alarms.makeID() }
        return await withTaskCancellationHandler {
            await withUnsafeContinuation { continuation in
                let (isSet, pause) = state.withLock { state in
                    let isSet = state.isDraining && state.alarms.set(id, to: Moment(instant), continuation)
                    return (isSet, state.endWait())
                }
                pause?.wake()
                if !isSet { continuation.resume(returning: false) }
            }
        } onCancel: {
            state.withLock { $0.alarms.cancel(id) }?.resume(returning: false)
        }
    }
}
