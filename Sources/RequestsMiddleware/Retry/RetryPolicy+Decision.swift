extension RetryPolicy {
    /// A decision about a failure.
    @nonexhaustive
    public enum Decision: Hashable, Sendable {
        /// Send the request again when the duration has passed.
        case retry(after: Duration)
        /// End the request with its failure, for a reason.
        case giveUp(RawResponse.Metrics.Retry.Refusal)
    }

    /// Returns the decision about `failure`.
    ///
    /// - Parameters:
    ///   - failure: The failure.
    ///   - budget: The budget from which the retry takes a token, if the decision is to send the request again.
    ///   - random: A function that returns numbers from 0 to 1, for the jitter; other numbers count as 1.
    /// - Returns: The decision. The strategy determines the delay, or Retry-After if its delay is longer.
    public func decision(
        about failure: Failure, budget: RetryBudget = .unlimited, random: () -> Double
    ) async -> Decision {
        switch failure.error.reason {
        case .cancelled, .timedOut(.total): return .giveUp(.callEnded)
        default: break
        }
        guard rules.contains(where: { $0.applies(to: failure) }) else {
            let isIncluded = rules.contains { $0.idempotent.contains(failure) }
            return .giveUp(isIncluded ? .notIdempotent : .failureNotIncluded)
        }
        guard failure.request.body.isReplayable else { return .giveUp(.bodyNotReplayable) }
        for rule in rules where rule.applies(to: failure) {
            guard let delay = await rule.strategy.delay(after: failure, random: random) else { continue }
            let wait = max(delay, min(failure.retryAfter ?? .zero, maximumRetryAfter).limited)
            if let timeLeft = failure.timeLeft, wait >= timeLeft { return .giveUp(.deadlineTooClose) }
            return budget.takeToken() ? .retry(after: wait) : .giveUp(.budgetExhausted)
        }
        return .giveUp(.retriesExhausted)
    }

    /// Whether a decision may suspend, because a strategy is a function.
    var canSuspend: Bool { rules.contains { $0.strategy.isFunction } }

    /// Returns whether the policy may decide to send the request again after `failure`.
    func includes(_ failure: Failure) -> Bool {
        rules.contains { $0.applies(to: failure) && failure.attempt < $0.strategy.maximumRetries }
    }
}
