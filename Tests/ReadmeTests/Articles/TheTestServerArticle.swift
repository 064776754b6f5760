import RequestsMock
import RequestsSocket
import RequestsTestServer
import Testing

@Suite("The article on the test server", .timeLimit(.minutes(10)))
struct TheTestServerArticle {
    struct User: Codable, Sendable {
        let login: String
    }

    struct GitHub: RequestProviding {
        let baseURL: URL

        init(_ baseURL: URL) { self.baseURL = baseURL }

        static let production = GitHub(URL("https://api.github.com"))
    }

    enum Users: Endpoint {
        case named(String)

        func request(from api: GitHub) -> Request<GitHub, User> {
            switch self {
            case .named(let login): api.get(.json(), from: "/users/\(login)")
            }
        }
    }

    @Test("routes respond, and a test waits for a request")
    func routes() async throws {
        let routes = TestServer.Routes()
        routes.on(.get, "/users/:login") { request in
            try .json(User(login: request.parameters["login"] ?? ""))
        }
        routes.on(.post, "/avatars") { request in
            .text("\(try request.multipartParts().count) parts")
        }
        try await withTestServer(serving: routes) { server in
            let client = Client(GitHub(server.baseURL), executor: SocketExecutor())
            async let arrived = server.expectRequest(.get, to: "/users/:login")
            _ = try await client.perform(Users.named("octocat"))
            #expect(try await arrived.status == 200)
        }
    }

    @Test("the stubs of a mock respond over TCP, on one connection")
    func stubs() async throws {
        let mock = MockExecutor()
        mock.on(Users.named("octocat"), return: User(login: "octocat"))
        let served = mock.serving(GitHub.production)
        try await withTestServer(serving: served) { server in
            let client = Client(GitHub(server.baseURL), executor: SocketExecutor())
            for _ in 1...2 { _ = try await client.perform(Users.named("octocat")) }
            let positions = server.exchanges.map { [$0.connection, $0.index] }
            #expect(positions == [[0, 0], [0, 1]])
        }
    }

    @Test("a mock is served on a unix socket, and over TLS if OpenSSL is installed")
    func addresses() async throws {
        let mock = try MockExecutor(.json(User(login: "octocat")))
        try await withTestServer(serving: mock, on: .temporarySocket()) { server in
            let path = try #require(server.socketPath)
            let executor = SocketExecutor(.unix(path: path))
            let client = Client(GitHub(server.baseURL), executor: executor)
            _ = try await client.perform(Users.named("octocat"))
        }
        guard TestServer.supportsTLS else { return }
        try await withTestServer(serving: mock, tls: .init()) { server in
            var configuration = SocketExecutor.Configuration()
            configuration.tls = server.clientTLS
            let executor = SocketExecutor(configuration: configuration)
            let client = Client(GitHub(server.baseURL), executor: executor)
            _ = try await client.perform(Users.named("octocat"))
        }
    }

    @Test("a mock is served over HTTP/2")
    func http2() async throws {
        let mock = try MockExecutor(.json(User(login: "octocat")))
        try await withTestServer(serving: mock, using: .http2) { server in
            var configuration = SocketExecutor.Configuration()
            configuration.httpVersion = .http2PriorKnowledge
            let executor = SocketExecutor(configuration: configuration)
            let client = Client(GitHub(server.baseURL), executor: executor)
            _ = try await client.perform(Users.named("octocat"))
        }
    }
}
