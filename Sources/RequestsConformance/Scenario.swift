/// One promise of ``RequestExecutor``, and how to find out whether an executor keeps it.
///
/// Written once, it runs against every executor, in memory or over sockets:
/// ```swift
/// private let subject = ExecutorUnderTest.overLoopback { SocketExecutor() }
///
/// @Test(arguments: Scenario.all(for: subject))
/// func scenario(_ scenario: Scenario) async throws {
///     try await subject.run(scenario)
/// }
/// ```
public struct Scenario: Sendable, CustomStringConvertible {
    /// What is promised, as a sentence; unique among all scenarios.
    public let name: String

    /// The rows of the requirements it proves, such as `R-20`.
    public let rows: [String]

    /// What it is about.
    public let group: Group

    /// What it needs to be run at all.
    let needs: Need

    let body: @Sendable (ScenarioContext) async throws -> Void

    /// What scenarios are about.
    public enum Group: String, CaseIterable, Sendable {
        /// Bodies of requests and responses, of every kind and length.
        case bodies
        /// How the end of a message is told, and what heads say.
        case framing
        /// Asking before a body is sent, fields behind it, and what a server says before its answer.
        case asking
        /// Which connections are used again.
        case keepAlive
        /// Which limit ends a wait.
        case timeouts
        /// What cancelling does, wherever it happens.
        case cancellation
        /// Connections and servers that fail.
        case faults
        /// What follows a redirect, and what does not go along.
        case redirects
        /// What is refused before a byte is sent.
        case badInput
        /// Bodies that are pulled, and files.
        case streaming
        /// Where an app's code runs.
        case isolation
        /// Descriptions of every kind, through the whole pipeline.
        case descriptions
    }

    /// Where a scenario can be run.
    enum Need: Sendable {
        /// Anywhere.
        case nothing
        /// In memory, where a mock answers for any host.
        case memory
        /// Where there is a server and a connection to it.
        case server
        /// Where the executor connects to ports of the loopback.
        case port
    }

    /// A scenario of the parts given.
    init(
        name: String, rows: [String], group: Group, needs: Need = .nothing,
        _ body: @escaping @Sendable (ScenarioContext) async throws -> Void
    ) {
        self.name = name
        self.rows = rows
        self.group = group
        self.needs = needs
        self.body = body
    }

    /// The name and the rows, as in `a body cut short is an error (R-20, T-87)`.
    public var description: String { rows.isEmpty ? name : "\(name) (\(rows.joined(separator: ", ")))" }

    /// Every scenario there is.
    public static let all: [Scenario] =
        bodies + framing + asking + keepAlive + timeouts + cancellation + faults + redirects + redirectBodies + badInput
        + streaming
        + isolation + descriptions

    /// The scenarios that can be run with `subject`, and one that looks at the deviations it lists.
    public static func all(for subject: ExecutorUnderTest) -> [Scenario] {
        all.filter { subject.fulfils($0.needs) } + [deviations]
    }

    /// Every deviation names a scenario that would otherwise run, and says why and how it fails.
    private static let deviations = Scenario(
        name: "every deviation listed is of a scenario and has its reason", rows: [], group: .bodies
    ) { context in
        for deviation in context.subject.deviations {
            let isKnown = all.contains { $0.name == deviation.scenario && context.subject.fulfils($0.needs) }
            try expect(isKnown, "“\(deviation.scenario)” is a scenario that runs here")
            try expect(!deviation.reason.isEmpty, "“\(deviation.scenario)” has a reason")
            try expect(
                deviation.isFatal || !deviation.failure.isEmpty, "“\(deviation.scenario)” says how the scenario fails")
        }
    }
}

/// A promise that an executor is known not to keep on this platform, and why.
public struct Deviation: Hashable, Sendable {
    /// The name of the scenario that fails.
    public let scenario: String

    /// Why it fails and cannot be repaired here.
    public let reason: String

    /// A part of the message of the scenario's ``ConformanceFailure``; another failure is not this deviation.
    ///
    /// It may be empty only when the deviation is fatal.
    public let failure: String

    /// Whether running it would end the process or never return, so that it is not even tried.
    public let isFatal: Bool

    /// A deviation from the scenario called `scenario`, which fails with a message that contains `failure`.
    public init(scenario: String, reason: String, failure: String = "", isFatal: Bool = false) {
        self.scenario = scenario
        self.reason = reason
        self.failure = failure
        self.isFatal = isFatal
    }
}
