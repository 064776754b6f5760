import Requests
import RequestsMiddleware
import RequestsMock
import RequestsSocket
import RequestsTestServer
import TestSupport
import Testing

@Suite("OAuth token requests")
struct OAuthRequestTests {
    @Test("each grant sends the parameters of its RFC, with Basic credentials of the app", .rows("AF-64"))
    func grants() throws {
        let server = OAuthServer.test()
        let old = OAuthCredential(accessToken: "old", refreshToken: "planted-refresh")
        let requests: [(Request<OAuthServer, OAuthCredential>, [String])] = [
            (
                server.password(username: "me & you", password: "p=1&2", scope: "a b"),
                ["grant_type=password", "username=me & you", "password=p=1&2", "scope=a b"]
            ),
            (server.clientCredentials(), ["grant_type=client_credentials"]),
            (
                server.refresh(old, scope: "a"),
                ["grant_type=refresh_token", "refresh_token=planted-refresh", "scope=a"]
            ),
            (
                server.token(
                    grantType: "urn:ietf:params:oauth:grant-type:token-exchange",
                    parameters: ["subject_token": "planted", "audience": "x"]),
                ["grant_type=urn:ietf:params:oauth:grant-type:token-exchange", "subject_token=planted", "audience=x"]
            ),
        ]
        for (request, form) in requests {
            let prepared = try request.prepared()
            #expect(prepared.method == .post && prepared.target.absoluteString == "https://login.e.com/token")
            #expect(try prepared.form == form)
            #expect(prepared.header[.contentType] == "application/x-www-form-urlencoded")
            #expect(prepared.header[.accept] == "application/json")
            #expect(prepared.header[.authorization] == "Basic YXBwOnBsYW50ZWQtc2VjcmV0")
            #expect(prepared.timeouts.total == .seconds(60) && prepared.redirectPolicy.limit == 0)
        }
    }

    @Test("the app is identified by Basic, form-encoded first, in the body, or by its identifier only", .rows("AF-64"))
    func clients() throws {
        func prepared(_ client: OAuthServer.ClientCredentials) throws -> PreparedRequest {
            try OAuthServer.test(client: client).clientCredentials().prepared()
        }
        // The example of RFC 6749 §2.3.1.
        let example = try prepared(.basic(id: "s6BhdRkqt3", secret: "gX1fBat3bV"))
        #expect(example.header[.authorization] == "Basic czZCaGRSa3F0MzpnWDFmQmF0M2JW")
        let encoded = try prepared(.basic(id: "a:b", secret: "p w%+ü"))
        let value = try #require(encoded.header[.authorization]?.split(separator: " ").last)
        #expect(
            String(decoding: try #require(Data(base64Encoded: String(value))), as: UTF8.self) == "a%3Ab:p+w%25%2B%C3%BC"
        )
        let body = try prepared(.body(id: "app", secret: "planted"))
        #expect(body.header[.authorization] == nil)
        #expect(try body.form == ["grant_type=client_credentials", "client_id=app", "client_secret=planted"])
        let open = try prepared(.publicClient(id: "app"))
        #expect(open.header[.authorization] == nil)
        #expect(try open.form == ["grant_type=client_credentials", "client_id=app"])
    }

