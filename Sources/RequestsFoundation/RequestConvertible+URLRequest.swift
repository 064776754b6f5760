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
        let target: TargetURI
        do {
            target = try self.target()
        } catch {
            guard case .invalidRequest(let problem) = error.reason else { throw error }
            throw InvalidRequestURLError(baseURL: baseURL, endpoint: endpoint, problem: problem)
        }
        do throws(RequestError) {
            var request = try URLRequest(prepared(at: target))
            if isBaseURL, baseURL.user(percentEncoded: true) == nil { request.url = baseURL }
            return request
        } catch {
            guard error.reason == .bodyNotEncoded, let underlying = error.underlying else { throw error }
            throw underlying
        }
    }

    /// Whether nothing is added to the base URL.
    private var isBaseURL: Bool {
        endpoint.encoded.isEmpty && queryItems.isEmpty
    }
}
