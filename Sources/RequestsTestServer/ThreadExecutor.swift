import Dispatch
@_spi(Lock) import Requests
import RequestsPOSIX

/// An executor that runs tasks on the thread that waits for them, so that a server does not depend on the cooperative
/// pool.
final class ThreadExecutor: TaskExecutor {
    private struct State {
        var jobs: [UnownedJob] = []
        /// Whether a thread runs the jobs; otherwise the global executor runs them.
        var isRunning = false
        /// Whether the thread is waiting for the next job.
        var isWaiting = false
    }

    private let state = Lock(State())
    private let arrived = DispatchSemaphore(value: 0)

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        let (isRunning, mustWake) = state.withLock { state in
            if state.isRunning { state.jobs.append(job) }
            defer { state.isWaiting = false }
            return (state.isRunning, state.isWaiting)
        }
        if mustWake { arrived.signal() }
        if !isRunning { globalConcurrentExecutor.enqueue(job) }
    }

    /// Runs `operation` as a task on this thread, and returns when it has ended.
    ///
    /// - Parameters:
    ///   - onWait: A function that is called before the thread waits because the task is suspended.
    ///   - isAbandoned: Whether the result is no longer needed; the task is then cancelled. Checked every 50 ms
    ///     while the task is suspended.
    ///   - onStart: A function that receives the function that cancels the task, before the thread waits.
    ///   - operation: The operation.
    /// - Returns: The result of `operation`.
    /// - Throws: The error of `operation`.
    func run<Value: Sendable>(
        onWait: () -> Void, isAbandoned: () -> Bool, onStart: (@escaping @Sendable () -> Void) -> Void,
        _ operation: @escaping @Sendable () async throws(RequestError) -> Value
    ) throws(RequestError) -> Value {
        state.withLock { $0.isRunning = true }
        defer { passRemainingJobs() }
        let outcome = Outcome<Value>()
        let task = CallingThread.startTask(on: self) {
            do throws(RequestError) {
                outcome.set(.success(try await operation()))
            } catch {
                outcome.set(.failure(error))
            }
        }
        onStart { task.cancel() }
        while true {
            if let result = outcome.result { return try result.get() }
            if let job = nextJob() {
                job.runSynchronously(on: asUnownedTaskExecutor())
                continue
            }
            onWait()
            // Unless a job has arrived meanwhile.
            let mustWait = state.withLock { state in
                state.isWaiting = state.jobs.isEmpty
                return state.isWaiting
            }
            guard mustWait else { continue }
            // Waits in slices: one wait for jobs and the socket would need another descriptor for each connection.
            while arrived.wait(timeout: task.isCancelled ? .distantFuture : .now() + .milliseconds(50)) == .timedOut {
                if isAbandoned() { task.cancel() }
            }
        }
    }

    /// Passes remaining and future jobs to the global executor, because the thread has other work.
    private func passRemainingJobs() {
        let remaining = state.withLock { state in
            state.isRunning = false
            defer { state.jobs.removeAll(keepingCapacity: true) }
            return state.jobs
        }
        for job in remaining { globalConcurrentExecutor.enqueue(job) }
    }

    private func nextJob() -> UnownedJob? {
        state.withLock { $0.jobs.isEmpty ? nil : $0.jobs.removeFirst() }
    }
}

private final class Outcome<Value: Sendable>: Sendable {
    private let value = Lock<Result<Value, RequestError>?>(nil)

    var result: Result<Value, RequestError>? { value.withLock { $0 } }

    func set(_ result: Result<Value, RequestError>) {
        value.withLock { $0 = result }
    }
}
