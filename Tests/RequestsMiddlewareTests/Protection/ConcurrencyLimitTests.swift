@_spi(Lock) import Requests
import RequestsMiddleware
import RequestsMock
import TestCorpora
import TestSupport
import Testing

@Suite("Concurrency limits", .tags(.concurrent), .serialized, .timeLimit(.minutes(10)))
struct ConcurrencyLimitTests {
    /// A server whose requests run until they are released, and that counts them.
    private final class Gate: Sendable {
        private struct State {
            var running: [String: Int] = [:]
            var total = 0
            var largest = 0
            var largestOfOrigin = 0
            var order: [String] = []
        }

        private let state = Lock(State())

        var executor: MockExecutor {
            MockExecutor { [self] request in
                let origin = request.target.origin
                state.withLock { state in
                    state.order.append(request.target.path)
                    state.running[origin, default: 0] += 1
                    state.total += 1
                    state.largest = max(state.largest, state.total)
                    state.largestOfOrigin = max(state.largestOfOrigin, state.running[origin] ?? 0)
                }
                // Others run meanwhile.
                for _ in 0..<20 { await Task.yield() }
                state.withLock { state in
                    state.running[origin, default: 0] -= 1
                    state.total -= 1
                }
                return .ok("ok")
            }
        }

        var largest: (total: Int, origin: Int) { state.withLock { ($0.largest, $0.largestOfOrigin) } }
        var order: [String] { state.withLock { $0.order } }
    }

    private static func request(
        _ url: String, deadline: ContinuousClock.Instant? = nil
    ) throws -> PreparedRequest {
        var request = PreparedRequest(target: try TargetURI(url))
        request.deadline = deadline
        return request
    }

    @Test("no more requests run than the limits allow, in all and for each origin")
    func limits() async throws {
        let gate = Gate()
        let executor = gate.executor.limitingConcurrency(to: 6, perOrigin: 2)
        try await withThrowingTaskGroup { group in
            for number in 0..<200 {
                group.addTask {
                    _ = try await executor.execute(Self.request("https://h\(number % 5).example.com/\(number)"))
                }
            }
            try await group.waitForAll()
        }
        #expect(gate.order.count == 200)
        #expect(gate.largest.total <= 6 && gate.largest.origin <= 2 && gate.largest.total > 1)
    }

    @Test("a streamed body keeps its permit until it is read or released")
    func streams() async throws {
        let mock = MockExecutor { _ in MockResponse(body: [.bytes(Data("a".utf8)), .bytes(Data("b".utf8))]) }
        let executor = mock.limitingConcurrency(to: 1)
        var request = try Self.request("https://example.com/")
        request.delivery = .streamed
        let streamed = request
        for isRead in [true, false] {
            var first: RawResponse? = try await executor.execute(request)
            let second = Task { try await executor.execute(streamed) }
            while mock.recordedCount.isMultiple(of: 2) { await Task.yield() }
            for _ in 0..<50 { await Task.yield() }
            #expect(!mock.recordedCount.isMultiple(of: 2))
            if isRead, case .stream(let stream)? = first?.body {
                #expect(try await stream.collect() == Data("ab".utf8))
            }
            first = nil
            _ = try await second.value
        }
        #expect(mock.recordedCount == 4)
    }

    @Test("a streamed body that fails returns its permit, while its response is kept")
    func failingStreams() async throws {
        let mock = MockExecutor { _ in MockResponse(body: [.failure(RequestError(.connectionLost))]) }
        let executor = mock.limitingConcurrency(to: 1)
        var request = try Self.request("https://example.com/")
        request.delivery = .streamed
        // A call that waits for itself ends at its deadline.
        request.deadline = .now + .seconds(60)
        var responses: [RawResponse] = []
        for _ in 0..<3 {
            let response = try await executor.execute(request)
            responses.append(response)
            guard case .stream(let stream) = response.body else { continue }
            let error = await #expect(throws: RequestError.self) { try await stream.next() }
            #expect(error?.reason == .connectionLost)
        }
        #expect(responses.count == 3)
    }

