/// Adds credentials to the header of a request; it runs last, so it sees what the body has set.
///
/// It cannot change Accept, Content-Type or the fields that belong to the executor: such changes are dropped.
public struct AuthenticationProvider: Sendable {
    private let authenticate: (@Sendable (inout Header) -> Void)?

    /// A provider that changes the header with `authenticate`.
    public init(authenticate: @escaping @Sendable (inout Header) -> Void) {
        self.authenticate = authenticate
    }

    private init() {
        authenticate = nil
    }

    /// Whether the provider adds nothing.
    var isNone: Bool { authenticate == nil }

    func update(_ header: inout Header) {
        authenticate?(&header)
    }
}

extension AuthenticationProvider {
    /// No credentials; an Authorization that the header has stays.
    public static var none: AuthenticationProvider { AuthenticationProvider() }

    /// `Bearer` and `token` (RFC 6750 §2.1).
    public static func bearerToken(_ token: String) -> AuthenticationProvider {
        AuthenticationProvider { $0[.authorization] = "Bearer \(token)" }
    }

    /// `Basic` and the credentials, UTF-8 in base64 (RFC 7617).
    ///
    /// A colon in `username` would be read as the end of the name (RFC 7617 §2): such credentials are sent as given, and
    /// the server will refuse them.
    public static func basicAuth(username: String, password: String) -> AuthenticationProvider {
        let credentials = Data("\(username):\(password)".utf8).base64EncodedString()
        return AuthenticationProvider { $0[.authorization] = "Basic \(credentials)" }
    }

    /// The credentials that a URL's userinfo holds, as Basic.
    static func userinfo(_ text: String) -> AuthenticationProvider {
        let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false).map(
            PercentEncoding.decode)
        return basicAuth(username: parts[0], password: parts.count > 1 ? parts[1] : "")
    }
}
