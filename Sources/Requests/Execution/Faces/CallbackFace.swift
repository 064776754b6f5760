public import Dispatch

extension RequestExecutor {
    /// Performs `request` and tells `completion` on the main actor what came of it.
    ///
    /// The same pipeline as ``perform(_:)``. A cancellation is a failure too, which ``RequestError/isCancellation`` tells.
    ///
    /// - Parameters:
    ///   - request: What to perform.
    ///   - start: Whether to start at once; otherwise nothing happens before ``RequestTask/resume()``.
    ///   - completion: Called exactly once, and released on the main actor.
    /// - Returns: The call, to be watched or cancelled; nobody has to keep it.
    @discardableResult
    public func perform<R: RequestConvertible>(
        _ request: R, start: Bool = true,
        completion: @escaping @MainActor (Result<TypedResponse<R.Resource>, RequestError>) -> Void
    ) -> RequestTask {
        call({ request }, start, Completion(.onMainActor(completion)))
    }

    /// Performs `request` and tells `completion` on `queue` what came of it.
    ///
    /// The same pipeline as ``perform(_:)``. A cancellation is a failure too, which ``RequestError/isCancellation`` tells.
    ///
    /// - Parameters:
    ///   - request: What to perform.
    ///   - queue: Where the call completes; on a serial one, a ``RequestTask/cancel()`` before the completion wins.
    ///   - start: Whether to start at once; otherwise nothing happens before ``RequestTask/resume()``.
    ///   - completion: Called exactly once, and released on `queue`.
    /// - Returns: The call, to be watched or cancelled; nobody has to keep it.
    @discardableResult
    public func perform<R: RequestConvertible>(
        _ request: R, on queue: DispatchQueue, start: Bool = true,
        completion: @escaping @Sendable (Result<TypedResponse<R.Resource>, RequestError>) -> Void
    ) -> RequestTask {
        call({ request }, start, Completion(.on(queue, completion)))
    }

    /// Executes one exchange and tells `completion` on `queue` what came of it.
    ///
    /// What ``execute(_:)`` does: no redirect is followed, nothing is validated or decoded.
    @discardableResult
    public func execute(
        _ request: PreparedRequest, on queue: DispatchQueue, start: Bool = true,
        completion: @escaping @Sendable (Result<RawResponse, RequestError>) -> Void
    ) -> RequestTask {
        RequestTask.call(start, Completion(.on(queue, completion))) { task in
            var request = request
            task.watchProgress(of: &request)
            task.execute(request, attempt: 1)
            return await outcome { () async throws(RequestError) in try await request.response(from: self) }
        }
    }

    /// Performs what has been prepared, or tells what kept it from being.
    package func perform<Resource>(
        _ request: Result<PreparedRequest, RequestError>, decodedBy decoder: ResponseDecoder<Resource>,
        completion: @escaping @MainActor (Result<TypedResponse<Resource>, RequestError>) -> Void
    ) -> RequestTask {
        RequestTask.call(true, Completion(.onMainActor(completion))) { task in
            await outcome { () async throws(RequestError) in
                try await request.get().typedResponse(from: self, by: decoder, telling: task)
            }
        }
    }

    /// Performs what has been prepared, or tells what kept it from being.
    package func perform<Resource>(
        _ request: Result<PreparedRequest, RequestError>, decodedBy decoder: ResponseDecoder<Resource>,
        on queue: DispatchQueue,
        completion: @escaping @Sendable (Result<TypedResponse<Resource>, RequestError>) -> Void
    ) -> RequestTask {
        RequestTask.call(true, Completion(.on(queue, completion))) { task in
            await outcome { () async throws(RequestError) in
                try await request.get().typedResponse(from: self, by: decoder, telling: task)
            }
        }
    }

    /// The call of a request that is described, prepared and performed off the caller's actor.
    fileprivate func call<R: RequestConvertible>(
        _ describe: @escaping @Sendable () -> R, _ start: Bool, _ completion: Completion<TypedResponse<R.Resource>>
    ) -> RequestTask {
        RequestTask.call(start, completion) { task in
            await outcome { () async throws(RequestError) in
                let request = describe()
                return try await request.prepared().typedResponse(
                    from: self, by: request.responseDecoder, telling: task)
            }
        }
    }
}

extension PreparedRequest {
    fileprivate func typedResponse<Resource>(
        from executor: any RequestExecutor, by decoder: ResponseDecoder<Resource>, telling task: RequestTask
    ) async throws(RequestError) -> TypedResponse<Resource> {
        let accepted = try await accepted(by: executor, telling: task)
        return accepted.typed(try await accepted.value(by: decoder))
    }
}

