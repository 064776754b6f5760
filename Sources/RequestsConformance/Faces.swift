import Dispatch
@_spi(Lock) import Requests

extension ExecutorUnderTest.Face {
    /// An executor that performs every exchange by `base`, through this face.
    func executor(over base: any RequestExecutor) -> any RequestExecutor {
        switch self {
        case .async: base
        case .callback: CallbackExecutor(base: base)
        case .blocking: BlockingExecutor(base: base)
        }
    }
}

/// Makes exchanges with a completion.
private struct CallbackExecutor: RequestExecutor {
    private static let queue = DispatchQueue(label: "conformance.completion")

    let base: any RequestExecutor

    func execute(_ request: PreparedRequest) async throws(RequestError) -> RawResponse {
        let outcome = Outcome()
        let task = base.execute(request, on: Self.queue, start: false, completion: outcome.set)
        let result = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                outcome.wait(continuation)
                task.resume()
            }
        } onCancel: {
            task.cancel()
        }
        return try result.get()
    }
}

/// Where a completion meets who waits for it; a second completion is an error of the continuation.
private final class Outcome: Sendable {
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

/// Makes exchanges on threads that are blocked meanwhile.
private struct BlockingExecutor: RequestExecutor {
    let base: any RequestExecutor

    func execute(_ request: PreparedRequest) async throws(RequestError) -> RawResponse {
        let result = await withTaskExecutorPreference(OwnThreads()) { block(request) }
        return try result.get()
    }

    private func block(_ request: PreparedRequest) -> Result<RawResponse, RequestError> {
        Result { () throws(RequestError) in try base.executeAndWait(request) }
    }
}

/// Runs every job on a thread that may be blocked.
private final class OwnThreads: TaskExecutor {
    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        DispatchQueue(label: "conformance.blocking").async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}
