@_spi(Lock) import Requests
import RequestsMiddleware
import RequestsMock
import TestSupport
import Testing

@Suite("Refreshable credentials over every executor", .tags(.concurrent), .timeLimit(.minutes(10)))
struct RefreshTransportTests {
    private let server = TokenServer()

    private func get(_ client: Client<AnonymousRequestProvider>) async -> RequestError? {
        await failure { () async throws(RequestError) in
            try await client.perform { $0.get(.text, from: "/a") }
        }
    }

    @Test(
        "requests that are rejected together share a refresh over every executor", .rows("T-52", "R-38"),
        arguments: Transport.allCases)
    func sharing(transport: Transport) async throws {
        let served = server.executor
        try await transport.run(serving: served) { api, executor in
            let authenticator = RefreshableAuthenticator(bearerToken: "planted-1") { _ in server.renew() }
            let client = Client(api, executor: executor).authenticating(with: authenticator)
            server.state.withLock {
                $0.valid = "planted-other"
                $0.held = 3
            }
            await withTaskGroup { group in
                for _ in 0..<3 { group.addTask { #expect(await get(client) == nil) } }
            }
        }
        #expect(server.refreshes == 1 && served.recordedCount == 6)
    }

    @Test(
        "over every executor, a refused refresh returns both 401s, and a replaced token needs none",
        .rows("T-52", "R-38"),
        arguments: Transport.allCases)
    func withoutRefresh(transport: Transport) async throws {
        let count = Lock(0)
        try await transport.run(serving: server.executor) { api, executor in
            let authenticator = RefreshableAuthenticator(bearerToken: "planted-1") { _ in
                count.withLock { $0 += 1 }
                return nil
            }
            let client = Client(api, executor: executor).authenticating(with: authenticator)
            server.state.withLock {
                $0.valid = "planted-other"
                $0.held = 2
            }
            await withTaskGroup { group in
                for _ in 0..<2 { group.addTask { #expect(await get(client)?.status == 401) } }
            }
            #expect(count.withLock { $0 } == 1)
            // The token is replaced while a request with the old one is in progress.
            let replaced = executor.intercepting { request, next in
                if request.header[.authorization] == "Bearer planted-1" {
                    authenticator.replaceCredential(with: "planted-other")
                }
                return try await next.execute(request)
            }
            #expect(await get(Client(api, executor: replaced).authenticating(with: authenticator)) == nil)
        }
        #expect(count.withLock { $0 } == 1 && server.refreshes == 0 && server.state.withLock { $0.rejected } == 3)
    }

    @Test(
        "over every executor, a request that began with the old token is sent again after the refresh of others",
        .rows("T-52"),
        arguments: Transport.allCases)
    func late(transport: Transport) async throws {
        let served = server.executor
        let (hasCredentials, isRefreshed) = (RefreshGate(), RefreshGate())
        try await transport.run(serving: served) { api, executor in
            let authenticator = RefreshableAuthenticator(bearerToken: "planted-1") { _ in server.renew() }
            let late = executor.intercepting { request, next in
                if request.target.path.hasSuffix("/late"), request.header[.authorization] == "Bearer planted-1" {
                    hasCredentials.open()
                    await isRefreshed.wait()
                }
                return try await next.execute(request)
            }
            let client = Client(api, executor: late).authenticating(with: authenticator)
            server.state.withLock { $0.valid = "planted-other" }
            async let third = failure { () async throws(RequestError) in
                try await client.perform { $0.get(.text, from: "/late") }
            }
            await hasCredentials.wait()
            server.state.withLock { $0.held = 2 }
            await withTaskGroup { group in
                for _ in 0..<2 { group.addTask { #expect(await get(client) == nil) } }
            }
            #expect(server.refreshes == 1)
            isRefreshed.open()
            #expect(await third == nil)
        }
        // Each was rejected once, and sent again once.
        #expect(server.refreshes == 1 && served.recordedCount == 6 && server.state.withLock { $0.rejected } == 3)
    }
}
