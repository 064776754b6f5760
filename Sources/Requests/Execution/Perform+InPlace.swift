extension RequestConvertible {
    /// What ``typedResponse(from:)`` gives, for a thread that may be blocked: what needs no task is done without one.
    @inlinable
    func typedResponseInPlace(
        from executor: any RequestExecutor
    ) throws(RequestError) -> TypedResponse<Resource> {
        let accepted = try prepared().acceptedInPlace(by: executor)
        return accepted.typed(try accepted.valueInPlace(by: responseDecoder))
    }

    /// The value alone.
    @inlinable
    func valueInPlace(from executor: any RequestExecutor) throws(RequestError) -> Resource {
        try prepared().acceptedInPlace(by: executor).valueInPlace(by: responseDecoder)
    }
}

extension PreparedRequest {
    /// What ``accepted(by:telling:)`` gives, for a thread that may be blocked.
    @usableFromInline
    func acceptedInPlace(by executor: any RequestExecutor) throws(RequestError) -> AcceptedResponse {
        if mustBeMeasured {
            return try inTask { () async throws(RequestError) in try await accepted(by: executor) }
        }
        var perform = Perform(self, now: .now)
        while true {
            switch try perform.executeInPlace(over: executor) {
            case .execute: continue
            case .finish(let response): return try AcceptedResponse(response, endOf: perform)
            case .suspend(let rest):
                return try perform.request.inTask { [perform] () async throws(RequestError) in
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
            return try inTask { () async throws(RequestError) in try await response(from: executor, resuming: rest) }
        }
    }

    /// Runs `operation` as a task on this thread, until it ends or the patience with this request does.
    func inTask<Value>(
        _ operation: @escaping @Sendable () async throws(RequestError) -> sending Value
    ) throws(RequestError) -> Value {
        let limit = deadline.map { ContinuousClock.now.duration(to: $0) } ?? timeouts.total
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
    case suspend(Rest)
}

extension Perform {
    fileprivate mutating func executeInPlace(over executor: any RequestExecutor) throws(RequestError) -> StepInPlace {
        let execution: BlockingExecution
        do throws(RequestError) {
            try request.checkTime()
            execution = try executor.executeBlocking(request)
        } catch {
            try receive(error)
            return .execute
        }
        switch execution {
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
