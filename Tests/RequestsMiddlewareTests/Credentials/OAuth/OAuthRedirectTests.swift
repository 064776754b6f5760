import Requests
import RequestsMiddleware
import RequestsMock
import RequestsPOSIX
import TestSupport
import Testing

@Suite("OAuth authorization requests")
struct OAuthRedirectTests {
    /// The bytes of the code verifier in RFC 7636, appendix B.
    private static let verifierBytes: [UInt8] = [
        116, 24, 223, 180, 151, 153, 224, 37, 79, 250, 96, 125, 216, 173, 187, 186, 22, 212, 37, 77, 105, 214, 191,
        240, 91, 88, 5, 88, 83, 132, 141, 121,
    ]

    private func server(issuer: String? = nil) -> OAuthServer {
        var server = OAuthServer.test(client: .publicClient(id: "app"), issuer: issuer)
        server.randomBytes = { count in Array(Self.verifierBytes.prefix(count)) }
        return server
    }

    private func code(
        _ redirect: String, _ server: OAuthServer? = nil, redirectURI: String = "com.example.app:/in"
    ) throws -> Result<String, OAuthServer.Failure> {
        let authorization = try (server ?? self.server()).authorization(redirectingTo: redirectURI)
        let url = try #require(URL(string: redirect))
        return Result { () throws(OAuthServer.Failure) in try authorization.code(from: url) }
    }

