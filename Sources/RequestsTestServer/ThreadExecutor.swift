import Dispatch
@_spi(Lock) import Requests
import RequestsPOSIX

/// Runs tasks on the thread that waits for them, so that a server does not need the cooperative pool.
final class ThreadExecutor: TaskExecutor {
    private struct State {
        var jobs: [UnownedJob] = []
        var isClosed = false
    }

    private let state = Lock(State())
    private let arrived = DispatchSemaphore(value: 0)

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        let isClosed = state.withLock { state in
            if !state.isClosed { state.jobs.append(job) }
            return state.isClosed
        }
        if isClosed { globalConcurrentExecutor.enqueue(job) } else { arrived.signal() }
    }

    /// Runs `operation` as a task on this thread, and returns when it has ended.
    ///
    /// `onStart` receives the function that cancels the task, before the task begins.
    func run<Value: Sendable>(
        onStart: (@escaping @Sendable () -> Void) -> Void,
        _ operation: @escaping @Sendable () async throws(RequestError) -> Value
    ) throws(RequestError) -> Value {
        let outcome = Outcome<Value>()
        let task = Task(executorPreference: self) {
            do throws(RequestError) {
                outcome.set(.success(try await operation()))
            } catch {
                outcome.set(.failure(error))
            }
        }
        onStart { task.cancel() }
        while true {
            if let result = outcome.result { return try result.get() }
            // Signalled for each job; the task itself runs only here, so its end needs no signal.
            arrived.wait()
            nextJob()?.runSynchronously(on: asUnownedTaskExecutor())
        }
    }

    /// Passes remaining and future jobs to the global executor, because the thread is ending.
    func close() {
        let remaining = state.withLock { state in
            state.isClosed = true
            defer { state.jobs = [] }
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
