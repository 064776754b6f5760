/// What `URLSession.perform` of Requests 0.3.2 gives: the response and what the decoder made of its body, or an error.
public typealias NetworkResult<Resource> = Result<(HTTPURLResponse, Resource), RequestTransportError>

/// The error of a call made with `URLSession.perform`.
///
/// New code reads ``error``; the other members are those of Requests 0.3.2.
public struct RequestTransportError: Error {
    /// What went wrong, in the words of every executor, with the evidence.
    public let error: RequestError

    /// What went wrong, as code written for 0.3.2 expects it: what kept the request from being converted, the
    /// validation's or the decoder's own error, the session's `URLError` (for a limit of the request `.timedOut`, for a
    /// cancellation `.cancelled`), or ``error`` where there is no other.
    public let underlyingError: any Error

    /// The request of the call as it was first sent, without a body that is a stream; nil when it could not be
    /// converted.
    public let request: URLRequest?

    /// The response, when one had arrived.
    public let response: URLResponse?

    /// The response, when one had arrived and was HTTP; a session gives no other here.
    public var httpResponse: HTTPURLResponse? { response as? HTTPURLResponse }

    /// The error of a request that was prepared.
    init(_ error: RequestError, of request: PreparedRequest) {
        self.error = error
        underlyingError = Self.underlyingError(of: error)
        var sent = request
        if case .stream = sent.body { sent.body = .none }
        self.request = try? URLRequest(sent)
        response = error.response.flatMap { HTTPURLResponse($0) }
    }

    /// The error of a request that could not be prepared.
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
    /// One line: method, URL, status and what was wrong; never a secret.
    public var description: String { error.description }

    /// The same line.
    public var errorDescription: String? { description }
}
