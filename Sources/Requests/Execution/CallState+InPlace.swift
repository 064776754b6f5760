extension RequestConvertible {
    /// Returns the typed response of this request on a thread that may block.
    ///
    /// A task is used only for work that suspends (decision 0010).
    @inlinable
    @inline(never)  // specialized for the request, which a caller that contains this code would copy (decision 0052)
    func typedResponseInPlace(
        from executor: InPlaceExecutor
    ) throws(RequestError) -> TypedResponse<Resource> {
        let decoder = responseDecoder
        var accepted = try prepared().acceptedInPlace(by: executor)
        let value = try accepted.valueInPlace(by: decoder, for: self, repeatedBy: executor)
        return accepted.typed(value)
    }

    /// Returns only the decoded value.
    @inlinable
    @inline(never)  // as above
    func valueInPlace(from executor: InPlaceExecutor) throws(RequestError) -> Resource {
        let decoder = responseDecoder
        var accepted = try prepared().acceptedInPlace(by: executor)
        return try accepted.valueInPlace(by: decoder, for: self, repeatedBy: executor)
    }
}

extension PreparedRequest {
    /// Performs ``accepted(by:reportingTo:)`` on a thread that may block.
    @usableFromInline
    consuming func acceptedInPlace(by executor: InPlaceExecutor) throws(RequestError) -> AcceptedResponse {
        // Collecting the body suspends.
        if mustBeMeasured { return try measuredInTask(by: executor) }
        var call = CallState(self, now: .now)
        while true {
            // Collecting the body suspends.
            if call.attempts > 1, call.request.mustBeMeasured { return try call.acceptedInTask(by: executor) }
            let execution: BlockingExecution
            do throws(RequestError) {
                execution = try call.request.beginInPlace(by: executor)
            } catch {
                try call.receive(error)
                continue
            }
            switch consume execution {
            case .response(let response):
                // If a stream is refused, the error contains its beginning, and reading that suspends.
                guard response.body.isCollected else { return try call.acceptedInTask(by: executor) { response } }
                if try call.receive(response) == .finish { return try AcceptedResponse(response, endOf: consume call) }
            case .deferred(let remaining): return try call.acceptedInTask(by: executor, resuming: remaining)
            }
        }
    }

    /// Performs a call in a task; the time to collect the body counts towards the total limit of the call.
    private func measuredInTask(by executor: InPlaceExecutor) throws(RequestError) -> AcceptedResponse {
        let (left, total) = (timeLeft, timeouts.total)
        let limit = left.map { min($0, total ?? $0) } ?? total
        return try inTask(limit) { () async throws(RequestError) in try await accepted(by: executor.base) }
    }

    /// Performs one exchange on a thread that may block.
    func responseInPlace(from executor: InPlaceExecutor) throws(RequestError) -> RawResponse {
        let execution: BlockingExecution
        do throws(RequestError) {
            execution = try beginInPlace(by: executor)
        } catch {
            throw error.adding(request: self)
        }
        switch execution {
        case .response(let response): return response
        case .deferred(let remaining):
            return try inTask(timeLeft) { () async throws(RequestError) in
                try await response(from: executor.base, resuming: remaining)
            }
        }
    }

    /// Performs as much of an exchange as possible on the calling thread.
    @inline(__always)  // otherwise the response is copied
    private func beginInPlace(by executor: InPlaceExecutor) throws(RequestError) -> BlockingExecution {
        try checkTimeBeforeSending()
        return try executor.begin(self)
    }

    /// The time until the deadline; nil when there is none.
    var timeLeft: Duration? { limit == .distantFuture ? nil : limit.remaining }

    /// Runs `operation` as a task on the calling thread, and waits until it ends.
    ///
    /// - Throws: The error of `operation`, or ``RequestError/Reason/timedOut(_:)`` when it is still running 3 s after
    ///   `limit`.
    func inTask<Value>(
        _ limit: Duration?, _ operation: @escaping @Sendable () async throws(RequestError) -> sending Value
    ) throws(RequestError) -> Value {
        let limits = limit.map(BlockingCallTimeLimits.init(after:))
        let result = CallingThread.run(limits: limits) { await outcome(of: operation) }
        do throws(RequestError) {
            return try Self.value(of: result, within: limits)
        } catch {
            throw error.adding(request: self)
        }
    }

    /// Returns the value of a call that ran in a task; nil is the result of a task that `limits` has abandoned.
    private static func value<Value>(
        of result: Result<Value, RequestError>?, within limits: BlockingCallTimeLimits?
    ) throws(RequestError) -> Value {
        switch result {
        case .success(let value): return value
        case .failure(let error): throw limits?.error(error) ?? error
        case nil: throw .abandoned
        }
    }
}

extension CallState {
    /// Performs the remaining part of the call in a task on the calling thread; see
    /// ``accepted(by:resuming:reportingTo:)``.
    @inline(never)  // keeps the copy of the call out of the path of most calls
    fileprivate func acceptedInTask(
        by executor: InPlaceExecutor, resuming remaining: RemainingExchange? = nil
    ) throws(RequestError) -> AcceptedResponse {
        try request.inTask(request.timeLeft) { () async throws(RequestError) in
            try await accepted(by: executor.base, resuming: remaining)
        }
    }
}

extension RequestError {
    /// The error of a call that is still running after its limit.
    fileprivate static var abandoned: RequestError {
        RequestError(
            .timedOut(.total),
            detail: "still running 3 s after the limit; it may be waiting for the main actor on this thread")
    }
}
