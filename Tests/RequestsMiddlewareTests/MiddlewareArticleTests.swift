@_spi(Lock) import Requests
import RequestsMiddleware
import RequestsMock
import RequestsPOSIX
import RequestsSocket
import RequestsTestServer
import TestSupport
import Testing

/// Runs the code of the articles on caching, cookies, protection, signing requests and observing, as far as they claim
/// a result, against servers on this machine.
@Suite("The articles on middleware", .timeLimit(.minutes(10)))
struct MiddlewareArticleTests {
    /// Runs `body` with an API that `respond` serves over a socket, and the requests that arrived.
    private func served(
        _ respond: @escaping @Sendable (PreparedRequest) -> MockResponse,
        _ body: (AnonymousRequestProvider, MockExecutor) async throws -> Void
    ) async throws {
        let mock = MockExecutor { respond($0) }
        try await withTestServer(serving: mock) { server in
            try await body(AnonymousRequestProvider(baseURL: server.baseURL), mock)
        }
    }

    private func environment(_ api: AnonymousRequestProvider) throws -> RequestEnvironment {
        try #require(RequestEnvironment(baseURL: api.baseURL))
    }

    /// A response with a user as JSON.
    private static func user(_ login: String = "octocat", _ fields: Field...) -> MockResponse {
        var response = MockResponse.data(Data("{\"login\": \"\(login)\"}".utf8), contentType: .json)
        for field in fields { response.header.set(field) }
        return response
    }

    // MARK: Caching

    @Test("of two identical requests, the chain with a cache sends one, with credentials")
    func cache() async throws {
        try await served { _ in
            Self.user("a", .cacheControl(.maxAge(60)))
        } _: { api, mock in
            let chain = CachingArticle.chain(.bearerToken("planted"), try environment(api))
            let client = Client(api, executor: chain)
            for _ in 0..<2 { _ = try await client.perform(Users.me) }
            #expect(mock.sentAuthorizations == ["Bearer planted"])
        }
    }

    @Test("the article prints the Cache-Status of a validated response")
    func cacheStatus() async throws {
        let tag = Field(name: .etag, value: "\"1\"")
        let mock = MockExecutor { request in
            guard request.header.contains(.ifNoneMatch) else { return Self.user("a", .cacheControl(.maxAge(0)), tag) }
            return MockResponse(status: 304, header: [tag, .cacheControl(.maxAge(60))])
        }
        // The clock does not move, and the server has none.
        let date = Date(timeIntervalSince1970: 1_800_000_000)
        try await withTestServer(serving: mock, behaving: { _, _ in TestServer.Behavior(date: { nil }) }) { server in
            let executor = SocketExecutor().intercepted(by: Caching(now: { date }))
            let client = Client(AnonymousRequestProvider(baseURL: server.baseURL), executor: executor)
            _ = try await client.perform(Users.me)
            let status = try await CachingArticle.status(client)
            #expect(status == "Requests; fwd=stale; fwd-status=304; ttl=60; stored")
        }
    }

    // MARK: Cookies

    @Test("a client keeps cookies, clients share a store, and a request does without them or has its own")
    func cookies() async throws {
        try await served { request in
            Self.user(request.header[.cookie] ?? "none", Field(name: .setCookie, value: "id=7"))
        } _: { (api, _) async throws in
            let client = CookiesArticle.client(api)
            #expect(try await client.perform(Users.me).login == "none")
            #expect(try await client.perform(Users.me).login == "id=7")
            for request in CookiesArticle.requests(api) {
                #expect(try await client.perform(request).login == "none")
            }
            let clients = CookiesArticle.shared(SocketExecutor(), api, api)
            #expect(try await clients[0].perform(Users.me).login == "none")
            #expect(try await clients[1].perform(Users.me).login == "id=7")
        }
    }

    @Test("a jar returns the cookie, a list excludes its suffixes, and cookies convert to Foundation's")
    func jar() throws {
        let now = Date(timeIntervalSince1970: 1_000_000_000)
        #expect(CookiesArticle.jar(try TargetURI("https://e.com/a/b"), now).map(\.value) == ["7"])
        #expect(CookiesArticle.jar(try TargetURI("http://e.com/a/b"), now).isEmpty)
        let store = CookiesArticle.suffixes("pages.example")
        for domain in ["pages.example", "a.pages.example"] {
            let cookie = Field(name: .setCookie, value: "id=7; Domain=\(domain)")
            store.store(
                ResponseHead(status: 200, header: [cookie], target: try TargetURI("https://a.pages.example/")))
        }
        #expect(store.cookies.map(\.domain) == ["a.pages.example"])
    }

    // MARK: Protection