    @Test("a waiting call ends with its deadline or when it is cancelled, and takes no permit")
    func waiting() async throws {
        let release = Lock(false)
        let mock = MockExecutor { _ in
            while !release.withLock({ $0 }) { await Task.yield() }
            return .ok("ok")
        }
        let executor = mock.limitingConcurrency(to: 1)
        let request = try Self.request("https://example.com/")
        let first = Task { try await executor.execute(request) }
        while mock.recordedCount == 0 { await Task.yield() }
        let late = try Self.request("https://example.com/", deadline: .now + .milliseconds(30))
        let timedOut = await #expect(throws: RequestError.self) { try await executor.execute(late) }
        #expect(timedOut?.reason == .timedOut(.total))
        let past = try Self.request("https://example.com/", deadline: .now - .seconds(1))
        let passed = await #expect(throws: RequestError.self) { try await executor.execute(past) }
        #expect(passed?.reason == .timedOut(.total))
        let cancelled = Task { await #expect(throws: RequestError.self) { try await executor.execute(request) } }
        for _ in 0..<50 { await Task.yield() }
        cancelled.cancel()
        #expect(await cancelled.value?.reason == .cancelled)
        let last = Task { try await executor.execute(request) }
        for _ in 0..<50 { await Task.yield() }
        release.withLock { $0 = true }
        _ = try await (first.value, last.value)
        #expect(mock.recordedCount == 2)
    }

    @Test("many tasks that are cancelled at random leave no permit in use")
    func cancellations() async throws {
        let gate = Gate()
        let executor = gate.executor.limitingConcurrency(to: 3, perOrigin: 2)
        var random = SplitMix64(state: 7)
        await withTaskGroup { group in
            for number in 0..<300 {
                let task = Task {
                    _ = try? await executor.execute(Self.request("https://h\(number % 3).example.com/"))
                }
                let turns = Int.random(in: 0...60, using: &random)
                if number.isMultiple(of: 2) {
                    group.addTask {
                        for _ in 0..<turns { await Task.yield() }
                        task.cancel()
                        await task.value
                    }
                } else {
                    group.addTask { await task.value }
                }
            }
        }
        #expect(gate.largest.total <= 3 && gate.largest.origin <= 2)
        // All permits are free.
        try await withThrowingTaskGroup { group in
            for _ in 0..<6 {
                group.addTask { _ = try await executor.execute(Self.request("https://h0.example.com/")) }
            }
            try await group.waitForAll()
        }
    }

    private struct Numbers: Endpoint {
        typealias API = AnonymousRequestProvider
        let number: Int

        func request(from api: AnonymousRequestProvider) -> Request<AnonymousRequestProvider, String> {
            api.get(.text, from: "/\(number)")
        }
    }

    @Test("many calls run a few at a time, and their values have the order of the endpoints")
    func fanOut() async throws {
        let gate = Gate()
        let mock = MockExecutor { request in
            _ = try await gate.executor.execute(request)
            return request.target.path == "/7x" ? .status(500, "") : .ok(request.target.path)
        }
        let client = Client(AnonymousRequestProvider("https://example.com"), executor: mock)
        let values = try await client.concurrently(limit: 4).perform((0..<50).map(Numbers.init))
        #expect(values == (0..<50).map { "/\($0)" })
        #expect(gate.largest.total <= 4 && gate.largest.total > 1)
        #expect(try await client.concurrently(limit: 0).perform((0..<3).map(Numbers.init)).count == 3)
        #expect(try await client.concurrently(limit: 4).perform([Numbers]()).isEmpty)
    }

    @Test("the first failure of many calls ends the others, unless the results of all are wanted")
    func fanOutFailures() async throws {
        let mock = MockExecutor { request in
            request.target.path == "/3" ? .status(404, "") : .ok(request.target.path)
        }
        let client = Client(AnonymousRequestProvider("https://example.com"), executor: mock)
        let error = await #expect(throws: RequestError.self) {
            try await client.concurrently(limit: 2).perform((0..<100).map(Numbers.init))
        }
        #expect(error?.reason == .unacceptableStatus && mock.recordedCount < 100)
        let results = await client.concurrently(limit: 2).results(of: (0..<10).map(Numbers.init))
        #expect(results.map { (try? $0.get()) != nil } == (0..<10).map { $0 != 3 })
    }
}
