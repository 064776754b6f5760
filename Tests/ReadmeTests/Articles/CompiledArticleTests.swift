import RequestsMock
import RequestsSocket
import RequestsTestServer
import Testing

/// Runs the snippets of the articles in this folder against a mock, so that they give the results that the text states.
@Suite("Articles", .timeLimit(.minutes(10)))
struct CompiledArticleTests {
    private let api = AnonymousRequestProvider(baseURL: URL("https://example.com"))

    /// Returns a client whose server sends `text` with a content type.
    private func client(_ text: String, _ type: MediaType) -> Client<AnonymousRequestProvider> {
        Client(api, executor: MockExecutor(.ok(text, contentType: type)))
    }

    @Test("a JSON type of an API’s own is requested, sent and accepted")
    func mediaTypes() async throws {
        let (manifest, page) = ReadingResponsesArticle.mediaTypes(api, ["key": 1])
        let oci: MediaType = "application/vnd.oci.image.manifest.v1+json"
        let amz: MediaType = "application/x-amz-json-1.0"
        #expect(try await client(#"{"schemaVersion": 2}"#, oci).perform(manifest).schemaVersion == 2)
        #expect(try await client(#"{"number": 3}"#, amz).perform(page).number == 3)
        let prepared = try page.prepared()
        #expect(prepared.header[.contentType] == amz.description && prepared.header[.accept] == amz.description)
        #expect(try manifest.prepared().header[.accept] == oci.description)
        #expect(try await client("[1, 2]", .json).perform(ReadingResponsesArticle.mapped(api)) == 3)
    }

    @Test("the loops over streams and pages end when their responses end")
    func streams() async throws {
        try await ReadingResponsesArticle.events(client("data: a\n\n", "text/event-stream"), api)
        let delta = #"data: {"choices": [{"delta": {"content": "Hi"}}]}"# + "\n\ndata: [DONE]\n\n"
        try await ReadingResponsesArticle.completion(client(delta, "text/event-stream"), of: ["prompt": "Hi"])
        try await ReadingResponsesArticle.pages(client(#"[{"id": 1}]"#, .json))
        let feed = Client(api, executor: MockExecutor(.status(204)))
        try await ReadingResponsesArticle.feed(feed, api)
        await ReadingResponsesArticle.problem(client(#"{"login": "octocat"}"#, .json), api)
    }

    @Test("the snippets on bodies and parameters make the targets and content types that their article names")
    func bodies() throws {
        typealias Article = BodiesAndParametersArticle
        #expect(try Article.query(api, "a").prepared().target.requestTarget == "/search?q=a&page=2&exact")
        #expect(try Article.droppingNil(api, "a", nil).prepared().target.requestTarget == "/search?q=a")
        let parameters = try Article.parameters(api).prepared()
        #expect(parameters.target.requestTarget == "/users?notify=true")
        let user = Article.User(name: "x")
        let bodies = try Article.bodies(
            api, user, user, user, [user], scope: "all", url: URL(filePath: #filePath), gzip: { $0 }
        ).map { try $0.get() }
        #expect(
            bodies.map { $0.header[.contentType] ?? "" } == [
                "application/x-www-form-urlencoded", "application/x-www-form-urlencoded", "application/json",
                "application/json", "application/merge-patch+json", "application/x-plist",
                "text/plain; charset=iso-8859-1", "application/octet-stream", "application/json",
            ])
        let report = try #require(Article.report(api, includesData: true).first).get()
        #expect(report.method == "PROPFIND" && report.header[.contentType]?.hasPrefix("application/xml") == true)
        #expect(try Article.form(api, URL(filePath: #filePath)) { Data() }.prepared().header.contains(.contentType))
    }

    @Test("the snippets on paths, environments, errors, fields and TLS have the results that their articles state")
    func further() async throws {
        typealias Article = DescribingRequestsArticle
        let storage = MockExecutor(.ok("x"))
        _ = try await Article.photo(Client(Article.Storage(), executor: storage))
        let target = storage.recordedRequests.first?.target.requestTarget
        #expect(target == "/photos/2026/caf%C3%A9%20%26%20bar.jpg")
        #expect(try Article.External().delete("/x").prepared().header["X-API-Key"] == "planted")
        let missing = Client(GettingStartedArticle.Library.staging, executor: MockExecutor(.status(404)))
        #expect(try await HandlingErrorsArticle.emma(in: missing) == nil)
        #expect(HeaderFieldsArticle.headers("t")[1][.authorization] == "Bearer t")
        if TestServer.supportsTLS { try await TLSAndTrustArticle.server(MockExecutor(.ok("ok"))) }
    }

    @Test(
        "a notification and unary calls over HTTP/2 and TLS have the results of their article",
        .enabled(if: TestServer.supportsTLS, "libssl is not installed"))
    func http2Services() async throws {
        typealias Article = CallingHTTP2ServicesArticle
        let mock = MockExecutor { request in
            switch request.target.path {
            case "/3/device/known": .ok().adding(headerField: Field(name: "apns-id", value: "7"))
            case "/3/device/unknown": .status(400, #"{"reason":"BadDeviceToken"}"#, contentType: .json)
            case "/greeter/SayHello": .data(Data([0, 0, 0, 0, 2, 8, 1])).with(trailers: ["grpc-status": "0"])
            case "/greeter/Fail": .data(Data()).with(trailers: ["grpc-status": "5", "grpc-message": "no such name"])
            default: .ok().adding(headerField: Field(name: "grpc-status", value: "12"))
            }
        }
        var tls = TestServer.TLS()
        tls.names = ["api.push.apple.com", "greeter.example.com"]
        try await withTestServer(serving: mock, using: .http2, tls: tls) { server in
            var configuration = SocketExecutor.Configuration()
            configuration.httpVersion = .http2PriorKnowledge
            configuration.tls = server.clientTLS
            configuration.hostResolver = .mapping(
                Dictionary(uniqueKeysWithValues: tls.names.map { ($0, "127.0.0.1:\(server.port ?? 0)") }))
            let executor = SocketExecutor(configuration: configuration)
            let apns = Client(Article.APNs.production, executor: executor)
            func push(to device: String) -> Article.Push {
                Article.Push(
                    notification: Article.Notification(aps: Article.Notification.APS(alert: "Hi")), device: device,
                    topic: "org.example.app", token: "t")
            }
            let identifier = try await Article.send(push(to: "known"), with: apns)
            #expect(identifier == "7")
            let error = await #expect(throws: RequestError.self) {
                try await Article.send(push(to: "unknown"), with: apns)
            }
            #expect(error?.payload(as: Article.Rejection.self)?.reason == "BadDeviceToken")

            let calls = Article.Calls(greeter: Client(Article.Greeter.production, executor: executor))
            let message = try await calls.result(of: "/greeter/SayHello", Data([10, 1, 65]))
            #expect(message == Data([8, 1]))
            #expect(server.exchanges.last?.body == Data([0, 0, 0, 0, 3, 10, 1, 65]))
            #expect(server.exchanges.last?.header["TE"] == "trailers")
            let failures: [(String, String, String?)] = [("Fail", "5", "no such name"), ("Other", "12", nil)]
            for (method, status, message) in failures {
                let error = await #expect(throws: Article.GreeterError.self) {
                    try await calls.result(of: "/greeter/\(method)", Data())
                }
                #expect(error?.status == status && error?.message == message)
            }
            #expect(server.record.requestCount == 5)
        }
    }
}
