import RequestsConformance
import RequestsSocket
import Testing

private let loopback = ExecutorUnderTest.overLoopback { SocketExecutor(configuration: .patient) }
private let unixSocket = ExecutorUnderTest.overUnixSocket { path in
    SocketExecutor(.unix(path: path), configuration: .patient)
}
private let decoding = ExecutorUnderTest.overLoopback { SocketExecutor(configuration: .patient).decodingContent() }

extension SocketExecutor.Configuration {
    /// Keeps idle connections while other tests have the threads of the pool, which can take longer than the usual 30 s.
    static var patient: Self {
        var configuration = Self()
        configuration.idleTimeout = .seconds(600)
        return configuration
    }
}

@Suite("Conformance: socket", .timeLimit(.minutes(5)))
struct SocketConformanceTests {
    @Test("over TCP", arguments: Scenario.all(for: loopback))
    func overLoopback(scenario: Scenario) async throws {
        try await loopback.run(scenario)
    }

    @Test("over a unix socket", arguments: Scenario.all(for: unixSocket))
    func overUnixSocket(scenario: Scenario) async throws {
        try await unixSocket.run(scenario)
    }

    @Test("undoing content codings", arguments: Scenario.all(for: decoding))
    func decodingContent(scenario: Scenario) async throws {
        try await decoding.run(scenario)
    }

    @Test("undoing content codings, on a thread that is blocked", arguments: Scenario.all(for: decoding))
    func decodingContentBlocked(scenario: Scenario) async throws {
        try await decoding.through(.blocking).run(scenario)
    }
}
