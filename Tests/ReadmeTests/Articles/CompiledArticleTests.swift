import RequestsMock
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

    @Test("a media type of an API is requested, sent and accepted")
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

    @Test("the loops over streams and pages end with their responses")
    func streams() async throws {
        try await ReadingResponsesArticle.events(client("data: a\n\n", "text/event-stream"), api)
        let delta = #"data: {"choices": [{"delta": {"content": "Hi"}}]}"# + "\n\ndata: [DONE]\n\n"
        try await ReadingResponsesArticle.completion(client(delta, "text/event-stream"), of: ["prompt": "Hi"])
        try await ReadingResponsesArticle.pages(client(#"[{"id": 1}]"#, .json))
        let feed = Client(api, executor: MockExecutor(.status(204)))
        try await ReadingResponsesArticle.feed(feed, api)
        await ReadingResponsesArticle.problem(client(#"{"login": "octocat"}"#, .json), api)
    }

    @Test("bodies, queries and parameters are written as the text says")
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

    @Test("further snippets have the results of their articles")
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
}
