extension RawResponse.Metrics {
    /// A repetition of a request, with its cause and the delay before it.
    public struct Retry: Hashable, Sendable {
        /// The reason for repeating a request.
        @nonexhaustive
        public enum Cause: Hashable, Sendable {
            /// The attempt before failed.
            case failure(RequestError.Reason)
            /// The attempt before had a response with this status.
            case status(HTTPStatus)
            /// The attempt before had no response yet, and continued beside the new one.
            case slowResponse
            /// The attempt before was rejected with this status, and an authenticator provided other credentials.
            case rejected(HTTPStatus)
        }

        /// The reason for repeating the request.
        public var cause: Cause

        /// The time between the end of the attempt before, or its start if it continued, and the repetition; at least
        /// 0.
        public var delay: Duration

        /// The authenticator that handled a rejection, and whether the request had its credentials.
        ///
        /// It is nil for other causes, and not compared.
        package var handler: (authenticator: ObjectIdentifier, hadCredentials: Bool)?

        /// Creates a repetition.
        public init(cause: Cause, delay: Duration) {
            self.cause = cause
            self.delay = delay
        }
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
    public var description: String { "\(cause), repeated after \(delay)" }
}

extension RawResponse.Metrics.Retry.Cause: CustomStringConvertible {
    /// The reason or the status in a few words.
    public var description: String {
        switch self {
        case .failure(let reason): "\(reason)"
        case .status(let status): "\(status)"
        case .slowResponse: "no response yet"
        case .rejected(let status): "\(status) to the credentials"
        }
    }
}
