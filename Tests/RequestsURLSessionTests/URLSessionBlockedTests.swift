import Dispatch
import RequestsConformance
import RequestsURLSession
import Synchronization
import TestSupport
import Testing

/// All sessions of a process share one queue on Linux, and peers can occupy it; each test has a process of its own,
/// and runs alone, because a flood occupies a core.
@Suite(
    "URLSession: peers that occupy the sessions", .serialized, .timeLimit(.minutes(10)),
    .enabled(if: Support.isOnLinux))
struct URLSessionBlockedTests {
    @Test(
        "limits and cancellations end calls while a peer of another call floods its TLS handshake",
        .rows("R-48", "R-67"), arguments: [true, false])
    func floods(sharesExecutor: Bool) async {
        await #expect(processExitsWith: .success) { [sharesExecutor = sharesExecutor as Bool] in
            // A call that does not end would keep the process; it does not depend on the speed of the machine.
            alarm(120)
            try await withTestServer(serving: MockExecutor(.ok("served"))) { server in
                let peer = try HelloFloodPeer()
                let flooded = URLSessionExecutor()
                let target = try TargetURI("https://127.0.0.1:\(peer.port)/")
                let attack = PreparedRequest(method: .get, target: target)
                // Several, because one of them must always have records to skip.
                let victims = (0..<4).map { _ in Task { await flooded.failure(of: attack)?.reason } }
                while peer.sent < 1 << 20 { await Task.yield() }

                let executor = sharesExecutor ? flooded : URLSessionExecutor()
                try await Calls(server, executor).checkLimits()
                for victim in victims { victim.cancel() }
                for victim in victims { try check(await victim.value == .cancelled) }
                peer.stop()
                try check(try await executor.execute(try server.request()).text == "served")
            }
        }
    }

    @Test(
        "the scenarios of floods pass", .rows("R-48", "R-67"),
        .enabled(if: TestTLS.isAvailable, "libssl is not installed"),
        arguments: [
            "a flood in a TLS handshake ends a call with an error, or at its limit",
            "cancellation ends a call during a flood in its TLS handshake",
        ])
    func scenarios(name: String) async {
        await #expect(processExitsWith: .success) { [name = name as String] in
            alarm(120)
            // The session verifies certificates with the system's, but no handshake ends here.
            let subject = ExecutorUnderTest.overTLS { _ in URLSessionExecutor() }
            guard let scenario = Scenario.all.first(where: { $0.name == name }) else {
                throw ConformanceFailure("there is no scenario “\(name)”")
            }
            for style in ExecutorUnderTest.CallStyle.allCases {
                try check(try await subject.using(style).run(scenario) == .passed)
            }
            // When the process ends, it destroys OpenSSL's state, so libcurl must have left the flooded handshakes.
            try await withTestServer(serving: MockExecutor(.ok("served"))) { server in
                try check(try await URLSessionExecutor().execute(try server.request()).text == "served")
            }
        }
    }

    @Test(
        "limits, cancellations and the maximum size end fast endless responses, and calls beside them",
        .rows("R-25", "R-48", "R-67"))
    func endlessResponses() async {
        await #expect(processExitsWith: .success) {
            alarm(120)
            let endless = MockResponse(body: [.chunks(count: .max) { _ in Data(count: 65_536) }])
            let mock = MockExecutor { $0.target.path == "/endless" ? endless : .ok("served") }
            try await withTestServer(serving: mock) { server in
                let executor = URLSessionExecutor()
                let large = try server.request(.get, "/endless", delivery: .collected(limit: 32 << 20))
                try check(await executor.failure(of: large)?.reason == .tooLarge(limit: 32 << 20))
                let calls = try (0..<8).map { number in
                    var request = try server.request(
                        .get, "/endless", delivery: .collected(limit: number < 4 ? 32 << 20 : .max))
                    request.limit = .after(number < 4 ? .seconds(2) : .milliseconds(500))
                    return Task { [request] in await executor.failure(of: request)?.reason }
                }
                let cancelled = try server.request(.get, "/endless", delivery: .collected(limit: .max))
                let task = Task { await executor.failure(of: cancelled)?.reason }
                for (number, call) in calls.enumerated() {
                    let reason = await call.value
                    // A transfer that the session cannot end yet may leave another one no time for 32 MiB.
                    let isLarge = number < 4 && reason == .tooLarge(limit: 32 << 20)
                    try check(isLarge || reason == .timedOut(.total), "\(number)")
                }
                task.cancel()
                try check(await task.value == .cancelled)
                // Transfers that the session cannot end yet may continue; then calls end by their limits.
                var request = try server.request()
                request.limit = .after(.milliseconds(200))
                let reason = await executor.failure(of: request)?.reason
                try check(reason == nil || reason == .timedOut(.total))
            }
        }
    }
}

