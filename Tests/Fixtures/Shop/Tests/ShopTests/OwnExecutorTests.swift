import RequestsConformance
import RequestsSocket
import Testing

/// An executor of an app, which opens a connection for each exchange.
private struct OneConnectionExecutor: RequestExecutor {
    func execute(_ request: PreparedRequest) async throws(RequestError) -> RawResponse {
        try await SocketExecutor().execute(request)
    }
}

private let subject = ExecutorUnderTest.overLoopback(
    deviations: [
        "a connection is reused after a response that allows it",
        "an HTTP/1.0 response closes its connection unless it has keep-alive",
        "the connection of a redirect is reused if its body is short or the connection shared",
    ].map { scenario in
        .init(
            scenario: scenario, reason: "each exchange has its own connection",
            failure: "connection and index of each exchange")
    } + [
        .init(
            scenario:
                "a chunked body is sent again with its length to an HTTP/1.0 server",
            reason: "the executor of an exchange knows no earlier response",
            failure: "Transfer-Encoding: expected nil")
    ]
) { OneConnectionExecutor() }

@Suite("An app's own executor", .timeLimit(.minutes(10)))
struct OwnExecutorTests {
    @Test(arguments: Scenario.all(for: subject))
    func scenario(_ scenario: Scenario) async throws {
        try await subject.run(scenario)
    }
}
