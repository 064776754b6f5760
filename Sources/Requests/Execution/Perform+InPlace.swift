extension RequestConvertible {
    /// What ``typedResponse(from:)`` gives, for a thread that may be blocked: what needs no task is done without one.
    @inlinable
    func typedResponseInPlace(
        from executor: any RequestExecutor
    ) throws(RequestError) -> TypedResponse<Resource> {
        let decoder = responseDecoder
        let accepted = try prepared().acceptedInPlace(by: executor)
        return accepted.typed(try accepted.valueInPlace(by: decoder))
    }

    /// The value alone.
    @inlinable
    func valueInPlace(from executor: any RequestExecutor) throws(RequestError) -> Resource {
        let decoder = responseDecoder
        return try prepared().acceptedInPlace(by: executor).valueInPlace(by: decoder)
    }
}

extension PreparedRequest {
    /// What ``accepted(by:telling:)`` gives, for a thread that may be blocked.
    @usableFromInline
    func acceptedInPlace(by executor: any RequestExecutor) throws(RequestError) -> AcceptedResponse {
        if mustBeMeasured {
            let (left, total) = (timeLeft, timeouts.total)
            let limit = left.map { min($0, total ?? $0) } ?? total
            return try inTask(limit) { () async throws(RequestError) in try await accepted(by: executor) }
        }
        var perform = Perform(self, now: .now)
        while true {
            switch try perform.executeInPlace(over: executor) {
            case .execute: continue
            case .finish(let response): return try AcceptedResponse(response, endOf: perform)
            case .suspend(let rest):
                return try perform.request.inTask(perform.request.timeLeft) { [perform] () async throws(RequestError) in
                    try await perform.accepted(by: executor, resuming: rest)
                }
            }
        }
    }

    /// One exchange for a thread that may be blocked.
    func responseInPlace(from executor: any RequestExecutor) throws(RequestError) -> RawResponse {
        let execution: BlockingExecution
        do throws(RequestError) {
            try checkTime()
            execution = try executor.executeBlocking(self)
        } catch {
            throw error.adding(request: self)
        }
        switch execution {
        case .response(let response): return response
        case .suspended(let rest):
            return try inTask(timeLeft) { () async throws(RequestError) in
                try await response(from: executor, resuming: rest)
            }
        }
    }

    /// How long it is until the deadline; nil when there is none.
    var timeLeft: Duration? { deadline.map { ContinuousClock.now.duration(to: $0) } }

    /// Runs `operation` as a task on this thread, until it ends or the patience with a call of that `limit` does.
    func inTask<Value>(
        _ limit: Duration?, _ operation: @escaping @Sendable () async throws(RequestError) -> sending Value
    ) throws(RequestError) -> Value {
        let result = CallingThread.run(patience: limit.map(CallPatience.init(after:))) {
            await outcome(of: operation)
        }
        guard let result else { throw RequestError.leftBehind.adding(request: self) }
        return try result.get()
    }
}

/// How a call goes on that a thread performs.
private enum StepInPlace {
    case execute
    case finish(RawResponse)
    /// In a task: what is left of an exchange, or all of it when there is none.
    case suspend(Rest?)
}

extension Perform {
    fileprivate mutating func executeInPlace(over executor: any RequestExecutor) throws(RequestError) -> StepInPlace {
        // To produce a body takes a task.
        if attempts > 1, request.mustBeMeasured { return .suspend(nil) }
        let execution: BlockingExecution
        do throws(RequestError) {
            try request.checkTime()
            execution = try executor.executeBlocking(request)
        } catch {
            try receive(error)
            return .execute
        }
        switch execution {
        // What comes as a stream is told of with its beginning when it is refused, and that has to be waited for.
        case .response(let response) where response.collectedBody == nil: return .suspend { response }
        case .response(let response): return try receive(response) == .finish ? .finish(response) : .execute
        case .suspended(let rest): return .suspend(rest)
        }
    }
}

extension RequestError {
    /// The error of a call that did not end.
    fileprivate static var leftBehind: RequestError {
        RequestError(
            .timedOut(.total),
            detail: "3 s after its limit the call had not ended; does something in it wait for the main actor, "
                + "whose thread this is?")
    }
}
