/// An executor, how it is reached, and what it is known to do differently.
public struct ExecutorUnderTest: Sendable {
    enum Transport: Hashable {
        case memory, loopback, unixSocket
    }

    let transport: Transport
    let makeExecutor: @Sendable (_ socketPath: String) -> any RequestExecutor

    var face = Face.async

    /// What the executor is known to do differently.
    public let deviations: [Deviation]

    /// The mock itself: scenarios without a server, their faults played by the mock.
    public static func inMemory(deviations: [Deviation] = []) -> ExecutorUnderTest {
        ExecutorUnderTest(transport: .memory, makeExecutor: { _ in MockExecutor(.ok()) }, deviations: deviations)
    }

    /// An executor that reaches servers on 127.0.0.1; `make` gives a new one for each scenario.
    public static func overLoopback(
        deviations: [Deviation] = [], _ make: @escaping @Sendable () -> any RequestExecutor
    ) -> ExecutorUnderTest {
        ExecutorUnderTest(transport: .loopback, makeExecutor: { _ in make() }, deviations: deviations)
    }

    /// An executor that reaches the server behind a unix socket; `make` gives a new one for each server.
    public static func overUnixSocket(
        deviations: [Deviation] = [], _ make: @escaping @Sendable (_ path: String) -> any RequestExecutor
    ) -> ExecutorUnderTest {
        ExecutorUnderTest(transport: .unixSocket, makeExecutor: make, deviations: deviations)
    }

    /// The same executor, every exchange of the scenarios made through `face`.
    public func through(_ face: Face) -> ExecutorUnderTest {
        var copy = self
        copy.face = face
        return copy
    }

    /// How calls are made.
    public enum Face: String, CaseIterable, Sendable {
        /// A task that suspends.
        case async
        /// A completion on a queue, and a task to cancel.
        case callback
        /// A thread that is blocked meanwhile.
        case blocking
    }

    /// How a scenario went.
    public enum Outcome: Hashable, Sendable {
        /// The promise is kept.
        case passed
        /// The promise is not kept, as the deviation says.
        case deviated(Deviation)
        /// The scenario was not tried, because the deviation says that this would end the process.
        case notTried(Deviation)
    }

    /// Runs `scenario`.
    ///
    /// - Throws: ``ConformanceFailure`` when the promise is not kept, unless a deviation says that it fails in this way, and
    ///   also when it is kept although a deviation says that it is not.
    @discardableResult
    public func run(_ scenario: Scenario) async throws -> Outcome {
        guard let deviation = deviations.first(where: { $0.scenario == scenario.name }) else {
            try await play(scenario)
            return .passed
        }
        guard !deviation.isFatal else { return .notTried(deviation) }
        do throws(ConformanceFailure) {
            try await play(scenario)
        } catch {
            if !deviation.failure.isEmpty, error.message.contains(deviation.failure) { return .deviated(deviation) }
            throw ConformanceFailure(
                "fails in another way than its deviation says, “\(deviation.failure)”: \(error.description)")
        }
        throw ConformanceFailure("the promise is kept, but listed as a deviation: \(deviation.reason)")
    }

    /// Runs a scenario; an error that it did not expect is a failure too.
    private func play(_ scenario: Scenario) async throws(ConformanceFailure) {
        do {
            try await scenario.body(ScenarioContext(subject: self))
        } catch let failure as ConformanceFailure {
            throw failure
        } catch {
            throw ConformanceFailure("an unexpected error in “\(scenario.name)”: \(String(reflecting: error))")
        }
    }

    func fulfils(_ need: Scenario.Need) -> Bool {
        switch need {
        case .nothing: true
        case .memory: transport == .memory
        case .server: transport != .memory
        case .port: transport == .loopback
        }
    }
}