    @Test("an assertion is signed for each request, as a grant and for the app (RFC 7523)", .rows("AF-64"))
    func assertions() throws {
        let clock = DateClock()
        let assertion = OAuthServer.Assertion.hmacSHA256(
            issuer: "app", subject: "me", audience: "https://login.e.com", claims: ["role": "admin"], keyID: "k1",
            key: Data("planted-key".utf8))
        let grant = try OAuthServer.test(clock: clock).jwtBearer(assertion).prepared()
        #expect(try grant.form.first == "grant_type=urn:ietf:params:oauth:grant-type:jwt-bearer")
        let parts = try #require(try grant.form.last?.split(separator: "=").last).split(separator: ".")
        try #require(parts.count == 3)
        let input = "\(parts[0]).\(parts[1])"
        let code = try RequestSigner.hmacSHA256(of: Data(input.utf8), key: Data("planted-key".utf8))
        #expect(try #require(decoded(parts[2])) == code)
        let header = try JSONValue(parsing: try #require(decoded(parts[0])))
        #expect(header == .object(["alg": "HS256", "typ": "JWT", "kid": "k1"]))
        let claims = try JSONValue(parsing: try #require(decoded(parts[1])))
        #expect(claims["iss"] == "app" && claims["sub"] == "me" && claims["aud"] == "https://login.e.com")
        #expect(claims["iat"]?.int == 1_700_000_000 && claims["exp"]?.int == 1_700_000_300)
        #expect(claims["role"] == "admin" && claims["jti"]?.string?.isEmpty == false)

        let client = try OAuthServer.test(client: .assertion(id: "app", assertion), clock: clock)
            .clientCredentials().prepared()
        #expect(client.header[.authorization] == nil)
        let form = try client.form
        #expect(
            form[1...2] == [
                "client_id=app", "client_assertion_type=urn:ietf:params:oauth:client-assertion-type:jwt-bearer",
            ])
        #expect(form[3].hasPrefix("client_assertion=") && !form[3].hasSuffix(String(parts[1])))
    }

    private func decoded(_ text: Substring) -> Data? {
        let text = text.replacing("-", with: "+").replacing("_", with: "/")
        return Data(base64Encoded: text + String(repeating: "=", count: (4 - text.count % 4) % 4))
    }

    @Test("a value that cannot be sent is an error, and nothing is sent", .rows("AF-63"))
    func invalidValues() async throws {
        struct Refused: Error {}
        let good = OAuthServer.test()
        var plain = good
        plain.tokenEndpoint = URL("http://login.e.com/token")
        var relative = good
        relative.tokenEndpoint = URL("/token")
        func assertion(
            issuer: String = "app", claims: [String: JSONValue] = [:], algorithm: String = "RS256"
        ) -> OAuthServer.Assertion {
            OAuthServer.Assertion(issuer: issuer, audience: "a", claims: claims, algorithm: algorithm) { _ in
                throw Refused()
            }
        }
        let cases: [(Request<OAuthServer, OAuthCredential>, OAuthServer.Failure?)] = [
            (plain.clientCredentials(), .invalidParameter("endpoint; it needs https")),
            (OAuthServer.test(client: .publicClient(id: "")).clientCredentials(), .invalidParameter("client ID")),
            (
                OAuthServer.test(client: .body(id: "a\r\nb", secret: "s")).clientCredentials(),
                .invalidParameter("client ID")
            ),
            (good.refresh(OAuthCredential(accessToken: "a")), .signInRequired),
            (good.refresh(OAuthCredential(accessToken: "a", refreshToken: "")), .signInRequired),
            (good.jwtBearer(assertion(issuer: "")), .invalidParameter("issuer of an assertion")),
            (good.jwtBearer(assertion(algorithm: "None")), .invalidParameter("algorithm of an assertion")),
            (
                good.jwtBearer(assertion(claims: ["exp": 1])),
                .invalidParameter("claim “exp”, which the assertion sets itself")
            ),
            (good.jwtBearer(assertion()), nil),
        ]
        for (request, expected) in cases {
            let executor = MockExecutor { _ in .ok(tokenJSON(), contentType: .json) }
            let error = await failure { () async throws(RequestError) in try await executor.perform(request) }
            #expect(error?.reason == .credentialsUnavailable && error?.mayHaveReachedServer == false)
            #expect(error?.oauthFailure == expected && (expected != nil || error?.underlying is Refused))
            #expect(executor.recordedCount == 0)
        }
        let error = #expect(throws: RequestError.self) { try relative.clientCredentials().prepared() }
        #expect(error?.mayHaveReachedServer == false)
        var missing = good
        missing.deviceAuthorizationEndpoint = nil
        #expect(throws: RequestError.self) { try missing.deviceAuthorization().prepared() }
    }

    @Test("an endpoint on this machine needs no encryption, and a token is requested over it", .rows("AF-64"))
    func overLoopback() async throws {
        let served = MockExecutor { _ in
            .ok(
                tokenJSON("\"expires_in\": 3600, \"refresh_token\": \"planted-r\", \"scope\": \"a\""),
                contentType: .json)
        }
        try await withTestServer(serving: served) { listening in
            let clock = DateClock()
            let server = OAuthServer(
                tokenEndpoint: listening.baseURL, client: .basic(id: "a", secret: "b"), clock: clock.clock)
            let client = Client(server, executor: SocketExecutor())
            let credential = try await client.perform { $0.password(username: "u", password: "p") }
            #expect(
                credential
                    == OAuthCredential(
                        accessToken: "planted-access", tokenType: "bearer", refreshToken: "planted-r",
                        expiration: clock.start.addingTimeInterval(3600), scope: "a"))
        }
        for host in ["127.1.2.3", "localhost", "[::1]"] {
            let url = try #require(URL(string: "http://\(host):1/t"))
            let server = OAuthServer(tokenEndpoint: url, client: .publicClient(id: "a"))
            #expect(throws: Never.self) { try server.clientCredentials().prepared() }
        }
        for host in ["127.e.com", "localhost.e.com", "127.0.0.1.e.com"] {
            let url = try #require(URL(string: "http://\(host)/t"))
            let server = OAuthServer(tokenEndpoint: url, client: .publicClient(id: "a"))
            #expect(throws: RequestError.self) { try server.clientCredentials().prepared() }
        }
    }
}
