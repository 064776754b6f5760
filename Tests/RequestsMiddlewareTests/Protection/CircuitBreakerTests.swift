@_spi(Lock) import Requests
import RequestsMiddleware
import RequestsMock
import TestSupport
import Testing

@Suite("Circuit breakers", .tags(.concurrent), .serialized, .timeLimit(.minutes(10)))
struct CircuitBreakerTests {
    /// A clock that a test sets.
    private final class SetClock: Sendable {
        private let elapsed = Lock(Duration.zero)
        private let start = ContinuousClock.now

        func pass(_ duration: Duration) { elapsed.withLock { $0 += duration } }

        var clock: Retrying.Clock { Retrying.Clock(now: { [self] in start + elapsed.withLock { $0 } }) }
    }

    /// A server whose status or error a test sets.
    private final class Server: Sendable {
        let result = Lock<Result<HTTPStatus, RequestError>>(.success(200))

        var executor: MockExecutor {
            MockExecutor { [self] _ in .status(try result.withLock { $0 }.get(), "") }
        }
    }

    private static func request(_ url: String = "https://example.com/") throws -> PreparedRequest {
        PreparedRequest(target: try TargetURI(url))
    }

    /// Returns the result of a request: its status, `open`, or the reason of another error.
    private func attempt(_ executor: some RequestExecutor, _ url: String = "https://example.com/") async throws
        -> String
    {
        let request = try Self.request(url)
        do throws(RequestError) {
            return "\(try await executor.execute(request).status.code)"
        } catch {
            if case .circuitOpen? = error.underlying as? ProtectionError { return "open" }
            return "\(error.reason)"
        }
    }

