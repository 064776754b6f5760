import RequestsMiddleware
import RequestsSocket

/// The code of the article on signing in; `ReadmeSnippetTests` checks that it has each snippet, line for line.
private enum SigningInArticle {
    enum GitHub: RequestProviding {
        case production

        var baseURL: URL { URL("https://api.github.com") }
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

    static func suppression(_ authenticator: FixedCredentials, _ client: Client<GitHub>) async throws -> String {
        let status = try await authenticator.withoutCredentials {
            try await client.perform(.status)
        }
        return status
    }

    static func renewal(_ stored: AccessToken, _ tokens: Client<TokenAPI>) -> some Authenticator {
        let authenticator = RefreshableAuthenticator(
            stored, expiration: { $0.end }, leeway: .seconds(60),
            fields: { [Field(name: .authorization, value: "Bearer \($0.token)")] }
        ) { old in
            try await tokens.perform(.refresh(old))
        }
        return authenticator
    }

    static func server(
        _ executor: SocketExecutor, _ stored: OAuthCredential
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
        _ api: GitHub, _ executor: SocketExecutor, _ tokens: Client<OAuthServer>, _ credential: OAuthCredential,
        _ store: OAuthCredential.FileStore
    ) -> Client<GitHub> {
        let authenticator = RefreshableAuthenticator(
            credential, from: tokens, store: store)
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

    actor Session: Authenticator {
        private var generation = 0
        private var key: String?

        func credentials(
            for request: PreparedRequest
        ) async throws(RequestError) -> (fields: Header, token: Int)? {
            guard let key else { return nil }
            return ([Field(name: "X-Session", value: key)], generation)
        }

        func handleUnauthorized(
            _ failure: AuthenticationFailure<Int>
        ) async throws(RequestError) -> Bool {
            // Another request may have signed in again since.
            if failure.token == generation { await signIn() }
            return key != nil
        }
    }
}

extension SigningInArticle.Session {
    private func signIn() async {
        generation += 1
        key = "key \(generation)"
    }
}

extension Call<SigningInArticle.GitHub, String> {
    fileprivate static var status: Self { Call { $0.get(.text, from: "/status") } }
}

extension Call<SigningInArticle.TokenAPI, SigningInArticle.AccessToken> {
    fileprivate static func refresh(_ old: SigningInArticle.AccessToken?) -> Self {
        Call { $0.post(.json(old), to: "/token", receiving: .json()) }
    }
}
