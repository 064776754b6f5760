public import Dispatch

extension RequestExecutor {
    /// Performs `request` and passes the result to `completion` on the main actor.
    ///
    /// The call has the same steps as ``perform(_:)``. A cancelled call fails with an error whose
    /// ``RequestError/isCancellation`` is true.
    ///
    /// - Parameters:
    ///   - request: The request to perform.
    ///   - start: Whether to start the call at once; otherwise ``RequestTask/resume()`` starts it.
    ///   - completion: The completion handler, which is called exactly once and released on the main actor.
    /// - Returns: The call, which you can observe or cancel. You do not need to keep it.
    @discardableResult
    public func perform<R: RequestConvertible>(
        _ request: R, startsImmediately start: Bool = true,
        completion: @escaping @MainActor (Result<TypedResponse<R.Resource>, RequestError>) -> Void
    ) -> RequestTask {
        call({ request }, start, Completion(.onMainActor(completion)))
    }

    /// Performs `request` and passes the result to `completion` on `queue`.
    ///
    /// The call has the same steps as ``perform(_:)``. A cancelled call fails with an error whose
    /// ``RequestError/isCancellation`` is true.
    ///
    /// - Parameters:
    ///   - request: The request to perform.
    ///   - queue: The queue on which the call completes. If it is serial, a ``RequestTask/cancel()`` on it before the
    ///     completion handler runs always results in a cancellation.
    ///   - start: Whether to start the call at once; otherwise ``RequestTask/resume()`` starts it.
    ///   - completion: The completion handler, which is called exactly once and released on `queue`.
    /// - Returns: The call, which you can observe or cancel. You do not need to keep it.
    @discardableResult
    public func perform<R: RequestConvertible>(
        _ request: R, on queue: DispatchQueue, startsImmediately start: Bool = true,
        completion: @escaping @Sendable (Result<TypedResponse<R.Resource>, RequestError>) -> Void
    ) -> RequestTask {
        call({ request }, start, Completion(.on(queue, completion)))
    }

    /// Executes one exchange and passes the result to `completion` on `queue`.
    ///
    /// As with ``execute(_:)``, no redirect is followed, and nothing is validated or decoded. With
    /// `startsImmediately: false` the exchange starts with ``RequestTask/resume()``.
    @discardableResult
    public func execute(
        _ request: PreparedRequest, on queue: DispatchQueue, startsImmediately start: Bool = true,
        completion: @escaping @Sendable (Result<RawResponse, RequestError>) -> Void
    ) -> RequestTask {
        RequestTask.call(start, Completion(.on(queue, completion))) { task in
            var request = request
            task.watchProgress(of: &request)
            task.execute(request, attempt: 1)
            return await outcome { () async throws(RequestError) in try await request.response(from: self) }
        }
    }

    /// Performs a prepared request, or passes the error of preparing it to `completion`.
    package func perform<Resource>(
        _ request: Result<PreparedRequest, RequestError>, decodedBy decoder: ResponseDecoder<Resource>,
        completion: @escaping @MainActor (Result<TypedResponse<Resource>, RequestError>) -> Void
    ) -> RequestTask {
        RequestTask.call(true, Completion(.onMainActor(completion))) { task in
            await outcome { () async throws(RequestError) in
                try await request.get().typedResponse(from: self, by: decoder, reportingTo: task)
            }
        }
    }

    /// Performs a prepared request, or passes the error of preparing it to `completion`.
    package func perform<Resource>(
        _ request: Result<PreparedRequest, RequestError>, decodedBy decoder: ResponseDecoder<Resource>,
        on queue: DispatchQueue,
        completion: @escaping @Sendable (Result<TypedResponse<Resource>, RequestError>) -> Void
    ) -> RequestTask {
        RequestTask.call(true, Completion(.on(queue, completion))) { task in
            await outcome { () async throws(RequestError) in
                try await request.get().typedResponse(from: self, by: decoder, reportingTo: task)
            }
        }
    }

    /// Returns a call that describes, prepares and performs a request.
    ///
    /// All of it runs off the actor of the caller.
    fileprivate func call<R: RequestConvertible>(
        _ describe: @escaping @Sendable () -> R, _ start: Bool, _ completion: Completion<TypedResponse<R.Resource>>
    ) -> RequestTask {
        RequestTask.call(start, completion) { task in
            await outcome { () async throws(RequestError) in
                let request = describe()
                return try await request.prepared().typedResponse(
                    from: self, by: request.responseDecoder, decodingJSONWith: { request.makeJSONDecoder() },
                    reportingTo: task)
            }
        }
    }
}

