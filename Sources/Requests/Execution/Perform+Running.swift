extension RequestExecutor {
    /// Performs `request`: sends it, follows redirects, validates and decodes the response.
    ///
    /// Runs off the caller's actor throughout.
    ///
    /// - Throws: ``RequestError`` with the request as sent and, once there was one, the response.
    @concurrent
    public func perform<R: RequestConvertible>(_ request: R) async throws(RequestError) -> R.Resource {
        try await typedResponse(for: request).value
    }

    /// Performs `request` and gives the value with the status, header, metrics and history of its response.
    ///
    /// Runs off the caller's actor throughout.
    ///
    /// - Throws: ``RequestError`` with the request as sent and, once there was one, the response.
    @concurrent
    public func response<R: RequestConvertible>(for request: R) async throws(RequestError) -> TypedResponse<R.Resource>
    {
        try await typedResponse(for: request)
    }

    /// The one pipeline: prepare, execute, follow redirects, validate, decode.
    ///
    /// `task`, when the call has one, learns how far it has come.
    func typedResponse<R: RequestConvertible>(
        for request: R, telling task: RequestTask? = nil
    ) async throws(RequestError) -> TypedResponse<R.Resource> {
        try await typedResponse(to: request.prepared(), by: request.responseDecoder, telling: task)
    }

    /// What follows preparing.
    func typedResponse<Resource>(
        to request: PreparedRequest, by decoder: ResponseDecoder<Resource>, telling task: RequestTask? = nil
    ) async throws(RequestError) -> TypedResponse<Resource> {
        var request = request
        task?.watchProgress(of: &request)
        let start = ContinuousClock.now
        try await request.collectBodyIfNeeded()
        return try await typedResponse(of: Perform(request, now: start), by: decoder, telling: task)
    }

    /// What follows the beginning of a call; `rest`, when its exchange has begun already, is what is left of that.
    private func typedResponse<Resource>(
        of perform: Perform, resuming rest: Rest? = nil, by decoder: ResponseDecoder<Resource>,
        telling task: RequestTask? = nil
    ) async throws(RequestError) -> TypedResponse<Resource> {
        var perform = perform
        let response = try await run(&perform, resuming: rest, telling: task)
        task?.process()
        if let refusal = perform.refusal(of: response) { throw await refusal.withBeginning(of: response.body) }
        do {
            let value = try await decoder.value(from: response)
            return TypedResponse(value: value, response: response, history: perform.history)
        } catch {
            throw perform.failure(wrapping: error, decoding: response)
        }
    }

    private func run(
        _ perform: inout Perform, resuming rest: Rest?, telling task: RequestTask?
    ) async throws(RequestError) -> RawResponse {
        var rest = rest
        while true {
            task?.execute(perform.request, attempt: perform.attempts)
            let response: RawResponse
            do throws(RequestError) {
                response = try await execute(perform.request, attempts: perform.attempts, resuming: rest.take())
            } catch {
                try perform.receive(error)
                continue
            }
            if case .finish(let response) = try perform.receive(response) { return response }
        }
    }

    private func execute(
        _ request: PreparedRequest, attempts: Int, resuming rest: Rest?
    ) async throws(RequestError) -> RawResponse {
        do throws(RequestError) {
            if let rest { return try await rest() }
            try request.checkTime()
            return try await execute(request)
        } catch {
            throw error.adding(request: request, attempts: attempts)
        }
    }
}

/// What is left of an exchange that a thread has begun.
typealias Rest = @Sendable () async throws(RequestError) -> RawResponse

// MARK: As values

extension RequestExecutor {
    /// The pipeline's outcome.
    func result<R: RequestConvertible>(
        of request: R, telling task: RequestTask? = nil
    ) async -> sending Result<TypedResponse<R.Resource>, RequestError> {
        do throws(RequestError) {
            return .success(try await typedResponse(for: request, telling: task))
        } catch {
            return .failure(error)
        }
    }

    /// The outcome of what follows preparing.
    func result<Resource>(
        of request: Result<PreparedRequest, RequestError>, by decoder: ResponseDecoder<Resource>,
        telling task: RequestTask? = nil
    ) async -> sending Result<TypedResponse<Resource>, RequestError> {
        do throws(RequestError) {
            return .success(try await typedResponse(to: request.get(), by: decoder, telling: task))
        } catch {
            return .failure(error)
        }
    }

    /// The outcome of a call that a thread has begun.
    func result<Resource>(
        of perform: Perform, resuming rest: @escaping Rest, by decoder: ResponseDecoder<Resource>
    ) async -> sending Result<TypedResponse<Resource>, RequestError> {
        do throws(RequestError) {
            return .success(try await typedResponse(of: perform, resuming: rest, by: decoder))
        } catch {
            return .failure(error)
        }
    }

    /// The outcome of one exchange, or of what is left of it.
    func rawResult(
        of request: PreparedRequest, resuming rest: Rest? = nil
    ) async -> Result<RawResponse, RequestError> {
        do throws(RequestError) {
            return .success(try await execute(request, attempts: 1, resuming: rest))
        } catch {
            return .failure(error)
        }
    }
}

// MARK: The parts

extension PreparedRequest {
    /// Whether the server needs to know a length that nobody knows yet.
    var mustBeMeasured: Bool { options.requiresContentLength == true && body.knownLength == nil }

    /// Gives the body a length where the server needs one.
    fileprivate mutating func collectBodyIfNeeded() async throws(RequestError) {
        guard mustBeMeasured else { return }
        do throws(RequestError) {
            if try body.measuredLength() == nil { body = try await body.collected() }
        } catch {
            throw error.beforeSending().adding(request: self)
        }
    }

    /// Throws when nothing should be sent any more: the call was cancelled, or its time is over.
    func checkTime() throws(RequestError) {
        if Task.isCancelled { throw RequestError(.cancelled).beforeSending() }
        if hasDeadline, let deadline, deadline <= .now { throw RequestError(.timedOut(.total)).beforeSending() }
    }
}

extension Perform {
    /// Why `response` is refused, with the body as far as it is in memory; nil when it is not.
    func refusal(of response: RawResponse) -> RequestError? {
        do {
            try request.validator.validate(
                response.head, accepting: request.accepting, isEmpty: response.isKnownEmpty)
            return nil
        } catch {
            return error.adding(
                request: request, response: response.head, body: response.collectedBody, attempts: attempts)
        }
    }

    /// The error of a `response` that could not be decoded because of `error`.
    func failure(wrapping error: any Error, decoding response: RawResponse) -> RequestError {
        RequestError(wrapping: error, as: .notDecoded).adding(
            request: request, response: response.head, body: response.collectedBody, attempts: attempts)
    }
}

extension RequestError {
    /// This error with the beginning of a body that is still arriving, as evidence.
    fileprivate func withBeginning(of body: ResponseBody) async -> RequestError {
        guard case .stream(let stream) = body else { return self }
        return adding(body: try? await stream.collect(limit: Delivery.errorBodyLimit))
    }
}

extension RawResponse {
    /// Whether the body is known to have no bytes.
    fileprivate var isKnownEmpty: Bool {
        switch body {
        case .bytes(let data): data.isEmpty
        case .stream(let stream): stream.length == 0
        case .file: false
        }
    }
}
