import Requests
import TestSupport
import Testing

private let api = AnonymousRequestProvider.example

/// A value that checks its isolation when it is encoded or decoded.
private struct Checked: Codable, Sendable {
    let check: Check

    init(_ check: Check) { self.check = check }
    init(from decoder: any Decoder) throws { check = try Check(from: decoder); check.run() }
    func encode(to encoder: any Encoder) throws {
        check.run()
        try check.encode(to: encoder)
    }

    enum Check: String, Codable, Sendable {
        case nothing, mainActor

        func run() {
            if self == .mainActor { MainActor.preconditionIsolated() }
        }
    }
}

// On Linux the main actor can only be asserted, not queried, so a failed check ends a child process.
@Suite("Isolation", .tags(.concurrent), .timeLimit(.minutes(10)))
struct IsolationTests {
    @MainActor
    private static func encode(_ check: Checked.Check) async throws {
        MainActor.preconditionIsolated()
        let client = Client(api, executor: StubExecutor(200))
        try await client.perform(api.post(.json(Checked(check)), to: "/x"))
        MainActor.preconditionIsolated()
    }

    @MainActor
    private static func decode(_ check: Checked.Check) async throws {
        MainActor.preconditionIsolated()
        let executor = StubExecutor(200, "\"\(check.rawValue)\"")
        _ = try await executor.perform(api.get(.json(Checked.self), from: "/x"))
        MainActor.preconditionIsolated()
    }

    @Test("a body is encoded off the main actor, even if the call is made there", .rows("PM-15"))
    func encoder() async {
        await #expect(processExitsWith: .success) { try await IsolationTests.encode(.nothing) }
        await #expect(processExitsWith: .failure) { try await IsolationTests.encode(.mainActor) }
    }

    @Test("a body is decoded off the main actor, even if the call is made there", .rows("PM-15"))
    func decoder() async {
        await #expect(processExitsWith: .success) { try await IsolationTests.decode(.nothing) }
        await #expect(processExitsWith: .failure) { try await IsolationTests.decode(.mainActor) }
    }
}
