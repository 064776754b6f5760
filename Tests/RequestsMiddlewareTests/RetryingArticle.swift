import RequestsMiddleware
import RequestsSocket
import Testing

/// The code of the article on retrying; `ReadmeSnippetTests` checks that it has each snippet, line for line.
@Suite("The article on retrying")
struct RetryingArticle {
    private enum GitHub: RequestProviding {
        case production

        var baseURL: URL { URL("https://api.github.com") }
    }

    private struct Repo: Decodable, Sendable {}

    private struct Cart: Encodable, Sendable {}

    private static func client() -> Client<GitHub> {
        let client = Client(
            GitHub.production, executor: SocketExecutor().retrying())
        return client
    }

    private static func policies(_ api: GitHub) -> (some RequestExecutor, Request<GitHub, [Repo]>) {
        let executor = SocketExecutor().retrying(
            .retryNetworkFailureOrServiceUnavailable(
                with: .exponentialBackoff(maximumRetries: 4)))
        let request = api.get(.json([Repo].self), from: "/repos")
            .retrying(.never)
        return (executor, request)
    }

    private static func order(_ api: GitHub, _ cart: Cart, _ id: String) -> Request<GitHub, Void> {
        let order = api.post(.json(cart), to: "/orders")
            .setting(headerField: Field(name: .idempotencyKey, value: id))
            .idempotent()
        return order
    }

    private static func chain(_ logCalls: @escaping FunctionMiddleware.Function) -> some RequestExecutor {
        let executor = SocketExecutor()
            .decodingContent()
            .resumingDownloads()
            .retrying()
            .intercepting(logCalls)
        return executor
    }

    private static func hedging() -> some RequestExecutor {
        let executor = SocketExecutor()
            .hedging(after: .milliseconds(300))
        return executor
    }

    @Test("the standard policy decides as the article on retrying says")
    func decision() async throws {
        let request = try preparedRequest()
        let failure = RetryPolicy.Failure(
            RequestError(.connectionLost), of: request, attempt: 1)
        let decision = await RetryPolicy.standard.decision(
            about: failure, random: { 0.5 })
        #expect(decision == .retry(after: .seconds(1)))
    }
}
