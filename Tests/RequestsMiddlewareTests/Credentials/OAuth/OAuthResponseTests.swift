import Requests
import RequestsMiddleware
import RequestsMock
import TestSupport
import Testing

@Suite("OAuth token responses")
struct OAuthResponseTests {
    private let clock = DateClock()

    private func respond(
        _ body: String, status: HTTPStatus = 200, type: MediaType = .json, renewing old: OAuthCredential? = nil
    ) async -> Result<OAuthCredential, RequestError> {
        let executor = MockExecutor { _ in .status(status, body, contentType: type) }
        let client = Client(OAuthServer.test(clock: clock), executor: executor)
        do throws(RequestError) {
            return .success(
                try await client.perform { $0.refresh(old ?? OAuthCredential(accessToken: "a", refreshToken: "old-r")) }
            )
        } catch {
            return .failure(error)
        }
    }

    private func failure(
        _ body: String, status: HTTPStatus = 200, type: MediaType = .json
    ) async -> RequestError? {
        if case .failure(let error) = await respond(body, status: status, type: type) { return error }
        return nil
    }

    @Test("the old refresh token is kept when the response has none, and replaced when it has one", .rows("AF-64"))
    func refreshTokens() async throws {
        let old = OAuthCredential(accessToken: "a", refreshToken: "old-r", scope: "s", idToken: "i")
        for members in ["", "\"refresh_token\": null", "\"refresh_token\": \"\""] {
            let credential = try await respond(tokenJSON(members), renewing: old).get()
            #expect(credential.refreshToken == "old-r" && credential.scope == "s" && credential.idToken == "i")
            #expect(credential.accessToken == "planted-access" && credential.expiration == nil)
        }
        let new = try await respond(
            tokenJSON("\"refresh_token\": \"new-r\", \"scope\": \"t\", \"id_token\": \"j\", \"extra\": [1]"),
            renewing: old
        ).get()
        #expect(new.refreshToken == "new-r" && new.scope == "t" && new.idToken == "j")
    }

    @Test(
        "nothing beside the token of a response ends the sign-in, because the grant is spent",
        .rows("AF-63", "AF-64"),
        arguments: [
            "", #""token_type": null"#, #""token_type": """#, #""token_type": "Bearer""#, #""token_type": 7"#,
            #""refresh_token": {}"#, #""refresh_token": "a\nb""#, #""refresh_token": 7"#, #""id_token": false"#,
            #""scope": null"#, #""scope": []"#, #""scope": {"a": 1}"#, #""scope": [1, ""]"#, #""scope": "é""#,
            #""expires_in": -1"#, #""expires_in": "-5""#, #""expires_in": """#, #""expires_in": null"#,
            #""expires_in": 1e400"#, #""expires_in": -1e400"#, #""expires_in": [3600]"#, #""expires_in": {}"#,
            #""expires_in": "soon""#, #""expires_in": "nan""#, #""expires_in": "inf""#, #""expires_in": "0x10""#,
            #""expires_in": "3600\u0301""#, #""expires_in": true"#, #""other": 1e400"#,
            #""error": """#, #""error": null"#, #""error": false"#, #""error": "", "error_description": "none""#,
        ])
    func spentGrants(member: String) async throws {
        let old = OAuthCredential(accessToken: "a", refreshToken: "old-r", scope: "s", idToken: "i")
        let body = "{\"access_token\": \"5|a:b$c\"" + (member.isEmpty ? "" : ", ") + "\(member)}"
        let credential = try await respond(body, renewing: old).get()
        #expect(credential.accessToken == "5|a:b$c" && credential.tokenType == "Bearer")
        #expect(credential.refreshToken == "old-r" && credential.scope == "s" && credential.idToken == "i")
        #expect(credential.expiration == nil)
    }

    @Test(
        "a scope can be an array of strings", .rows("AF-64"),
        arguments: [("\"a b\"", "a b"), ("[\"a\", \"b\"]", "a b"), ("[\"a\", 1, \"\", null, \"b c\"]", "a b c")])
    func scopes(value: String, scope: String) async throws {
        #expect(try await respond(tokenJSON("\"scope\": \(value)")).get().scope == scope)
    }

