/// A test of one guarantee of ``/Requests/RequestExecutor``.
///
/// A scenario is written once and runs with every executor, in memory or over sockets:
///
/// ```swift
/// private let subject = ExecutorUnderTest.overLoopback { SocketExecutor() }
///
/// @Test(arguments: Scenario.all(for: subject))
/// func scenario(_ scenario: Scenario) async throws {
///     try await subject.run(scenario)
/// }
/// ```
public struct Scenario: Sendable, CustomStringConvertible {
    /// The guarantee as a sentence, which is unique among all scenarios.
    public let name: String

    /// The identifiers of the requirements that the scenario proves, such as `R-20`.
    package let rows: [String]

    /// The subject of the scenario.
    package let group: Group

    /// The requirements for running the scenario.
    let needs: Need

    /// Whether the scenario is left out over HTTP/2.
    let isForHTTP1: Bool

    let body: @Sendable (ScenarioContext) async throws -> Void

    /// The subjects of the scenarios.
    package enum Group: String, CaseIterable, Sendable {
        /// Bodies of requests and responses, of every kind and length.
        case bodies
        /// The framing of messages, and the fields and statuses of heads.
        case framing
        /// Expectations (100-continue), request trailers and interim responses.
        case expectations
        /// Reuse of connections.
        case keepAlive
        /// Time limits.
        case timeouts
        /// Cancellation at every stage.
        case cancellation
        /// Failures of connections and servers.
        case faults
        /// Redirects, and the fields that they keep.
        case redirects
        /// Requests that are rejected before anything is sent.
        case badInput
        /// Streamed bodies and downloads.
        case streaming
        /// The threads on which an app's code runs.
        case isolation
        /// Requests as an app describes them, through the whole pipeline.
        case descriptions
    }

    /// The requirement of a scenario.
    enum Need: Sendable {
        /// No requirement.
        case nothing
        /// A mock in memory that responds for any host.
        case memory
        /// A server, and a connection to it.
        case server
        /// An executor that connects to ports of the loopback.
        case port
        /// An executor that connects to them over TLS.
        case tls
    }

    init(
        name: String, rows: [String], group: Group, needs: Need = .nothing, isForHTTP1: Bool = false,
        _ body: @escaping @Sendable (ScenarioContext) async throws -> Void
    ) {
        self.name = name
        self.rows = rows
        self.group = group
        self.needs = needs
        self.isForHTTP1 = isForHTTP1
        self.body = body
    }

    /// The name and the requirements, as in `a truncated body is an error, never a shorter value (R-20, T-87)`.
    public var description: String { rows.isEmpty ? name : "\(name) (\(rows.joined(separator: ", ")))" }

    package static let all: [Scenario] =
        bodies + framing + expectations + earlyResponses + keepAlive + timeouts + cancellation + faults + floods
        + redirects + redirectBodies + sentRequests + badInput + streaming + isolation + descriptions

    /// Returns the scenarios that can run with `subject`, and one that checks its deviations.
    public static func all(for subject: ExecutorUnderTest) -> [Scenario] {
        all.filter { subject.meets($0.needs) && (subject.version == .http1 || !$0.isForHTTP1) } + [deviations]
    }

    /// A check that every deviation names a scenario that would otherwise run, and states the reason and the failure.
    private static let deviations = Scenario(
        name: "every deviation names a scenario that runs and has a reason", rows: [], group: .bodies
    ) { context in
        for deviation in context.subject.deviations {
            let isKnown = all.contains { $0.name == deviation.scenario && context.subject.meets($0.needs) }
            try expect(isKnown, "“\(deviation.scenario)” is the name of a scenario that runs here")
            try expect(!deviation.reason.isEmpty, "“\(deviation.scenario)” has a reason")
            try expect(
                deviation.isFatal || !deviation.failure.isEmpty, "“\(deviation.scenario)” has a failure message")
        }
    }
}