    @Test("the chain of protections fails at once after five failures of an origin")
    func protection() async throws {
        try await served { _ in
            .status(500)
        } _: { api, mock in
            let client = Client(api, executor: ProtectionArticle.chain())
            for number in 1...6 {
                let error = await failure { () async throws(RequestError) in try await client.perform(Users.me) }
                #expect(error?.underlying is ProtectionError == (number == 6))
                #expect(error?.mayHaveReachedServer == (number < 6))
            }
            #expect(mock.recordedCount == 5)
        }
    }

    @Test("values of concurrent calls are in the order of the endpoints")
    func fanOut() async throws {
        try await served {
            Self.user(String($0.target.path.dropFirst("/users/".utf8.count)))
        } _: { api, _ in
            let names = (0..<40).map { "user-\($0)" }
            let users = try await ProtectionArticle.fanOut(Client(api, executor: SocketExecutor()), names)
            #expect(users.map(\.login) == names)
        }
    }

    // MARK: Signing requests

    @Test("the signer adds the code of the text that the article signs, and AWS's credentials have its scope")
    func signing() async throws {
        let key = Data("planted".utf8)
        try await served { _ in
            Self.user()
        } _: { api, mock in
            let chain = SigningRequestsArticle.chain(key, try environment(api))
            _ = try await Client(api, executor: chain).perform(Users.named("a"))
            let hashes = SystemHashes.shared
            let text = Data("GET /users/a\n".utf8) + (try hashes.digest(of: Data(), with: .sha256))
            func texts(_ text: Data) throws -> [String] {
                let code = try hashes.authenticationCode(of: text, key: key, with: .sha256)
                let hexadecimal = code.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
                return [hexadecimal, Data(code).base64EncodedString()]
            }
            #expect(try texts(text).contains(try #require(mock.recordedRequests.last?.header["X-Signature"])))
            let client = SigningRequestsArticle.client(
                api,
                .hmacSHA256(key: key, field: "X-Signature") { request, _ in
                    Data((request.header[.authorization] ?? "").utf8)
                }, "planted-token")
            _ = try await client.perform(Users.named("a"))
            let token = try #require(mock.recordedRequests.last?.header["X-Signature"])
            #expect(try texts(Data("Bearer planted-token".utf8)).contains(token))
            let bucket = SigningRequestsArticle.aws("id", "planted-secret", try environment(api))
            _ = try await Client(api, executor: bucket).perform(Users.me)
            let credentials = try #require(mock.sentAuthorizations.last ?? nil)
            #expect(credentials.hasPrefix("AWS4-HMAC-SHA256 Credential=id/"))
            #expect(credentials.contains("/eu-central-1/s3/aws4_request"))
        }
    }

    @Test("temporary credentials are requested once, and a presigned URL expires after an hour")
    func temporary() async throws {
        let signature = AWSSignature(
            credentials: .init(accessKeyID: "id", secretAccessKey: "planted-secret"), region: "r", service: "s3")
        let role = SigningRequestsArticle.Role()
        try await served { _ in
            Self.user()
        } _: { api, mock in
            let executor = SocketExecutor().signing(
                with: SigningRequestsArticle.temporary(signature, role), within: try environment(api))
            for _ in 0..<2 { _ = try await Client(api, executor: executor).perform(Users.me) }
            #expect(mock.sentAuthorizations.allSatisfy { $0 != nil } && mock.recordedCount == 2)
            #expect(await role.count == 1)
            let request = try Client(api, executor: executor).preparedRequest { $0.get(.text, from: "/object") }
            let url = try SigningRequestsArticle.presigned(signature, request)
            #expect(url.absoluteString.contains("X-Amz-Expires=3600") && url.path == "/object")
        }
    }

    // MARK: Observing

    @Test("the seats of the article observe a call and each of its attempts")
    func seats() async throws {
        let (spans, measurements) = (Collected<RequestTracing.Span>(), Collected<RequestMetrics.Measurement>())
        let lines = Collected<String>()
        let isRepeated = Lock(false)
        try await served { _ in
            let wasRepeated = isRepeated.withLock { value in
                defer { value = true }
                return value
            }
            return wasRepeated
                ? Self.user() : .status(503).adding(headerField: Field(name: .retryAfter, value: "0"))
        } _: { api, mock in
            let executor = ObservingArticle.seats(
                .init { spans.add($0) }, .init { measurements.add($0) }, ActivityCounter()
            ) { lines.add("\($0)") }
            _ = try await Client(api, executor: executor).perform(Users.me)
            #expect(mock.recordedCount == 2)
        }
        // Two attempts and their call, which are of one trace.
        #expect(spans.elements.count == 3 && Set(spans.elements.map(\.context.traceID)).count == 1)
        #expect(measurements.elements.filter { $0.instrument.name == "http.client.request.duration" }.count == 2)
        #expect(lines.elements.count == 2 && lines.elements.last?.contains("200 OK") == true)
    }

