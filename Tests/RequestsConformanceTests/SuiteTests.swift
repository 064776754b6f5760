import RequestsConformance
import RequestsSocket
import Testing

/// The socket executor with one promise broken.
private enum Broken: String, CaseIterable {
    case shortensBodies, ignoresCancellation, addsCredentials, joinsFields, resends, hidesRefusals, opensNewConnections

    var scenario: String {
        switch self {
        case .shortensBodies: "a body cut short is an error, never a short value"
        case .ignoresCancellation: "a cancelled task sends nothing"
        case .addsCredentials:
            "the request goes out with Host first and once, one Content-Length, and nothing it was not given"
        case .joinsFields: "fields keep their order, their repetitions and their values"
        case .resends: "a connection that ends before the head is lost, and the request was sent once"
        case .hidesRefusals: "a response is returned whatever its status, and no redirect is followed"
        case .opensNewConnections: "a connection is used again after a response that allows it"
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
    let kind: Broken

    func execute(_ request: PreparedRequest) async throws(RequestError) -> RawResponse {
        try await kind.execute(request, on: socket)
    }
}

@Suite("Conformance: the suite itself", .timeLimit(.minutes(5)))
struct SuiteTests {
    private func scenario(_ name: String) throws -> Scenario {
        try #require(Scenario.all.first { $0.name == name })
    }

    @Test("names are unique, and every scenario says which rows it proves")
    func names() {
        #expect(Set(Scenario.all.map(\.name)).count == Scenario.all.count)
        #expect(Scenario.all.allSatisfy { !$0.rows.isEmpty })
        #expect(Set(Scenario.all.map(\.group)) == Set(Scenario.Group.allCases))
    }

    @Test("an executor that breaks a promise fails its scenario (R-72)", arguments: Broken.allCases)
    private func catches(kind: Broken) async throws {
        let subject = ExecutorUnderTest.overLoopback { BrokenExecutor(kind: kind) }
        let scenario = try scenario(kind.scenario)
        await #expect(throws: ConformanceFailure.self) { try await subject.run(scenario) }
    }

    @Test("a deviation that is real is reported, one that is not is a failure, and a fatal one is not tried (R-72)")
    func deviations() async throws {
        let kept = try scenario("a cancelled task sends nothing")
        let broken = try scenario(Broken.resends.scenario)
        let real = Deviation(scenario: broken.name, reason: "it resends", failure: "requests is [GET, GET")
        let stale = Deviation(scenario: kept.name, reason: "it was so once", failure: "and should fail")
        let subject = ExecutorUnderTest.overLoopback(deviations: [real, stale]) { BrokenExecutor(kind: .resends) }
        #expect(try await subject.run(broken) == .deviated(real))
        await #expect(throws: ConformanceFailure.self) { try await subject.run(kept) }
        let fatal = Deviation(scenario: broken.name, reason: "it ends the process", isFatal: true)
        let spared = ExecutorUnderTest.inMemory(deviations: [fatal])
        #expect(try await spared.run(broken) == .notTried(fatal))
    }

    @Test("a failure in another way than a deviation says is a failure (R-72)", arguments: ["", "another failure"])
    func otherFailures(message: String) async throws {
        let broken = try scenario(Broken.resends.scenario)
        let deviation = Deviation(scenario: broken.name, reason: "it resends", failure: message)
        let subject = ExecutorUnderTest.overLoopback(deviations: [deviation]) { BrokenExecutor(kind: .resends) }
        let error = await #expect(throws: ConformanceFailure.self) { try await subject.run(broken) }
        #expect(error?.message.contains("fails in another way") == true)
    }

    @Test(
        "a deviation from nothing that runs, or without a reason or a message, is a failure",
        arguments: [
            ("no such scenario", "because", "bytes is"), ("a cancelled task sends nothing", "", "bytes is"),
            ("a cancelled task sends nothing", "because", ""),
        ])
    func unknownDeviations(name: String, reason: String, failure: String) async throws {
        let deviation = Deviation(scenario: name, reason: reason, failure: failure)
        let subject = ExecutorUnderTest.inMemory(deviations: [deviation])
        let listed = try #require(Scenario.all(for: subject).last)
        await #expect(throws: ConformanceFailure.self) { try await subject.run(listed) }
        let clean = ExecutorUnderTest.inMemory()
        #expect(try await clean.run(listed) == .passed)
    }
}