    @Test(
        "the URL has the parameters of RFC 6749 §4.1.1 and the S256 challenge of RFC 7636, appendix B", .rows("AF-64"))
    func url() throws {
        let authorization = try server().authorization(
            redirectingTo: "com.example.app:/in", scope: "a b",
            parameters: ["prompt": "login&x", "none": nil as String?])
        #expect(
            authorization.url.absoluteString == """
                https://login.e.com/authorize?tenant=1&response_type=code&client_id=app\
                &redirect_uri=com.example.app%3A%2Fin&scope=a%20b&state=dBjftJeZ4CVP-mB92K27ug\
                &code_challenge=E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM&code_challenge_method=S256\
                &prompt=login%26x
                """)
        let redirect = try #require(URL(string: "com.example.app:/in?code=planted-code&state=dBjftJeZ4CVP-mB92K27ug"))
        let request = try server().authorizationCode(of: authorization, redirectedTo: redirect).prepared()
        #expect(
            try request.form == [
                "grant_type=authorization_code", "code=planted-code", "redirect_uri=com.example.app:/in",
                "code_verifier=dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk", "client_id=app",
            ])
    }

    @Test("two authorization requests have different states and verifiers")
    func randomness() throws {
        let server = OAuthServer.test()
        let texts = try (0..<100).map { _ in try server.authorization(redirectingTo: "a:/b").url.absoluteString }
        #expect(Set(texts).count == 100)
    }

    private static let state = "dBjftJeZ4CVP-mB92K27ug"

    @Test(
        "a redirect is accepted only with the redirect URI, the state and one code (PKCE)", .rows("AF-64"),
        arguments: [
            ("com.example.app:/in?code=abc&state=\(state)", Result<String, OAuthServer.Failure>.success("abc")),
            ("COM.example.app:/in?state=\(state)&code=a%20b+c%2Bd&x=1&x=2#f", .success("a b c+d")),
            ("com.example.app:/in?code=abc", .failure(.stateMismatch)),
            ("com.example.app:/in?code=abc&state=", .failure(.stateMismatch)),
            ("com.example.app:/in?code=abc&state=\(state)x", .failure(.stateMismatch)),
            ("com.example.app:/in?error=access_denied", .failure(.stateMismatch)),
            (
                "com.example.app:/in?code=abc&state=\(state)&state=\(state)",
                .failure(.invalidRedirect("“state” occurs 2 times"))
            ),
            (
                "com.example.app:/in?code=a&code=b&state=\(state)",
                .failure(.invalidRedirect("“code” occurs 2 times"))
            ),
            ("com.example.app:/in?state=\(state)", .failure(.invalidRedirect("“code” is missing"))),
            (
                "com.example.app:/in?code=&state=\(state)",
                .failure(.invalidRedirect("“code” is empty or contains invalid characters"))
            ),
            (
                "com.example.app:/in?code=a%0D%0Ab&state=\(state)",
                .failure(.invalidRedirect("“code” is empty or contains invalid characters"))
            ),
            (
                "com.example.app:/other?code=abc&state=\(state)",
                .failure(.invalidRedirect("it is not the redirect URI"))
            ),
            ("com.evil.app:/in?code=abc&state=\(state)", .failure(.invalidRedirect("it is not the redirect URI"))),
            ("com.example.app:/in", .failure(.stateMismatch)),
            (
                "com.example.app:/in?error=a%0Ab&state=\(state)",
                .failure(.invalidRedirect("“error” is not an error code"))
            ),
        ])
    func redirects(redirect: String, expected: Result<String, OAuthServer.Failure>) throws {
        #expect(try code(redirect) == expected)
        if case .failure(let failure) = expected {
            let authorization = try server().authorization(redirectingTo: "com.example.app:/in")
            let request = server().authorizationCode(
                of: authorization, redirectedTo: try #require(URL(string: redirect)))
            let error = #expect(throws: RequestError.self) { try request.prepared() }
            #expect(error?.oauthFailure == failure && error?.mayHaveReachedServer == false)
        }
    }

    @Test("a refusal in the redirect is typed, and its message repeats no secret")
    func refusal() throws {
        let url =
            "com.example.app:/in?error=access_denied&error_description=no+\(Self.state)&error_uri=x&state=\(Self.state)"
        guard case .failure(.refused(let refusal)) = try code(url) else {
            Issue.record("not refused")
            return
        }
        #expect(refusal.code == .accessDenied && refusal.message == "no <redacted>" && refusal.uri == "x")
    }

    @Test("the error code of a redirect repeats no secret either")
    func refusalCode() throws {
        guard
            case .failure(.refused(let refusal)) = try code(
                "com.example.app:/in?error=x\(Self.state)&state=\(Self.state)")
        else {
            Issue.record("not refused")
            return
        }
        #expect(refusal.code.rawValue == "x<redacted>")
    }

    @Test("an http redirect URI is compared without regard to the case of its host, and with an empty path as /")
    func normalization() throws {
        let query = "?code=abc&state=\(Self.state)"
        for (uri, redirect, isSame) in [
            ("http://127.0.0.1:5000", "http://127.0.0.1:5000/\(query)", true),
            ("http://LocalHost/cb", "http://localhost/cb\(query)", true),
            ("http://localhost/cb", "http://localhost/CB\(query)", false),
            ("http://localhost/cb", "http://localhost:81/cb\(query)", false),
            ("https://e.com/cb?app=1", "https://e.com/cb?app=1&code=abc&state=\(Self.state)", true),
            ("https://e.com/cb", "https://e.com.evil.example/cb\(query)", false),
        ] {
            let result = try code(redirect, redirectURI: uri)
            #expect((result == .success("abc")) == isSame, "\(uri) \(redirect)")
        }
    }

    @Test("an issuer must equal the server's, and is required if announced (RFC 9207)")
    func issuers() throws {
        let known = server(issuer: "https://login.e.com")
        var strict = known
        strict.requiresIssuer = true
        let query = "com.example.app:/in?code=abc&state=\(Self.state)"
        let right = query + "&iss=https%3A%2F%2Flogin.e.com"
        let wrong = query + "&iss=https%3A%2F%2Fevil.example"
        #expect(try code(right, known) == .success("abc") && code(right, strict) == .success("abc"))
        #expect(try code(query, known) == .success("abc") && code(query, strict) == .failure(.issuerMismatch))
        #expect(try code(wrong, known) == .failure(.issuerMismatch) && code(wrong) == .success("abc"))
    }

    @Test("invalid redirect URIs, repeated parameters and a missing library are errors before a URL exists")
    func invalidRequests() throws {
        for uri in ["", "in", "/in", "http://e.com/#f", "a:/b c", "a:/b\r\n", "1a:/b", "ä:/b"] {
            #expect(throws: RequestError.self, "\(uri)") { try server().authorization(redirectingTo: uri) }
        }
        for name in ["state", "client_id", "code_challenge"] {
            #expect(throws: RequestError.self) {
                try server().authorization(
                    redirectingTo: "a:/b", parameters: QueryItems([QueryItems.Item(name: name, value: "x")]))
            }
        }
        var plain = server()
        plain.authorizationEndpoint = URL("http://login.e.com/authorize")
        #expect(throws: RequestError.self) { try plain.authorization(redirectingTo: "a:/b") }
        plain.authorizationEndpoint = nil
        #expect(throws: RequestError.self) { try plain.authorization(redirectingTo: "a:/b") }
        var lacking = server()
        lacking.hashes = LibCrypto(SystemLibrary(name: "libcrypto", files: ["libmissing.so.9"], packages: "libssl3"))
        let error = #expect(throws: RequestError.self) { try lacking.authorization(redirectingTo: "a:/b") }
        #expect(error.map { "\($0)".contains("libssl3") } == true)
    }
}