extension RequestTask {
    fileprivate static func call<Value>(
        _ isStarting: Bool, _ completion: Completion<Value>,
        _ work: @escaping @Sendable (RequestTask) async -> sending Result<Value, RequestError>
    ) -> RequestTask {
        let task = RequestTask(completion: completion) { task in
            Task {
                completion.fulfil(await work(task))
                task.end()
            }
        }
        if isStarting { task.resume() }
        return task
    }
}

extension Client {
    /// Performs `endpoint` and tells `completion` on the main actor what came of it.
    ///
    /// With `start: false` nothing happens before ``RequestTask/resume()``.
    @discardableResult
    public func perform<E: Endpoint>(
        _ endpoint: E, start: Bool = true,
        completion: @escaping @MainActor (Result<TypedResponse<E.Resource>, RequestError>) -> Void
    ) -> RequestTask where E.API == API {
        executor.call({ endpoint.request(from: api) }, start, Completion(.onMainActor(completion)))
    }

    /// Performs `call` and tells `completion` on the main actor what came of it.
    ///
    /// With `start: false` nothing happens before ``RequestTask/resume()``.
    @discardableResult
    public func perform<Resource>(
        _ call: Call<API, Resource>, start: Bool = true,
        completion: @escaping @MainActor (Result<TypedResponse<Resource>, RequestError>) -> Void
    ) -> RequestTask {
        executor.call({ call.request(from: api) }, start, Completion(.onMainActor(completion)))
    }

    /// Performs `request` and tells `completion` on the main actor what came of it.
    ///
    /// With `start: false` nothing happens before ``RequestTask/resume()``.
    @discardableResult
    public func perform<Resource>(
        _ request: Request<API, Resource>, start: Bool = true,
        completion: @escaping @MainActor (Result<TypedResponse<Resource>, RequestError>) -> Void
    ) -> RequestTask {
        executor.call({ request }, start, Completion(.onMainActor(completion)))
    }

    /// Performs what `make` describes and tells `completion` on the main actor what came of it.
    ///
    /// With `start: false` nothing happens before ``RequestTask/resume()``.
    @discardableResult
    public func perform<Resource>(
        _ make: @escaping @Sendable (API) -> Request<API, Resource>, start: Bool = true,
        completion: @escaping @MainActor (Result<TypedResponse<Resource>, RequestError>) -> Void
    ) -> RequestTask {
        executor.call({ make(api) }, start, Completion(.onMainActor(completion)))
    }
}

extension Client {
    /// Performs `endpoint` and tells `completion` on `queue` what came of it.
    ///
    /// With `start: false` nothing happens before ``RequestTask/resume()``.
    @discardableResult
    public func perform<E: Endpoint>(
        _ endpoint: E, on queue: DispatchQueue, start: Bool = true,
        completion: @escaping @Sendable (Result<TypedResponse<E.Resource>, RequestError>) -> Void
    ) -> RequestTask where E.API == API {
        executor.call({ endpoint.request(from: api) }, start, Completion(.on(queue, completion)))
    }

    /// Performs `call` and tells `completion` on `queue` what came of it.
    ///
    /// With `start: false` nothing happens before ``RequestTask/resume()``.
    @discardableResult
    public func perform<Resource>(
        _ call: Call<API, Resource>, on queue: DispatchQueue, start: Bool = true,
        completion: @escaping @Sendable (Result<TypedResponse<Resource>, RequestError>) -> Void
    ) -> RequestTask {
        executor.call({ call.request(from: api) }, start, Completion(.on(queue, completion)))
    }

    /// Performs `request` and tells `completion` on `queue` what came of it.
    ///
    /// With `start: false` nothing happens before ``RequestTask/resume()``.
    @discardableResult
    public func perform<Resource>(
        _ request: Request<API, Resource>, on queue: DispatchQueue, start: Bool = true,
        completion: @escaping @Sendable (Result<TypedResponse<Resource>, RequestError>) -> Void
    ) -> RequestTask {
        executor.call({ request }, start, Completion(.on(queue, completion)))
    }

    /// Performs what `make` describes and tells `completion` on `queue` what came of it.
    ///
    /// With `start: false` nothing happens before ``RequestTask/resume()``.
    @discardableResult
    public func perform<Resource>(
        _ make: @escaping @Sendable (API) -> Request<API, Resource>, on queue: DispatchQueue, start: Bool = true,
        completion: @escaping @Sendable (Result<TypedResponse<Resource>, RequestError>) -> Void
    ) -> RequestTask {
        executor.call({ make(api) }, start, Completion(.on(queue, completion)))
    }
}
