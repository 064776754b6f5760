import RequestsMock
import RequestsSocket
import RequestsTestServer
import Testing

@testable import Shop

@Suite("More of the server", .timeLimit(.minutes(10)))
struct MoreServerTests {
    @Test("a handler that returns nil passes the request to the next route")
    func fallThrough() async throws {
        let routes = TestServer.Routes()
        routes.on(.get, "/api/items/:name") { request in
            guard request.parameters["name"] == "pen" else { return nil }
            return try .json([pen])
        }
        routes.on(.get, "/api/items/:name") { _ in try .json([Item]()) }
        routes.onUnhandled { request in .status(410, "\(request.target.path) is gone") }
        try await withTestServer(serving: routes) { server in
            let shop = shop(server, SocketExecutor())
            let pens = try await shop.perform(Items.named("pen"))
            let books = try await shop.perform(Items.named("book"))
            #expect(pens == [pen] && books == [])
            let error = await #expect(throws: RequestError.self) { try await shop.perform(Items.all) }
            #expect(error?.response?.status == 410)
        }
    }

    @Test("strict limits refuse methods, and bodies over their limit")
    func limits() async throws {
        var limits = TestServer.Limits.strict
        limits.bodyBytes = 8
        try await withTestServer(serving: MockExecutor(.ok()), limits: limits) { server in
            let shop = shop(server, SocketExecutor())
            try await shop.perform(shop.api.post(.text("8 bytes."), to: "/notes"))
            let long = await #expect(throws: RequestError.self) {
                try await shop.perform(shop.api.post(.text("more than 8 bytes"), to: "/notes"))
            }
            #expect(long?.response?.status == 413)
            let unknown = await #expect(throws: RequestError.self) {
                try await shop.perform(shop.api.request(to: "/notes", using: "FROB"))
            }
            #expect(unknown?.response?.status == 405)
        }
    }

    @Test("the behavior depends on the connection")
    func behaviors() async throws {
        let mock = MockExecutor()
        mock.on(Items.all, return: [pen])
        try await withTestServer(
            serving: mock.serving(ShopAPI()),
            behaving: { connection, _ in connection == 0 ? .failing(.closeBeforeHead) : .standard }
        ) { server in
            let shop = shop(server, SocketExecutor())
            let error = await #expect(throws: RequestError.self) { try await shop.perform(Items.all) }
            #expect(error?.reason == .connectionLost)
            let items = try await shop.perform(Items.all)
            #expect(items == [pen])
            #expect(server.exchanges.map(\.connection) == [0, 1])
        }
    }

    @Test("the server listens on a unix socket")
    func unixSockets() async throws {
        let mock = MockExecutor()
        mock.on(Items.all, return: [pen])
        try await withTestServer(serving: mock.serving(ShopAPI()), on: .temporarySocket()) { server in
            let path = try #require(server.socketPath)
            let items = try await shop(server, SocketExecutor(.unix(path: path))).perform(Items.all)
            #expect(items == [pen])
        }
    }

    @Test(
        "the server uses https, and the client trusts its certificate",
        .enabled(if: TestServer.supportsTLS, "libssl is not installed"))
    func secured() async throws {
        let mock = MockExecutor()
        mock.on(Items.all, return: [pen])
        try await withTestServer(serving: mock.serving(ShopAPI()), tls: .init()) { server in
            var configuration = SocketExecutor.Configuration()
            configuration.tls = server.clientTLS
            let items = try await shop(server, SocketExecutor(configuration: configuration)).perform(Items.all)
            #expect(items == [pen])
            #expect(server.exchanges.first?.tls != nil)
        }
    }
}
