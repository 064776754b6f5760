extension RequestExecutor {
    /// The pipeline for a thread that may be blocked: what needs no task is done here, what is left of the call in one.
    func resultInPlace<R: RequestConvertible>(of request: R) -> Result<TypedResponse<R.Resource>, RequestError> {
        do throws(RequestError) {
            let patience = request.timeout.total.map(CallPatience.init(after:))
            let decoder = request.responseDecoder
            let prepared = try request.prepared()
            guard decoder.isImmediate, !prepared.mustBeMeasured else {
                return try inTask(prepared, patience) { await self.result(of: .success(prepared), by: decoder) }
            }
            var perform = Perform(prepared, now: .now)
            while true {
                switch try execute(&perform) {
                case .execute: continue
                case .finish(let response):
                    if let value = try perform.value(of: response, by: decoder) { return .success(value) }
                    return try finish(perform, { response }, by: decoder, patience)
                case .suspend(let rest): return try finish(perform, rest, by: decoder, patience)
                }
            }
        } catch {
            return .failure(error)
        }
    }

    private func finish<Resource>(
        _ perform: Perform, _ rest: @escaping Rest, by decoder: ResponseDecoder<Resource>, _ patience: CallPatience?
    ) throws(RequestError) -> Result<TypedResponse<Resource>, RequestError> {
        try inTask(perform.request, patience) { await self.result(of: perform, resuming: rest, by: decoder) }
    }

    /// One exchange for a thread that may be blocked.
    func responseInPlace(to request: PreparedRequest) throws(RequestError) -> RawResponse {
        switch try execute(request, attempts: 1) {
        case .response(let response): return response
        case .suspended(let rest):
            let patience = request.deadline.map { CallPatience(after: ContinuousClock.now.duration(to: $0)) }
            return try inTask(request, patience) { await self.rawResult(of: request, resuming: rest) }.get()
        }
    }

    private func execute(_ perform: inout Perform) throws(RequestError) -> StepInPlace {
        let response: RawResponse
        do throws(RequestError) {
            switch try execute(perform.request, attempts: perform.attempts) {
            case .response(let whole): response = whole
            case .suspended(let rest): return .suspend(rest)
            }
        } catch {
            try perform.receive(error)
            return .execute
        }
        if case .finish(let response) = try perform.receive(response) { return .finish(response) }
        return .execute
    }

    private func execute(_ request: PreparedRequest, attempts: Int) throws(RequestError) -> BlockingExecution {
        do throws(RequestError) {
            try request.checkTime()
            return try executeBlocking(request)
        } catch {
            throw error.adding(request: request, attempts: attempts)
        }
    }

    private func inTask<Value>(
        _ request: PreparedRequest, _ patience: CallPatience?,
        _ operation: @escaping @Sendable () async -> sending Result<Value, RequestError>
    ) throws(RequestError) -> Result<Value, RequestError> {
        guard let result = CallingThread.run(patience: patience, operation) else {
            throw RequestError.leftBehind.adding(request: request)
        }
        return result
    }
}

/// How a call goes on that a thread performs.
private enum StepInPlace {
    case execute
    case finish(RawResponse)
    case suspend(Rest)
}

extension Perform {
    /// What `decoder` makes of the response that ends the call; nil when it may have to suspend.
    fileprivate func value<Resource>(
        of response: RawResponse, by decoder: ResponseDecoder<Resource>
    ) throws(RequestError) -> TypedResponse<Resource>? {
        if let refusal = refusal(of: response) { throw refusal }
        do {
            return try decoder.immediateValue(from: response).map {
                TypedResponse(value: $0, response: response, history: history)
            }
        } catch {
            throw failure(wrapping: error, decoding: response)
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
