@_spi(Lock) import Requests
import RequestsMiddleware
import RequestsMock
import RequestsTestServer
import TestSupport
import Testing

/// Runs the code of the article on recording about the place of the recorder.
@Suite("The article on recording", .timeLimit(.minutes(10)))
struct RecordingArticleTests {
    private typealias Article = RecordingArticle

    @Test("a recorder next to the executor records attempts, and one around the retries records the last response")
    func places() async throws {
        for isFirst in [true, false] {
            let script = ResponseScript(.status(503, retryAfter: "0"), .json(#"{"login": "octocat"}"#))
            try await withTestServer(serving: script.executor) { server in
                try await Article.GitHub.$server.withValue(server.baseURL) { () async throws in
                    let recorder = HARRecorder()
                    let executor = isFirst ? Article.first(recorder) : Article.last(recorder)
                    let recorded = Client(Article.GitHub.production, executor: executor)
                    _ = try await recorded.perform(Article.Users.named("octocat"))
                    let statuses = recorder.archive.entries.map(\.status)
                    #expect(statuses == (isFirst ? [503, 200] : [200]))

                    let mock = MockExecutor(replaying: recorder.archive)
                    let client = Client(Article.GitHub.production, executor: isFirst ? mock.retrying() : mock)
                    #expect(try await client.perform(Article.Users.named("octocat")).login == "octocat")
                    try mock.verify()
                }
            }
        }
    }
}
