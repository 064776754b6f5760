import RequestsConformance
import RequestsSocket
import Testing

private let memory = ExecutorUnderTest.inMemory()
private let socket = ExecutorUnderTest.overLoopback { SocketExecutor(configuration: .patient) }

@Suite("Conformance: the faces that are not async", .timeLimit(.minutes(5)))
struct FaceConformanceTests {
    @Test(
        "in memory (HT-4, C29)", arguments: Scenario.all(for: memory), [ExecutorUnderTest.Face.callback, .blocking])
    func inMemory(scenario: Scenario, face: ExecutorUnderTest.Face) async throws {
        try await memory.through(face).run(scenario)
    }

    @Test(
        "over sockets (HT-4, C29)", arguments: Scenario.all(for: socket), [ExecutorUnderTest.Face.callback, .blocking])
    func overSockets(scenario: Scenario, face: ExecutorUnderTest.Face) async throws {
        try await socket.through(face).run(scenario)
    }
}
