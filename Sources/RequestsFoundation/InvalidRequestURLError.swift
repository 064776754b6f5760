/// The error of a request whose URL cannot be created from its base URL, its endpoint and its query.
///
/// ``Requests/RequestConvertible/toURLRequest()`` throws it; ``/Requests/RequestConvertible/prepared()`` throws a
/// `RequestError` instead.
public struct InvalidRequestURLError: Error, Hashable, Sendable {
    /// The base URL of the API.
    ///
    /// It may contain secrets, so the description omits its userinfo and query.
    public let baseURL: URL

    /// The path relative to the base URL.
    public let endpoint: RequestPath

    /// The problem with the URL.
    public let problem: RequestError.InvalidRequest

    init(baseURL: URL, endpoint: RequestPath, problem: RequestError.InvalidRequest) {
        self.baseURL = baseURL
        self.endpoint = endpoint
        self.problem = problem
    }
}

extension InvalidRequestURLError: LocalizedError, CustomStringConvertible, CustomReflectable {
    /// The endpoint, the base URL without userinfo and query, and the problem.
    public var description: String {
        let path = ErrorText.quoted(url: endpoint.template)
        return "could not make a URL from \(path) and \(redactedBase): \(problem)"
    }

    /// The same text as ``description``.
    public var errorDescription: String? { description }

    /// The description as the only child, so that `dump` shows no secret.
    public var customMirror: Mirror { Mirror(self, children: ["error": description]) }

    private var redactedBase: String {
        guard let scheme = baseURL.scheme, let host = baseURL.host() else { return "a base URL without a host" }
        return "base URL \(scheme)://\(host)\(baseURL.port.map { ":\($0)" } ?? "")\(baseURL.path())"
    }
}
