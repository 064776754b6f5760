extension RequestConvertible {
    /// Returns this request as a `URLRequest` for your own networking layer.
    ///
    /// Nothing is sent. The URL is made first, then the body provider runs, and last the authentication provider. Both
    /// run again in each call and receive a copy of the header, which is used only if nothing was thrown. With an empty
    /// endpoint and no query items, the URL is the unchanged base URL unless that has userinfo, which becomes Basic
    /// credentials.
    ///
    /// - Throws: ``InvalidRequestURLError`` if no URL can be made, the body provider's own error, and `RequestError`
    ///   for everything else that cannot be sent.
    public func toURLRequest() throws -> URLRequest {
        do throws(RequestError) {
            var request = try URLRequest(prepared())
            if isBaseURL, baseURL.user(percentEncoded: true) == nil { request.url = baseURL }
            return request
        } catch {
            throw conversionError(error)
        }
    }

    /// Returns the error that ``toURLRequest()`` throws for an error of preparing this request.
    package func conversionError(_ error: RequestError) -> any Error {
        if error.reason == .bodyEncodingFailed, let underlying = error.underlying { return underlying }
        do {
            _ = try target()
            return error
        } catch let failure {
            guard case .invalidRequest(let problem) = failure.reason else { return failure }
            return InvalidRequestURLError(baseURL: baseURL, endpoint: endpoint.requestPath, problem: problem)
        }
    }

    /// Whether the URL of the request is its base URL.
    private var isBaseURL: Bool {
        endpoint.requestPath.encoded.isEmpty && queryItems.requestQuery.isEmpty
    }
}