    @Test("the logger of the article writes fields and bodies, and the reports have phases")
    func logs() async throws {
        let lines = Collected<String>()
        try await served { _ in
            Self.user("planted-login")
        } _: { api, _ in
            let executor = SocketExecutor().observing(
                .calls, by: ObservingArticle.logging(.init { lines.add($0) }))
            _ = try await Client(api, executor: executor).perform(Users.me)
            let text = lines.elements.joined(separator: "\n")
            #expect(text.contains("Accept: application/json") && text.contains("planted-login"))
            let phases = Collected<Observing.Phases?>()
            let reporting = ObservingArticle.reports { request, _, value in
                #expect(request.target.path == "/user")
                phases.add(value as? Observing.Phases)
            }
            _ = try await Client(api, executor: reporting).perform(Users.me)
            #expect(phases.elements.count == 1 && phases.elements[0]?.waiting != nil)
        }
    }

    @Test("a server's call continues the trace and the baggage of its request")
    func traces() async throws {
        let id = "4bf92f3577b34da6a3ce929d0e0e4736"
        let header: Header = ["traceparent": "00-\(id)-00f067aa0ba902b7-01", "baggage": "tenant=a"]
        try await served { _ in
            Self.user()
        } _: { api, mock in
            let github = Client(api, executor: SocketExecutor().observing(.attempts, by: RequestTracing { _ in }))
            _ = try await ObservingArticle.tracing(header, github)
            let sent = try #require(mock.recordedRequests.first?.header)
            #expect(sent["traceparent"]?.hasPrefix("00-\(id)-") == true && sent["traceparent"] != header["traceparent"])
            #expect(sent["baggage"] == "tenant=a")
        }
    }

    @Test("the indicator of the article is visible while a request runs")
    @MainActor func activity() async throws {
        let (changes, continuation) = AsyncStream.makeStream(of: Bool.self)
        let indicator = ObservingArticle.Indicator { continuation.yield($0) }
        let counter = ObservingArticle.activity(indicator)
        let executor = MockExecutor(Self.user()).observing(.calls, by: counter)
        _ = try await Client(AnonymousRequestProvider("http://e.com"), executor: executor).perform(Users.me)
        var seen: [Bool] = []
        for await change in changes {
            seen.append(change)
            if seen.count == 2 { break }
        }
        // The tasks of the two changes can run in any order.
        #expect(Set(seen) == [true, false])
    }

    @Test("interceptors of an executor and of a request change the request and its errors")
    func interceptors() async throws {
        try await served { _ in
            Self.user()
        } _: { (api, mock) async throws in
            let (executor, request) = ObservingArticle.interceptors(api) { request in
                var request = request
                request.header.set(Field(name: "X-Stamp", value: "1"))
                return request
            }
            #expect(try await executor.perform(request).login == "octocat")
            #expect(mock.recordedRequests.first?.header["X-Stamp"] == "1")
        }
        let (executor, request) = ObservingArticle.interceptors(AnonymousRequestProvider("http://127.0.0.1:1")) { $0 }
        let error = await failure { () async throws(RequestError) in try await executor.perform(request) }
        #expect(error?.underlying is ObservingArticle.AppError)
    }

    @Test("the observer of the article observes each request")
    func observer() async throws {
        let executor = MockExecutor(Self.user()).observing(.calls, by: ObservingArticle.SlowRequests())
        #expect(
            try await Client(AnonymousRequestProvider("http://e.com"), executor: executor).perform(Users.me).login
                == "octocat")
    }

    // MARK: Overview

    @Test("the expressions of the overview sign in, keep cookies and cache")
    func overview() async throws {
        let signer = RequestSigner.hmacSHA256(key: Data("planted".utf8), field: "X-Signature") { _, digest in digest }
        try await served { request in
            Self.user(
                request.header[.authorization] ?? "none", .cacheControl(.maxAge(60)),
                Field(name: .setCookie, value: "id=7"))
        } _: { api, mock in
            let chain = OverviewArticle.chain(.bearerToken("planted"), try environment(api))
            let clients = [
                OverviewArticle.standard(api, .bearerToken("planted")), Client(api, executor: chain),
                OverviewArticle.all(
                    api, .bearerToken("planted"), RequestTracing { _ in }, RequestLogging { _ in },
                    RequestMetrics { _ in }, signer),
            ]
            for (number, client) in clients.enumerated() {
                for _ in 0..<2 { #expect(try await client.perform(Users.me).login == "Bearer planted") }
                _ = try await client.perform(Users.named("a"))
                #expect(mock.recordedCount == 2 * (number + 1))
                #expect(mock.recordedRequests.last?.header[.cookie] == "id=7")
            }
            #expect(mock.recordedRequests.last?.header["X-Signature"] != nil)
            #expect(mock.recordedRequests.last?.header["traceparent"] != nil)
        }
    }
}
