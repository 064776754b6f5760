public import Dispatch

// The calls of Requests 0.3.2, for code that was written for it. New code makes a `URLSessionExecutor` and a `Client`.

extension URLSession {
    /// Performs `request` and tells `completionHandler` on the main actor what came of it, as in Requests 0.3.2.
    ///
    /// ``perform(_:validateResponse:decodingQueue:callbackQueue:configureTask:completionHandler:)`` says more.
    ///
    /// - Parameters:
    ///   - request: What to perform.
    ///   - validateResponse: Whether the response is acceptable; nil accepts every response, whatever the status.
    ///   - decodingQueue: Where the decoder runs.
    ///   - configureTask: Called with the task before it starts, and before this returns.
    ///   - completionHandler: Called exactly once, and released on the main actor.
    /// - Returns: The call, to be watched or cancelled; nobody has to keep it.
    @discardableResult
    public func perform<R: RequestConvertible>(
        _ request: R, validateResponse: (@Sendable (HTTPURLResponse) throws -> Bool)? = nil,
        decodingQueue: DispatchQueue = .global(qos: .userInitiated), configureTask: (URLSessionTask) -> Void = { _ in },
        completionHandler: @escaping @MainActor (NetworkResult<R.Resource>) -> Void
    ) -> RequestTask {
        let call = SessionCall(request, on: self, validateResponse, decodingQueue, configureTask)
        return call.executor.perform(call.prepared, decodedBy: call.decoder) { completionHandler(call.result($0)) }
    }

    /// Performs `request` and tells `completionHandler` on `callbackQueue` what came of it, as in Requests 0.3.2.
    ///
    /// The call is made by a ``URLSessionExecutor`` with this session's configuration, kept for as long as this session
    /// lives, so that all its promises hold: this session's delegate, cookies, credentials and cache have no part in it,
    /// and invalidating this session does not end it. Redirects are followed by the request's policy, each with a task
    /// of its own that has the priority and the description of the first.
    ///
    /// The outcome is decided in this order: a request that cannot be converted fails, with neither request nor
    /// response in the error, and `configureTask` is not called; then what went wrong with the exchange, with the
    /// response when one had arrived; then `validateResponse`; then the decoder, which is not asked for `Void`. The
    /// request's own ``Requests/RequestConvertible/validator`` is not asked: a 404 whose body decodes is a success.
    ///
    /// - Parameters:
    ///   - request: What to perform; its providers run on the calling thread.
    ///   - validateResponse: Whether the response is acceptable; nil accepts every response. False is
    ///     `RequestError.Reason.unacceptableStatus`, what it throws the ``RequestTransportError/underlyingError``.
    ///   - decodingQueue: Where the decoder runs.
    ///   - callbackQueue: Where `completionHandler` runs; on a serial one, a `RequestTask.cancel()` before it wins.
    ///   - configureTask: Called with the task before it starts, and before this returns. Cancelling that task cancels
    ///     the call, unless it has been redirected meanwhile: what this returns always does.
    ///   - completionHandler: Called exactly once, and released on `callbackQueue`.
    /// - Returns: The call, to be watched or cancelled; nobody has to keep it.
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

/// One call of a session's, its first task made and configured.
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
        decoder = request.responseDecoder.running(on: QueueExecutor(queue: decodingQueue))
        let base = SessionExecutors.executor(for: session)
        prepared = Result { () throws(RequestError) in
            // The limit for the whole runs from here, because the task is made here.
            var prepared = Perform(try request.prepared(), now: .now).request
            prepared.validator = validate.map(Validator.init(acceptingFoundations:)) ?? .none
            return prepared
        }
        guard let prepared = try? prepared.get() else {
            executor = base
            return
        }
        let begun = BegunExecutor(prepared, on: base)
        begun.configureTask(configureTask)
        executor = begun
    }

    /// `result` as 0.3.2 has it.
    func result(_ result: Result<TypedResponse<R.Resource>, RequestError>) -> NetworkResult<R.Resource> {
        switch result {
        case .success(let response):
            guard let head = HTTPURLResponse(response.head) else {
                return .failure(failure(RequestError(.other, detail: "Foundation refuses the response")))
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

extension Validator {
    /// Asks a function of Foundation's response.
    fileprivate init(acceptingFoundations accept: @escaping @Sendable (HTTPURLResponse) throws -> Bool) {
        self.init { head in
            guard let response = HTTPURLResponse(head) else { return false }
            return try accept(response)
        }
    }
}

/// Runs jobs on a queue.
private final class QueueExecutor: TaskExecutor {
    private let queue: DispatchQueue

    init(queue: DispatchQueue) {
        self.queue = queue
    }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        queue.async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}
