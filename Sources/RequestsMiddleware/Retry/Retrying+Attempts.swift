extension Retrying {
    /// Records a request in the budget, unless it repeats another one and so has taken a token.
    func record(_ request: PreparedRequest) {
        let isRepetition =
            request.attributes[EarlierRetries.self] != nil || request.attributes[SecondRequest.self] != nil
        if !isRepetition { budget.recordRequest() }
    }

    enum Attempt {
        /// The last attempt, with the result of the call.
        case last(Result<RawResponse, RequestError>)
        /// A failed attempt, after which another one begins after `delay`. `retries` contains the repetitions of the
        /// next executor, and then this one.
        case failed(retries: [RawResponse.Metrics.Retry], delay: Duration)
    }

    /// Performs one attempt, and decides about its result.
    ///
    /// A failed response is released when this function returns, because a streamed one would keep its connection
    /// during the delay.
    func attempt(_ number: Int, at request: PreparedRequest, with next: any RequestExecutor) async -> Attempt {
        let result = await Result { () async throws(RequestError) in try await next.execute(request) }
        guard !result.isFinal(for: request) else { return .last(result) }
        let failure = failure(result, of: request, attempt: number)
        switch await decision(about: failure, by: policy(for: request)) {
        case .giveUp(let refusal): return .last(result.adding(refusal))
        case .retry(let delay):
            let retry = RawResponse.Metrics.Retry(cause: failure.cause, delay: delay)
            return .failed(retries: result.retries + [retry], delay: delay)
        }
    }

    private func policy(for request: PreparedRequest) -> RetryPolicy {
        request.attributes[OwnRetryPolicy.self] ?? policy
    }

    private func decision(about failure: RetryPolicy.Failure, by policy: RetryPolicy) async -> RetryPolicy.Decision {
        let decision = await decisionInTime(about: failure, by: policy)
        guard case .retry(let delay) = decision, let deadline = failure.request.deadline else { return decision }
        // The policy's function may have taken part of the remaining time.
        return clock.now() + delay < deadline ? decision : .giveUp(.deadlineTooClose)
    }

    /// Returns the decision of `policy`, which is to give up at the deadline of the call at the latest.
    private func decisionInTime(
        about failure: RetryPolicy.Failure, by policy: RetryPolicy
    ) async -> RetryPolicy.Decision {
        let deadline = failure.request.limit
        guard policy.canSuspend, deadline != .distantFuture else {
            return await policy.decision(about: failure, budget: budget, random: clock.random)
        }
        return await withTaskGroup(of: RetryPolicy.Decision?.self) { group in
            group.addTask {
                await policy.decision(about: failure, budget: budget, random: clock.random)
            }
            group.addTask {
                // Real time: a test's clock passes its sleeps at once, and would end every call here.
                (try? await CallingThread.sleep(until: deadline)) == nil ? nil : .giveUp(.deadlineTooClose)
            }
            var decision: RetryPolicy.Decision?
            for await found in group {
                decision = decision ?? found
                group.cancelAll()
            }
            return decision ?? .giveUp(.callEnded)
        }
    }

    /// Waits for `delay`; throws if the call is cancelled, also without a delay.
    func wait(_ delay: Duration) async throws(RequestError) {
        if delay > .zero { try await RequestError.wrapping(.other) { try await clock.sleep(delay) } }
        if Task.isCancelled { throw RequestError(.cancelled) }
    }

    /// Returns the failure for the policy; the result is an error or a response with a status of 400 or higher.
    private func failure(
        _ result: Result<RawResponse, RequestError>, of request: PreparedRequest, attempt: Int
    ) -> RetryPolicy.Failure {
        let error: RequestError
        switch result {
        case .success(let response): error = RequestError(.unacceptableStatus).adding(response, to: request)
        case .failure(let failure): error = failure.adding(request: request)
        }
        let now = clock.date()
        let header = error.response?.header ?? .empty
        return RetryPolicy.Failure(
            error, of: request, attempt: attempt,
            retryAfter: header[.retryAfter].flatMap { RetryAfter(fieldValue: $0, now: now) }?
                .delay(from: header.serverTime(at: now)),
            timeLeft: request.deadline.map { clock.now().duration(to: $0) })
    }
}

extension Retrying: RepeatsExchanges {
    /// The function that decides about errors of decoders.
    package var repetition: Repetition? {
        { (error, request, earlier) async throws(RequestError) in
            var failure = failure(.failure(error), of: request, attempt: earlier)
            // The server has received this request, even if the error is about another one that the decoder sent.
            if failure.category == .notSent { failure.category = .permanent }
            switch await decision(about: failure, by: policy(for: request)) {
            case .giveUp(let refusal): throw error.adding(retryRefusal: refusal)
            case .retry(let delay):
                try await wait(delay)
                return RawResponse.Metrics.Retry(cause: failure.cause, delay: delay)
            }
        }
    }
}

extension HTTPStatus {
    /// Returns whether a retry policy does not apply to the status.
    ///
    /// It is below 400, or a 401 that the request's authenticator handles (decision 0030).
    func isFinal(for request: PreparedRequest) -> Bool {
        code < 400 || self == .unauthorized && request.handlesUnauthorized
    }
}

extension Result<RawResponse, RequestError> {
    fileprivate func isFinal(for request: PreparedRequest) -> Bool {
        if case .success(let response) = self { response.head.status.isFinal(for: request) } else { false }
    }

    /// The repetitions that the next executor has made.
    fileprivate var retries: [RawResponse.Metrics.Retry] {
        switch self {
        case .success(let response): response.metrics.retries
        case .failure(let error): error.retries
        }
    }

    /// Returns this result with `refusal` as the reason why the request is not repeated.
    func adding(_ refusal: RawResponse.Metrics.Retry.Refusal) -> Self {
        switch self {
        case .success(var response):
            response.metrics.retryRefusal = refusal
            return .success(response)
        case .failure(let error): return .failure(error.adding(retryRefusal: refusal))
        }
    }

    /// Returns the response or throws the error, with `retries` added.
    func adding(_ retries: [RawResponse.Metrics.Retry]) throws(RequestError) -> RawResponse {
        switch self {
        case .success(var response):
            if !retries.isEmpty { response.metrics.retries = retries + response.metrics.retries }
            return response
        case .failure(let error):
            throw error.adding(repetitions: retries)
        }
    }
}
