extension RequestConvertible {
    /// This request as Foundation's type, for a networking layer of your own; nothing is sent.
    ///
    /// The URL comes first, then the body provider and last the authentication provider, which are run anew by each
    /// call and see a copy of the header that is kept only when nothing was thrown. With an empty endpoint and no query
    /// items the URL is the base URL as it was given, unless it has userinfo, which becomes Basic credentials.
    ///
    /// - Throws: ``InvalidRequestURLError`` when no URL can be made, what the body provider throws as it is, and
    ///   `RequestError` for everything else that cannot be sent.
    public func toURLRequest() throws -> URLRequest {
        do throws(RequestError) {
            var request = try URLRequest(prepared())
            if isBaseURL, baseURL.user(percentEncoded: true) == nil { request.url = baseURL }
            return request
        } catch {
            throw conversionError(error)
        }
    }

    /// What ``toURLRequest()`` throws for an error of preparing this request.
    package func conversionError(_ error: RequestError) -> any Error {
        if error.reason == .bodyNotEncoded, let underlying = error.underlying { return underlying }
        do {
            _ = try target()
            return error
        } catch let failure {
            guard case .invalidRequest(let problem) = failure.reason else { return failure }
            return InvalidRequestURLError(baseURL: baseURL, endpoint: endpoint, problem: problem)
        }
    }

    /// Whether nothing is added to the base URL.
    private var isBaseURL: Bool {
        endpoint.encoded.isEmpty && queryItems.isEmpty
    }
}
