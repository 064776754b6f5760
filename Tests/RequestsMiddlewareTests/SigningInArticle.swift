import RequestsMiddleware
import RequestsSocket

/// The code of the article on signing in, which `SigningInArticleTests` runs; `ReadmeSnippetTests` checks that it has
/// each snippet, line for line.
enum SigningInArticle {
    enum GitHub: RequestProviding {
        case production

        /// The base URL; a test replaces it with its server's.
        @TaskLocal static var server = URL("https://api.github.com")

        var baseURL: URL { Self.server }
    }

    struct Logins: RequestProviding {
        let baseURL: URL
    }

    struct TokenAPI: RequestProviding {
        let baseURL: URL
    }

    struct AccessToken: Codable, Sendable {
        let token: String
        let end: Date
    }

    static func client(_ token: String) -> Client<GitHub> {
        let client = Client(GitHub.production, executor: SocketExecutor())
            .authenticating(with: .bearerToken(token))
        return client
    }

    static func suppression(_ authenticator: some Authenticator, _ client: Client<GitHub>) async throws -> String {
        let status = try await authenticator.withoutCredentials {
            try await client.perform(.status)
        }
        return status
    }

    static func renewal(_ stored: AccessToken, _ tokens: Client<TokenAPI>) -> RefreshableAuthenticator<AccessToken> {
        let authenticator = RefreshableAuthenticator(
            stored, expiration: { $0.end }, leeway: .seconds(60),
            fields: { [Field(name: .authorization, value: "Bearer \($0.token)")] }
        ) { old in
            try await tokens.perform(.refresh(old))
        }
        return authenticator
    }

    static func server(
        _ executor: some RequestExecutor, _ stored: OAuthCredential
    ) async throws -> (Client<OAuthServer>, OAuthCredential) {
        let server = OAuthServer(
            tokenEndpoint: URL("https://login.example.com/token"),
            authorizationEndpoint: URL("https://login.example.com/authorize"),
            deviceAuthorizationEndpoint: URL("https://login.example.com/device"),
            client: .publicClient(id: "app"))
        let tokens = Client(server, executor: executor)
        let credential = try await tokens.perform { $0.refresh(stored) }
        return (tokens, credential)
    }

    static func stored(
        _ api: GitHub, _ executor: some RequestExecutor, _ tokens: Client<OAuthServer>, _ credential: OAuthCredential,
        _ store: OAuthCredential.FileStore
    ) -> Client<GitHub> {
        let authenticator = RefreshableAuthenticator(
            credential, from: tokens, store: store)
        let client = Client(api, executor: executor)
            .authenticating(with: authenticator)
        return client
    }

    static func clientCredentials(
        _ api: GitHub, _ executor: some RequestExecutor, _ secret: String
    ) -> Client<GitHub> {
        let server = OAuthServer(
            tokenEndpoint: URL("https://login.example.com/token"),
            client: .basic(id: "app", secret: secret))
        let tokens = Client(server, executor: executor)
        let authenticator = RefreshableAuthenticator(nil) { _ in
            try await tokens.perform { $0.clientCredentials(scope: "read") }
        }
        let client = Client(api, executor: executor)
            .authenticating(with: authenticator)
        return client
    }

    static func browser(
        _ server: OAuthServer, _ tokens: Client<OAuthServer>, opening open: (URL) async throws -> URL
    ) async throws -> OAuthCredential {
        let authorization = try server.authorization(
            redirectingTo: "com.example.app:/signed-in")
        let redirect = try await open(authorization.url)
        let credential = try await tokens.perform {
            $0.authorizationCode(of: authorization, redirectedTo: redirect)
        }
        return credential
    }

    static func device(_ tokens: Client<OAuthServer>) async throws -> OAuthCredential {
        let device = try await tokens.perform { $0.deviceAuthorization() }
        print("Open \(device.verificationURI), enter \(device.userCode).")
        let credential = try await tokens.credential(for: device)
        return credential
    }

    static func store(_ folder: String) -> OAuthCredential.FileStore {
        let store = OAuthCredential.FileStore(path: folder + "/token.json")
        return store
    }

    static func digest(_ secret: String) -> DigestAuthenticator {
        let authenticator = DigestAuthenticator(username: "me", password: secret)
        return authenticator
    }

    static func legacyDigest(_ secret: String) -> DigestAuthenticator {
        let legacy = DigestAuthenticator(
            username: "me", password: secret, allowing: [.md5])
        return legacy
    }

    actor Session: Authenticator {
        private let logins: Client<Logins>
        private var key: String?
        private var generation = 0

        init(_ logins: Client<Logins>) { self.logins = logins }

        func credentials(
            for request: PreparedRequest
        ) async throws(RequestError) -> (fields: Header, token: Int) {
            // Without a key, the request is sent as it is, and its 401 is handled.
            guard let key else { return ([], generation) }
            return ([Field(name: "X-Session", value: key)], generation)
        }

        func handleUnauthorized(
            _ failure: AuthenticationFailure<Int>
        ) async throws(RequestError) -> Bool {
            // Another request may have signed in since.
            if failure.token == generation { try await signIn() }
            return true
        }

        private func signIn() async throws(RequestError) {
            key = try await logins.perform(.key)
            generation += 1
        }
    }
}

extension Call<SigningInArticle.GitHub, String> {
    static var status: Self { Call { $0.get(.text, from: "/status") } }
}

extension Call<SigningInArticle.Logins, String> {
    static var key: Self { Call { $0.post(.text("me"), to: "/key", receiving: .text) } }
}

extension Call<SigningInArticle.TokenAPI, SigningInArticle.AccessToken> {
    fileprivate static func refresh(_ old: SigningInArticle.AccessToken?) -> Self {
        Call { $0.post(.json(old), to: "/token", receiving: .json()) }
    }
}
