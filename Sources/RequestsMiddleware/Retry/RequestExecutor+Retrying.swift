extension RequestExecutor {
    /// Returns this executor with middleware that sends failed requests again.
    ///
    /// Add it before `authenticating(with:within:)`. In the other order the authenticator handles rejections in each
    /// attempt, and a call can send four times as many requests.
    ///
    /// - Parameters:
    ///   - policy: The policy for requests without their own policy. The default is ``RetryPolicy/standard``.
    ///   - budget: The limit on the retries of all requests. The default is the budget that this executor hedges with,
    ///     or else a new one, which copies of the result share.
    ///   - clock: The sources of time and randomness.
    /// - Returns: The executor with the middleware.
    public func retrying(
        _ policy: RetryPolicy = .standard, budget: RetryBudget? = nil, clock: Retrying.Clock = .system
    ) -> Intercepted {
        intercepted(by: Retrying(policy, budget: budget ?? sharedRetryBudget, clock: clock))
    }
}

extension RequestExecutor {
    /// The budget with which this executor retries or hedges, or else a new one.
    var sharedRetryBudget: RetryBudget {
        // Casts, because only these two kinds of middleware have a budget.
        let budgets = middlewareOfChain.lazy.compactMap { middleware in
            (middleware as? Retrying)?.budget ?? (middleware as? Hedging)?.budget
        }
        return budgets.first ?? RetryBudget()
    }
}

/// The attribute for a request's own retry policy.
enum OwnRetryPolicy: RequestAttributes.Key {
    typealias Value = RetryPolicy
}

/// Retries for one request on an executor without retries.
private struct RequestRetrying: Middleware, RepeatsExchanges {
    let retrying: Retrying

    func intercept(_ request: PreparedRequest, next: any RequestExecutor) async throws(RequestError) -> RawResponse {
        // If the executor retries itself, it applies the request's policy within its own budget.
        if next.traits.contains(.retries) { return try await next.execute(request) }
        return try await retrying.intercept(request, next: next)
    }

    func traits(before next: ExecutorTraits) -> ExecutorTraits { retrying.traits(before: next) }

    var repetition: Repetition? { retrying.repetition }
}

extension Request {
    /// Returns this request with its own retry policy.
    ///
    /// An executor with `retrying(_:budget:clock:)` uses this policy in place of its own, and keeps its budget. On any
    /// other executor, the request is retried outside all middleware of the executor.
    public consuming func retrying(_ policy: RetryPolicy) -> Self {
        setting(attribute: OwnRetryPolicy.self, to: policy)
            .intercepted(by: RequestRetrying(retrying: Retrying(policy)))
    }
}