extension PreparedRequest {
    fileprivate func typedResponse<Resource>(
        from executor: any RequestExecutor, by decoder: ResponseDecoder<Resource>,
        // The default is for a decoder from `running(on:decodingJSONWith:)`, which ignores it.
        decodingJSONWith makeDecoder: @escaping @Sendable () -> JSONDecoder = { JSONDecoder() },
        reportingTo task: RequestTask
    ) async throws(RequestError) -> TypedResponse<Resource> {
        var accepted = try await accepted(by: executor, reportingTo: task)
        while true {
            do throws(RequestError) {
                return accepted.typed(try await accepted.value(by: decoder, decodingJSONWith: makeDecoder))
            } catch {
                accepted = try await accepted.repeated(after: error, by: executor, reportingTo: task)
            }
        }
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
    /// Performs `endpoint` and passes the result to `completion` on the main actor.
    ///
    /// With `startsImmediately: false` the call starts with ``RequestTask/resume()``.
    @discardableResult
    public func perform<E: Endpoint>(
        _ endpoint: E, startsImmediately start: Bool = true,
        completion: @escaping @MainActor (Result<TypedResponse<E.Resource>, RequestError>) -> Void
    ) -> RequestTask where E.API == API {
        executor.call({ endpoint.identifiedRequest(from: api) }, start, Completion(.onMainActor(completion)))
    }

    /// Performs `call` and passes the result to `completion` on the main actor.
    ///
    /// With `startsImmediately: false` the call starts with ``RequestTask/resume()``.
    @discardableResult
    public func perform<Resource>(
        _ call: Call<API, Resource>, startsImmediately start: Bool = true,
        completion: @escaping @MainActor (Result<TypedResponse<Resource>, RequestError>) -> Void
    ) -> RequestTask {
        executor.call({ call.request(from: api) }, start, Completion(.onMainActor(completion)))
    }

    /// Performs the request that `make` describes and passes the result to `completion` on the main actor.
    ///
    /// With `startsImmediately: false` the call starts with ``RequestTask/resume()``.
    @discardableResult
    public func perform<Resource>(
        _ make: (API) -> Request<API, Resource>, startsImmediately start: Bool = true,
        completion: @escaping @MainActor (Result<TypedResponse<Resource>, RequestError>) -> Void
    ) -> RequestTask {
        // Called here and not in the task, because `make` need not be `Sendable`.
        let request = make(api)
        return executor.call({ request }, start, Completion(.onMainActor(completion)))
    }
}

extension Client {
    /// Performs `endpoint` and passes the result to `completion` on `queue`.
    ///
    /// With `startsImmediately: false` the call starts with ``RequestTask/resume()``.
    @discardableResult
    public func perform<E: Endpoint>(
        _ endpoint: E, on queue: DispatchQueue, startsImmediately start: Bool = true,
        completion: @escaping @Sendable (Result<TypedResponse<E.Resource>, RequestError>) -> Void
    ) -> RequestTask where E.API == API {
        executor.call({ endpoint.identifiedRequest(from: api) }, start, Completion(.on(queue, completion)))
    }

    /// Performs `call` and passes the result to `completion` on `queue`.
    ///
    /// With `startsImmediately: false` the call starts with ``RequestTask/resume()``.
    @discardableResult
    public func perform<Resource>(
        _ call: Call<API, Resource>, on queue: DispatchQueue, startsImmediately start: Bool = true,
        completion: @escaping @Sendable (Result<TypedResponse<Resource>, RequestError>) -> Void
    ) -> RequestTask {
        executor.call({ call.request(from: api) }, start, Completion(.on(queue, completion)))
    }

    /// Performs the request that `make` describes and passes the result to `completion` on `queue`.
    ///
    /// With `startsImmediately: false` the call starts with ``RequestTask/resume()``.
    @discardableResult
    public func perform<Resource>(
        _ make: (API) -> Request<API, Resource>, on queue: DispatchQueue, startsImmediately start: Bool = true,
        completion: @escaping @Sendable (Result<TypedResponse<Resource>, RequestError>) -> Void
    ) -> RequestTask {
        // Called here and not in the task, because `make` need not be `Sendable`.
        let request = make(api)
        return executor.call({ request }, start, Completion(.on(queue, completion)))
    }
}
