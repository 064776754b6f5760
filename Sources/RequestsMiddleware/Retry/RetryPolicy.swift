/// A policy that decides whether a failed request is sent again, and when.
///
/// ```swift
/// let client = Client(api, executor: SocketExecutor().retrying())
/// let patient = SocketExecutor().retrying(
///     .retryNetworkFailure(with: .retryTwiceWithDelay(.seconds(5))))
/// let unique = api.post(.json(order), to: "/orders").retrying(.never)
/// ```
///
/// A policy is a list of rules. Each rule has a set of failures and a ``Strategy``; the first rule whose set contains
/// the failure and whose strategy returns a delay decides. Whatever the rules are, a request is not sent again
///
/// - after a cancellation, or when ``/Requests/Timeouts/total`` would pass before the delay has,
/// - if its body cannot be produced again (``/Requests/RequestBody/isReplayable``),
/// - if it is not idempotent and the server may have received it, unless a complete response has the status 503 or the
///   policy ignores idempotence by name (``ignoringIdempotence()``),
/// - more than ``maximumAttempts`` times.
///
/// ``Retrying`` obeys a policy; see the article “Retrying” of Requests.
public struct RetryPolicy: Sendable {
    struct Rule: Sendable {
        var idempotent: Failures
        var other: Failures
        let strategy: Strategy

        func applies(to failure: Failure) -> Bool {
            (failure.isIdempotent ? idempotent : other).contains(failure)
        }
    }

    enum Failures: Sendable {
        /// Failures in which the request was not sent, and others if `isSent` is true; and responses with `statuses`.
        case network(isSent: Bool, statuses: Set<Int>)
        case statuses(Set<Int>)
        case all

        func contains(_ failure: Failure) -> Bool {
            switch (self, failure.category) {
            case (.all, _): true
            case (.network(_, let statuses), .status(let status)), (.statuses(let statuses), .status(let status)):
                statuses.contains(status.code)
            case (.network, .notSent): true
            case (.network(let isSent, _), .mayHaveArrived), (.network(let isSent, _), .brokenResponse): isSent
            case (.network, .permanent), (.statuses, _): false
            }
        }

        static var none: Failures { .statuses([]) }
    }

    var rules: [Rule]

    /// The maximum delay that Retry-After causes; the default is 60 s.
    ///
    /// A longer Retry-After counts as this duration.
    public var maximumRetryAfter: Duration = .seconds(60)

    /// Creates a policy that calls `strategy` after each failure of an idempotent request.
    ///
    /// - Parameters:
    ///   - maximumRetries: The maximum number of retries; negative numbers count as 0.
    ///   - strategy: The function that returns the delay before the request is sent again, or nil to give up. It may
    ///     suspend, for example until a network is available. It is cancelled at the deadline of the call, and the call
    ///     ends when it returns.
    public init(maximumRetries: Int = 9, _ strategy: @escaping Strategy.Function) {
        rules = [Rule(idempotent: .all, other: .none, strategy: Strategy(maximumRetries: maximumRetries, strategy))]
    }

    init(idempotent: Failures, other: Failures = .none, _ strategy: Strategy) {
        rules = [Rule(idempotent: idempotent, other: other, strategy: strategy)]
    }

    /// The maximum number of times that a request is sent, at least 1.
    ///
    /// A call sends at most `(1 + redirects) × maximumAttempts` requests, `1 + 3 × n` times as many with `n`
    /// authenticators, and twice as many with hedging. Executors send at most one more for each of them, in place of a
    /// stale connection, or two more over HTTP/2 (``/Requests/RawResponse/Metrics-swift.struct/transmissions``).
    public var maximumAttempts: Int { 1 + (rules.map(\.strategy.maximumRetries).max() ?? 0) }

    /// Returns this policy for all requests, whether they are idempotent or not.
    ///
    /// A request that is not idempotent, such as POST, can then take effect twice.
    public func ignoringIdempotence() -> RetryPolicy {
        var copy = self
        for index in copy.rules.indices { copy.rules[index].other = copy.rules[index].idempotent }
        return copy
    }
}

extension RetryPolicy {
    /// The default policy: up to two retries with exponential backoff.
    ///
    /// It applies to failures of the network and the statuses 408, 429, 502, 503 and 504. A request that is not
    /// idempotent is sent again only if it was not sent, or after a 503.
    public static var standard: RetryPolicy {
        RetryPolicy(
            idempotent: .network(isSent: true, statuses: [408, 429, 502, 503, 504]),
            other: .network(isSent: false, statuses: [503]), .exponentialBackoff())
    }

    /// A policy that sends no request again.
    public static var never: RetryPolicy { any(of: []) }

    /// Returns a policy for failures of the network.
    ///
    /// An idempotent request is sent again when the connection cannot be established or is lost, when a limit other
    /// than the total one has passed, or when the response is malformed or truncated, including truncated JSON. Other
    /// requests are sent again only if nothing of them was sent.
    public static func retryNetworkFailure(with strategy: Strategy = .retryTwiceWithDefaultDelay) -> RetryPolicy {
        RetryPolicy(
            idempotent: .network(isSent: true, statuses: []), other: .network(isSent: false, statuses: []), strategy)
    }

    /// Returns a policy for failures of the network, as ``retryNetworkFailure(with:)``, and for 503 responses to any
    /// request.
    public static func retryNetworkFailureOrServiceUnavailable(
        with strategy: Strategy = .retryTwiceWithDefaultDelay
    ) -> RetryPolicy {
        RetryPolicy(
            idempotent: .network(isSent: true, statuses: [503]), other: .network(isSent: false, statuses: [503]),
            strategy)
    }

    /// Returns a policy for responses with `statuses` to idempotent requests.
    ///
    /// Statuses below 400 are not failures and have no effect.
    public static func retryStatuses(_ statuses: [HTTPStatus], with strategy: Strategy) -> RetryPolicy {
        RetryPolicy(idempotent: .statuses(Set(statuses.map(\.code))), strategy)
    }

    /// Returns a policy that sends a request again if one of `policies` does; they decide in order.
    ///
    /// Each policy treats idempotence in its own way. With an empty list, no request is sent again. The
    /// ``maximumRetryAfter`` is the longest of all.
    public static func any(of policies: [RetryPolicy]) -> RetryPolicy {
        var policy = RetryPolicy(idempotent: .none, .retryOnce)
        policy.rules = policies.flatMap(\.rules)
        if let longest = policies.map(\.maximumRetryAfter).max() { policy.maximumRetryAfter = longest }
        return policy
    }
}
