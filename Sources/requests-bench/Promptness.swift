import Requests
import RequestsBench
import RequestsMock
import RequestsSocket
import RequestsTestServer

/// A measurement of the delay of time limits and cancellation, which no test makes.
struct Promptness: Sendable {
    let rounds: Int

    private static let limit = Duration.milliseconds(50)

    @concurrent
    func figures() async throws -> [Figure] {
        let connect = try await withFullBacklogPort { port in
            try await self.lateness(.connecting, of: try Self.request(to: port)) { $0.timeouts.connect = Self.limit }
        }
        let silent = try await withSilentPort { port in
            let body = RequestBody.bytes(Data(count: 16 << 20))
            let request = try Self.request(to: port)
            let upload = try Self.request(.put, to: port, body: body)
            let cancelled = try await self.cancelling(request)
            return [
                try await self.lateness(.sending, of: upload) { $0.timeouts.betweenBytes = Self.limit },
                try await self.lateness(.firstByte, of: request) { $0.timeouts.firstByte = Self.limit },
                try await self.lateness(.total, of: request) { $0.deadline = .now + Self.limit },
                cancelled,
            ]
        }
        let stalling = try await withTestServer(
            serving: MockExecutor(.ok("0123456789")), behaving: { _, _ in .failing(.stallBody(atByte: 4)) }
        ) { server in
            try await self.lateness(.betweenBytes, of: try PreparedRequest(url: server.baseURL)) {
                $0.timeouts.betweenBytes = Self.limit
            }
        }
        let names = ["sending", "the first byte", "the whole call"]
        return [.of("connect limit, lateness", "ms", connect, goal: "≤ 100 ms")]
            + zip(names, silent).map { .of("limit for \($0), lateness", "ms", $1, goal: "≤ 100 ms") }
            + [
                .of("limit between bytes, lateness", "ms", stalling, goal: "≤ 100 ms"),
                .of("cancellation, time until the call ends", "ms", silent[3], goal: "≤ 100 ms"),
            ]
    }

    private static func request(
        _ method: HTTPMethod = .get, to port: Int, body: RequestBody = .none
    ) throws -> PreparedRequest {
        PreparedRequest(method: method, target: try TargetURI("http://127.0.0.1:\(port)/"), body: body)
    }

    /// Returns how many milliseconds pass beyond the limit, one sample per round.
    private func lateness(
        _ phase: RequestError.Phase, of request: PreparedRequest, _ limit: (inout PreparedRequest) -> Void
    ) async throws -> [Double] {
        var samples: [Double] = []
        for _ in 0..<rounds {
            var limited = request
            limit(&limited)
            let start = ContinuousClock.now
            let reason = await Self.reason(of: limited)
            samples.append((.now - start - Self.limit) / .milliseconds(1))
            guard reason == .timedOut(phase) else {
                throw BenchmarkError("expected a timeout while \(phase), got \(String(describing: reason))")
            }
        }
        return samples
    }

    private func cancelling(_ request: PreparedRequest) async throws -> [Double] {
        var samples: [Double] = []
        for _ in 0..<rounds {
            let call = Task { await Self.reason(of: request) }
            // Long enough for the call to wait for its response.
            try await Task.sleep(for: .milliseconds(20))
            let start = ContinuousClock.now
            call.cancel()
            let reason = await call.value
            samples.append((.now - start) / .milliseconds(1))
            guard reason == .cancelled else {
                throw BenchmarkError("expected a cancellation, got \(String(describing: reason))")
            }
        }
        return samples
    }

    private static func reason(of request: PreparedRequest) async -> RequestError.Reason? {
        do throws(RequestError) {
            _ = try await SocketExecutor().execute(request)
            return nil
        } catch {
            return error.reason
        }
    }
}
