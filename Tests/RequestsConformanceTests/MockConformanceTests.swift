import RequestsConformance
import TestSupport
import Testing

private let subject = ExecutorUnderTest.inMemory()

@Suite(
    "Conformance: mock", .rows("R-72"), .notInstrumented("the scenarios also run over sockets"),
    .timeLimit(.minutes(10)))
struct MockConformanceTests {
    @Test(arguments: Scenario.all(for: subject))
    func scenario(_ scenario: Scenario) async throws {
        try await subject.run(scenario)
    }
}
