import Dispatch
@_spi(Lock) import Requests
import RequestsPOSIX

/// Runs tasks on the thread that waits for them, so that a server needs nothing of the cooperative pool.
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

    /// Runs `operation` as a task on this thread until it has ended.
    ///
    /// `onStart` is given the function that cancels the task, before the task begins.
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
            arrived.wait()
            next()?.runSynchronously(on: asUnownedTaskExecutor())
        }
    }

    /// Hands what still comes to the pool: the thread ends.
    func close() {
        let rest = state.withLock { state in
            state.isClosed = true
            defer { state.jobs = [] }
            return state.jobs
        }
        for job in rest { globalConcurrentExecutor.enqueue(job) }
    }

    private func next() -> UnownedJob? {
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
