@_spi(Lock) import Requests
import RequestsMiddleware
import RequestsMock
import RequestsPOSIX
import RequestsSocket
import RequestsTestServer
import TestSupport
import Testing

/// Runs the code of the article on signing in against servers that respond as the article says.
@Suite("The article on signing in", .timeLimit(.minutes(10)))
struct SigningInArticleTests {
    private typealias Article = SigningInArticle

    /// Runs `body` with a server at the base URL of the article's API.
    private func withGitHub(
        _ respond: @escaping @Sendable (PreparedRequest) -> MockResponse, _ body: () async throws -> Void
    ) async throws {
        try await withTestServer(serving: MockExecutor { respond($0) }) { server in
            try await Article.GitHub.$server.withValue(server.baseURL) { try await body() }
        }
    }

    @Test("the authenticator of the article signs in after a 401, and again when its key is revoked", .rows("PM-90"))
    func session() async throws {
        let valid = Lock("none")
        let routes = TestServer.Routes()
        routes.on(.post, "/key") { _ in
            let key = valid.withLock { key in
                key = "key \(key.utf8.count)"
                return key
            }
            return .text(key)
        }
        routes.on(.get, "/status") { request in
            valid.withLock { request.header["X-Session"] == $0 } ? .text("in") : .status(401)
        }
        try await withTestServer(serving: routes) { server in
            try await Article.GitHub.$server.withValue(server.baseURL) { () async throws in
                let logins = Client(Article.Logins(baseURL: server.baseURL), executor: SocketExecutor())
                let client = Client(Article.GitHub.production, executor: SocketExecutor())
                    .authenticating(with: Article.Session(logins))
                #expect(try await client.perform(.status) == "in")
                #expect(try await client.perform(.status) == "in")
                valid.withLock { $0 = "revoked" }
                #expect(try await client.perform(.status) == "in")
            }
            #expect(
                server.exchanges.map { "\($0.target) \($0.status?.code ?? 0)" } == [
                    "/status 401", "/key 200", "/status 200", "/status 200",
                    "/status 401", "/key 200", "/status 200",
                ])
        }
    }

    @Test("a client adds its bearer token, except in the operation without credentials", .rows("C19"))
    func bearer() async throws {
        try await withGitHub {
            .ok($0.header[.authorization] ?? "none")
        } _: { () async throws in
            #expect(try await Article.client("planted|1").perform(.status) == "Bearer planted|1")
            let authenticator = FixedCredentials.bearerToken("planted")
            let client = Client(Article.GitHub.production, executor: SocketExecutor())
                .authenticating(with: authenticator)
            #expect(try await Article.suppression(authenticator, client) == "none")
        }
    }

    @Test("an expired token is renewed before the request is sent", .rows("PM-94"))
    func renewal() async throws {
        let new = #"{"token": "planted-new", "end": 4000000000}"#
        try await withGitHub { request in
            request.target.path == "/token"
                ? .data(Data(new.utf8), contentType: .json)
                : .ok(request.header[.authorization] ?? "none")
        } _: { () async throws in
            let tokens = Client(Article.TokenAPI(baseURL: Article.GitHub.server), executor: SocketExecutor())
            let stored = Article.AccessToken(token: "planted-old", end: Date())
            let client = Client(Article.GitHub.production, executor: SocketExecutor())
                .authenticating(with: Article.renewal(stored, tokens))
            #expect(try await client.perform(.status) == "Bearer planted-new")
        }
    }

    /// An authorization server that issues tokens for each grant, and records the forms.
    private func issuer(_ forms: Collected<String>) -> MockExecutor {
        MockExecutor { request in
            guard case .bytes(let form) = request.body else { return .status(400) }
            forms.add("\(request.target) \(String(decoding: form, as: UTF8.self).prefix { $0 != "&" })")
            let members =
                request.target.path == "/device"
                ? #"{"device_code": "planted-device", "user_code": "AB-CD", "verification_uri": "https://e.com/d", "#
                    + #""expires_in": 600}"#
                : #"{"access_token": "planted-new", "refresh_token": "planted-next", "expires_in": 3600}"#
            return .data(Data(members.utf8), contentType: .json)
        }
    }

    @Test("each grant of the article obtains a token at its endpoint", .rows("PM-94"))
    func grants() async throws {
        let forms = Collected<String>()
        let stored = OAuthCredential(accessToken: "planted", refreshToken: "planted-refresh")
        let (tokens, refreshed) = try await Article.server(issuer(forms), stored)
        #expect(refreshed.refreshToken == "planted-next")
        let signedIn = try await Article.browser(tokens.api, tokens) { url in
            let items = try #require(URLComponents(url: url, resolvingAgainstBaseURL: false)?.queryItems)
            let state = try #require(items.first { $0.name == "state" }?.value)
            return try #require(URL(string: "com.example.app:/signed-in?code=planted-code&state=\(state)"))
        }
        #expect(signedIn.accessToken == "planted-new")
        var server = tokens.api
        server.clock = ManualClock().clock()
        let device = try await Article.device(Client(server, executor: issuer(forms)))
        #expect(device.accessToken == "planted-new")
        #expect(
            forms.elements == [
                "https://login.example.com/token grant_type=refresh_token",
                "https://login.example.com/token grant_type=authorization_code",
                "https://login.example.com/device client_id=app",
                "https://login.example.com/token grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Adevice_code",
            ])
    }

    @Test("a rejected token is renewed, and the store keeps the new one", .rows("PM-94"))
    func stored() async throws {
        let folder = TemporaryDirectory()
        let store = Article.store(folder.path)
        let tokens = Client(
            OAuthServer(tokenEndpoint: URL("https://login.example.com/token"), client: .publicClient(id: "app")),
            executor: issuer(Collected()))
        try await withGitHub { request in
            request.header[.authorization] == "Bearer planted-new" ? .ok("in") : .status(401)
        } _: { () async throws in
            let old = OAuthCredential(accessToken: "planted-old", refreshToken: "planted-refresh")
            let client = Article.stored(Article.GitHub.production, SocketExecutor(), tokens, old, store)
            #expect(try await client.perform(.status) == "in")
        }
        #expect(try await store.load()?.refreshToken == "planted-next")
    }

    @Test("a client with its own credentials obtains a token, and another one after a rejection", .rows("PM-94"))
    func clientCredentials() async throws {
        let count = Lock(0)
        let forms = Collected<String>()
        let mock = MockExecutor { request in
            guard request.target.host == "login.example.com" else {
                let isValid = request.header[.authorization] == "Bearer planted-\(count.withLock { $0 })"
                return isValid ? .ok("in") : .status(401)
            }
            guard case .bytes(let form) = request.body else { return .status(400) }
            forms.add("\(request.header[.authorization] ?? "") \(String(decoding: form, as: UTF8.self))")
            let number = count.withLock { count in
                count += 1
                return count
            }
            return .data(
                Data(#"{"access_token": "planted-\#(number)", "expires_in": 3600}"#.utf8), contentType: .json)
        }
        let client = Article.clientCredentials(Article.GitHub.production, mock, "planted-secret")
        for _ in 1...2 { #expect(try await client.perform(.status) == "in") }
        // The server revokes the token.
        count.withLock { $0 += 1 }
        #expect(try await client.perform(.status) == "in")
        let basic = Data("app:planted-secret".utf8).base64EncodedString()
        #expect(
            forms.elements
                == Array(repeating: "Basic \(basic) grant_type=client_credentials&scope=read", count: 2))
    }

    @Test("the Digest authenticators meet the challenges of servers with SHA-256 and MD5", .rows("PM-90"))
    func digest() async throws {
        for (digest, authenticator) in [
            (DigestServer(username: "me", password: "planted"), Article.digest("planted")),
            (DigestServer(username: "me", password: "planted"), Article.legacyDigest("planted")),
            (DigestServer(username: "me", password: "planted", hash: .md5), Article.legacyDigest("planted")),
        ] {
            try await withTestServer(serving: digest.executor) { server in
                try await Article.GitHub.$server.withValue(server.baseURL) {
                    let client = Client(Article.GitHub.production, executor: SocketExecutor())
                        .authenticating(with: authenticator)
                    _ = try await client.perform(.status)
                }
                #expect(server.exchanges.map { $0.status?.code } == [401, 200])
            }
        }
    }
}
