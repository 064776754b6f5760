import Requests
import RequestsMiddleware
import RequestsMock
import TestSupport
import Testing

/// Secrets of token requests and their responses appear in no description, dump, error or command.
@Suite("Planted OAuth secrets")
struct OAuthSecretTests {
    private func expectHidden(_ value: Any, _ place: String) {
        var dumped = ""
        dump(value, to: &dumped)
        for text in ["\(value)", String(reflecting: value), String(describing: Mirror(reflecting: value)), dumped] {
            for secret in ["planted", "cGxhbnRlZ", "YW50ZWQt", "%70lanted"] {
                #expect(!text.contains(secret), "\(place): \(text)")
            }
        }
    }

    private var server: OAuthServer {
        OAuthServer.test(client: .body(id: "app", secret: "planted-client-secret"))
    }

    @Test("servers, credentials, authorizations, device codes, assertions and stores print no secret", .rows("R-74"))
    func values() async throws {
        let credential = OAuthCredential(
            accessToken: "planted-a", refreshToken: "planted-r", expiration: .now, idToken: "planted-i")
        expectHidden(credential, "credential")
        expectHidden(credential as OAuthCredential? as Any, "optional credential")
        expectHidden([credential], "credentials")
        expectHidden(server, "server")
        expectHidden(server.client, "client")
        expectHidden(OAuthCredential.MemoryStore(credential), "store")
        expectHidden(
            RefreshableAuthenticator(credential, from: Client(server, executor: scripted([401]))), "refreshable")
        expectHidden(
            OAuthServer.Assertion.hmacSHA256(issuer: "planted", audience: "a", key: Data("planted".utf8)), "assertion")
        var fixed = server
        fixed.randomBytes = { Array("planted-planted-planted-planted-".utf8.prefix($0)) }
        let authorization = try fixed.authorization(redirectingTo: "a:/b")
        expectHidden(authorization, "authorization")
        let (issuer, _) = tokenClient(server, .json(tokenJSON("\"refresh_token\": \"planted-r\"")))
        expectHidden(try await issuer.response { $0.clientCredentials() }, "response")
        let (client, _) = tokenClient(
            server,
            .json(
                """
                {"device_code": "planted-d", "user_code": "planted-u", "verification_uri": "https://e.com", \
                "expires_in": 1}
                """))
        expectHidden(try await client.perform { $0.deviceAuthorization() }, "device")
    }

    @Test("token requests, and the errors of their responses, print no secret", .rows("R-74"))
    func errors() async throws {
        let credential = OAuthCredential(accessToken: "planted-a", refreshToken: "planted-refresh")
        let assertion = OAuthServer.Assertion(issuer: "app", audience: "a", algorithm: "RS256") { _ in
            Data("planted-signature".utf8)
        }
        let grant = server.jwtBearer(assertion)
        let token = try #require(try grant.prepared().form[1].split(separator: "=").last)
        let requests = [
            (
                server.password(username: "me", password: "planted-pass word"),
                ["planted-pass word", "planted-pass+word"]
            ),
            (server.refresh(credential), ["planted-refresh", "planted-client-secret"]),
            (grant, [String(token)]),
            (server.token(grantType: "x", parameters: ["subject_token": "planted-subject"]), ["planted-subject"]),
            (
                OAuthServer.test(client: .basic(id: "app", secret: "planted-secret")).clientCredentials(),
                ["planted-secret", "YXBwOnBsYW50ZWQtc2VjcmV0", "%70lanted-secret"]
            ),
        ]
        for (request, repeated) in requests {
            let prepared = try request.prepared()
            expectHidden(prepared, "request")
            for text in [prepared.wireText, prepared.curlCommand()] {
                #expect(!text.contains("planted") && !text.contains("grant_type"), "\(text)")
            }
            #expect(prepared.curlCommand(secrets: .revealed).contains("grant_type"))
            #expect(prepared.wireText(secrets: .revealed, redaction: .standard).contains("grant_type"))
            // The server repeats what it received, and what it issues.
            let bodies =
                [tokenJSON("\"error\": 7"), "{\"access_token\": \"planted-access", "<p>planted-page</p>"]
                + repeated.flatMap {
                    ["{\"error\": \"invalid_grant\", \"error_description\": \"bad \($0)\"}", "{\"error\": \"\($0)\"}"]
                }
            for (index, body) in (bodies + bodies).enumerated() {
                let status: HTTPStatus = index < bodies.count ? 200 : 400
                let executor = MockExecutor { _ in .status(status, body, contentType: .json) }
                let error = try #require(
                    await failure { () async throws(RequestError) in try await executor.perform(request) })
                expectHidden(error, "error")
                expectHidden(try #require(error.underlying), "failure")
                expectHidden(try #require(error.oauthFailure), "failure")
            }
        }
    }

    @Test("the body of a response that ends early is not printed", .rows("R-74"))
    func truncated() async throws {
        let executor = MockExecutor { _ in
            MockResponse(
                header: [.contentType(.json), Field(name: .contentLength, value: "900")],
                body: [
                    .bytes(Data("{\"access_token\": \"planted-access\", ".utf8)),
                    .failure(RequestError(.connectionLost)),
                ])
        }
        let error = try #require(
            await failure { () async throws(RequestError) in try await executor.perform(server.clientCredentials()) })
        #expect(error.reason == .connectionLost)
        expectHidden(error, "error")
    }

    @Test("a credential is encoded with its tokens, and decoded again", .rows("AF-63", "AF-65"))
    func coding() throws {
        let full = OAuthCredential(
            accessToken: "a", tokenType: "bearer", refreshToken: "r", expiration: Date(timeIntervalSince1970: 1.5),
            scope: "s", idToken: "i")
        for credential in [full, OAuthCredential(accessToken: "a")] {
            for strategy in [JSONEncoder.DateEncodingStrategy.iso8601, .deferredToDate] {
                let encoder = JSONEncoder()
                encoder.dateEncodingStrategy = strategy
                let data = try encoder.encode(credential)
                #expect(try JSONDecoder().decode(OAuthCredential.self, from: data) == credential)
            }
        }
        #expect(throws: DecodingError.self) {
            try JSONDecoder().decode(OAuthCredential.self, from: Data("{\"access_token\": 1}".utf8))
        }
    }
}
