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
        var perform = Perform(request, now: start)
        let response = try await run(&perform, telling: task)
        task?.process()
        try await perform.request.validate(response, attempts: perform.attempts)
        do {
            let value = try await decoder.value(from: response)
            return TypedResponse(value: value, response: response, history: perform.history)
        } catch {
            throw RequestError(wrapping: error, as: .notDecoded).adding(
                request: perform.request, response: response.head, body: response.collectedBody,
                attempts: perform.attempts)
        }
    }

    /// The same as a value.
    func result<R: RequestConvertible>(
        of request: R, telling task: RequestTask? = nil
    ) async -> sending Result<TypedResponse<R.Resource>, RequestError> {
        do throws(RequestError) {
            return .success(try await typedResponse(for: request, telling: task))
        } catch {
            return .failure(error)
        }
    }

    /// What follows preparing, as a value.
    func result<Resource>(
        of request: Result<PreparedRequest, RequestError>, by decoder: ResponseDecoder<Resource>,
        telling task: RequestTask
    ) async -> sending Result<TypedResponse<Resource>, RequestError> {
        do throws(RequestError) {
            return .success(try await typedResponse(to: request.get(), by: decoder, telling: task))
        } catch {
            return .failure(error)
        }
    }

    /// One exchange, as a value.
    func rawResult(of request: PreparedRequest) async -> Result<RawResponse, RequestError> {
        do throws(RequestError) {
            return .success(try await execute(request, attempts: 1))
        } catch {
            return .failure(error)
        }
    }

    private func run(
        _ perform: inout Perform, telling task: RequestTask?
    ) async throws(RequestError) -> RawResponse {
        var step = Perform.Step.execute(perform.request)
        while true {
            switch step {
            case .finish(let response): return response
            case .execute(let request):
                task?.execute(request, attempt: perform.attempts)
                let response: RawResponse
                do throws(RequestError) {
                    response = try await execute(request, attempts: perform.attempts)
                } catch {
                    step = try perform.receive(error)
                    continue
                }
                step = try perform.receive(response)
            }
        }
    }

    private func execute(_ request: PreparedRequest, attempts: Int) async throws(RequestError) -> RawResponse {
        do throws(RequestError) {
            if Task.isCancelled { throw RequestError(.cancelled).beforeSending() }
            if let deadline = request.deadline, deadline <= .now {
                throw RequestError(.timedOut(.total)).beforeSending()
            }
            return try await execute(request)
        } catch {
            throw error.adding(request: request, attempts: attempts)
        }
    }
}

extension PreparedRequest {
    /// Gives the body a length where the server needs one.
    fileprivate mutating func collectBodyIfNeeded() async throws(RequestError) {
        guard options.requiresContentLength == true, body.knownLength == nil else { return }
        do throws(RequestError) {
            if try body.measuredLength() == nil { body = try await body.collected() }
        } catch {
            throw error.beforeSending().adding(request: self)
        }
    }

    /// Validates `response`; of a refused one that is still arriving, the beginning is read as evidence.
    fileprivate func validate(_ response: RawResponse, attempts: Int) async throws(RequestError) {
        do {
            try validator.validate(response.head, accepting: accepting, isEmpty: response.isKnownEmpty)
        } catch {
            let body: Data? =
                switch response.body {
                case .bytes(let data): data
                case .stream(let stream): try? await stream.collect(limit: Delivery.errorBodyLimit)
                case .file: nil
                }
            throw error.adding(request: self, response: response.head, body: body, attempts: attempts)
        }
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
