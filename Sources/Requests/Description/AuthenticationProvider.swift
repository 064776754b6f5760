/// A provider of credentials, which it adds to the header of a request.
///
/// It runs last, so the header already has the fields that the body provider sets. If a redirect leads to another
/// origin, the fields that it adds are removed, whatever their names are. It cannot change Accept, Content-Type or the
/// fields that belong to the executor: such changes are discarded.
public struct AuthenticationProvider: Sendable {
    private let authenticate: (@Sendable (inout Header) throws(RequestError) -> Void)?

    /// Whether the provider is known to set no field but Authorization.
    let setsAuthorizationOnly: Bool

    /// Creates a provider that changes the header with `authenticate`.
    public init(authenticate: @escaping @Sendable (inout Header) -> Void) {
        self.authenticate = authenticate
        setsAuthorizationOnly = false
    }

    /// Creates a provider that sets the Authorization field `field`, or throws `problem`.
    private init(setting field: Field, problem: RequestError?) {
        authenticate = { (header) throws(RequestError) in
            if let problem { throw problem }
            header.set(field)
        }
        setsAuthorizationOnly = true
    }

    private init() {
        authenticate = nil
        setsAuthorizationOnly = false
    }

    /// Whether the provider adds nothing.
    var isNone: Bool { authenticate == nil }

    /// Adds the credentials to `header`.
    ///
    /// - Throws: ``RequestError`` with ``RequestError/Reason/invalidRequest(_:)`` for credentials that cannot be sent.
    func update(_ header: inout Header) throws(RequestError) {
        try authenticate?(&header)
    }
}

extension AuthenticationProvider {
    /// A provider that adds no credentials; an Authorization field that the header already has stays.
    public static var none: AuthenticationProvider { AuthenticationProvider() }

    /// Returns a provider that sets Authorization to `Bearer` and `token` (RFC 6750 §2.1).
    ///
    /// A token that is empty, or contains a character other than visible ASCII characters (RFC 6749 A.12), is an error
    /// of the request: ``RequestError/InvalidRequest/invalidBearerToken``.
    public static func bearerToken(_ token: String) -> AuthenticationProvider {
        AuthenticationProvider(setting: .authorization(bearerToken: token), problem: BearerToken.error(of: token))
    }

    /// Returns a provider that sets Authorization to `Basic` and the credentials, UTF-8 in base64 (RFC 7617).
    ///
    /// A colon in `username` would end the user name, and neither value may contain a control character (RFC 7617 §2).
    /// Preparing such a request throws ``RequestError/InvalidRequest/colonInUsername`` or
    /// ``RequestError/InvalidRequest/invalidFieldValue``.
    public static func basicAuth(username: String, password: String) -> AuthenticationProvider {
        let credentials = Data("\(username):\(password)".utf8).base64EncodedString()
        let problem: RequestError.InvalidRequest? =
            if username.utf8.contains(UInt8(ascii: ":")) {
                .colonInUsername
            } else if (username + password).utf8.contains(where: { $0 < 0x20 || $0 == 0x7F }) {
                .invalidFieldValue
            } else { nil }
        return AuthenticationProvider(
            setting: .authorization("Basic \(credentials)"),
            problem: problem.map { RequestError(.invalidRequest($0), detail: "Basic credentials") })
    }

    /// Returns a provider that sends the userinfo of a URL as Basic credentials (decision 0001).
    static func userinfo(_ text: String) -> AuthenticationProvider {
        let (username, password) = TargetURI.credentials(ofUserinfo: text)
        return basicAuth(username: username, password: password)
    }
}
