import Dispatch
@_spi(Lock) import Requests

extension ExecutorUnderTest.CallStyle {
    /// Returns an executor that performs every exchange with `base`, in this style of call.
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
        let result = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                completion.wait(continuation)
                task.resume()
            }
        } onCancel: {
            task.cancel()
        }
        return try result.get()
    }
}

/// The result of a completion handler, and the continuation that waits for it.
///
/// A second completion resumes the continuation twice, which ends the process.
private final class CompletionResult: Sendable {
    typealias Continuation = CheckedContinuation<Result<RawResponse, RequestError>, Never>

    private let state = Lock<(result: Result<RawResponse, RequestError>?, waiter: Continuation?)>((nil, nil))

    func set(_ result: Result<RawResponse, RequestError>) {
        let waiter = state.withLock { state in
            state.result = result
            return state.waiter
        }
        waiter?.resume(returning: result)
    }

    func wait(_ continuation: Continuation) {
        let result = state.withLock { state in
            state.waiter = continuation
            return state.result
        }
        if let result { continuation.resume(returning: result) }
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
