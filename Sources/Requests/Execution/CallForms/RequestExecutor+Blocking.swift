extension RequestExecutor {
    /// Performs `request`, blocks the calling thread until the call ends, and returns the decoded value.
    ///
    /// The call has the same steps as ``perform(_:)``, and the calling thread runs them. It needs no other thread, so
    /// any number of threads can perform calls at the same time. If a task calls this function, the call still
    /// completes, but it occupies the thread of the task. See <doc:CallingFromSynchronousCode>.
    ///
    /// - Throws: ``RequestError`` with the request as sent and, if it arrived, the response.
    @available(*, noasync, message: "perform(_:) suspends instead of blocking the thread")
    public func performAndWait<R: RequestConvertible>(_ request: R) throws(RequestError) -> R.Resource {
        try request.blockingValue(from: self)
    }

    /// Performs `request`, blocks the calling thread until the call ends, and returns the value with its response.
    ///
    /// A call with a total limit (``Timeouts/total``) ends at most 3 s after that limit, even if a part of it ignores
    /// limits and cancellation, such as middleware that waits for the main actor on the main thread.
    ///
    /// - Throws: ``RequestError`` with the request as sent and, if it arrived, the response.
    @available(*, noasync, message: "response(for:) suspends instead of blocking the thread")
    public func responseAndWait<R: RequestConvertible>(
        for request: R
    ) throws(RequestError) -> TypedResponse<R.Resource> {
        try request.blockingResponse(from: self)
    }
}

extension RequestExecutor {
    /// Executes one exchange, blocks the calling thread until it ends, and returns the response.
    ///
    /// As with ``execute(_:)``, no redirect is followed, and nothing is validated or decoded.
    ///
    /// - Throws: ``RequestError`` with the request and, if it arrived, the response.
    @available(*, noasync, message: "execute(_:) suspends instead of blocking the thread")
    public func executeAndWait(_ request: PreparedRequest) throws(RequestError) -> RawResponse {
        try request.blocking(within: request.timeLeft) { () async throws(RequestError) in
            try await request.response(from: self)
        }
    }
}

extension Client {
    /// Performs `endpoint`, blocks the calling thread until the call ends, and returns the decoded value.
    ///
    /// - Throws: ``RequestError`` with the request as sent and, if it arrived, the response.
    @available(*, noasync, message: "perform(_:) suspends instead of blocking the thread")
    public func performAndWait<E: Endpoint>(_ endpoint: E) throws(RequestError) -> E.Resource where E.API == API {
        try endpoint.identifiedRequest(from: api).blockingValue(from: executor)
    }

    /// Performs `call`, blocks the calling thread until the call ends, and returns the decoded value.
    ///
    /// - Throws: ``RequestError`` with the request as sent and, if it arrived, the response.
    @available(*, noasync, message: "perform(_:) suspends instead of blocking the thread")
    public func performAndWait<Resource>(_ call: Call<API, Resource>) throws(RequestError) -> Resource {
        try call.request(from: api).blockingValue(from: executor)
    }

    /// Performs the request that `make` describes, blocks the calling thread until the call ends, and returns the
    /// decoded value.
    ///
    /// - Throws: ``RequestError`` with the request as sent and, if it arrived, the response.
    @available(*, noasync, message: "perform(_:) suspends instead of blocking the thread")
    public func performAndWait<Resource>(
        _ make: (API) -> Request<API, Resource>
    ) throws(RequestError) -> Resource {
        try make(api).blockingValue(from: executor)
    }
}

extension Client {
    /// Performs `endpoint`, blocks the calling thread until the call ends, and returns the value with its response.
    ///
    /// - Throws: ``RequestError`` with the request as sent and, if it arrived, the response.
    @available(*, noasync, message: "response(for:) suspends instead of blocking the thread")
    public func responseAndWait<E: Endpoint>(
        for endpoint: E
    ) throws(RequestError) -> TypedResponse<E.Resource> where E.API == API {
        try endpoint.identifiedRequest(from: api).blockingResponse(from: executor)
    }

    /// Performs `call`, blocks the calling thread until the call ends, and returns the value with its response.
    ///
    /// - Throws: ``RequestError`` with the request as sent and, if it arrived, the response.
    @available(*, noasync, message: "response(for:) suspends instead of blocking the thread")
    public func responseAndWait<Resource>(
        for call: Call<API, Resource>
    ) throws(RequestError) -> TypedResponse<Resource> {
        try call.request(from: api).blockingResponse(from: executor)
    }

    /// Performs the request that `make` describes, blocks the calling thread until the call ends, and returns the value
    /// with its response.
    ///
    /// - Throws: ``RequestError`` with the request as sent and, if it arrived, the response.
    @available(*, noasync, message: "response(for:) suspends instead of blocking the thread")
    public func responseAndWait<Resource>(
        for make: (API) -> Request<API, Resource>
    ) throws(RequestError) -> TypedResponse<Resource> {
        try make(api).blockingResponse(from: executor)
    }
}

// MARK: Waiting

extension RequestConvertible {
    func blockingResponse(from executor: any RequestExecutor) throws(RequestError) -> TypedResponse<Resource> {
        let request = try prepared()
        return try request.blocking(within: request.timeOfCall) { () async throws(RequestError) in
            try await typedResponse(to: request, from: executor)
        }
    }

    func blockingValue(from executor: any RequestExecutor) throws(RequestError) -> Resource {
        let request = try prepared()
        return try request.blocking(within: request.timeOfCall) { () async throws(RequestError) in
            try await value(of: request, from: executor)
        }
    }
}

extension PreparedRequest {
    var timeLeft: Duration? { limit == .distantFuture ? nil : limit.remaining }

    /// The time that a call has until its deadline or total limit; nil without either.
    var timeOfCall: Duration? {
        let (left, total) = (timeLeft, timeouts.total)
        return left.map { min($0, total ?? $0) } ?? total
    }

    /// Runs `operation` as a task on the calling thread, which blocks until it ends.
    ///
    /// - Throws: The error of `operation`, or ``RequestError/Reason/timedOut(_:)`` when it is still running 3 s after
    ///   `limit`.
    func blocking<Value>(
        within limit: Duration?, _ operation: @escaping @Sendable () async throws(RequestError) -> sending Value
    ) throws(RequestError) -> Value {
        let limits = limit.map(BlockingCallTimeLimits.init(after:))
        switch CallingThread.run(limits: limits, operation) {
        case .success(let value): return value
        case .failure(let error): throw (limits?.error(error) ?? error).adding(request: self)
        case nil: throw RequestError.abandoned.adding(request: self)
        }
    }
}

extension RequestError {
    fileprivate static var abandoned: RequestError {
        RequestError(
            .timedOut(.total),
            detail: "still running 3 s after the limit; it may be waiting for the main actor on this thread")
    }
}