    @Test(
        "expires_in becomes a date on the clock of the server, also from the text of a number", .rows("AF-64"),
        arguments: [
            ("3600", 3600.0), ("0", 0), ("1.5", 1.5), ("1e300", 3_155_760_000), ("1000000000000000000", 3_155_760_000),
            ("\"3600\"", 3600), ("\"0\"", 0), ("\"\(String(repeating: "9", count: 400))\"", 3_155_760_000),
            ("3600.0", 3600), ("\"3600.0\"", 3600), ("3.6e3", 3600), ("\"3.6e3\"", 3600), ("\"1e400\"", 3_155_760_000),
            ("9223372036854775808", 3_155_760_000),
        ] as [(String, Double)])
    func lifetimes(text: String, seconds: Double) async throws {
        let credential = try await respond(tokenJSON("\"expires_in\": \(text)")).get()
        #expect(credential.expiration == clock.start.addingTimeInterval(seconds))
    }

    @Test(
        "a response without a valid token is an error, never a credential", .rows("AF-63"),
        arguments: [
            ("{\"token_type\": \"Bearer\"}", "“access_token” is missing"),
            ("{\"access_token\": null, \"token_type\": \"Bearer\"}", "“access_token” is missing"),
            ("{\"access_token\": \"\", \"token_type\": \"Bearer\"}", "“access_token” is empty"),
            ("{\"access_token\": 1, \"token_type\": \"Bearer\"}", "“access_token” is not a string"),
            (
                "{\"access_token\": \"planted\\r\\nX: y\", \"token_type\": \"Bearer\"}",
                "“access_token” contains invalid characters"
            ),
            (
                "{\"access_token\": \"planted\\u0000\", \"token_type\": \"Bearer\"}",
                "“access_token” contains invalid characters"
            ),
            (
                "{\"access_token\": \"planted\u{301}\", \"token_type\": \"Bearer\"}",
                "“access_token” contains invalid characters"
            ),
            (
                "{\"access_token\": \"planted planted\", \"token_type\": \"Bearer\"}",
                "“access_token” is not a bearer token: it contains a space at offset 7"
            ),
            ("", "the body is not a JSON object, Content-Type application/json"),
            ("{}", "the body is not a JSON object, Content-Type application/json"),
            ("[1]", "the body is not a JSON object, Content-Type application/json"),
            ("{\"access_token\": \"planted", "the body is not a JSON object, Content-Type application/json"),
        ])
    func invalidResponses(body: String, problem: String) async {
        let executor = MockExecutor { _ in
            var response = MockResponse.status(200, body, contentType: .json)
            response.header.set(.contentType(.json))
            return response
        }
        let error = await RequestsMiddlewareTests.failure { () async throws(RequestError) in
            try await executor.perform(OAuthServer.test().clientCredentials())
        }
        #expect(error?.reason == .decodingFailed && error?.status == 200)
        #expect(error?.oauthFailure == .invalidResponse(problem))
        for text in ["\(String(describing: error))", error?.debugDescription ?? ""] {
            #expect(!text.contains("planted") && text.contains("invalid response of the authorization server"))
        }
    }

    @Test("a token type other than Bearer is an error, in a response and in a credential", .rows("AF-63"))
    func tokenTypes() async throws {
        for type in ["mac", "N_A", "DPoP", "bearer ", "Bearer\u{212A}"] {
            let error = await failure("{\"access_token\": \"planted\", \"token_type\": \"\(type)\"}")
            #expect(error?.oauthFailure == .unsupportedTokenType(type) && error?.reason == .decodingFailed)
            let credential = OAuthCredential(accessToken: "planted", tokenType: type)
            #expect(throws: RequestError.self) { try credential.authorizationField() }
        }
        for type in ["Bearer", "bearer", "BEARER"] {
            let field = try OAuthCredential(accessToken: "a.b~c", tokenType: type).authorizationField()
            #expect(field == Field(name: .authorization, value: "Bearer a.b~c"))
        }
        for token in ["", "a b", "a\r\nb", "a\u{301}"] {
            #expect(throws: RequestError.self) { try OAuthCredential(accessToken: token).authorizationField() }
        }
    }

