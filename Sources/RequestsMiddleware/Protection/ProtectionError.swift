package import Requests

/// The reason why middleware of this product did not send a request, or stopped reading its response: the underlying
/// error of a `RequestError` with the reason `other`.
@nonexhaustive
public enum ProtectionError: Error, Hashable, Sendable {
    /// A ``RateLimit`` would delay the request for this time, which is longer than its longest delay; nothing was sent.
    case rateLimited(Duration)
    /// A ``CircuitBreaker`` is open for the remaining time, or waits for its probes; nothing was sent.
    case circuitOpen(Duration)
    /// A ``MemoryBudget`` of this many bytes, or the half of it for one origin, has no space for the body.
    case memoryExhausted(budget: Int)
}

extension ProtectionError: CustomStringConvertible {
    /// The reason in one line, with what to do.
    public var description: String {
        switch self {
        case .rateLimited(let delay):
            "the rate limit would delay the request for \(delay); send fewer requests, or allow a longer delay"
        case .circuitOpen(let delay):
            "the circuit of the server is open after repeated failures; send the request again after \(delay)"
        case .memoryExhausted(let budget):
            "the memory budget of \(ErrorText.bytes(budget)), half of it for one server, has no space for the body; "
                + "stream the body, or raise the budget"
        }
    }
}

extension ProtectionError: ServedRefusal {
    /// 429 (Too Many Requests) for a limit of the rate, and otherwise 503 (Service Unavailable).
    package var servedStatus: HTTPStatus { if case .rateLimited = self { 429 } else { 503 } }

    package var retryDelay: Duration? {
        switch self {
        case .rateLimited(let delay), .circuitOpen(let delay): delay
        case .memoryExhausted: nil
        }
    }
}

extension RequestError {
    /// Creates the error of a request that was not sent, which no retry changes.
    init(_ error: ProtectionError, for request: PreparedRequest) {
        self = RequestError(.other, detail: error.description, underlying: error)
            .adding(request: request).permanent().beforeSending()
    }
}
