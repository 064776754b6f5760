import Requests
import RequestsMiddleware
import RequestsMock
import TestSupport
import Testing

@Suite("Caches and the cookies of requests", .timeLimit(.minutes(10)))
struct CacheCookieTests {
    private let api: AnonymousRequestProvider

    init() throws {
        api = AnonymousRequestProvider(baseURL: try #require(URL(string: "https://e.com")))
    }

    /// A server whose responses, which can be stored, contain the cookies of the request.
    private func server() -> MockExecutor {
        MockExecutor { request in
            let cookies = request.header[.cookie] ?? "nobody"
            return MockResponse(header: .caching("max-age=1000"), body: [.bytes(Data(cookies.utf8))])
        }
    }

    /// A store with one cookie for the server.
    private func store(_ user: String) throws -> CookieStore {
        let store = CookieStore()
        let target = try TargetURI("https://e.com/")
        store.store(ResponseHead(status: 200, header: [Field(name: .setCookie, value: "user=\(user)")], target: target))
        return store
    }

    @Test(
        "a request with cookies of its own, or without any, never has a response to the cookies of another",
        .rows("R-41"))
    func ownCookies() async throws {
        let server = server()
        let executor = try server.keepingCookies(in: store("shared")).caching()
        let (alice, bob) = try (store("alice"), store("bob"))
        let request = api.get(.text, from: "/")
        for _ in 0..<2 {
            #expect(try await executor.perform(request) == "user=shared")
            #expect(try await executor.perform(request.keepingCookies(in: alice)) == "user=alice")
            #expect(try await executor.perform(request.keepingCookies(in: bob)) == "user=bob")
            #expect(try await executor.perform(request.withoutCookies()) == "nobody")
        }
        // Those with own stores were sent each time, and the others once.
        #expect(server.recordedCount == 6)
        let response = try await executor.response(for: request.keepingCookies(in: bob))
        #expect(response.metrics.cacheStatus?.forwardReason == .bypass)
    }

    @Test("a request with an unsafe method makes the responses with and without cookies invalid", .rows("R-41"))
    func invalidation() async throws {
        let server = server()
        let executor = try server.keepingCookies(in: store("shared")).caching()
        let request = api.get(.text, from: "/")
        for count in [2, 5] {
            for _ in 0..<2 {
                _ = try await executor.perform(request)
                _ = try await executor.perform(request.withoutCookies())
            }
            #expect(server.recordedCount == count)
            if count == 2 { _ = try await executor.perform(api.delete("/")) }
        }
    }
}
