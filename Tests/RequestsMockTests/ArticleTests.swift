import RequestsMock
import Testing

/// The examples of the article “Testing without a network”, in its order.
@Suite("The article on testing")
struct ArticleTests {
    enum GitHub: RequestProviding {
        case staging

        var baseURL: URL { URL("https://api.github.com") }
    }

    struct User: Codable, Sendable, Equatable {
        let login: String
    }

    struct NewUser: Codable, Sendable, Equatable {
        let login: String
    }

    enum Users: Endpoint {
        case me, named(String), create(NewUser)

        func request(from api: GitHub) -> Request<GitHub, User> {
            switch self {
            case .me: api.get(.json(), from: "/user")
            case .named(let login): api.get(.json(), from: "/users/\(login)")
            case .create(let user): api.post(.json(user), to: "/users", receiving: .json())
            }
        }
    }

    enum Feeds: String, Endpoint, CaseIterable {
        case news, events

        func request(from api: GitHub) -> Request<GitHub, String> { api.get(.text, from: "/feeds/\(rawValue)") }
    }

    private let octocat = User(login: "octocat")
    private let github = Client(GitHub.staging, executor: MockExecutor())

    @Test func me() throws {
        try github.assertWire(
            Users.me,
            matches: """
                GET /user HTTP/1.1
                Host: api.github.com
                Accept: application/json
                """)
    }

    @Test("the snapshot of all cases is in a file beside this one")
    func feeds() throws {
        try github.assertWire(allCasesOf: Feeds.self, recordedIn: "feeds.txt")
    }

    @Test("a stub for an endpoint")
    func stub() async throws {
        let mock = MockExecutor()
        mock.on(Users.named("octocat"), return: User(login: "octocat"))
        let github = Client(GitHub.staging, executor: mock)

        let user = try await github.perform(Users.named("octocat"))
        #expect(user.login == "octocat")
        try mock.verify()
    }

    @Test("stubs of every kind respond")
    func kinds() async throws {
        let mock = MockExecutor(clock: MockClock())
        let github = Client(GitHub.staging, executor: mock)
        let user = mock.on(Users.self) { user in
            switch user {
            case .me: .value(User(login: "octocat"))
            case .named(let login): .value(User(login: login))
            case .create: .status(403)
            }
        }
        #expect(try await github.perform(Users.me) == octocat)
        #expect(await requestError { try await github.perform(Users.create(NewUser(login: "x"))) }?.status == 403)
        user.remove()
        mock.on(.get, "users/:login") { _, parameters in
            try .json(User(login: parameters["login"] ?? ""))
        }
        #expect(try await github.perform(Users.named("a/b")) == User(login: "a/b"))
        let body = try mock.recordedRequests[1].decodedBody(as: NewUser.self)
        #expect(body == NewUser(login: "x"))
        #expect(mock.endpoints(of: Users.self).count == 3)
    }

