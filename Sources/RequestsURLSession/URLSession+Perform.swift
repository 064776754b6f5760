public import Dispatch

// The calls of Requests 0.3.2, for existing code. New code uses a `URLSessionExecutor` and a `Client`.

extension URLSession {
    /// Performs `request` and passes the result to `completionHandler` on the main actor, as in Requests 0.3.2.
    ///
    /// For the rules, see ``perform(_:validateResponse:decodingQueue:callbackQueue:configureTask:completionHandler:)``.
    ///
    /// - Parameters:
    ///   - request: The request to perform.
    ///   - validateResponse: Whether the response is acceptable. With nil, every response is, whatever its status.
    ///   - decodingQueue: The queue on which the decoder runs.
    ///   - configureTask: Called with the task before it starts, and before this function returns; not called if there
    ///     is no task.
    ///   - completionHandler: Called exactly once, and released on the main actor.
    /// - Returns: The call, which you can observe or cancel. You do not need to keep it.
    @discardableResult
    public func perform<R: RequestConvertible>(
        _ request: R, validateResponse: (@Sendable (HTTPURLResponse) throws -> Bool)? = nil,
        decodingQueue: DispatchQueue = .global(qos: .userInitiated), configureTask: (URLSessionTask) -> Void = { _ in },
        completionHandler: @escaping @MainActor (NetworkResult<R.Resource>) -> Void
    ) -> RequestTask {
        let call = SessionCall(request, on: self, validateResponse, decodingQueue, configureTask)
        return call.executor.perform(call.prepared, decodedBy: call.decoder) { completionHandler(call.result($0)) }
    }

    /// Performs `request` and passes the result to `completionHandler` on `callbackQueue`, as in Requests 0.3.2.
    ///
    /// A ``URLSessionExecutor`` with this session's configuration makes the call, and gives it all of its guarantees.
    /// The executor is kept for the lifetime of this session. The session's delegate, cookies, credentials and cache
    /// are not used, and invalidating the session does not end the call. Redirects are followed according to the
    /// request's policy. Each one has its own task, with the priority and the description of the first.
    ///
    /// The function returns when its first task exists. On Linux, other transfers can delay that (decision 0059). If a
    /// time limit of the request passes before, there is no task, and the call fails with `timedOut`.
    ///
    /// The result is determined in this order:
    ///
    /// 1. A request that cannot be converted fails, without a task. The error has no request and no response.
    /// 2. A failed exchange fails the call, with the response if one arrived.
    /// 3. `validateResponse` accepts or rejects the response.
    /// 4. The decoder makes the value. It does not run for `Void`.
    ///
    /// The request's own ``/Requests/RequestConvertible/validator`` is not used: a 404 whose body decodes is a success.
    ///
    /// - Parameters:
    ///   - request: The request to perform. Its body provider runs on the calling thread.
    ///   - validateResponse: Whether the response is acceptable. With nil, every response is. False results in
    ///     `RequestError.Reason.unacceptableStatus`; an error that it throws is the
    ///     ``RequestTransportError/underlyingError``.
    ///   - decodingQueue: The queue on which the decoder runs.
    ///   - callbackQueue: The queue on which `completionHandler` runs. If it is serial, a `RequestTask.cancel()` that
    ///     runs on it before the handler determines the result.
    ///   - configureTask: Called with the task before it starts, and before this function returns; not called if there
    ///     is no task. Cancelling that task cancels the call unless it has been redirected; cancelling the returned
    ///     call always does.
    ///   - completionHandler: Called exactly once, and released on `callbackQueue`.
    /// - Returns: The call, which you can observe or cancel. You do not need to keep it.
    @discardableResult
    public func perform<R: RequestConvertible>(
        _ request: R, validateResponse: (@Sendable (HTTPURLResponse) throws -> Bool)? = nil,
        decodingQueue: DispatchQueue = .global(qos: .userInitiated), callbackQueue: DispatchQueue,
        configureTask: (URLSessionTask) -> Void = { _ in },
        completionHandler: @escaping @Sendable (NetworkResult<R.Resource>) -> Void
    ) -> RequestTask {
        let call = SessionCall(request, on: self, validateResponse, decodingQueue, configureTask)
        return call.executor.perform(call.prepared, decodedBy: call.decoder, on: callbackQueue) { result in
            completionHandler(call.result(result))
        }
    }
}

/// One call of a session; its first task has been created and configured.
private struct SessionCall<R: RequestConvertible>: Sendable {
    let executor: any RequestExecutor
    let decoder: ResponseDecoder<R.Resource>
    let prepared: Result<PreparedRequest, RequestError>
    private let request: R

    init(
        _ request: R, on session: URLSession, _ validate: (@Sendable (HTTPURLResponse) throws -> Bool)?,
        _ decodingQueue: DispatchQueue, _ configureTask: (URLSessionTask) -> Void
    ) {
        self.request = request
        decoder = request.responseDecoder.running(
            on: DispatchQueueTaskExecutor(queue: decodingQueue), decodingJSONWith: { request.makeJSONDecoder() })
        let base = SessionExecutors.executor(for: session)
        prepared = Result { () throws(RequestError) in
            // The total limit starts here, because the task is created here.
            var prepared = CallState(try request.prepared(), now: .now).request
            prepared.validator = validate.map(ResponseValidator.init(acceptingFoundationResponse:)) ?? .none
            return prepared
        }
        guard let prepared = try? prepared.get() else {
            executor = base
            return
        }
        let executor = FirstTaskExecutor(prepared, on: base)
        executor.configureTask(with: configureTask)
        self.executor = executor
    }

    /// Returns `result` in the form of Requests 0.3.2.
    func result(_ result: Result<TypedResponse<R.Resource>, RequestError>) -> NetworkResult<R.Resource> {
        switch result {
        case .success(let response):
            guard let head = HTTPURLResponse(response.head) else {
                return .failure(failure(RequestError(.other, detail: "could not make an HTTPURLResponse")))
            }
            return .success((head, response.value))
        case .failure(let error): return .failure(failure(error))
        }
    }

    private func failure(_ error: RequestError) -> RequestTransportError {
        switch prepared {
        case .success(let prepared): RequestTransportError(error, of: prepared)
        case .failure(let cause): RequestTransportError(error, converting: request.conversionError(cause))
        }
    }
}

extension ResponseValidator {
    /// Creates a validator from a function of Foundation's response; it rejects a response that Foundation cannot
    /// represent.
    fileprivate init(acceptingFoundationResponse accept: @escaping @Sendable (HTTPURLResponse) throws -> Bool) {
        self.init { head in
            guard let response = HTTPURLResponse(head) else { return false }
            return try accept(response)
        }
    }
}

/// A task executor that runs its jobs on a dispatch queue.
private final class DispatchQueueTaskExecutor: TaskExecutor {
    private let queue: DispatchQueue

    init(queue: DispatchQueue) {
        self.queue = queue
    }

    func enqueue(_ job: consuming ExecutorJob) {
        // An escaping closure cannot capture the noncopyable job.
        let job = UnownedJob(job)
        queue.async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}