    @Test("an error code is a typed refusal, with status 200 too", .rows("AF-64"), arguments: [200, 400, 401, 503])
    func refusals(status: Int) async throws {
        let body = """
            {"error": "invalid_grant", "error_description": "the token \\"old-r\\" is too old\u{202E}\\nfor us", \
            "error_uri": "https://e.com/help", "access_token": "planted"}
            """
        let error = try #require(await failure(body, status: HTTPStatus(status)))
        #expect(error.reason == .credentialsUnavailable && error.status?.code == status)
        guard case .refused(let refusal)? = error.oauthFailure else {
            Issue.record("not refused: \(error)")
            return
        }
        #expect(refusal.code == .invalidGrant && refusal.uri == "https://e.com/help")
        // The server repeats the refresh token.
        #expect(refusal.message?.contains("old-r") == false && refusal.message?.contains("is too old") == true)
        #expect(refusal.message?.unicodeScalars.contains("\u{202E}") == false)
        #expect(
            "\(error)".hasSuffix(
                "the authorization server refused: invalid_grant “\(try #require(refusal.message).replacing("\n", with: "\\n"))”"
            ))
        #expect(!"\(error)".contains("\n") && !error.debugDescription.contains("planted"))
    }

    @Test("HTML, an error code of another type and a redirect are errors with the status", .rows("AF-64"))
    func foreignResponses() async {
        let html = "<html><input name=\"csrf_token\" value=\"planted\"></html>"
        let page = await failure(html, type: .html)
        #expect(page?.reason == .decodingFailed)
        #expect(page?.oauthFailure == .invalidResponse("the body is not a JSON object, Content-Type text/html"))
        #expect(page?.debugDescription.contains("planted") == false)
        for status in [500, 404, 302, 307] {
            let error = await failure(html, status: HTTPStatus(status), type: .html)
            #expect(error?.reason == .unacceptableStatus && error?.status?.code == status)
            #expect(error?.oauthFailure == .invalidResponse("no error code"))
        }
        for code in ["{\"code\": 400}", "[]", "\"\"", "\"a\\nb\"", "\"é\"", "1"] {
            let error = await failure("{\"error\": \(code)}", status: 400)
            #expect(error?.oauthFailure == .invalidResponse("“error” is not an error code"))
        }
        let long = await failure("{\"error\": \"\(String(repeating: "x", count: 100_000))\"}", status: 400)
        #expect(long.map { "\($0)".utf8.count < 1_000 } == true)
        let large = await failure(tokenJSON("\"pad\": \"\(String(repeating: "x", count: 300_000))\""))
        #expect(large?.reason == .tooLarge(limit: 256 << 10))
    }

    @Test("a token request is not sent to the target of a redirect", .rows("R-36"))
    func redirects() async {
        let executor = MockExecutor { request in
            var response = MockResponse.status(307)
            if request.target.host == "login.e.com" {
                response.header.add(Field(name: .location, value: "https://evil.example/token"))
            }
            return response
        }
        let error = await RequestsMiddlewareTests.failure { () async throws(RequestError) in
            try await executor.perform(OAuthServer.test().password(username: "u", password: "planted"))
        }
        #expect(executor.recordedCount == 1 && error != nil)
    }

    @Test("expiry counts the leeway, and is unknown without a date", .rows("AF-63"))
    func expiry() {
        let now = clock.start
        let credential = OAuthCredential(accessToken: "a", expiration: now.addingTimeInterval(60))
        #expect(!credential.isExpired(at: now) && !credential.isExpired(at: now, leeway: .seconds(59)))
        #expect(credential.isExpired(at: now, leeway: .seconds(60)) && credential.isExpired(at: now + 60))
        #expect(!credential.isExpired(at: now + 59, leeway: .seconds(-100)))
        #expect(!OAuthCredential(accessToken: "a").isExpired(at: .distantFuture, leeway: .seconds(1 << 40)))
    }
}