    @Test("results of every kind")
    func results() async throws {
        let mock = MockExecutor(clock: MockClock())
        let github = Client(GitHub.staging, executor: mock)
        let outcome = { () async -> String in
            do throws(RequestError) {
                return try await github.perform(Users.me).login
            } catch {
                return error.reason == .unacceptableStatus ? "\(error.status?.code ?? 0)" : "\(error.reason)"
            }
        }
        mock.on(Users.me, respond: .status(404))
        #expect(await outcome() == "404")
        mock.on(Users.me, respond: .json(#"{"login": "octocat"}"#))
        #expect(await outcome() == "octocat")
        mock.on(Users.me, respond: .file(URL(filePath: "user.json")))
        #expect(await outcome() == "could not access a file")
        mock.on(Users.me, respond: .failure(.hostNotFound))
        #expect(await outcome() == "could not resolve the host name")
        mock.on(Users.me, respond: .sequence(.status(503), .value(octocat)))
        #expect(await [outcome(), outcome()] == ["503", "octocat"])
        mock.on(Users.me, respond: .value(octocat).with(fault: .refuse, onCall: 2))
        #expect(await [outcome(), outcome()] == ["octocat", "could not connect"])
        mock.on(Users.me, respond: .value(octocat).with(fault: .cut(afterBytes: 4)))
        #expect(await outcome() == "connection lost before the response was complete")
        mock.on(Users.me, respond: .value(octocat).delayed(by: .seconds(90)))
        #expect(await outcome() == "timed out while waiting for the response (Timeouts.firstByte)")
    }

    @Test("of the results of an endpoint, the newest responds")
    func newest() async throws {
        let mock = MockExecutor(clock: MockClock())
        mock.on(Users.me, respond: .status(404))
        mock.on(Users.me, respond: .json(#"{"login": "octocat"}"#))
        mock.on(Users.me, respond: .file(URL(filePath: "user.json")))
        mock.on(Users.me, respond: .failure(.hostNotFound))
        mock.on(Users.me, respond: .sequence(.status(503), .value(octocat)))
        mock.on(Users.me, respond: .value(octocat).with(fault: .refuse, onCall: 2))
        mock.on(Users.me, respond: .value(octocat).with(fault: .cut(afterBytes: 4)))
        mock.on(Users.me, respond: .value(octocat).delayed(by: .seconds(90)))
        let github = Client(GitHub.staging, executor: mock)
        #expect(await requestError { try await github.perform(Users.me) }?.reason == .timedOut(.firstByte))
    }

    @Test("the mock returns what was performed")
    func record() async throws {
        let mock = MockExecutor(.ok(#"{"login": "x"}"#, contentType: .json))
        _ = try await Client(GitHub.staging, executor: mock).perform(Users.create(NewUser(login: "x")))
        let performed = mock.endpoints(of: Users.self)
        let body = try mock.recordedRequests[0].decodedBody(as: NewUser.self)
        #expect(performed.count == 1 && body == NewUser(login: "x"))
    }

    @Test("a mock that responds with a function")
    func functions() async throws {
        let mock = MockExecutor { request in
            switch request.pathTemplate {
            case "/users/{}": try .json(User(login: "octocat"))
            case "/teapot": .status(418, "short and stout")
            default: .ok()
            }
        }
        let github = Client(GitHub.staging, executor: mock)
        #expect(try await github.perform(Users.named("x")) == octocat)
        let teapot = GitHub.staging.get(.text, from: "/teapot")
        #expect(await requestError { try await github.perform(teapot) }?.status == 418)
    }

    @Test("a mock with routes")
    func routes() async throws {
        let mock = MockExecutor(
            routes: .on(.get, "/users/{}", try .json(User(login: "octocat"))),
            .on(.delete, "/users/{}", .status(204)),
            .on(nil, "/echo") { request in .ok(request.method.rawValue) })
        let github = Client(GitHub.staging, executor: mock)
        #expect(try await github.perform(Users.named("x")) == octocat)
        #expect(try await github.perform(GitHub.staging.get(.text, from: "/echo")) == "GET")
    }

    @Test("a body that arrives slowly and fails, and a head that never arrives")
    func scripts() async throws {
        let broken = MockResponse(
            header: [.contentType(.plainText)],
            body: [
                .bytes(Data("first\n".utf8)),
                .pause(.lasting(.milliseconds(50))),
                .failure(RequestError(.connectionLost)),
            ])
        let silent = MockResponse.ok().delayed(by: .endless)
        let request = GitHub.staging.get(.text, from: "/x")
        let lost = await requestError { try await MockExecutor(broken).perform(request) }
        #expect(lost?.reason == .connectionLost && lost?.body == Data("first\n".utf8))
        let mock = MockExecutor(clock: MockClock())
        mock.on(.get, "/x", respond: .response(silent))
        #expect(await requestError { try await mock.perform(request) }?.reason == .timedOut(.firstByte))
    }

    @Test("requests with results of their own")
    func mocked() async throws {
        let api = GitHub.staging
        let mock = MockExecutor()
        let request = api.get(.json(User.self), from: "/user")
        let missing = try? await mock.perform(request.mocked(.status(404)))
        let user = try await mock.perform(request.mocked(with: octocat))
        #expect(missing == nil && user == octocat)
    }
}
