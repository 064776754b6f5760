extension RequestExecutor {
    /// Performs `request`: sends it, follows redirects, validates and decodes the response.
    ///
    /// The call never runs on the actor of the caller.
    ///
    /// - Throws: ``RequestError`` with the request as sent and, if it arrived, the response.
    @concurrent
    public func perform<R: RequestConvertible>(_ request: R) async throws(RequestError) -> R.Resource {
        try await request.value(from: self)
    }

    /// Performs `request` and returns the value with the status, header, metrics and history of its response.
    ///
    /// The call never runs on the actor of the caller.
    ///
    /// - Throws: ``RequestError`` with the request as sent and, if it arrived, the response.
    @concurrent
    public func response<R: RequestConvertible>(for request: R) async throws(RequestError) -> TypedResponse<R.Resource>
    {
        try await request.typedResponse(from: self)
    }
}

// MARK: Performing a call

extension RequestConvertible {
    func typedResponse(from executor: any RequestExecutor) async throws(RequestError) -> TypedResponse<Resource> {
        try await typedResponse(to: prepared(), from: executor)
    }

    func value(from executor: any RequestExecutor) async throws(RequestError) -> Resource {
        try await value(of: prepared(), from: executor)
    }

    /// Performs `request`, the prepared form of this request.
    func typedResponse(
        to request: PreparedRequest, from executor: any RequestExecutor
    ) async throws(RequestError) -> TypedResponse<Resource> {
        let decoder = responseDecoder
        var accepted = try await request.accepted(by: executor)
        let value = try await accepted.value(by: decoder, for: self, repeatedBy: executor)
        return accepted.typed(value)
    }

    /// Performs `request`, the prepared form of this request, and returns only the value.
    func value(
        of request: PreparedRequest, from executor: any RequestExecutor
    ) async throws(RequestError) -> Resource {
        let decoder = responseDecoder
        var accepted = try await request.accepted(by: executor)
        return try await accepted.value(by: decoder, for: self, repeatedBy: executor)
    }
}

extension PreparedRequest {
    /// Performs the part of a call between preparing and decoding.
    ///
    /// Reports its state to `task` if there is one.
    func accepted(
        by executor: any RequestExecutor, reportingTo task: RequestTask? = nil
    ) async throws(RequestError) -> AcceptedResponse {
        var request = self
        task?.watchProgress(of: &request)
        // The total limit of the call includes the time for collecting the body.
        let start = Deadline.now
        if mustBeMeasured { try await request.collectBody() }
        return try await CallState(request, now: start).accepted(by: executor, reportingTo: task)
    }

    /// Performs one exchange without a call around it: redirects are not followed, and no status is rejected.
    func response(from executor: any RequestExecutor) async throws(RequestError) -> RawResponse {
        do throws(RequestError) {
            try checkTimeBeforeSending()
            return try await executor.sending(self)
        } catch {
            throw error.adding(request: self)
        }
    }
}

extension CallState {
    /// Executes requests until a response is not a redirect to follow, and validates that response.
    func accepted(
        by executor: any RequestExecutor, reportingTo task: RequestTask? = nil
    ) async throws(RequestError) -> AcceptedResponse {
        var call = self
        let executor = middleware.around(executor)
        while true {
            task?.execute(call.request, attempt: call.attempts)
            let response: RawResponse
            if call.attempts > 1, call.request.mustBeMeasured { try await call.collectBody() }
            do throws(RequestError) {
                try call.request.checkTimeBeforeSending()
                response = try await executor.sending(call.request)
            } catch {
                try call.receive(error)
                continue
            }
            guard try call.receive(response) == .finish else { continue }
            task?.process()
            if let error = call.rejection(of: response) { throw await error.withBeginning(of: response.body) }
            return AcceptedResponse(response, endOf: call)
        }
    }
}

/// Returns the result of `operation`; its value need not be `Sendable`.
func outcome<Value>(
    of operation: () async throws(RequestError) -> sending Value
) async -> sending Result<Value, RequestError> {
    do throws(RequestError) {
        return .success(try await operation())
    } catch {
        return .failure(error)
    }
}

// MARK: Steps of a call

extension PreparedRequest {
    /// Whether the server requires a length and the length of the body is unknown.
    var mustBeMeasured: Bool {
        hasBody && body.knownLength == nil && options.requiresContentLength == true
    }

    mutating func collectBody() async throws(RequestError) {
        do throws(RequestError) {
            if try body.measuredLength() == nil { body = try await body.collected() }
        } catch {
            throw error.beforeSending().adding(request: self)
        }
    }
}

extension RequestError {
    /// Returns this error with the beginning of a body that is still arriving, as evidence.
    fileprivate func withBeginning(of body: ResponseBody) async -> RequestError {
        guard case .stream(let stream) = body else { return self }
        return adding(body: try? await stream.collect(limit: ResponseBody.Delivery.errorBodyLimit))
    }
}
