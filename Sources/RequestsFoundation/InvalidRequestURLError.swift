/// The URL of a request cannot be made of its base URL, its endpoint and its query.
///
/// Thrown by ``Requests/RequestConvertible/toURLRequest()``; ``Requests/RequestConvertible/prepared()`` throws a
/// `RequestError` instead.
public struct InvalidRequestURLError: Error, Hashable, Sendable {
    /// The base URL as the API gives it; it may hold secrets, so the description leaves its userinfo and query out.
    public let baseURL: URL

    /// The path that was to be below the base URL.
    public let endpoint: RequestPath

    /// What is wrong.
    public let problem: InvalidRequest

    init(baseURL: URL, endpoint: RequestPath, problem: InvalidRequest) {
        self.baseURL = baseURL
        self.endpoint = endpoint
        self.problem = problem
    }
}

extension InvalidRequestURLError: LocalizedError, CustomStringConvertible, CustomReflectable {
    /// What is wrong with which endpoint of which base URL; userinfo and query of the base URL are left out.
    public var description: String {
        "no URL for “\(Redaction.standard.redacted(reference: endpoint.template))” below \(shownBase): \(problem)"
    }

    /// What is wrong, as ``description`` says it.
    public var errorDescription: String? { description }

    /// What `dump` sees: the description, never a secret.
    public var customMirror: Mirror { Mirror(self, children: ["error": description]) }

    private var shownBase: String {
        guard let scheme = baseURL.scheme, let host = baseURL.host() else { return "a base URL without a host" }
        return "\(scheme)://\(host)\(baseURL.port.map { ":\($0)" } ?? "")\(baseURL.path())"
    }
}
