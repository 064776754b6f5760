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
    ) -> Intercepted<Self, Retrying> {
        intercepted(by: Retrying(policy, budget: budget ?? sharedRetryBudget, clock: clock))
    }

    /// Returns this executor with middleware that sends failed requests again, for an executor of an unknown type, such
    /// as one chosen at run time.
    @_disfavoredOverload
    public func retrying(
        _ policy: RetryPolicy = .standard, budget: RetryBudget? = nil, clock: Retrying.Clock = .system
    ) -> any RequestExecutor {
        intercepted(by: Retrying(policy, budget: budget ?? sharedRetryBudget, clock: clock))
    }
}

extension RequestExecutor {
    /// The budget of the retries or the hedging of this executor, or else a new one.
    var sharedRetryBudget: RetryBudget { (self as? any HasRetryBudget)?.retryBudget ?? RetryBudget() }
}

/// An executor whose middleware may have a retry budget.
private protocol HasRetryBudget {
    /// The budget of the outermost middleware that has one.
    var retryBudget: RetryBudget? { get }
}

extension Intercepted: HasRetryBudget {
    fileprivate var retryBudget: RetryBudget? {
        switch middleware {
        case let retrying as Retrying: retrying.budget
        case let hedging as Hedging: hedging.budget
        default: (base as? any HasRetryBudget)?.retryBudget
        }
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
