@_spi(Lock) import Requests
import RequestsMiddleware
import RequestsMock
import TestSupport
import Testing

@Suite("Memory budgets", .tags(.concurrent), .serialized, .timeLimit(.minutes(10)))
struct MemoryBudgetTests {
    private static let chunk = Data(repeating: 7, count: 32 << 10)

    /// A server whose body has as many chunks as the path says; after `/known/`, it announces the length.
    private static func server(_ before: @escaping @Sendable () async -> Void = {}) -> MockExecutor {
        MockExecutor { request in
            await before()
            let parts = request.target.path.split(separator: "/")
            let count = Int(parts.last ?? "") ?? 0
            var response = MockResponse(body: (0..<count).map { _ in .bytes(chunk) })
            // A body with trailers has no Content-Length.
            if parts.first != "known" { response.trailers = [Field(name: "X-End", value: "1")] }
            return response
        }
    }

    private static func request(
        _ path: String, limit: Int = 64 << 20, deadline: ContinuousClock.Instant? = nil
    ) throws -> PreparedRequest {
        var request = PreparedRequest(target: try TargetURI("https://example.com\(path)"))
        request.delivery = .collected(limit: limit)
        request.deadline = deadline
        return request
    }

    @Test(
        "bodies are collected within the budget, whether or not their length is known", arguments: ["known", "unknown"])
    func collecting(kind: String) async throws {
        let budget = MemoryBudget(1 << 20)
        let executor = Self.server().collecting(within: budget)
        for count in [0, 1, 2, 31, 32] {
            let response = try await executor.execute(Self.request("/\(kind)/\(count)"))
            let body = try #require(response.body.data)
            #expect(body.count == count * Self.chunk.count)
            #expect(budget.used == 0)
        }
        let error = await #expect(throws: RequestError.self) { try await executor.execute(Self.request("/\(kind)/33")) }
        #expect(error?.underlying as? ProtectionError == .memoryExhausted(budget: 1 << 20))
        let limited = await #expect(throws: RequestError.self) {
            try await executor.execute(Self.request("/\(kind)/2", limit: 40_000))
        }
        #expect(limited?.reason == .tooLarge(limit: 40_000))
        #expect(budget.used == 0)
    }

    @Test("many bodies share the budget: bodies with a known length wait for each other, and all end")
    func sharing() async throws {
        let budget = MemoryBudget(256 << 10)
        let executor = Self.server().collecting(within: budget)
        try await withThrowingTaskGroup { group in
            for number in 0..<100 {
                group.addTask {
                    let response = try await executor.execute(Self.request("/known/\(number % 8 + 1)"))
                    let body = try #require(response.body.data)
                    #expect(body.count == (number % 8 + 1) * Self.chunk.count && budget.used <= budget.size)
                }
            }
            try await group.waitForAll()
        }
        #expect(budget.used == 0)
        // Without a length, a body can fail, but none waits without end.
        await withTaskGroup { group in
            for number in 0..<100 {
                group.addTask {
                    let path = "/\(number.isMultiple(of: 2) ? "known" : "unknown")/\(number % 8 + 1)"
                    do {
                        _ = try await executor.execute(Self.request(path))
                    } catch {
                        let cause = (error as? RequestError)?.underlying as? ProtectionError
                        #expect(cause == .memoryExhausted(budget: 256 << 10))
                    }
                }
            }
        }
        #expect(budget.used == 0)
    }

    @Test("a call that waits for space ends with its deadline or when it is cancelled")
    func waiting() async throws {
        let budget = MemoryBudget(64 << 10)
        let release = Lock(false)
        let stream = ResponseStream(length: 64 << 10, Held(isReleased: { release.withLock { $0 } }))
        let first = Task {
            try await FixedStream { stream }.collecting(within: budget).execute(Self.request("/"))
        }
        while budget.used == 0 { await Task.yield() }
        let executor = Self.server().collecting(within: budget)
        let late = try Self.request("/known/1", deadline: .now + .milliseconds(20))
        let timedOut = await #expect(throws: RequestError.self) { try await executor.execute(late) }
        #expect(timedOut?.reason == .timedOut(.total))
        let cancelled = Task {
            await #expect(throws: RequestError.self) { try await executor.execute(Self.request("/known/1")) }
        }
        for _ in 0..<50 { await Task.yield() }
        cancelled.cancel()
        #expect(await cancelled.value?.reason == .cancelled)
        let last = Task { try await executor.execute(Self.request("/known/2")) }
        for _ in 0..<50 { await Task.yield() }
        release.withLock { $0 = true }
        _ = try await (first.value, last.value)
        #expect(budget.used == 0)
    }

    @Test("an origin whose bodies never end does not stop the calls to another one")
    func slowOrigin() async throws {
        let budget = MemoryBudget(256 << 10)
        let slow = FixedStream { ResponseStream(length: 96 << 10, Held(isReleased: { false })) }
        let stalled = (0..<8).map { _ in
            Task { try await slow.collecting(within: budget).execute(Self.request("/")) }
        }
        while budget.used == 0 { await Task.yield() }
        for _ in 0..<100 { await Task.yield() }
        // At most half of the budget, so one of the eight.
        #expect(budget.used == 96 << 10)
        let executor = Self.server().collecting(within: budget)
        for kind in ["known", "unknown"] {
            var request = try Self.request("/\(kind)/4")
            request.target = try TargetURI("https://other.example.com/\(kind)/4")
            let response = try await executor.execute(request)
            #expect(response.body.data?.count == 4 * Self.chunk.count)
        }
        for task in stalled { task.cancel() }
        for task in stalled { _ = await task.result }
        #expect(budget.used == 0)
    }

    /// A body that ends when it is released.
    private final class Held: ResponseBody.Source {
        private let isReleased: @Sendable () -> Bool

        var trailers: Header { .empty }

        init(isReleased: @escaping @Sendable () -> Bool) { self.isReleased = isReleased }

        func next() async throws(RequestError) -> Data? {
            while !isReleased() {
                if Task.isCancelled { throw RequestError(.cancelled) }
                await Task.yield()
            }
            return nil
        }
    }

    private struct FixedStream: RequestExecutor {
        let stream: @Sendable () -> ResponseStream

        init(_ stream: @escaping @Sendable () -> ResponseStream) { self.stream = stream }

        func execute(_ request: PreparedRequest) async throws(RequestError) -> RawResponse {
            RawResponse(head: ResponseHead(status: 200, target: request.target), body: .stream(stream()))
        }
    }

    @Test("redirects, retries and whole calls work within a budget", arguments: Transport.allCases)
    func calls(transport: Transport) async throws {
        let server = MockExecutor { request in
            guard request.target.path == "/a" else { return .ok("done") }
            // The body does not fit in the budget, and is not needed.
            return MockResponse(
                status: 302, header: [Field(name: .location, value: "/b")], body: [.bytes(Data(count: 2 << 20))])
        }
        let budget = MemoryBudget(1 << 20)
        try await transport.run(serving: server) { api, executor in
            let client = Client(api, executor: executor.retrying().collecting(within: budget))
            let text = try await client.perform(api.get(.text, from: "/a"))
            #expect(text == "done")
        }
        #expect(budget.used == 0)
    }
}

extension ResponseBody {
    /// The bytes of a body in memory.
    var data: Data? { if case .bytes(let data) = self { data } else { nil } }
}
