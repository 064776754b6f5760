import RequestsMiddleware
import RequestsMock
import RequestsSocket

/// The code of the article on recording, which `RecordingArticleTests` runs; `ReadmeSnippetTests` checks that it has
/// each snippet, line for line.
enum RecordingArticle {
    enum GitHub: RequestProviding {
        case production

        /// The base URL, of the server of a test.
        @TaskLocal static var server = URL("https://api.github.com")

        var baseURL: URL { Self.server }
    }

    struct User: Codable, Sendable {
        let login: String
    }

    enum Users: Endpoint {
        case named(String)

        func request(from api: GitHub) -> Request<GitHub, User> {
            switch self {
            case .named(let name): api.get(.json(), from: "/users/\(name)")
            }
        }
    }

    /// Records in `octocat.har` of the current folder.
    static func record() async throws {
        let recorder = HARRecorder()
        let executor = SocketExecutor().intercepted(by: recorder)
        let github = Client(GitHub.production, executor: executor)
        _ = try await github.perform(Users.named("octocat"))
        try recorder.archive.write(to: "octocat.har")
    }

    static func replay() async throws {
        let mock = MockExecutor(replaying: try HARArchive(contentsOf: "octocat.har"))
        let github = Client(GitHub.production, executor: mock)
        _ = try await github.perform(Users.named("octocat"))
        try mock.verify()
    }

    static func first(_ recorder: HARRecorder) -> Intercepted {
        let executor = SocketExecutor()
            .intercepted(by: recorder)
            .retrying()
        return executor
    }

    static func last(_ recorder: HARRecorder) -> Intercepted {
        let executor = SocketExecutor()
            .retrying()
            .intercepted(by: recorder)
        return executor
    }
}
