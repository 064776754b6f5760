extension RequestConvertible {
    /// Returns the typed response of this request on a thread that may block.
    ///
    /// A task is used only for work that suspends (decision 0010).
    @inlinable
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
    func valueInPlace(from executor: InPlaceExecutor) throws(RequestError) -> Resource {
        let decoder = responseDecoder
        var accepted = try prepared().acceptedInPlace(by: executor)
        return try accepted.valueInPlace(by: decoder, for: self, repeatedBy: executor)
    }
}

extension PreparedRequest {
    /// Performs ``accepted(by:reportingTo:)`` on a thread that may block.
    @usableFromInline
    func acceptedInPlace(by executor: InPlaceExecutor) throws(RequestError) -> AcceptedResponse {
        if mustBeMeasured {
            // Collecting the body suspends, and takes time from the total limit of the call.
            let (left, total) = (timeLeft, timeouts.total)
            let limit = left.map { min($0, total ?? $0) } ?? total
            return try inTask(limit) { () async throws(RequestError) in try await accepted(by: executor.base) }
        }
        var call = CallState(self, now: .now)
        while true {
            switch try call.executeInPlace(over: executor) {
            case .execute: continue
            case .finish(let response): return try AcceptedResponse(response, endOf: call)
            case .suspend(let remaining):
                return try call.request.inTask(call.request.timeLeft) { [call] () async throws(RequestError) in
                    try await call.accepted(by: executor.base, resuming: remaining)
                }
            }
        }
    }

    /// Performs one exchange on a thread that may block.
    func responseInPlace(from executor: InPlaceExecutor) throws(RequestError) -> RawResponse {
        let execution: BlockingExecution
        do throws(RequestError) {
            try checkTimeBeforeSending()
            execution = try executor.begin(self)
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

    /// The time until the deadline; nil when there is none.
    var timeLeft: Duration? { limit == .distantFuture ? nil : limit.remaining }

    /// Runs `operation` as a task on the calling thread, and waits until it ends.
    ///
    /// - Throws: The error of `operation`, or ``RequestError/Reason/timedOut(_:)`` when it is still running 3 s after
    ///   `limit`.
    func inTask<Value>(
        _ limit: Duration?, _ operation: @escaping @Sendable () async throws(RequestError) -> sending Value
    ) throws(RequestError) -> Value {
        let result = CallingThread.run(limits: limit.map(BlockingCallTimeLimits.init(after:))) {
            await outcome(of: operation)
        }
        guard let result else { throw RequestError.abandoned.adding(request: self) }
        return try result.get()
    }
}

/// The next action of a call that a blocked thread performs.
private enum BlockingAction {
    /// Execute the request of the call.
    case execute
    /// End the call with the response.
    case finish(RawResponse)
    /// Continue in a task with the remaining exchange, or with a whole one when it is nil.
    case suspend(RemainingExchange?)
}

extension CallState {
    /// Performs one exchange of the call on a thread that may block, and returns the next action.
    fileprivate mutating func executeInPlace(
        over executor: InPlaceExecutor
    ) throws(RequestError) -> BlockingAction {
        // Collecting the body suspends.
        if attempts > 1, request.mustBeMeasured { return .suspend(nil) }
        let execution: BlockingExecution
        do throws(RequestError) {
            try request.checkTimeBeforeSending()
            execution = try executor.begin(request)
        } catch {
            try receive(error)
            return .execute
        }
        switch execution {
        // If a stream is refused, the error contains its beginning, and reading that suspends.
        case .response(let response) where response.collectedBody == nil: return .suspend { response }
        case .response(let response): return try receive(response) == .finish ? .finish(response) : .execute
        case .deferred(let remaining): return .suspend(remaining)
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
