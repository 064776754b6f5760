extension RequestExecutor {
    /// Returns this executor with middleware that sends failed requests again.
    ///
    /// Add it before `authenticating(with:within:)`. In the other order the authenticator handles rejections in each
    /// attempt, and a call can send four times as many requests.
    ///
    /// - Parameters:
    ///   - policy: The policy of requests without their own policy. The default is ``RetryPolicy/standard``.
    ///   - budget: The limit on the retries of all requests; by default that of the hedging of this executor, or else a
    ///     new one, which copies of the result share.
    ///   - clock: The sources of time and randomness.
    /// - Returns: The executor with the middleware.
    public func retrying(
        _ policy: RetryPolicy = .standard, budget: RetryBudget? = nil, clock: Retrying.Clock = .system
    ) -> Intercepted {
        intercepted(by: Retrying(policy, budget: budget ?? sharedRetryBudget, clock: clock))
    }
}

extension RequestExecutor {
    /// The budget of the retries or the hedging of this executor, or else a new one.
    var sharedRetryBudget: RetryBudget {
        let budgets = middlewareOfChain.lazy.compactMap { middleware in
            (middleware as? Retrying)?.budget ?? (middleware as? Hedging)?.budget
        }
        return budgets.first ?? RetryBudget()
    }
}

/// The attribute with the retry policy of one request.
enum OwnRetryPolicy: RequestAttributes.Key {
    typealias Value = RetryPolicy
}

extension Request {
    /// Returns this request with its own retry policy, in place of that of the executor.
    ///
    /// It has no effect on an executor without `retrying(_:budget:clock:)`, whose budget still
    /// applies.
    public consuming func retrying(_ policy: RetryPolicy) -> Self {
        setting(attribute: OwnRetryPolicy.self, to: policy)
    }
}
