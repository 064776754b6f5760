import Requests
import RequestsMiddleware
import RequestsMock
import TestCorpora
import TestSupport
import Testing

// The cases are not in the repository. Without the folder, this suite is skipped.
@Suite("Cases of OAuth", .enabled(if: Corpora.arePresent, "the folder of corpora is missing"))
struct OAuthCorpusTests {
    struct File: Decodable {
        var oauth2: Cases
    }

    struct Cases: Decodable {
        var pkce: [CodeVerifier]
        var requests: [TokenRequest]
        var responses: [TokenResponse]
    }

    struct CodeVerifier: Decodable {
        var verifier: String
        var challenge: String?
        var mustRefuse: Bool?
    }

    struct TokenRequest: Decodable {
        struct App: Decodable {
            var id: String
            var secret: String
            var style: String
        }
        var grant: String
        var params: [String: String]
        var client: App
        var authorization: String?
        var body: String
    }

    struct TokenResponse: Decodable {
        struct Expectation: Decodable {
            var accessToken: String?
            var tokenType: String?
            var expiresIn: Double?
            var refreshToken: String?
            var error: String?
        }
        var status: Int
        var body: String
        var expect: Expectation
    }

    static let cases = Corpora.load("auth.json", as: File.self)?.oauth2

    @Test("every case is read")
    func counts() throws {
        let cases = try #require(Self.cases)
        #expect(cases.pkce.count >= 4 && cases.requests.count >= 6 && cases.responses.count >= 5)
    }

    @Test("code verifiers have the challenges of RFC 7636, and invalid ones are not sent", .rows("AF-64"))
    func codeVerifiers() async throws {
        for item in try #require(Self.cases).pkce {
            if let challenge = item.challenge {
                let text = item.verifier.replacing("-", with: "+").replacing("_", with: "/")
                let bytes = try #require(Data(base64Encoded: text + "="))
                var server = OAuthServer.test()
                server.randomBytes = { count in count == bytes.count ? [UInt8](bytes) : [] }
                let url = try server.authorization(redirectingTo: "https://client.e.com/cb").url.absoluteString
                #expect(url.contains("code_challenge=\(challenge)&") && url.hasSuffix("code_challenge_method=S256"))
            }
            let (client, executor) = tokenClient(.test(), .json(tokenJSON()))
            let error = await failure { () async throws(RequestError) in
                try await client.perform {
                    $0.token(
                        grantType: "authorization_code", parameters: ["code": "c", "code_verifier": item.verifier])
                }
            }
            let isRefused = item.mustRefuse == true
            #expect(error?.oauthFailure == (isRefused ? .invalidParameter("code verifier") : nil))
            #expect(executor.recordedCount == (isRefused ? 0 : 1), "\(item.verifier)")
        }
    }

    @Test("token requests equal the examples of RFC 6749", .rows("AF-64"))
    func requests() throws {
        for item in try #require(Self.cases).requests {
            let (id, secret) = (item.client.id, item.client.secret)
            let server = OAuthServer.test(
                client: item.client.style == "basic" ? .basic(id: id, secret: secret) : .body(id: id, secret: secret))
            let request =
                switch item.grant {
                case "refresh_token":
                    server.refresh(OAuthCredential(accessToken: "a", refreshToken: item.params["refresh_token"]))
                case "password":
                    server.password(
                        username: item.params["username"] ?? "", password: item.params["password"] ?? "")
                case "client_credentials": server.clientCredentials()
                default:
                    server.token(
                        grantType: item.grant,
                        parameters: QueryItems(
                            item.params.sorted { $0.key < $1.key }.map {
                                QueryItems.Item(name: $0.key, value: $0.value)
                            }
                        ))
                }
            let prepared = try request.prepared()
            #expect(prepared.header[.authorization] == item.authorization)
            // A form has the same values whether its dots are encoded or not.
            #expect(try prepared.form == item.body.split(separator: "&").map(PercentEncoding.decode), "\(item.body)")
        }
    }

    @Test(
        "token responses are credentials or errors as RFC 6749 requires, and none is requested again",
        .rows("AF-63", "AF-64"))
    func responses() async throws {
        for item in try #require(Self.cases).responses {
            let clock = DateClock()
            let executor = MockExecutor { _ in .status(HTTPStatus(item.status), item.body, contentType: .json) }
            let client = Client(OAuthServer.test(clock: clock), executor: executor.retrying())
            let expect = item.expect
            do throws(RequestError) {
                let credential = try await client.perform {
                    $0.refresh(OAuthCredential(accessToken: "old", refreshToken: "old-r"))
                }
                #expect(credential.accessToken == expect.accessToken && credential.tokenType == expect.tokenType)
                #expect(credential.expiration == expect.expiresIn.map { clock.start + $0 })
                // No case with a bearer token has a refresh token of its own.
                #expect(credential.refreshToken == "old-r")
            } catch {
                if let code = expect.error {
                    guard case .refused(let refusal)? = error.oauthFailure else {
                        Issue.record("\(item.body): \(error)")
                        continue
                    }
                    #expect(refusal.code.rawValue == code)
                } else {
                    // The example of RFC 6749 §5.1 has a type that no client knows; §7.1 forbids to use its token.
                    #expect(expect.tokenType == "example")
                    #expect(error.oauthFailure == .unsupportedTokenType("example"))
                }
            }
            #expect(executor.recordedCount == 1)
        }
    }
}
