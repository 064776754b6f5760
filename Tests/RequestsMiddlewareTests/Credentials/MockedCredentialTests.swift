import RequestsMiddleware
import RequestsMock
import TestSupport
import Testing

@Suite("Credentials of mocked requests")
struct MockedCredentialTests {
    private struct Profile: Endpoint {
        func request(from api: AnonymousRequestProvider) -> Request<AnonymousRequestProvider, String> {
            api.get(.text, from: "/me")
        }
    }

    private let api = AnonymousRequestProvider("http://e.com")

    @Test("a request with credentials uses its own result before all stubs, and they do not see it", .rows("PM-127"))
    func ownResult() async throws {
        let mock = MockExecutor()
        let stub = mock.on(Profile(), return: "stubbed")
        let pattern = mock.on(.get, "/me", respond: .text("pattern"))
        let client = Client(api, executor: mock).authenticating(with: FixedCredentials.bearerToken("planted"))
        let request = Profile().request(from: api).mocked(.text("own"))
        #expect(try await client.perform { _ in request } == "own")
        #expect(stub.callCount == 0 && pattern.callCount == 0)
        #expect(mock.sentAuthorizations == ["Bearer planted"])
    }

    @Test("a request matches the same stub with and without the field of its credentials", .rows("PM-127"))
    func matching() async throws {
        let mock = MockExecutor()
        let stub = mock.on(Profile(), return: "stubbed")
        let client = Client(api, executor: mock)
        #expect(try await client.perform(Profile()) == "stubbed")
        let tokens = NumberedTokens()
        #expect(try await client.authenticating(with: tokens).perform(Profile()) == "stubbed")
        #expect(stub.callCount == 2)
        #expect(mock.sentAuthorizations == [nil, "Bearer planted-1"])
        // A condition decides after the field has been added, because middleware surrounds the mock.
        mock.on(where: { $0.header[.authorization] == "Bearer planted-2" }, respond: .text("signed in"))
        #expect(try await client.authenticating(with: tokens).perform(Profile()) == "signed in")
    }

    @Test("a request's own 401 has its credentials renewed once, as a response of a server would", .rows("PM-127"))
    func rejection() async throws {
        let tokens = NumberedTokens()
        let mock = MockExecutor()
        let client = Client(api, executor: mock).authenticating(with: tokens)
        let error = await failure { () async throws(RequestError) in
            try await client.perform { $0.get(.text, from: "/me").mocked(.status(401)) }
        }
        #expect(error?.status == 401)
        #expect(mock.sentAuthorizations == ["Bearer planted-1", "Bearer planted-2"])
    }
}
