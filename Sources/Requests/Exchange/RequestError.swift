/// The error of a call, with its reason, which is the same for every executor, and with the request, the response and
/// the cause.
///
/// Its descriptions contain the method, the URL, the status and the problem, and never a secret. A value has 24 bytes,
/// because everything except the reason is in one shared reference.
public struct RequestError: Error {
    /// The reason for the failure.
    public let reason: Reason

    private var evidence: Evidence

    /// Creates an error from its reason and the available details.
    ///
    /// - Parameters:
    ///   - reason: The reason for the failure.
    ///   - detail: The value or the cause in one line, for the description; it must not contain secrets.
    ///   - underlying: The error that caused this one.
    ///   - request: The request as it was, or would have been, sent.
    ///   - response: The head of the response, if it was received.
    ///   - body: The received part of the body, if it was collected.
    public init(
        _ reason: Reason, detail: String? = nil, underlying: (any Error)? = nil, request: PreparedRequest? = nil,
        response: ResponseHead? = nil, body: Data? = nil
    ) {
        self.reason = reason
        evidence = Evidence(
            Values(
                detail: detail, underlying: underlying, request: request?.outsideOfCall, response: response, body: body)
        )
    }

    /// The value or the cause in one line; nil if the reason says everything.
    public var detail: String? { evidence.values.detail }

    /// The error that caused this one; nil if there is none.
    public var underlying: (any Error)? { evidence.values.underlying }

    /// The request as it was, or would have been, sent; nil if it could not be prepared.
    public var request: PreparedRequest? { evidence.values.request }

    /// The head of the response; nil if it was not received.
    public var response: ResponseHead? { evidence.values.response }

    /// The received part of the body, if it was collected; for a truncated body, its beginning.
    public var body: Data? { evidence.values.body }

    /// The failed TLS connection, with the server's certificates.
    ///
    /// It is nil if the handshake had not begun, and for other failures.
    public var tls: TLSConfiguration.Negotiation? { evidence.values.tls }

    /// The number of requests that the call sent, including redirects and repetitions by middleware; at least 1.
    public var attempts: Int { evidence.values.attempts }

    /// The repetitions of the call's last request by middleware, in order; empty if it was sent once.
    public var retries: [RawResponse.Metrics.Retry] { evidence.values.retries }

    /// The reason why the failed request was not sent again; nil without a retry policy.
    public var retryRefusal: RawResponse.Metrics.Retry.Refusal? { evidence.values.retryRefusal }

    /// Whether repeating the request would fail in the same way although the reason does not say so.
    ///
    /// That is the case for problems with certificates or the TLS configuration.
    package var isPermanent: Bool { evidence.values.isPermanent }

    /// The status of the response; nil if it was not received.
    public var status: HTTPStatus? { response?.status }

    /// Whether the call was cancelled, by its Swift task or its ``RequestTask``.
    public var isCancellation: Bool { reason == .cancelled }

    /// Whether the server may have received the request and acted on it; check this before a retry.
    public var mayHaveReachedServer: Bool {
        if evidence.values.nothingWasSent { return false }
        return switch reason {
        case .invalidRequest, .bodyNotReplayable, .credentialsUnavailable, .unsupportedScheme, .hostNotFound,
            .connectionFailed, .executorClosed, .tlsUnavailable, .certificateRefused:
            response != nil
        case .proxyRefused: false
        case .timedOut(let phase): phase.isAfterConnecting
        default: true
        }
    }
}

extension RequestError {
    /// The values that accompany an error.
    private struct Values: Sendable {
        var detail: String?
        var underlying: (any Error)?
        var request: PreparedRequest?
        var response: ResponseHead?
        var body: Data?
        var decodedType: String?
        var nothingWasSent = false
        var attempts = 1
        var retries: [RawResponse.Metrics.Retry] = []
        var retryRefusal: RawResponse.Metrics.Retry.Refusal?
        var isPermanent = false
        var tls: TLSConfiguration.Negotiation?
        var report: String?
        var secretsOfExecutor: [Field] = []
    }

    /// The values in one reference, which copies of the error share until a value is added.
    private final class Evidence: Sendable {
        let values: Values

        init(_ values: Values) {
            self.values = values
        }
    }

    private func changing(_ change: (inout Values) -> Void) -> RequestError {
        var (copy, values) = (self, evidence.values)
        change(&values)
        copy.evidence = Evidence(values)
        return copy
    }

    /// The name of the type that the body could not be decoded as; nil if it is unknown.
    var decodedType: String? { evidence.values.decodedType }

    /// Returns this error with the type that the body could not be decoded as, unless it has one.
    func decoding(_ type: Any.Type) -> RequestError {
        // The type of an inner decoder describes the failure better than the type of the whole response.
        if decodedType != nil { return self }
        return changing { $0.decodedType = String(describing: type) }
    }

    /// Returns this error with missing values filled in; existing values are kept, except for the number of attempts.
    public func adding(
        request: PreparedRequest? = nil, response: ResponseHead? = nil, body: Data? = nil, attempts: Int? = nil
    ) -> RequestError {
        changing { values in
            values.request = values.request ?? request?.outsideOfCall
            values.response = values.response ?? response
            values.body = values.body ?? body
            values.attempts = attempts ?? values.attempts
        }
    }

