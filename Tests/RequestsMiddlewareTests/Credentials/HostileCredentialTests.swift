@_spi(Lock) import Requests
import RequestsMiddleware
import RequestsMock
import TestSupport
import Testing

/// Responses of hostile servers to authenticators and token requests: ignored or a typed error, in linear time.
@Suite("Hostile responses to credentials", .timeLimit(.minutes(10)))
struct HostileCredentialTests {
    private let api = AnonymousRequestProvider("http://e.com")

    @Test(
        "challenges with open quotes, controls or nothing end the call with the 401", .rows("R-37"),
        arguments: [
            "Digest realm=\"r, nonce=\"n", "Digest realm=\"", "Digest nonce=\"n\\", "Digest", "Digest ,,,=", "=", "\"",
            "Digest realm=\"a\\\u{D}\\\u{A}b\", nonce=n", "Digest realm=\"\u{0}\", nonce=n, algorithm=SHA-256",
            "Basic realm=\"Digest nonce=n", "Bearer error=\"", "Digest nonce=n, algorithm=\"SHA-256, qop=auth",
        ])
    func openQuotes(challenge: String) async {
        let executor = MockExecutor { _ in
            MockResponse.status(401).adding(headerField: Field(name: .wwwAuthenticate, value: challenge))
        }
        let client = Client(api, executor: executor).authenticating(
            with: DigestAuthenticator(username: "u", password: "planted"))
        let error = await failure { () async throws(RequestError) in
            try await client.perform { $0.get(.text, from: "/a") }
        }
        // A field that no message can have is refused by the executor.
        #expect(error?.status == 401 || error?.reason == .protocolViolation)
        #expect(executor.recordedCount == 1 && error.map { "\($0)".contains("planted") } == false)
    }

    @Test(
        "an Authentication-Info field of any form is ignored or a typed error", .rows("R-37"),
        arguments: [
            "rspauth", "rspauth=", "rspauth=\"", "nextnonce=\"", "nextnonce=\"a\u{7F}b\"", "=,=,rspauth",
            String(repeating: "rspauth=a,", count: 10_000), String(repeating: "\"", count: 10_000),
        ])
    func information(value: String) async {
        let server = DigestServer()
        let executor = server.executor.intercepting { request, next in
            var response = try await next.execute(request)
            if response.status == 200 { response.header.set(Field(name: "Authentication-Info", value: value)) }
            return response
        }
        let client = Client(api, executor: executor).authenticating(
            with: DigestAuthenticator(username: "planted-user", password: "planted-password"))
        for _ in 0..<2 {
            let error = await failure { () async throws(RequestError) in
                try await client.perform { $0.get(.text, from: "/a") }
            }
            #expect(error == nil || error?.underlying is CredentialError)
        }
        #expect(server.state.withLock { $0.challenges } == 1)
    }

    /// Returns the failure of a token request to which the server responds with `body`.
    private func tokenFailure(_ body: String) async -> RequestError? {
        let executor = MockExecutor { _ in .ok(body, contentType: .json) }
        return await failure { () async throws(RequestError) in
            try await executor.perform(OAuthServer.test().clientCredentials())
        }
    }

    @Test("token responses that are deep, repeated or large are errors", .rows("AF-63"))
    func tokenResponses() async {
        let deep = String(repeating: "[", count: 100_000)
        let many = (0..<10_000).map { "\"m\($0)\": 1" }.joined(separator: ", ")
        for body in [
            deep, "{\"access_token\": \(deep)", "{\(many)}",
            "{\"error\": \"\(String(repeating: "e", count: 200_000))\"}",
            "{\"access_token\": 1, \"access_token\": \"b\"}",
            "{\"access_token\": \"\\uD800\", \"token_type\": \"Bearer\"}",
            "\u{FEFF}", "null", "{\"error\": null}",
        ] {
            let error = await tokenFailure(body)
            #expect(error?.oauthFailure != nil && error.map { $0.debugDescription.utf8.count < 2_000 } == true)
        }
        // Of members with the same name the first is used.
        #expect(await tokenFailure("{\"token_type\": \"Bearer\", \"token_type\": 1, \"access_token\": \"a\"}") == nil)
    }

    @Test("the time to check a redirect grows linearly with its length", .rows("R-75"))
    func redirects() async throws {
        let authorization = try OAuthServer.test().authorization(redirectingTo: "a:/b")
        for part in ["x=1&", "%41", "state=a&", "=", "+"] {
            let ratio = try await Growth.ratio { size in
                let url = try #require(URL(string: "a:/b?" + String(repeating: part, count: size)))
                return { #expect(throws: OAuthServer.Failure.self) { try authorization.code(from: url) } }
            }
            #expect(ratio <= Growth.limit, "\(part)")
        }
    }

    @Test("a server that refuses every refresh, or issues rejected tokens, ends each call", .rows("R-37", "R-38"))
    func loops() async {
        for steps in [[ResponseScript.Step.refusal("invalid_grant")], [.json(tokenJSON())], [.status(503)]] {
            let endpoint = ResponseScript(steps).executor
            let tokens = Client(OAuthServer.test(), executor: endpoint)
            let executor = scripted([401])
            let authenticator = RefreshableAuthenticator(
                OAuthCredential(accessToken: "a", refreshToken: "r"), from: tokens)
            let client = Client(api, executor: executor).authenticating(with: authenticator)
            let error = await failure { () async throws(RequestError) in
                try await client.perform { $0.get(.text, from: "/a") }
            }
            #expect(error?.status == 401 && executor.recordedCount <= 2 && endpoint.recordedCount == 1)
        }
    }
}
