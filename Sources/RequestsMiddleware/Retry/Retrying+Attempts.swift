extension Retrying {
    /// Records a request in the budget; one that repeats another has taken a token.
    func record(_ request: PreparedRequest) {
        let isRepetition =
            request.hasOwnAttributes
            && (request.attributes[EarlierRetries.self] != nil || request.attributes[SecondRequest.self] != nil)
        if !isRepetition { settings.budget.recordRequest() }
    }

    func policy(for request: PreparedRequest) -> RetryPolicy {
        request.attributes[OwnRetryPolicy.self] ?? settings.policy
    }

    /// Returns the result of the last attempt, after `first`, the result of the first one.
    @inline(never)
    func repeating(
        _ request: PreparedRequest, with next: any RequestExecutor,
        after first: consuming Result<RawResponse, RequestError>
    ) async throws(RequestError) -> RawResponse {
        let policy = policy(for: request)
        let earlier = request.attributes[EarlierRetries.self] ?? 0
        // Consumed, because the caller would otherwise keep the response during the delays.
        var result = first
        var attempt = earlier
        var retries: [RawResponse.Metrics.Retry] = []
        while !result.isFinal(for: request) {
            let failure = failure(result, of: request, attempt: attempt)
            guard let delay = await delay(after: failure, by: policy) else { break }
            attempt += 1
            // The next executor can be middleware that has sent the request more than once itself.
            retries += result.retries
            retries.append(RawResponse.Metrics.Retry(cause: failure.cause, delay: delay))
            // Released before the delay, because a streamed response keeps its connection.
            result = .failure(failure.error)
            do throws(RequestError) {
                try await wait(delay)
                result = .success(try await next.execute(request))
            } catch {
                result = .failure(error)
            }
        }
        return try result.adding(retries)
    }

    /// Returns the delay that `policy` decides on, or nil to give up, at the deadline of the call at the latest.
    private func delay(after failure: RetryPolicy.Failure, by policy: RetryPolicy) async -> Duration? {
        guard case .retry(let delay) = await decision(about: failure, by: policy) else { return nil }
        // The function of the policy may have taken a part of the time that was left.
        if let deadline = failure.request.deadline, settings.clock.now() + delay >= deadline { return nil }
        return delay
    }

    private func decision(about failure: RetryPolicy.Failure, by policy: RetryPolicy) async -> RetryPolicy.Decision {
        let deadline = failure.request.limit
        guard policy.canSuspend, deadline != .distantFuture else {
            return await policy.decision(about: failure, budget: settings.budget, random: settings.clock.random)
        }
        return await withTaskGroup(of: RetryPolicy.Decision?.self) { group in
            group.addTask {
                await policy.decision(about: failure, budget: settings.budget, random: settings.clock.random)
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
    private func wait(_ delay: Duration) async throws(RequestError) {
        if delay > .zero { try await RequestError.wrapping(.other) { try await settings.clock.sleep(delay) } }
        if Task.isCancelled { throw RequestError(.cancelled) }
    }

    /// Returns the failure for the policy; the result is an error or a response with a status of 400 or higher.
    func failure(
        _ result: Result<RawResponse, RequestError>, of request: PreparedRequest, attempt: Int
    ) -> RetryPolicy.Failure {
        let error: RequestError
        switch result {
        case .success(let response):
            var body: Data?
            if case .bytes(let data) = response.body { body = data }
            error = RequestError(.unacceptableStatus, request: request, response: response.head, body: body)
        case .failure(let failure): error = failure.adding(request: request)
        }
        let date = settings.clock.date()
        return RetryPolicy.Failure(
            error, of: request, attempt: attempt,
            retryAfter: error.response?.header[.retryAfter].flatMap { RetryAfter(fieldValue: $0, now: date) }?
                .delay(from: date),
            timeLeft: request.deadline.map { settings.clock.now().duration(to: $0) })
    }
}

extension Retrying: RepeatsExchanges {
    /// The function that decides about errors of decoders.
    package var repetition: Repetition? {
        { (error, request, earlier) async throws(RequestError) in
            var failure = failure(.failure(error), of: request, attempt: earlier)
            // The server has received the request, even if the error is that of a request that the decoder has sent.
            if failure.category == .notSent { failure.category = .permanent }
            guard let delay = await delay(after: failure, by: policy(for: request)) else { return nil }
            try await wait(delay)
            return RawResponse.Metrics.Retry(cause: failure.cause, delay: delay)
        }
    }
}

extension HTTPStatus {
    /// Whether the status does not concern a retry policy: it is below 400, or a 401 that the authenticator of the
    /// request handles (decision 0030).
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
