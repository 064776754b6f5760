import Requests
import RequestsMiddleware
import RequestsMock
import TestSupport
import Testing

@Suite("Caches and the users of credentials", .tags(.concurrent), .timeLimit(.minutes(10)))
struct CacheCallerTests {
    private let api: AnonymousRequestProvider
    private let authenticator = RefreshableAuthenticator(bearerToken: "alice") { _ in nil }

    init() throws {
        api = AnonymousRequestProvider(baseURL: try #require(URL(string: "https://e.com")))
    }

    /// A server whose responses, which can be stored, contain the credentials of the request.
    private func server() -> MockExecutor {
        MockExecutor { request in
            let user = request.header[.authorization] ?? "nobody"
            return MockResponse(header: .caching("max-age=1000, private"), body: [.bytes(Data(user.utf8))])
        }
    }

    /// The chains in which the cache is behind the authenticator, and before it.
    private func chains(_ server: MockExecutor) throws -> [any RequestExecutor] {
        let environment = try #require(RequestEnvironment(baseURL: api.baseURL))
        return [
            server.caching().authenticating(with: authenticator, within: environment),
            server.authenticating(with: authenticator, within: environment).caching(),
        ]
    }

    @Test("after the credentials were replaced, no response to the former user is used", .rows("R-41"))
    func replacement() async throws {
        for executor in try chains(server()) {
            authenticator.replaceCredential(with: "alice")
            let request = api.get(.text, from: "/")
            #expect(try await executor.perform(request) == "Bearer alice")
            authenticator.replaceCredential(with: "bob")
            for _ in 0..<2 { #expect(try await executor.perform(request) == "Bearer bob") }
            authenticator.replaceCredential(with: "alice")
            #expect(try await executor.perform(request) == "Bearer alice")
        }
    }

    @Test("a request without the credentials of an authenticator has no response to one with them", .rows("R-41"))
    func suppression() async throws {
        let server = server()
        for (number, executor) in try chains(server).enumerated() {
            let request = api.get(.text, from: "/")
            for _ in 0..<2 {
                #expect(try await executor.perform(request) == "Bearer alice")
                let other = try await authenticator.withoutCredentials { () async throws(RequestError) in
                    try await executor.perform(request)
                }
                #expect(other == "nobody")
            }
            // Each response was stored.
            #expect(server.recordedCount == 2 * (number + 1))
        }
    }

    @Test("a request of another user does not wait for the response to the former one", .rows("R-41"))
    func collapsedRequests() async throws {
        let environment = try #require(RequestEnvironment(baseURL: api.baseURL))
        for index in 0...2 {
            authenticator.replaceCredential(with: "alice")
            let (gate, opening) = AsyncStream.makeStream(of: Void.self)
            let server = MockExecutor { request in
                let user = request.header[.authorization] ?? "nobody"
                if user == "Bearer alice" { for await _ in gate {} }
                return MockResponse(header: .caching("max-age=1000, private"), body: [.bytes(Data(user.utf8))])
            }
            let coalescing = server.authenticating(with: authenticator, within: environment).coalescing()
            let executor = try (chains(server) + [coalescing])[index]
            let request = api.get(.text, from: "/")
            async let former = executor.perform(request)
            while server.recordedCount == 0 { await Task.yield() }
            authenticator.replaceCredential(with: "bob")
            #expect(try await executor.perform(request) == "Bearer bob")
            opening.finish()
            #expect(try await former == "Bearer alice")
        }
    }

    @Test(
        "two requests at once, one of them without credentials, share no response", .rows("R-41"),
        arguments: 0...2, [false, true])
    func suppressionAtOnce(index: Int, isSuppressedFirst: Bool) async throws {
        let environment = try #require(RequestEnvironment(baseURL: api.baseURL))
        let (gate, opening) = AsyncStream.makeStream(of: Void.self)
        let first = isSuppressedFirst ? "nobody" : "Bearer alice"
        let server = MockExecutor { request in
            let user = request.header[.authorization] ?? "nobody"
            if user == first { for await _ in gate {} }
            return MockResponse(header: .caching("max-age=1000"), body: [.bytes(Data(user.utf8))])
        }
        let coalescing = server.authenticating(with: authenticator, within: environment).coalescing()
        let executor = try (chains(server) + [coalescing])[index]
        let request = api.get(.text, from: "/")
        @Sendable func perform(isSuppressed: Bool) async throws -> String {
            guard isSuppressed else { return try await executor.perform(request) }
            return try await authenticator.withoutCredentials { () async throws(RequestError) in
                try await executor.perform(request)
            }
        }
        async let waiting = perform(isSuppressed: isSuppressedFirst)
        while server.recordedCount == 0 { await Task.yield() }
        // It completes before the response to the first request arrives.
        let other = try await perform(isSuppressed: !isSuppressedFirst)
        #expect(other == (isSuppressedFirst ? "Bearer alice" : "nobody"))
        opening.finish()
        #expect(try await waiting == first)
        #expect(server.recordedCount == 2)
    }
}
