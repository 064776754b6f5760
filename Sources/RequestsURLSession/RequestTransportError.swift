/// The result of a call with `URLSession.perform`, as in Requests 0.3.2.
///
/// It is the response and the decoded value, or an error.
public typealias NetworkResult<Resource> = Result<(HTTPURLResponse, Resource), RequestTransportError>

/// The error of a call made with `URLSession.perform`.
///
/// Use ``error`` in new code; the other members exist for code that was written for Requests 0.3.2.
public struct RequestTransportError: Error {
    /// The error as every executor reports it, with the request, the response and the cause.
    public let error: RequestError

    /// The error that Requests 0.3.2 reported.
    ///
    /// This is the error of the conversion to a `URLRequest`; or the error that the validation or the decoder threw; or
    /// the session's `URLError`, which is `.timedOut` for every limit of the request and `.cancelled` for a
    /// cancellation. Without any of these, it is ``error``.
    public let underlyingError: any Error

    /// The first request of the call, without a streamed body; nil if the request could not be converted.
    public let request: URLRequest?

    /// The response, if one arrived.
    public let response: URLResponse?

    /// The response, if one arrived; a session delivers only HTTP responses here.
    public var httpResponse: HTTPURLResponse? { response as? HTTPURLResponse }

    /// Creates the error of a call whose request was prepared.
    init(_ error: RequestError, of request: PreparedRequest) {
        self.error = error
        underlyingError = Self.underlyingError(of: error)
        var sent = request
        // Converting a streamed body would produce it a second time.
        if case .stream = sent.body { sent.body = .none }
        self.request = try? URLRequest(sent)
        response = error.response.flatMap { HTTPURLResponse($0) }
    }

    /// Creates the error of a call whose request could not be prepared, because of `cause`.
    init(_ error: RequestError, converting cause: any Error) {
        self.error = error
        underlyingError = error.isCancellation ? Self.underlyingError(of: error) : cause
        request = nil
        response = nil
    }

    private static func underlyingError(of error: RequestError) -> any Error {
        switch error.reason {
        case .timedOut: URLError(.timedOut)
        case .cancelled: URLError(.cancelled)
        default: error.underlying ?? error
        }
    }
}

extension RequestTransportError: LocalizedError, CustomStringConvertible {
    /// One line with method, URL, status and reason, without secrets.
    public var description: String { error.description }

    /// The same text as ``description``.
    public var errorDescription: String? { description }
}
