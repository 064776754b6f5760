import Dispatch
import RequestsConformance
import RequestsURLSession
import Synchronization
import TestSupport
import Testing

/// All sessions of a process share one queue on Linux, and peers can occupy it; each test has a process of its own.
@Suite("URLSession: peers that occupy the sessions", .timeLimit(.minutes(10)), .enabled(if: Support.isOnLinux))
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
                // Several, so that one of them always has records to skip.
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
        "limits, cancellations and the maximum size end fast endless responses, and calls beside them",
        .rows("R-25", "R-48", "R-67"))
    func endlessResponses() async {
        await #expect(processExitsWith: .success) {
            alarm(120)
            let endless = MockResponse(body: [.chunks(count: .max) { _ in Data(count: 65_536) }])
            let mock = MockExecutor { $0.target.path == "/endless" ? endless : .ok("served") }
            try await withTestServer(serving: mock) { server in
                let executor = URLSessionExecutor()
                let calls = try (0..<8).map { number in
                    var request = try server.request(
                        .get, "/endless", delivery: .collected(limit: number < 4 ? 32 << 20 : .max))
                    if number >= 4 { request.limit = .after(.milliseconds(500)) }
                    return Task { [request] in await executor.failure(of: request)?.reason }
                }
                let cancelled = try server.request(.get, "/endless", delivery: .collected(limit: .max))
                let task = Task { await executor.failure(of: cancelled)?.reason }
                for (number, call) in calls.enumerated() {
                    let reason = await call.value
                    try check(reason == (number < 4 ? .tooLarge(limit: 32 << 20) : .timedOut(.total)), "\(number)")
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

    func checkLimits() async throws {
        let (short, data) = (Duration.milliseconds(200), RequestBody.bytes(Data("x".utf8)))
        let limits: [(method: HTTPMethod, phase: RequestError.Phase, set: (inout PreparedRequest) -> Void)] = [
            (.get, .total, { $0.limit = .after(short) }), (.get, .firstByte, { $0.timeouts.firstByte = short }),
            (.put, .connecting, { $0.timeouts.connect = short }), (.post, .total, { $0.limit = .after(short) }),
            (.post, .connecting, { $0.timeouts.connect = short }),
        ]
        for (method, phase, set) in limits {
            let request = try request(method, method == .get ? .none : data, set)
            let error = await executor.failure(of: request)
            // A call that finds a gap in the flood may succeed.
            try check(error == nil || error?.reason == .timedOut(phase), "\(phase)")
        }
        // A call that blocks its thread.
        let total = try request { $0.limit = .after(short) }
        let blocked = Result { () throws(RequestError) in try executor.executeAndWait(total) }
        if case .failure(let error) = blocked { try check(error.reason == .timedOut(.total)) }
        // A call with a completion handler.
        let later = try request { $0.limit = .after(short) }
        let reason: RequestError.Reason? = await withCheckedContinuation { continuation in
            _ = executor.perform(.success(later), decodedBy: ResponseDecoder<Void> { _, _ in }, on: .global()) {
                result in
                if case .failure(let error) = result {
                    continuation.resume(returning: error.reason)
                } else {
                    continuation.resume(returning: nil)
                }
            }
        }
        try check(reason == nil || reason == .timedOut(.total))
        // Cancelled calls, and those of an executor that is reset, have no limit.
        for method in [HTTPMethod.get, .post] {
            let unlimited = try request(method) { _ in }
            let call = Task { await executor.failure(of: unlimited)?.reason }
            for _ in 0..<100 { await Task.yield() }
            call.cancel()
            try check([nil, .cancelled].contains(await call.value))
            let other = URLSessionExecutor()
            let reset = Task { await other.failure(of: unlimited)?.reason }
            for _ in 0..<100 { await Task.yield() }
            other.reset()
            reset.cancel()
            try check([nil, .cancelled].contains(await reset.value))
        }
    }
}