    /// Returns this error with the parameters that the handshake of its TLS connection had negotiated.
    package func adding(tls: TLSConfiguration.Negotiation?) -> RequestError {
        tls == nil ? self : changing { $0.tls = tls }
    }

    /// Returns this error with `place`, such as the name of a proxy, before its detail.
    package func adding(place: String) -> RequestError {
        changing { $0.detail = $0.detail.map { "\(place): \($0)" } ?? place }
    }

    /// Returns this error with `advice` after its detail.
    package func adding(advice: String) -> RequestError {
        changing { $0.detail = $0.detail.map { "\($0); \(advice)" } ?? advice }
    }

    /// The secret fields that the executor itself has added to the request; the response may repeat them.
    package var secretsOfExecutor: [Field] { evidence.values.secretsOfExecutor }

    /// Returns this error with the secret fields that the executor itself has added to the request.
    package func adding(secretsOfExecutor secrets: [Field]) -> RequestError {
        secrets.isEmpty ? self : changing { $0.secretsOfExecutor = secrets }
    }

    /// Returns this error with `response`, and with the request as it was sent, or `request` if that is unknown.
    package func adding(_ response: RawResponse, to request: PreparedRequest) -> RequestError {
        adding(request: response.request ?? request, response: response.head, body: response.collectedBody)
            .adding(secretsOfExecutor: response.secretsOfExecutor)
    }

    /// Returns this error with the evidence of a call: `response` and its request, or `request` if that is unknown.
    func adding(_ response: RawResponse, to request: PreparedRequest, attempts: Int) -> RequestError {
        adding(response, to: request).adding(attempts: attempts).adding(retryRefusal: response.metrics.retryRefusal)
    }

    /// Returns this error with `retries`, which come before the retries it has already.
    package func adding(retries: [RawResponse.Metrics.Retry]) -> RequestError {
        if retries.isEmpty { return self }
        return changing { $0.retries = retries + $0.retries }
    }

    /// Returns this error with `repetitions` by middleware, which come before the retries it has already and count as
    /// attempts.
    package func adding(repetitions: [RawResponse.Metrics.Retry]) -> RequestError {
        if repetitions.isEmpty { return self }
        return changing { values in
            values.retries = repetitions + values.retries
            values.attempts += repetitions.count
        }
    }

    /// Returns this error with the reason why a retry policy did not repeat the request; nil changes nothing.
    package func adding(retryRefusal: RawResponse.Metrics.Retry.Refusal?) -> RequestError {
        retryRefusal == nil ? self : changing { $0.retryRefusal = retryRefusal }
    }

    /// Returns this error with the total limit as its reason, for a call that was cancelled because that limit had
    /// passed.
    func timedOut() -> RequestError {
        var copy = RequestError(.timedOut(.total))
        copy.evidence = evidence
        return copy
    }

    /// Returns this error, marked as one that repeating the request would not change.
    package func permanent() -> RequestError {
        changing { $0.isPermanent = true }
    }

    /// Lines that explain the error, printed below its description; nil if there are none.
    package var report: String? { evidence.values.report }

    /// Returns this error with lines that explain it, printed below its description.
    ///
    /// - Parameter report: The lines, which must not contain secrets and are printed as they are.
    /// - Returns: The error.
    package func explained(by report: String) -> RequestError {
        changing { $0.report = report }
    }

    /// Returns this error, marked as thrown before any byte of the request was sent.
    public func beforeSending() -> RequestError {
        changing { $0.nothingWasSent = true }
    }

    /// Returns this error, no longer marked as thrown before sending: an earlier transmission may have reached the
    /// server.
    package func afterSending() -> RequestError {
        changing { $0.nothingWasSent = false }
    }

    /// Runs `operation` and throws its errors as `RequestError`.
    ///
    /// A `RequestError` is thrown as it is, and a `CancellationError` becomes ``Reason/cancelled``. Any other error
    /// becomes the ``underlying`` error of `reason`.
    public static func wrapping<Value>(
        _ reason: Reason, _ operation: () async throws -> Value
    ) async throws(RequestError) -> Value {
        do {
            return try await operation()
        } catch {
            throw RequestError(wrapping: error, as: reason)
        }
    }

    /// Runs `operation` and throws its errors as `RequestError`.
    ///
    /// A `RequestError` is thrown as it is, and a `CancellationError` becomes ``Reason/cancelled``. Any other error
    /// becomes the ``underlying`` error of `reason`.
    public static func wrapping<Value>(
        _ reason: Reason, _ operation: () throws -> Value
    ) throws(RequestError) -> Value {
        do {
            return try operation()
        } catch {
            throw RequestError(wrapping: error, as: reason)
        }
    }

    package init(wrapping error: any Error, as reason: Reason) {
        switch error {
        case let error as RequestError: self = error
        case is CancellationError: self.init(.cancelled)
        default: self.init(reason, underlying: error)
        }
    }
}