/// Throws if `condition` is false; an expectation that fails does not change how a process exits.
private func check(_ condition: Bool, _ detail: String = "", line: Int = #line) throws {
    guard !condition else { return }
    throw ConformanceFailure("line \(line): \(detail)")
}

/// Calls that have to end while the sessions are occupied, in every way to call.
private struct Calls {
    let server: TestServer
    let executor: URLSessionExecutor

    init(_ server: TestServer, _ executor: URLSessionExecutor) {
        self.server = server
        self.executor = executor
    }

    private func request(
        _ method: HTTPMethod = .get, _ body: RequestBody = .none, _ change: (inout PreparedRequest) -> Void
    ) throws -> PreparedRequest {
        var request = try server.request(method, body: body)
        request.timeouts = Timeouts(connect: nil, firstByte: nil, betweenBytes: nil, total: nil)
        change(&request)
        return request
    }

    /// Repeats a call until it ends with `reason`, which proves that the sessions are occupied.
    ///
    /// A call that finds a gap in the flood may succeed, but not all calls can.
    private func expect(
        _ reason: RequestError.Reason, of call: () async throws -> RequestError.Reason?
    ) async throws {
        for _ in 0..<20 {
            let found = try await call()
            if found == reason { return }
            try check(found == nil, "\(reason): \(String(describing: found))")
        }
        throw ConformanceFailure("every call succeeded, and none ended with “\(reason)”")
    }

    func checkLimits() async throws {
        // Far longer than a call takes whose session is not occupied.
        let (short, data) = (Duration.milliseconds(500), RequestBody.bytes(Data("x".utf8)))
        let limits: [(method: HTTPMethod, phase: RequestError.Phase, set: (inout PreparedRequest) -> Void)] = [
            (.get, .total, { $0.limit = .after(short) }), (.get, .firstByte, { $0.timeouts.firstByte = short }),
            (.put, .connecting, { $0.timeouts.connect = short }), (.post, .total, { $0.limit = .after(short) }),
            (.post, .connecting, { $0.timeouts.connect = short }),
        ]
        for (method, phase, set) in limits {
            try await expect(.timedOut(phase)) {
                let request = try request(method, method == .get ? .none : data, set)
                return await executor.failure(of: request)?.reason
            }
        }
        // A call that blocks its thread.
        try await expect(.timedOut(.total)) {
            let request = try request { $0.limit = .after(short) }
            let result = Result { () throws(RequestError) in try executor.executeAndWait(request) }
            return if case .failure(let error) = result { error.reason } else { nil }
        }
        // A call with a completion handler.
        try await expect(.timedOut(.total)) {
            let request = try request { $0.limit = .after(short) }
            return await withCheckedContinuation { continuation in
                _ = executor.perform(.success(request), decodedBy: ResponseDecoder<Void> { _, _ in }, on: .global()) {
                    result in
                    if case .failure(let error) = result {
                        continuation.resume(returning: error.reason)
                    } else {
                        continuation.resume(returning: nil)
                    }
                }
            }
        }
        // Cancelled calls, and calls of an executor that is reset, end without a time limit.
        for method in [HTTPMethod.get, .post] {
            let unlimited = try request(method) { _ in }
            try await expect(.cancelled) {
                let call = Task { await executor.failure(of: unlimited)?.reason }
                for _ in 0..<100 { await Task.yield() }
                call.cancel()
                return await call.value
            }
            try await expect(.cancelled) {
                let other = URLSessionExecutor()
                let reset = Task { await other.failure(of: unlimited)?.reason }
                for _ in 0..<100 { await Task.yield() }
                other.reset()
                reset.cancel()
                return await reset.value
            }
        }
    }
}
