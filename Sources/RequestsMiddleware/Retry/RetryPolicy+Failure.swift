extension RetryPolicy {
    /// The failure of one attempt, about which a policy decides.
    public struct Failure: Sendable {
        /// The number of attempts before the failed one, from 0.
        public var attempt: Int

        /// The request.
        public var request: PreparedRequest

        /// The error of the attempt.
        ///
        /// A response whose status is 400 or higher has the reason
        /// ``/Requests/RequestError/Reason-swift.enum/unacceptableStatus``, its head and its body, if that was
        /// collected.
        public var error: RequestError

        /// The category of the failure.
        public var category: Category

        /// The delay that the Retry-After field of the response requests, without a limit; nil if there is none.
        public var retryAfter: Duration?

        /// The time until the deadline of the call; nil if there is none.
        public var timeLeft: Duration?

        /// Creates the failure of an attempt at `request`, as for a test of a policy; `attempt` counts from 0.
        public init(
            _ error: RequestError, of request: PreparedRequest, attempt: Int = 0, retryAfter: Duration? = nil,
            timeLeft: Duration? = nil
        ) {
            self.error = error
            // A policy may keep the request, and perform it again as a separate call.
            self.request = request.outsideOfCall
            self.attempt = max(0, attempt)
            self.retryAfter = retryAfter
            self.timeLeft = timeLeft
            category = Category(error)
        }

        /// Whether the request can be sent again although the server may have received it.
        public var isIdempotent: Bool { request.isIdempotent }

        var cause: RawResponse.Metrics.Retry.Cause {
            if case .status(let status) = category { .status(status) } else { .failure(error.reason) }
        }
    }

    /// The category of a failure; it decides whether a request that is not idempotent may be sent again.
    @nonexhaustive
    public enum Category: Hashable, Sendable {
        /// The server has received nothing of the request.
        case notSent
        /// The server may have received the request, and nothing of its response has arrived.
        case mayHaveArrived
        /// The response has begun, but is truncated or malformed.
        case brokenResponse
        /// The response has this status, which is 400 or higher.
        case status(HTTPStatus)
        /// The request would fail in the same way again, or the call has ended.
        case permanent
    }
}

extension RetryPolicy.Category {
    /// Creates the category of `error`.
    ///
    /// The certificates and the configuration of TLS are permanent, whatever the reason is.
    public init(_ error: RequestError) {
        if error.isPermanent {
            self = .permanent
            return
        }
        switch error.reason {
        case .timedOut(.total): self = .permanent
        case .hostNotFound, .connectionFailed, .connectionLost, .proxyRefused, .tlsFailed, .timedOut:
            if !error.mayHaveReachedServer {
                self = .notSent
            } else {
                self = error.response == nil ? .mayHaveArrived : .brokenResponse
            }
        case .protocolViolation:
            // The server would use a coding that cannot be decoded again.
            switch (error.underlying as? ContentCodingError)?.problem {
            case .unknown, .tooMany: self = .permanent
            case .damaged, .truncated, nil: self = .brokenResponse
            }
        case .decodingFailed: self = error.isJSONTruncated ? .brokenResponse : .permanent
        case .unacceptableStatus: self = error.status.map { .status($0) } ?? .permanent
        // A new reason must be added to a row of this table.
        case .invalidRequest, .bodyEncodingFailed, .fileAccessFailed, .bodyNotReplayable, .credentialsUnavailable,
            .unsupportedScheme, .executorClosed, .tlsUnavailable, .certificateRefused, .tooLarge, .notModified,
            .unexpectedRedirect, .unexpectedContentType,
            .unexpectedNoContent, .cancelled, .other:
            self = .permanent
        }
    }
}