    @Test("consecutive failures open the circuit of an origin, a probe closes it, and a failed probe doubles the pause")
    func states() async throws {
        let (clock, server) = (SetClock(), Server())
        let mock = server.executor
        let executor = mock.breakingCircuit(
            .init(failures: 3, pause: .seconds(10), longestPause: .seconds(30)), clock: clock.clock)
        func expect(_ results: String...) async throws {
            for result in results { #expect(try await attempt(executor) == result) }
        }
        server.result.withLock { $0 = .success(503) }
        try await expect("503", "503")
        server.result.withLock { $0 = .success(200) }
        // A success ends the row.
        try await expect("200")
        server.result.withLock { $0 = .success(503) }
        try await expect("503", "503", "503", "open", "open")
        #expect(try await attempt(executor, "https://other.example.com/") == "503")
        clock.pass(.seconds(9))
        try await expect("open")
        clock.pass(.seconds(1))
        try await expect("503", "open")
        clock.pass(.seconds(19))
        try await expect("open")
        clock.pass(.seconds(1))
        try await expect("503", "open")
        // 30 s at most.
        clock.pass(.seconds(30))
        server.result.withLock { $0 = .success(200) }
        try await expect("200", "200")
        server.result.withLock { $0 = .success(500) }
        try await expect("500", "500", "500", "open")
        clock.pass(.seconds(10))
        try await expect("500")
        #expect(mock.recordedCount == 3 + 3 + 1 + 1 + 1 + 2 + 3 + 1)
    }

    @Test(
        "the server's statuses and errors are failures; the client's, and cancellations, are not",
        arguments: [
            (.success(500), true), (.success(502), true), (.success(501), false), (.success(404), false),
            (.success(429), false),
            (.failure(RequestError(.connectionLost)), true), (.failure(RequestError(.connectionFailed)), true),
            (.failure(RequestError(.timedOut(.firstByte))), true), (.failure(RequestError(.timedOut(.total))), false),
            (.failure(RequestError(.cancelled)), false), (.failure(RequestError(.credentialsUnavailable)), false),
            (.failure(RequestError(.invalidRequest(.invalidPort))), false),
        ] as [(Result<HTTPStatus, RequestError>, Bool)])
    func outcomes(result: Result<HTTPStatus, RequestError>, isFailure: Bool) async throws {
        let server = Server()
        server.result.withLock { $0 = result }
        let executor = server.executor.breakingCircuit(.init(failures: 1))
        _ = try await attempt(executor)
        #expect(try await attempt(executor) == "open" || !isFailure)
        if !isFailure { #expect(try await attempt(executor) != "open") }
    }

    @Test("while probes run, other requests fail at once, and a cancelled probe makes way for another one")
    func probes() async throws {
        let clock = SetClock()
        let waiting = Lock(0)
        let mock = MockExecutor { request in
            guard request.target.path == "/probe" else { return .status(500, "") }
            waiting.withLock { $0 += 1 }
            // Until the task is cancelled below.
            try await Task.sleep(for: .seconds(3_600))
            return .ok("")
        }
        let executor = mock.breakingCircuit(.init(failures: 1, pause: .seconds(1), probes: 2), clock: clock.clock)
        #expect(try await attempt(executor) == "500")
        clock.pass(.seconds(1))
        let tasks = (0..<2).map { _ in
            Task { _ = try? await executor.execute(Self.request("https://example.com/probe")) }
        }
        while waiting.withLock({ $0 }) < 2 { await Task.yield() }
        #expect(try await attempt(executor) == "open")
        for task in tasks { task.cancel() }
        for task in tasks { await task.value }
        #expect(try await attempt(executor) == "500")
        #expect(try await attempt(executor) == "open")
    }

    @Test("a streamed body that is cut is a failure, a whole one a success, and a released one neither")
    func streams() async throws {
        let cut = Lock(true)
        let mock = MockExecutor { _ in
            let end: MockResponse.BodyEvent =
                cut.withLock(\.self) ? .failure(RequestError(.connectionLost)) : .bytes(Data())
            return MockResponse(body: [.bytes(Data("a".utf8)), end])
        }
        let executor = mock.breakingCircuit(.init(failures: 2))
        var request = try Self.request()
        request.delivery = .streamed
        func read(_ request: PreparedRequest) async -> RequestError? {
            await failure { () async throws(RequestError) in
                guard case .stream(let stream) = try await executor.execute(request).body else { return }
                _ = try await stream.collect(limit: 100)
            }
        }
        #expect(await read(request)?.reason == .connectionLost)
        cut.withLock { $0 = false }
        #expect(await read(request) == nil)
        cut.withLock { $0 = true }
        #expect(await read(request)?.reason == .connectionLost)
        _ = try await executor.execute(request)
        #expect(await read(request)?.reason == .connectionLost)
        #expect(await read(request)?.underlying is ProtectionError)
    }

    @Test("a stream that does not end closes the circuit with its head, and a stream that fails opens it again")
    func streamedProbes() async throws {
        let clock = SetClock()
        let end = Lock<MockResponse.BodyEvent?>(nil)
        let mock = MockExecutor { _ in
            guard let end = end.withLock(\.self) else { return .status(500, "") }
            return MockResponse(body: [.bytes(Data("a".utf8)), end])
        }
        let executor = mock.breakingCircuit(.init(failures: 1, pause: .seconds(1)), clock: clock.clock)
        func probe(endingWith event: MockResponse.BodyEvent) async throws -> ResponseStream {
            end.withLock { $0 = nil }
            #expect(try await attempt(executor) == "500")
            #expect(try await attempt(executor) == "open")
            clock.pass(.seconds(1))
            end.withLock { $0 = event }
            var request = try Self.request()
            request.delivery = .streamed
            guard case .stream(let stream) = try await executor.execute(request).body else {
                throw RequestError(.other, detail: "no stream")
            }
            return stream
        }
        let events = try await probe(endingWith: .bytes(Data("b".utf8)))
        #expect(try await attempt(executor) == "200")
        withExtendedLifetime(events) {}

        let cut = try await probe(endingWith: .failure(RequestError(.connectionLost)))
        await #expect(throws: RequestError.self) { try await cut.collect(limit: 100) }
        #expect(try await attempt(executor) == "open")
    }

    @Test("a retry does not repeat a request that an open circuit refuses")
    func retries() async throws {
        let server = Server()
        server.result.withLock { $0 = .success(503) }
        let mock = server.executor
        let executor = mock.breakingCircuit(.init(failures: 2)).retrying(clock: ManualClock().clock())
        #expect(try await attempt(executor) == "open")
        #expect(mock.recordedCount == 2)
    }

    @Test("extreme policies neither end the process nor open without end")
    func extremes() async throws {
        for number in [Int.min, 0, .max] {
            for pause in [Duration.zero, .seconds(-1), .seconds(Int64.max)] {
                let clock = SetClock()
                let server = Server()
                server.result.withLock { $0 = .success(500) }
                let policy = CircuitBreaker.Policy(failures: number, pause: pause, longestPause: pause, probes: number)
                let executor = server.executor.breakingCircuit(policy, clock: clock.clock)
                for _ in 0..<30 {
                    _ = try await attempt(executor)
                    clock.pass(.seconds(86_400))
                }
                #expect(try await attempt(executor) == "500")
            }
        }
    }

    @Test("the states of many failing origins are bounded")
    func origins() async throws {
        let server = Server()
        server.result.withLock { $0 = .success(500) }
        let mock = server.executor
        let executor = mock.breakingCircuit(.init(failures: 1))
        for number in 0..<3_000 { _ = try await attempt(executor, "https://h\(number).example.com/") }
        var open = 0
        for number in 0..<3_000 where try await attempt(executor, "https://h\(number).example.com/") == "open" {
            open += 1
        }
        #expect(open <= 1_024)
    }
}
