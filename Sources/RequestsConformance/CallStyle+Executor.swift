import Dispatch
@_spi(Lock) import Requests

extension ExecutorUnderTest.CallStyle {
    /// Returns an executor that performs every exchange with `base`, in this style.
    func executor(over base: any RequestExecutor) -> any RequestExecutor {
        switch self {
        case .async: base
        case .callback: CallbackExecutor(base: base)
        case .blocking: BlockingExecutor(base: base)
        }
    }
}

/// An executor that makes its exchanges with a completion handler.
private struct CallbackExecutor: RequestExecutor {
    private static let queue = DispatchQueue(label: "conformance.completion")

    let base: any RequestExecutor

    func execute(_ request: PreparedRequest) async throws(RequestError) -> RawResponse {
        let completion = CompletionResult()
        let task = base.execute(request, on: Self.queue, startsImmediately: false, completion: completion.set)
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                completion.wait(continuation)
                task.resume()
            }
        } onCancel: {
            task.cancel()
        }
        return try completion.get()
    }
}

/// The result of a completion handler, and the continuation that waits for it.
///
/// A second completion resumes the continuation twice, which ends the process.
private final class CompletionResult: Sendable {
    // The result is read under the lock, because the thread sanitizer detects no order between resuming a continuation
    // before its task has suspended and the reads of the task.
    typealias Continuation = CheckedContinuation<Void, Never>

    private let state = Lock<(result: Result<RawResponse, RequestError>?, waiter: Continuation?)>((nil, nil))

    func set(_ result: Result<RawResponse, RequestError>) {
        let waiter = state.withLock { state in
            state.result = result
            return state.waiter
        }
        waiter?.resume()
    }

    func wait(_ continuation: Continuation) {
        let isComplete = state.withLock { state in
            state.waiter = continuation
            return state.result != nil
        }
        if isComplete { continuation.resume() }
    }

    /// Returns the result; call it after the continuation was resumed.
    func get() throws(RequestError) -> RawResponse {
        guard let result = state.withLock({ $0.result }) else {
            throw RequestError(.other, detail: "no completion")
        }
        return try result.get()
    }
}

/// An executor that makes its exchanges on blocked threads.
private struct BlockingExecutor: RequestExecutor {
    let base: any RequestExecutor

    func execute(_ request: PreparedRequest) async throws(RequestError) -> RawResponse {
        let result = await withTaskExecutorPreference(SeparateThreadsExecutor()) { block(request) }
        return try result.get()
    }

    private func block(_ request: PreparedRequest) -> Result<RawResponse, RequestError> {
        Result { () throws(RequestError) in try base.executeAndWait(request) }
    }
}

/// A task executor that runs each job on its own thread, which may be blocked.
private final class SeparateThreadsExecutor: TaskExecutor {
    func enqueue(_ job: consuming ExecutorJob) {
        // An escaping closure cannot capture the noncopyable job.
        let job = UnownedJob(job)
        DispatchQueue(label: "conformance.blocking").async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}
