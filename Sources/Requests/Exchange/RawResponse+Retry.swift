extension RawResponse.Metrics {
    /// A repetition of a request, with its cause and the delay before it.
    public struct Retry: Hashable, Sendable {
        /// The reason for repeating a request.
        @nonexhaustive
        public enum Cause: Hashable, Sendable {
            /// The previous attempt failed.
            case failure(RequestError.Reason)
            /// The previous attempt had a response with this status.
            case status(HTTPStatus)
            /// The previous attempt had no response yet, and continued beside the new one.
            case slowResponse
            /// The previous attempt was rejected with this status, and an authenticator provided other credentials.
            case rejected(HTTPStatus)
        }

        /// The reason for repeating the request.
        public var cause: Cause

        /// The time from the end of the previous attempt to the repetition; at least 0.
        ///
        /// It is measured from the start of the previous attempt if that attempt continued.
        public var delay: Duration

        /// The authenticator that handled a rejection, and whether the request had credentials from it.
        ///
        /// It is nil for other causes, and is not compared.
        package var handler: (authenticator: ObjectIdentifier, hadCredentials: Bool)?

        /// Creates a repetition.
        public init(cause: Cause, delay: Duration) {
            self.cause = cause
            self.delay = delay
        }
    }
}

extension RawResponse.Metrics.Retry {
    /// The reason for not sending a request again after it failed.
    @nonexhaustive
    public enum Refusal: Hashable, Sendable {
        /// The call was cancelled, or its total limit has passed.
        case callEnded
        /// The retry policy does not cover the failure.
        case failureNotIncluded
        /// The request is not idempotent.
        case notIdempotent
        /// The body can be sent only once.
        case bodyNotReplayable
        /// The retry policy permits no more retries.
        case retriesExhausted
        /// The delay would end after the deadline of the call.
        case deadlineTooClose
        /// The retry budget of the executor has no tokens.
        case budgetExhausted
    }
}

extension RawResponse.Metrics.Retry {
    /// Returns whether both have the same cause and delay.
    public static func == (left: Self, right: Self) -> Bool { left.cause == right.cause && left.delay == right.delay }

    /// Hashes the cause and the delay.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(cause)
        hasher.combine(delay)
    }
}

extension RawResponse.Metrics.Retry: CustomStringConvertible {
    /// The cause and the delay in a few words, such as `503 Service Unavailable, repeated after 2.0 seconds`.
    public var description: String {
        if case .rejected(let status) = cause { return "\(status), repeated with other credentials after \(delay)" }
        return "\(cause), repeated after \(delay)"
    }
}

extension RawResponse.Metrics.Retry.Cause: CustomStringConvertible {
    /// The reason or the status in a few words.
    public var description: String {
        switch self {
        case .failure(let reason): "\(reason)"
        case .status(let status): "\(status)"
        case .slowResponse: "no response yet"
        case .rejected(let status): "rejected with \(status)"
        }
    }
}

extension RawResponse.Metrics.Retry.Refusal: CustomStringConvertible {
    /// The reason in a few words, such as `the retry budget is exhausted`.
    public var description: String {
        switch self {
        case .callEnded: "the call has ended"
        case .failureNotIncluded: "the retry policy does not include the failure"
        case .notIdempotent: "the request is not idempotent; see Request.isIdempotent"
        case .bodyNotReplayable: "the body can be sent only once"
        case .retriesExhausted: "the retry policy permits no more retries"
        case .deadlineTooClose: "the delay would exceed Timeouts.total"
        case .budgetExhausted: "the retry budget is exhausted"
        }
    }

    /// Returns a note that explains why a request was not repeated after `retries`; nil if its failure explains that.
    package func note(after retries: [RawResponse.Metrics.Retry]) -> String? {
        switch self {
        case .callEnded, .failureNotIncluded: return nil
        default:
            let attempts = retries.attemptCount + 1
            return "not repeated\(attempts > 1 ? " after \(attempts) attempts" : ""): \(self)"
        }
    }
}
