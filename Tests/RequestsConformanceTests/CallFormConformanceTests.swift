import RequestsConformance
import RequestsSocket
import TestSupport
import Testing

private let memory = ExecutorUnderTest.inMemory()
private let socket = ExecutorUnderTest.overLoopback { SocketExecutor(configuration: .keepingIdleConnections) }

@Suite("Conformance: callback and blocking calls", .timeLimit(.minutes(10)))
struct CallFormConformanceTests {
    @Test(
        "in memory", .rows("HT-4", "C29"), .notInstrumented("the scenarios also run over sockets"),
        arguments: Scenario.all(for: memory),
        [ExecutorUnderTest.CallStyle.callback, .blocking])
    func inMemory(scenario: Scenario, style: ExecutorUnderTest.CallStyle) async throws {
        try await memory.using(style).run(scenario)
    }

    @Test(
        "over sockets", .rows("HT-4", "C29"), arguments: Scenario.all(for: socket),
        [ExecutorUnderTest.CallStyle.callback, .blocking])
    func overSockets(scenario: Scenario, style: ExecutorUnderTest.CallStyle) async throws {
        try await socket.using(style).run(scenario)
    }
}
