import RequestsConformance
import RequestsSocket
import Testing

/// An executor of an app, which opens a connection for each exchange.
private struct OneConnectionExecutor: RequestExecutor {
    func execute(_ request: PreparedRequest) async throws(RequestError) -> RawResponse {
        try await SocketExecutor().execute(request)
    }
}

private let subject = ExecutorUnderTest.overLoopback(deviations: [
    .init(
        scenario: "a connection is reused after a response that allows it",
        reason: "each exchange has its own connection", failure: "connection and index of each exchange")
]) { OneConnectionExecutor() }

@Suite("An app's own executor", .timeLimit(.minutes(10)))
struct OwnExecutorTests {
    @Test(arguments: Scenario.all(for: subject).filter { $0.name.hasPrefix("a connection ") })
    func scenario(_ scenario: Scenario) async throws {
        try await subject.run(scenario)
    }
}
