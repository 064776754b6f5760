extension RequestExecutor {
    /// Returns this executor with middleware that sends failed requests again.
    ///
    /// Add it before `authenticating(with:within:)`. In the other order each attempt begins with the rules of the
    /// authenticator anew, and a call can send four times as many requests.
    ///
    /// - Parameters:
    ///   - policy: The policy of requests that have none of their own. The default is ``RetryPolicy/standard``.
    ///   - budget: The limit on the retries of all requests; by default a new one, which copies of the result share.
    ///   - clock: The sources of time and randomness.
    /// - Returns: The executor with the middleware.
    public func retrying(
        _ policy: RetryPolicy = .standard, budget: RetryBudget = RetryBudget(), clock: Retrying.Clock = .system
    ) -> Intercepted<Self, Retrying> {
        intercepted(by: Retrying(policy, budget: budget, clock: clock))
    }

    /// Returns this executor with middleware that sends failed requests again, for an executor of an unknown type, such
    /// as one chosen at run time.
    @_disfavoredOverload
    public func retrying(
        _ policy: RetryPolicy = .standard, budget: RetryBudget = RetryBudget(), clock: Retrying.Clock = .system
    ) -> any RequestExecutor {
        intercepted(by: Retrying(policy, budget: budget, clock: clock))
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
