import RequestsConformance
import RequestsSocket
import TestSupport
import Testing

/// The ways in which a broken socket executor violates a guarantee.
private enum Violation: String, CaseIterable {
    case shortensBodies, ignoresCancellation, addsCredentials, joinsFields, resends, hidesRefusals, opensNewConnections

    var scenario: String {
        switch self {
        case .shortensBodies: "a truncated body is an error, never a shorter value"
        case .ignoresCancellation: "a cancelled task sends nothing"
        case .addsCredentials:
            "a request is sent with Host first, one Content-Length, and no added credentials or content fields"
        case .joinsFields: "fields keep their order, repetitions and values"
        case .resends: "a connection that closes before the response is an error, and the request is sent once"
        case .hidesRefusals: "a response is returned whatever its status, and no redirect is followed"
        case .opensNewConnections: "a connection is reused after a response that allows it"
        }
    }

    func execute(_ request: PreparedRequest, on socket: SocketExecutor) async throws(RequestError) -> RawResponse {
        switch self {
        case .shortensBodies:
            do throws(RequestError) {
                return try await socket.execute(request)
            } catch {
                guard let head = error.response, let body = error.body else { throw error }
                return RawResponse(head: head, body: .bytes(body))
            }
        case .ignoresCancellation:
            let result = await Task.detached { () async -> Result<RawResponse, RequestError> in
                do throws(RequestError) {
                    return .success(try await socket.execute(request))
                } catch {
                    return .failure(error)
                }
            }.value
            return try result.get()
        case .addsCredentials:
            var copy = request
            copy.header.set(Field(name: .cookie, value: "a=b"))
            return try await socket.execute(copy)
        case .joinsFields:
            var response = try await socket.execute(request)
            response.head.header = Header(
                response.head.header.dictionaryValue.map { Field(name: Field.Name($0.key), value: $0.value) })
            return response
        case .resends:
            do throws(RequestError) {
                return try await socket.execute(request)
            } catch {
                return try await socket.execute(request)
            }
        case .hidesRefusals:
            let response = try await socket.execute(request)
            if response.head.status.isClientError { throw RequestError(.unacceptableStatus) }
            return response
        case .opensNewConnections: return try await SocketExecutor().execute(request)
        }
    }
}

private struct BrokenExecutor: RequestExecutor {
    let socket = SocketExecutor()
    let kind: Violation

    func execute(_ request: PreparedRequest) async throws(RequestError) -> RawResponse {
        try await kind.execute(request, on: socket)
    }
}

@Suite("Conformance: the suite itself", .timeLimit(.minutes(10)))
struct SuiteTests {
    private func scenario(_ name: String) throws -> Scenario {
        try #require(Scenario.all.first { $0.name == name })
    }

    @Test("the names of scenarios are unique, and every scenario lists the rows it proves")
    func names() {
        #expect(Set(Scenario.all.map(\.name)).count == Scenario.all.count)
        #expect(Scenario.all.allSatisfy { !$0.rows.isEmpty })
        #expect(Set(Scenario.all.map(\.group)) == Set(Scenario.Group.allCases))
    }

    @Test("an executor that violates a guarantee fails the scenario", .rows("R-72"), arguments: Violation.allCases)
    private func catches(kind: Violation) async throws {
        let subject = ExecutorUnderTest.overLoopback { BrokenExecutor(kind: kind) }
        let scenario = try scenario(kind.scenario)
        await #expect(throws: ConformanceFailure.self) { try await subject.run(scenario) }
    }

    @Test("a real deviation is reported, an obsolete one fails, and a fatal one is not tried", .rows("R-72"))
    func deviations() async throws {
        let kept = try scenario("a cancelled task sends nothing")
        let broken = try scenario(Violation.resends.scenario)
        let real = ExecutorUnderTest.Deviation(
            scenario: broken.name, reason: "it resends", failure: "found [GET, GET")
        let stale = ExecutorUnderTest.Deviation(
            scenario: kept.name, reason: "it did so before", failure: "bytes: expected 0")
        let subject = ExecutorUnderTest.overLoopback(deviations: [real, stale]) { BrokenExecutor(kind: .resends) }
        #expect(try await subject.run(broken) == .deviated(real))
        await #expect(throws: ConformanceFailure.self) { try await subject.run(kept) }
        let fatal = ExecutorUnderTest.Deviation(scenario: broken.name, reason: "it ends the process", isFatal: true)
        let skipping = ExecutorUnderTest.inMemory(deviations: [fatal])
        #expect(try await skipping.run(broken) == .notTried(fatal))
    }

    @Test("a scenario with an occasional deviation passes, or fails in that way", .rows("R-72"))
    func occasionalDeviations() async throws {
        let kept = try scenario("a cancelled task sends nothing")
        let broken = try scenario(Violation.resends.scenario)
        let deviations = [kept, broken].map { scenario in
            ExecutorUnderTest.Deviation(
                scenario: scenario.name, reason: "it resends", failure: "found [GET, GET", isOccasional: true)
        }
        let subject = ExecutorUnderTest.overLoopback(deviations: deviations) { BrokenExecutor(kind: .resends) }
        #expect(try await subject.run(kept) == .passed)
        #expect(try await subject.run(broken) == .deviated(deviations[1]))
        let other = ExecutorUnderTest.Deviation(
            scenario: broken.name, reason: "it resends", failure: "another", isOccasional: true)
        let failing = ExecutorUnderTest.overLoopback(deviations: [other]) { BrokenExecutor(kind: .resends) }
        await #expect(throws: ConformanceFailure.self) { try await failing.run(broken) }
    }

    @Test("a deviation does not excuse a different failure", .rows("R-72"), arguments: ["", "another failure"])
    func otherFailures(message: String) async throws {
        let broken = try scenario(Violation.resends.scenario)
        let deviation = ExecutorUnderTest.Deviation(scenario: broken.name, reason: "it resends", failure: message)
        let subject = ExecutorUnderTest.overLoopback(deviations: [deviation]) { BrokenExecutor(kind: .resends) }
        let error = await #expect(throws: ConformanceFailure.self) { try await subject.run(broken) }
        #expect(error?.message.contains("fails in another way") == true)
    }

    @Test(
        "a deviation from a scenario that does not run, or without a reason or a failure, fails",
        arguments: [
            ("no such scenario", "because", "bytes: expected 0"),
            ("a cancelled task sends nothing", "", "bytes: expected 0"),
            ("a cancelled task sends nothing", "because", ""),
        ])
    func unknownDeviations(name: String, reason: String, failure: String) async throws {
        let deviation = ExecutorUnderTest.Deviation(scenario: name, reason: reason, failure: failure)
        let subject = ExecutorUnderTest.inMemory(deviations: [deviation])
        let listed = try #require(Scenario.all(for: subject).last)
        await #expect(throws: ConformanceFailure.self) { try await subject.run(listed) }
        let clean = ExecutorUnderTest.inMemory()
        #expect(try await clean.run(listed) == .passed)
    }
}
