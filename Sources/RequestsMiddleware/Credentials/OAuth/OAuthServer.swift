package import RequestsPOSIX

/// An authorization server, as an API whose requests return tokens (RFC 6749).
///
/// ```swift
/// let server = OAuthServer(
///     tokenEndpoint: URL("https://login.example.com/token"),
///     client: .basic(id: "app", secret: secret))
/// let tokens = Client(server, executor: SocketExecutor())
/// let credential = try await tokens.perform {
///     $0.password(username: "me", password: password)
/// }
/// ```
///
/// Each function returns a request without sending it. The request accepts JSON, does not follow redirects, which would
/// send the secrets elsewhere, and has a total limit of 60 s, which `with(timeouts:)` replaces. Its bodies and the
/// secret of the client appear in no description or error.
///
/// A request fails with `credentialsUnavailable` if the server refuses it, `unacceptableStatus` for a status other than
/// 2xx without an error code, and `decodingFailed` for a response without valid tokens. `RequestError.oauthFailure` has
/// the reason. Endpoints need `https`, except for those on this machine: RFC 6749 §3.2 requires TLS.
public struct OAuthServer: RequestProviding {
    /// The URL from which tokens are requested.
    public var tokenEndpoint: URL

    /// The URL at which the user signs in, for ``authorization(redirectingTo:scope:parameters:)``.
    public var authorizationEndpoint: URL?

    /// The URL from which device codes are requested (RFC 8628 §3.1).
    public var deviceAuthorizationEndpoint: URL?

    /// The identifier of the server, which must equal `iss` in a redirect; nil to ignore it (RFC 9207).
    public var issuer: String?

    /// Whether a redirect without `iss` is rejected.
    ///
    /// Set it if the server has announced that it sends one (RFC 9207 §3).
    public var requiresIssuer = false

    /// The identity of the app.
    public var client: ClientCredentials

    /// The clock for computing expiries, and for waiting between requests with a device code.
    public var clock: Retrying.Clock

    package var hashes: any HashProvider = SystemHashes.shared
    package var randomBytes: @Sendable (Int) -> [UInt8] = { count in
        (0..<count).map { _ in UInt8.random(in: .min ... .max) }
    }

    /// The token endpoint.
    public var baseURL: URL { tokenEndpoint }

    /// Creates a server from its endpoints and the identity of the app.
    public init(
        tokenEndpoint: URL, authorizationEndpoint: URL? = nil, deviceAuthorizationEndpoint: URL? = nil,
        issuer: String? = nil, client: ClientCredentials, clock: Retrying.Clock = .system
    ) {
        self.tokenEndpoint = tokenEndpoint
        self.authorizationEndpoint = authorizationEndpoint
        self.deviceAuthorizationEndpoint = deviceAuthorizationEndpoint
        self.issuer = issuer
        self.client = client
        self.clock = clock
    }
}

extension OAuthServer {
    /// The identity of an app at an authorization server, with its proof (RFC 6749 §2.3).
    public struct ClientCredentials: Sendable {
        enum Proof: Sendable {
            case none
            case basic(secret: String)
            case body(secret: String)
            case assertion(Assertion)
        }

        /// The identifier of the app.
        public let id: String
        let proof: Proof

        private init(_ id: String, _ proof: Proof) {
            self.id = id
            self.proof = proof
        }

        /// Returns the identity of an app without a secret, such as one on the device of a user.
        public static func publicClient(id: String) -> ClientCredentials { ClientCredentials(id, .none) }

        /// Returns an identity whose identifier and secret are sent as Basic credentials, each form-encoded first
        /// (RFC 6749 §2.3.1).
        public static func basic(id: String, secret: String) -> ClientCredentials {
            ClientCredentials(id, .basic(secret: secret))
        }

        /// Returns an identity whose identifier and secret are sent in the body, for servers without Basic.
        public static func body(id: String, secret: String) -> ClientCredentials {
            ClientCredentials(id, .body(secret: secret))
        }

        /// Returns an identity that is proven by a signed assertion, a new one each time a request is described (RFC
        /// 7523 §2.2).
        public static func assertion(id: String, _ assertion: Assertion) -> ClientCredentials {
            ClientCredentials(id, .assertion(assertion))
        }
    }
}

extension OAuthServer.ClientCredentials: CustomStringConvertible, CustomReflectable {
    /// The kind of the identity, without its values.
    public var description: String { "OAuth client" }

    /// The mirror that `dump` prints: the kind only.
    public var customMirror: Mirror { Mirror(self, children: ["kind": description]) }
}

extension OAuthServer: CustomStringConvertible, CustomReflectable {
    /// The token endpoint, without secrets.
    public var description: String { (try? TargetURI(tokenEndpoint.absoluteString))?.description ?? "(INVALID)" }

    /// The mirror that `dump` prints: the token endpoint.
    public var customMirror: Mirror { Mirror(self, children: ["tokenEndpoint": description]) }
}
