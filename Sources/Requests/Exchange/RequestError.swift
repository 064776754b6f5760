/// What went wrong with a call: one reason in this library's words, the same on every executor, and the evidence.
///
/// Its descriptions show method, URL, status and what was wrong, never a secret. It is 24 bytes; the evidence is shared.
public struct RequestError: Error {
    /// What went wrong.
    public let reason: Reason

    private var evidence: Evidence

    /// An error of `reason` and the evidence at hand.
    ///
    /// - Parameters:
    ///   - reason: What went wrong.
    ///   - detail: What was wrong in one line, for the description; it must not hold secrets.
    ///   - underlying: The error that caused this one.
    ///   - request: The request as it was or would have been sent.
    ///   - response: The head of the response, when one had arrived.
    ///   - body: What had arrived of the body, when it was collected.
    public init(
        _ reason: Reason, detail: String? = nil, underlying: (any Error)? = nil, request: PreparedRequest? = nil,
        response: ResponseHead? = nil, body: Data? = nil
    ) {
        self.reason = reason
        evidence = Evidence(
            detail: detail, underlying: underlying, request: request, response: response, body: body,
            nothingWasSent: false, attempts: 1)
    }

    /// What was wrong in one line, when there is more to say than the reason does.
    public var detail: String? { evidence.detail }

    /// The error that caused this one, if another did.
    public var underlying: (any Error)? { evidence.underlying }

    /// The request as it was or would have been sent; nil when it could not even be prepared.
    public var request: PreparedRequest? { evidence.request }

    /// The head of the response, when one had arrived.
    public var response: ResponseHead? { evidence.response }

    /// What had arrived of the body, when it was collected: for a body cut short its beginning.
    public var body: Data? { evidence.body }

    /// How many requests went out for the call, redirects and retries included; at least 1.
    public var attempts: Int { evidence.attempts }

    /// The status of the response, when one had arrived.
    public var status: HTTPStatus? { response?.status }

    /// Whether the call was cancelled: by its task, or by whoever held it.
    public var isCancellation: Bool { reason == .cancelled }

    /// Whether the server may have seen the request, and so may have acted on it: what a retry must ask.
    public var mayHaveReachedServer: Bool {
        if evidence.nothingWasSent { return false }
        return switch reason {
        case .invalidRequest, .bodyNotReplayable, .notAuthenticated, .unsupportedScheme, .hostNotFound,
            .connectionFailed:
            response != nil
        case .timedOut(let phase): phase.isAfterConnecting
        default: true
        }
    }
}

extension RequestError {
    /// What surrounds an error; shared, and copied when something is added.
    private final class Evidence: Sendable {
        let detail: String?
        let underlying: (any Error)?
        let request: PreparedRequest?
        let response: ResponseHead?
        let body: Data?
        let nothingWasSent: Bool
        let attempts: Int

        init(
            detail: String?, underlying: (any Error)?, request: PreparedRequest?, response: ResponseHead?, body: Data?,
            nothingWasSent: Bool, attempts: Int
        ) {
            self.detail = detail
            self.underlying = underlying
            self.request = request
            self.response = response
            self.body = body
            self.nothingWasSent = nothingWasSent
            self.attempts = attempts
        }
    }

    /// This error with what it does not know yet filled in; what it knows stays.
    public func adding(
        request: PreparedRequest? = nil, response: ResponseHead? = nil, body: Data? = nil, attempts: Int? = nil
    ) -> RequestError {
        var copy = self
        copy.evidence = Evidence(
            detail: detail, underlying: underlying, request: self.request ?? request,
            response: self.response ?? response, body: self.body ?? body, nothingWasSent: evidence.nothingWasSent,
            attempts: attempts ?? self.attempts)
        return copy
    }

    /// This error, knowing that not a byte of the request was sent.
    public func beforeSending() -> RequestError {
        var copy = self
        copy.evidence = Evidence(
            detail: detail, underlying: underlying, request: request, response: response, body: body,
            nothingWasSent: true, attempts: attempts)
        return copy
    }

    /// Runs `operation` and turns whatever it throws into a `RequestError`.
    ///
    /// A `RequestError` stays as it is, a `CancellationError` becomes ``Reason/cancelled``, any other error becomes
    /// `reason` with that error as its ``underlying``.
    public static func wrapping<Value>(
        _ reason: Reason, _ operation: () async throws -> Value
    ) async throws(RequestError) -> Value {
        do {
            return try await operation()
        } catch {
            throw RequestError(wrapping: error, as: reason)
        }
    }

    /// Runs `operation` and turns whatever it throws into a `RequestError`.
    ///
    /// A `RequestError` stays as it is, a `CancellationError` becomes ``Reason/cancelled``, any other error becomes
    /// `reason` with that error as its ``underlying``.
    public static func wrapping<Value>(
        _ reason: Reason, _ operation: () throws -> Value
    ) throws(RequestError) -> Value {
        do {
            return try operation()
        } catch {
            throw RequestError(wrapping: error, as: reason)
        }
    }

    init(wrapping error: any Error, as reason: Reason) {
        switch error {
        case let error as RequestError: self = error
        case is CancellationError: self.init(.cancelled)
        default: self.init(reason, underlying: error)
        }
    }
}
