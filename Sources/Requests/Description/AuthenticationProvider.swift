/// Adds credentials to the header of a request; it runs last, so it sees what the body has set.
///
/// What it adds stays with the origin of the request when a redirect leads to another one, whatever the fields are called.
/// It cannot change Accept, Content-Type or the fields that belong to the executor: such changes are dropped.
public struct AuthenticationProvider: Sendable {
    private let authenticate: (@Sendable (inout Header) -> Void)?

    /// The reason why the credentials cannot be sent; nil when they can.
    private(set) var problem: InvalidRequest?

    /// Whether the provider is known to set Authorization and nothing else.
    private(set) var setsAuthorizationOnly = false

    /// A provider that changes the header with `authenticate`.
    public init(authenticate: @escaping @Sendable (inout Header) -> Void) {
        self.authenticate = authenticate
    }

    private init() {
        authenticate = nil
    }

    /// Whether the provider adds nothing.
    var isNone: Bool { authenticate == nil }

    /// Changes `header`.
    ///
    /// - Throws: ``RequestError`` with ``RequestError/Reason/invalidRequest(_:)`` for credentials that cannot be sent.
    func update(_ header: inout Header) throws(RequestError) {
        if let problem { throw RequestError(.invalidRequest(problem), detail: "in the credentials") }
        authenticate?(&header)
    }
}

extension AuthenticationProvider {
    /// No credentials; an Authorization that the header has stays.
    public static var none: AuthenticationProvider { AuthenticationProvider() }

    /// `Bearer` and `token` (RFC 6750 §2.1).
    public static func bearerToken(_ token: String) -> AuthenticationProvider {
        var provider = AuthenticationProvider { $0[.authorization] = "Bearer \(token)" }
        provider.setsAuthorizationOnly = true
        return provider
    }

    /// `Basic` and the credentials, UTF-8 in base64 (RFC 7617).
    ///
    /// A colon in `username` would be read as the end of the name, a control byte is not allowed in either (RFC 7617 §2):
    /// preparing the request throws ``InvalidRequest/colonInUsername`` or ``InvalidRequest/invalidFieldValue``.
    public static func basicAuth(username: String, password: String) -> AuthenticationProvider {
        let credentials = Data("\(username):\(password)".utf8).base64EncodedString()
        var provider = AuthenticationProvider { $0[.authorization] = "Basic \(credentials)" }
        provider.setsAuthorizationOnly = true
        if username.utf8.contains(UInt8(ascii: ":")) {
            provider.problem = .colonInUsername
        } else if (username + password).utf8.contains(where: { $0 < 0x20 || $0 == 0x7F }) {
            provider.problem = .invalidFieldValue
        }
        return provider
    }

    /// The credentials that a URL's userinfo holds, as Basic.
    static func userinfo(_ text: String) -> AuthenticationProvider {
        let (username, password) = credentials(text)
        return basicAuth(username: username, password: password)
    }

    /// The user name and the password of a URL's userinfo, decoded; the first colon separates them (RFC 3986 §3.2.1).
    static func credentials(_ userinfo: String) -> (username: String, password: String) {
        let parts = userinfo.splitBytes(at: ":", maxSplits: 1, omittingEmptySubsequences: false).map(
            PercentEncoding.decode)
        return (parts[0], parts.count > 1 ? parts[1] : "")
    }
}
