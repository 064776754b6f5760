/// An executor to test, with its transport and its known deviations.
public struct ExecutorUnderTest: Sendable {
    /// The transport between the executor and the server.
    enum Transport: Hashable {
        case memory, loopback, unixSocket, tls
    }

    let transport: Transport
    let makeExecutor: @Sendable (_ socketPath: String, _ tls: TLSConfiguration) -> any RequestExecutor

    var callStyle = CallStyle.async

    /// The version of HTTP that the servers use.
    var version = TestServer.Version.http1

    /// The known deviations of the executor.
    public let deviations: [Deviation]

    /// Returns the mock executor, for scenarios without a server; the mock simulates the faults.
    public static func inMemory(deviations: [Deviation] = []) -> ExecutorUnderTest {
        ExecutorUnderTest(transport: .memory, makeExecutor: { _, _ in MockExecutor(.ok()) }, deviations: deviations)
    }

    /// Returns an executor that reaches servers on 127.0.0.1; `make` creates a new one for each scenario.
    public static func overLoopback(
        deviations: [Deviation] = [], _ make: @escaping @Sendable () -> any RequestExecutor
    ) -> ExecutorUnderTest {
        ExecutorUnderTest(transport: .loopback, makeExecutor: { _, _ in make() }, deviations: deviations)
    }

    /// Returns an executor that reaches the server on a unix socket; `make` creates a new one for each server.
    public static func overUnixSocket(
        deviations: [Deviation] = [], _ make: @escaping @Sendable (_ path: String) -> any RequestExecutor
    ) -> ExecutorUnderTest {
        ExecutorUnderTest(transport: .unixSocket, makeExecutor: { path, _ in make(path) }, deviations: deviations)
    }

    /// Returns an executor that reaches servers on 127.0.0.1 over TLS; `make` creates a new one for each server, with
    /// the settings that trust it.
    public static func overTLS(
        deviations: [Deviation] = [], _ make: @escaping @Sendable (_ tls: TLSConfiguration) -> any RequestExecutor
    ) -> ExecutorUnderTest {
        ExecutorUnderTest(transport: .tls, makeExecutor: { _, tls in make(tls) }, deviations: deviations)
    }

    /// Returns this executor; all calls of the scenarios are made in the style `callStyle`.
    package func using(_ callStyle: CallStyle) -> ExecutorUnderTest {
        var copy = self
        copy.callStyle = callStyle
        return copy
    }

    /// Returns this executor with scenarios whose servers use `version`.
    ///
    /// With HTTP/2, scenarios that need HTTP/1.1 are left out.
    public func using(_ version: TestServer.Version) -> ExecutorUnderTest {
        var copy = self
        copy.version = version
        return copy
    }

    /// A style of calls.
    package enum CallStyle: String, CaseIterable, Sendable {
        /// An awaited call.
        case async
        /// A call with a completion handler on a queue, and a task to cancel it.
        case callback
        /// A call that blocks its thread.
        case blocking
    }

    /// The result of a scenario.
    @nonexhaustive
    public enum Outcome: Hashable, Sendable {
        /// The executor keeps the guarantee.
        case passed
        /// The executor does not keep the guarantee, as the deviation states.
        case deviated(Deviation)
        /// The scenario did not run, because the deviation states that it would end the process or never return.
        case notTried(Deviation)
    }

    /// Runs `scenario` with this executor.
    ///
    /// - Throws: ``ConformanceFailure`` if the executor does not keep the guarantee and no deviation states this
    ///   failure, or if it keeps the guarantee although a deviation that is not occasional states the opposite.
    @discardableResult
    public func run(_ scenario: Scenario) async throws -> Outcome {
        guard let deviation = deviations.first(where: { $0.scenario == scenario.name }) else {
            try await perform(scenario)
            return .passed
        }
        guard !deviation.isFatal else { return .notTried(deviation) }
        do throws(ConformanceFailure) {
            try await perform(scenario)
        } catch {
            if !deviation.failure.isEmpty, error.message.contains(deviation.failure) { return .deviated(deviation) }
            throw ConformanceFailure(
                "the scenario fails in another way than its deviation states (“\(deviation.failure)”): "
                    + error.description)
        }
        if deviation.isOccasional { return .passed }
        throw ConformanceFailure("the scenario passes; remove its deviation (\(deviation.reason))")
    }

    /// Runs a scenario.
    ///
    /// An error that the scenario does not expect is a failure too.
    private func perform(_ scenario: Scenario) async throws(ConformanceFailure) {
        do {
            try await scenario.body(ScenarioContext(subject: self))
        } catch let failure as ConformanceFailure {
            throw failure
        } catch {
            throw ConformanceFailure("unexpected error in “\(scenario.name)”: \(String(reflecting: error))")
        }
    }

    /// Returns whether the transport meets `need`.
    func meets(_ need: Scenario.Need) -> Bool {
        switch need {
        case .nothing: true
        case .memory: transport == .memory
        case .server: transport != .memory
        case .port: transport == .loopback || transport == .tls
        case .tls: transport == .tls
        }
    }
}
