import RequestsConformance
import RequestsURLSession
import TestSupport
import Testing

/// The responses that end the process in Foundation's URLSession on Linux, which an executor cannot prevent.
///
/// When a test fails, Foundation has been fixed, and the deviation can be removed.
@Suite("URLSession: responses that end the process", .timeLimit(.minutes(10)), .enabled(if: Support.isOnLinux))
struct URLSessionFatalTests {
    @Test("a chunked response with trailers ends the process", .rows("D-22"))
    func trailers() async {
        await #expect(processExitsWith: .failure) {
            try await performRequest(receiving: "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\nX-Sum: 3\r\n\r\n")
        }
    }

    @Test("trailers of a redirect that is followed, or of a 401, end the process", .rows("D-22"))
    func trailersOfOtherStatuses() async {
        await #expect(processExitsWith: .failure) {
            try await performRequest(
                receiving: "Location: /next\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\nX-Sum: 3\r\n\r\n",
                status: "302 Found")
        }
        await #expect(processExitsWith: .failure) {
            try await performRequest(
                receiving: "WWW-Authenticate: Basic realm=a\r\nTransfer-Encoding: chunked\r\n\r\n"
                    + "3\r\nabc\r\n0\r\nX-Sum: 3\r\n\r\n", status: "401 Unauthorized")
        }
    }

    @Test("a truncated head ends the process", .rows("D-22"))
    func head() async {
        await #expect(processExitsWith: .failure) {
            try await performRequest(receiving: "Content-Le")
        }
    }

    @Test("a Content-Length above 9,223,372,036,854,775,295 ends the process", .rows("D-22"))
    func longest() async {
        await #expect(processExitsWith: .failure) {
            try await performRequest(receiving: "Content-Length: 9223372036854775296\r\n\r\nabc")
        }
        await #expect(processExitsWith: .failure) {
            try await performRequest(.head, receiving: "Content-Length: 9223372036854775296\r\n\r\n")
        }
        await #expect(processExitsWith: .success) {
            try await performRequest(receiving: "Content-Length: 9223372036854775295\r\n\r\nabc")
            try await performRequest(.head, receiving: "Content-Length: 9223372036854775295\r\n\r\n")
        }
    }

    @Test(
        "the scenarios of the deviations that end the process do end it", .rows("R-72", "D-22"),
        arguments: processEndingScenarios
    )
    func deviations(name: String) async {
        await #expect(processExitsWith: .failure) { [name = name as String] in
            // A failure of the scenario must not end the process.
            try? await runWithoutDeviations(name)
        }
    }

    @Test(
        "the scenarios of the deviations with an endless body collect it in a file before it is sent",
        .rows("R-72", "D-22"),
        arguments: collectingScenarios)
    func collectingDeviations(name: String) async {
        await #expect(processExitsWith: .success) { [name = name as String] in
            guard FileSizeLimit.set(4 << 20) else { throw CancellationError() }
            let error = await #expect(throws: ConformanceFailure.self) { try await runWithoutDeviations(name) }
            // Without a limit, the file would fill the disk.
            guard error?.message.contains("File too large") == true else { throw CancellationError() }
        }
    }

    @Test(
        "the scenarios of the deviations that wait for an event are running when their process is ended",
        .rows("R-72", "D-22"),
        arguments: endlessScenarios.keys.sorted())
    func endlessDeviations(name: String) async {
        await #expect(processExitsWith: .signal(SIGALRM)) { [name = name as String] in
            // A scenario that returns takes less time. On a slow machine, the test could only fail to notice this.
            alarm(4)
            try? await runWithoutDeviations(name)
        }
    }

    @Test("a complete chunked response does not end the process")
    func control() async {
        await #expect(processExitsWith: .success) {
            try await performRequest(receiving: "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n")
        }
    }
}

@Suite("URLSession: events that do not end the process", .timeLimit(.minutes(10)))
struct URLSessionSurvivalTests {
    @Test("cancelling the task of a redirect does not end the process", .rows("R-67", "D-22"))
    func cancelledRedirects() async {
        await #expect(processExitsWith: .success) {
            try await withTestServer(serving: MockExecutor(.redirect(to: "/next"))) { server in
                let executor = URLSessionExecutor()
                let request = try server.request()
                for round in 0..<1_500 {
                    let count = server.record.exchanges.count
                    let task = Task { _ = await executor.failure(of: request) }
                    while server.record.exchanges.count == count { await Task.yield() }
                    for _ in 0..<round % 500 { await Task.yield() }
                    task.cancel()
                    _ = await task.value
                }
            }
        }
    }

    @Test("a connection that closes during the upload of a long file does not end the process", .rows("T-87", "D-22"))
    func abandonedUploads() async {
        await #expect(processExitsWith: .success) {
            try await withFolder { folder in
                let path = folder + "/body"
                try Data(count: 4 << 20).write(to: URL(filePath: path))
                for round in 0..<50 {
                    let peer = try AbruptPeer(ending: AbruptPeer.End.allCases[round % 3]) { _ in 0 }
                    let target = try TargetURI("http://127.0.0.1:\(peer.port)/")
                    for method in [HTTPMethod.put, .post] {
                        let request = PreparedRequest(method: method, target: target, body: .file(path: path))
                        let error = await URLSessionExecutor().failure(of: request)
                        guard error?.reason == .connectionLost else { throw error ?? RequestError(.other) }
                    }
                }
            }
        }
    }
}

/// Runs a scenario with an executor without deviations.
@Sendable
private func runWithoutDeviations(_ name: String) async throws {
    let subject = ExecutorUnderTest.overLoopback { URLSessionExecutor() }
    guard let scenario = Scenario.all(for: subject).first(where: { $0.name == name }) else { return }
    _ = try await subject.run(scenario)
}

/// Performs a request whose response is a status line and `remainder`, follows redirects, and ignores the result.
@Sendable
private func performRequest(
    _ method: HTTPMethod = .get, receiving remainder: String, status: String = "200 OK"
) async throws {
    let bytes = Array("HTTP/1.1 \(status)\r\n\(remainder)".utf8)
    try await withTestServer(serving: MockExecutor(.ok()), fault: .raw(bytes)) { server in
        let request = ServerAPI(baseURL: server.baseURL).request(to: "/", using: method)
        _ = try? await URLSessionExecutor().perform(request)
    }
}
