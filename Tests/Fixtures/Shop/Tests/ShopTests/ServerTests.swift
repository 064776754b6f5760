import RequestsMock
import RequestsSocket
import RequestsTestServer
import Testing

@testable import Shop

@Suite("A server", .timeLimit(.minutes(10)))
struct ServerTests {
    @Test("the stubs of a mock respond over a socket, on one connection")
    func stubs() async throws {
        let mock = MockExecutor()
        mock.on(Items.named("pen"), return: [pen])
        try await withTestServer(serving: mock.serving(ShopAPI())) { server in
            let shop = shop(server, SocketExecutor())
            for _ in 0..<2 {
                let items = try await shop.perform(Items.named("pen"))
                #expect(items == [pen])
            }
            #expect(server.exchanges.map { [$0.connection, $0.index] } == [[0, 0], [0, 1]])
        }
    }

    @Test("routes respond, and the test waits for a request")
    func routes() async throws {
        let routes = TestServer.Routes()
        routes.on(.get, "/api/items/:name") { try .json([Item(name: $0.parameters["name"] ?? "", price: 2)]) }
        routes.on(.post, "/api/pictures") { .text("\(try $0.multipartParts().count) parts") }
        try await withTestServer(serving: routes) { server in
            let shop = shop(server, SocketExecutor())
            async let arrived = server.expectRequest(.get, to: "/api/items/:name")
            let items = try await shop.perform(Items.named("pen"))
            #expect(items == [pen])
            let exchange = try await arrived
            #expect(exchange.status == 200)
            let upload = shop.api.post(
                .multipart([.text("front", name: "side")]), to: "/pictures", receiving: .text)
            let parts = try await shop.perform(upload)
            #expect(parts == "1 parts")
        }
    }

    @Test("the responses of a mock arrive over a connection")
    func greeting() async throws {
        let mock = MockExecutor(.ok("hello"))
        try await withTestServer(serving: mock) { server in
            let api = AnonymousRequestProvider(baseURL: server.baseURL)
            let client = Client(api, executor: SocketExecutor())
            let request = api.get(.text, from: "/greeting")
            let text = try await client.perform(request)
            #expect(text == "hello")
            #expect(server.exchanges.map(\.target) == ["/greeting"])
        }
    }

    @Test("a response that is cut short is an error with what arrived")
    func faults() async throws {
        let mock = MockExecutor(.ok("hello"))
        let fault = TestServer.Fault.truncateBody(atByte: 4)
        try await withTestServer(serving: mock, fault: fault) { server in
            let api = AnonymousRequestProvider(baseURL: server.baseURL)
            let client = Client(api, executor: SocketExecutor())
            let error = await #expect(throws: RequestError.self) {
                try await client.perform(api.get(.text, from: "/greeting"))
            }
            #expect(error?.reason == .connectionLost)
        }
    }

    @Test("a session is recorded, and replayed without a network")
    func recording() async throws {
        let routes = TestServer.Routes()
        routes.on(.get, "/api/items/:name") { try .json([Item(name: $0.parameters["name"] ?? "", price: 2)]) }
        let recorder = HARRecorder()
        let (archive, api) = try await withTestServer(serving: routes) { server in
            let shop = shop(server, SocketExecutor().intercepted(by: recorder))
            _ = try await shop.perform(Items.named("pen"))
            return (recorder.archive, shop.api)
        }
        #expect(archive.entries.first?.timings.connect != nil)
        #expect(archive.waterfallHTML.contains("/api/items/pen"))
        #expect(archive.waterfallText(width: 80).contains("/api/items/pen"))
        let mock = MockExecutor(replaying: try HARArchive(parsing: archive.json), order: .ordered)
        #expect(try await Client(api, executor: mock).perform(Items.named("pen")) == [pen])
        try mock.verify()
    }
}
