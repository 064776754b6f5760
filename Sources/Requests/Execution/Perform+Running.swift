extension RequestExecutor {
    /// Performs `request`: sends it, follows redirects, validates and decodes the response.
    ///
    /// Runs off the caller's actor throughout.
    ///
    /// - Throws: ``RequestError`` with the request as sent and, once there was one, the response.
    @concurrent
    @inlinable
    public func perform<R: RequestConvertible>(_ request: R) async throws(RequestError) -> R.Resource {
        try await request.value(from: self)
    }

    /// Performs `request` and gives the value with the status, header, metrics and history of its response.
    ///
    /// Runs off the caller's actor throughout.
    ///
    /// - Throws: ``RequestError`` with the request as sent and, once there was one, the response.
    @concurrent
    @inlinable
    public func response<R: RequestConvertible>(for request: R) async throws(RequestError) -> TypedResponse<R.Resource>
    {
        try await request.typedResponse(from: self)
    }
}

// MARK: The pipeline

extension RequestConvertible {
    /// The one pipeline: prepare, execute, follow redirects, validate, decode.
    @inlinable
    func typedResponse(from executor: any RequestExecutor) async throws(RequestError) -> TypedResponse<Resource> {
        let decoder = responseDecoder
        let accepted = try await prepared().accepted(by: executor)
        return accepted.typed(try await accepted.value(by: decoder))
    }

    /// The value alone.
    @inlinable
    func value(from executor: any RequestExecutor) async throws(RequestError) -> Resource {
        let decoder = responseDecoder
        return try await prepared().accepted(by: executor).value(by: decoder)
    }
}

extension PreparedRequest {
    /// The pipeline between preparing and decoding; `task`, when the call has one, learns how far it has come.
    @usableFromInline
    func accepted(
        by executor: any RequestExecutor, telling task: RequestTask? = nil
    ) async throws(RequestError) -> AcceptedResponse {
        var request = self
        task?.watchProgress(of: &request)
        // A body that is collected first takes its time from the call's.
        let start = mustBeMeasured ? ContinuousClock.now : nil
        try await request.collectBodyIfNeeded()
        return try await Perform(request, now: start ?? .now).accepted(by: executor, telling: task)
    }

    /// One exchange, or what is left of it.
    func response(
        from executor: any RequestExecutor, resuming rest: Rest? = nil
    ) async throws(RequestError) -> RawResponse {
        do throws(RequestError) {
            if let rest { return try await rest() }
            try checkTime()
            return try await executor.execute(self)
        } catch {
            throw error.adding(request: self)
        }
    }
}

/// What is left of an exchange that a thread has begun.
typealias Rest = @Sendable () async throws(RequestError) -> RawResponse

extension Perform {
    /// The rest of a call; `rest`, when its exchange has begun already, is what is left of that.
    func accepted(
        by executor: any RequestExecutor, resuming rest: Rest? = nil, telling task: RequestTask? = nil
    ) async throws(RequestError) -> AcceptedResponse {
        var (perform, rest) = (self, rest)
        while true {
            task?.execute(perform.request, attempt: perform.attempts)
            let response: RawResponse
            if perform.attempts > 1 { try await perform.collectBodyIfNeeded() }
            do throws(RequestError) {
                if let rest = rest.take() {
                    response = try await rest()
                } else {
                    try perform.request.checkTime()
                    response = try await executor.execute(perform.request)
                }
            } catch {
                try perform.receive(error)
                continue
            }
            guard try perform.receive(response) == .finish else { continue }
            task?.process()
            do throws(RequestError) {
                return try AcceptedResponse(response, endOf: perform)
            } catch {
                throw await error.withBeginning(of: response.body)
            }
        }
    }
}

/// What comes of `operation`, as a value.
func outcome<Value>(
    of operation: () async throws(RequestError) -> sending Value
) async -> sending Result<Value, RequestError> {
    do throws(RequestError) {
        return .success(try await operation())
    } catch {
        return .failure(error)
    }
}

// MARK: The parts

extension PreparedRequest {
    /// Whether the server needs to know a length that nobody knows yet.
    var mustBeMeasured: Bool { body.knownLength == nil && options.requiresContentLength == true }

    /// Gives the body a length where the server needs one.
    mutating func collectBodyIfNeeded() async throws(RequestError) {
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

extension RequestError {
    /// This error with the beginning of a body that is still arriving, as evidence.
    fileprivate func withBeginning(of body: ResponseBody) async -> RequestError {
        guard case .stream(let stream) = body else { return self }
        return adding(body: try? await stream.collect(limit: Delivery.errorBodyLimit))
    }
}
