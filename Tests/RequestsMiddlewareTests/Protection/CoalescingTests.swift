@_spi(Lock) import Requests
import RequestsMock
import TestSupport
import Testing

@testable import RequestsMiddleware

@Suite("Coalescing", .tags(.concurrent), .serialized, .timeLimit(.minutes(10)))
struct CoalescingTests {
    /// A server that responds when it is released.
    private final class Gate: Sendable {
        let isOpen = Lock(false)

        var executor: MockExecutor {
            MockExecutor { [self] request in
                while !isOpen.withLock({ $0 }) {
                    try Task.checkCancellation()
                    await Task.yield()
                }
                return .ok("body of \(request.target.path)")
            }
        }
    }

    private static func request(_ path: String = "/", _ field: String? = nil, deadline: ContinuousClock.Instant? = nil)
        throws -> PreparedRequest
    {
        var request = PreparedRequest(target: try TargetURI("https://example.com\(path)"))
        request.deadline = deadline
        if let field { request.header.set(Field(name: .authorization, value: field)) }
        return request
    }

    /// Waits until `total` calls have reached `mock` or wait for the response to another one.
    private static func wait(for total: Int, of coalescing: Coalescing, before mock: MockExecutor) async {
        while mock.recordedCount + coalescing.waitingCount < total { await Task.yield() }
    }

    @Test("identical requests at the same time are sent once, and all receive the response")
    func identical() async throws {
        let gate = Gate()
        let (mock, coalescing) = (gate.executor, Coalescing())
        let executor = mock.intercepted(by: coalescing)
        let tasks = (0..<40).map { number in
            Task { try await executor.execute(Self.request("/\(number % 2)", number % 4 < 2 ? "a" : "b")) }
        }
        await Self.wait(for: 40, of: coalescing, before: mock)
        gate.isOpen.withLock { $0 = true }
        for (number, task) in tasks.enumerated() {
            let body = try #require(try await task.value.body.data)
            #expect(body == Data("body of /\(number % 2)".utf8))
        }
        #expect(mock.recordedCount == 4)
        // A later request is sent again.
        _ = try await executor.execute(Self.request("/0", "a"))
        #expect(mock.recordedCount == 5)
    }

    @Test("identical requests of different spans are sent once, with one span's context")
    func traced() async throws {
        let gate = Gate()
        let (mock, coalescing) = (gate.executor, Coalescing())
        let executor = mock.intercepted(by: coalescing)
            .observing(.calls, by: RequestTracing { _ in })
        let tasks = (0..<20).map { _ in Task { try await executor.execute(Self.request()) } }
        await Self.wait(for: 20, of: coalescing, before: mock)
        gate.isOpen.withLock { $0 = true }
        for task in tasks { #expect(try await task.value.status == 200) }
        #expect(mock.recordedCount == 1 && mock.recordedRequests.first?.header.contains("traceparent") == true)
    }

    @Test("requests that have middleware of their own are sent once if they are identical behind it", .rows("HT-22"))
    func ownMiddleware() async throws {
        let gate = Gate()
        let (mock, coalescing) = (gate.executor, Coalescing())
        let executor = mock.intercepted(by: coalescing)
        let api = AnonymousRequestProvider("http://e.com")
        let tasks = (0..<8).map { number in
            let request = api.get(.text, from: "/0").intercepting { request, next in
                var request = request
                request.header["X-Half"] = "\(number % 2)"
                return try await next.execute(request)
            }
            return Task { try await executor.perform(request) }
        }
        await Self.wait(for: 8, of: coalescing, before: mock)
        gate.isOpen.withLock { $0 = true }
        for task in tasks { #expect(try await task.value == "body of /0") }
        #expect(mock.recordedCount == 2)
    }

    @Test("an exchange without a call receives the whole body of a redirect, although a call follows that redirect")
    func redirects() async throws {
        let isOpen = Lock(false)
        let body = Data(count: 100_000)
        let mock = MockExecutor { request in
            guard request.target.path == "/" else { return .ok("next") }
            while !isOpen.withLock({ $0 }) { await Task.yield() }
            var redirect = MockResponse.redirect(to: "/next")
            redirect.body = [.bytes(body)]
            return redirect
        }
        let coalescing = Coalescing()
        let executor = mock.intercepted(by: coalescing)
        let request = AnonymousRequestProvider("http://e.com").get(.text, from: "/")
        let call = Task { try await executor.perform(request) }
        await Self.wait(for: 1, of: coalescing, before: mock)
        let exchange = Task { try await executor.execute(request.prepared()) }
        await Self.wait(for: 2, of: coalescing, before: mock)
        isOpen.withLock { $0 = true }
        #expect(try await call.value == "next")
        #expect(try await exchange.value.body.data == body)
    }

    @Test("requests that differ in anything that is sent, or that are not GET or HEAD, are sent each")
    func different() async throws {
        let gate = Gate()
        let (mock, coalescing) = (gate.executor, Coalescing())
        let executor = mock.intercepted(by: coalescing)
        var requests = try [Self.request(), Self.request("/x"), Self.request("/", "a"), Self.request("/", "b")]
        for change in [
            { $0.method = .head }, { $0.method = .post }, { $0.method = .post }, { $0.delivery = .streamed },
            { $0.delivery = .streamed }, { $0.delivery = .collected(limit: 7) }, { $0.method = .options },
            { $0.progressHandler = { _ in } }, { $0.timeouts.firstByte = .seconds(7) },
            { $0.attributes[RequestOptions.self] = .userInitiated },
        ] as [(inout PreparedRequest) -> Void] {
            var request = try Self.request()
            change(&request)
            requests.append(request)
        }
        let tasks = requests.map { request in Task { try? await executor.execute(request) } }
        await Self.wait(for: requests.count, of: coalescing, before: mock)
        gate.isOpen.withLock { $0 = true }
        for task in tasks { _ = await task.value }
        #expect(mock.recordedCount == requests.count, "\(mock.recordedRequests)")
    }

    @Test("all calls fail with the error of the exchange, but a cancelled call does not end the others")
    func failures() async throws {
        let gate = Gate()
        let (mock, coalescing) = (gate.executor, Coalescing())
        let executor = mock.intercepted(by: coalescing)
        let first = Task { try await executor.execute(Self.request()) }
        while mock.recordedCount < 1 { await Task.yield() }
        let others = (0..<5).map { _ in Task { try await executor.execute(Self.request()) } }
        await Self.wait(for: 6, of: coalescing, before: mock)
        others[4].cancel()
        first.cancel()
        let errors = [await first.result, await others[4].result].map { result -> RequestError.Reason? in
            if case .failure(let error as RequestError) = result { error.reason } else { nil }
        }
        #expect(errors == [.cancelled, .cancelled])
        // One of the four other calls begins the second exchange, and the rest join it.
        await Self.wait(for: 5, of: coalescing, before: mock)
        gate.isOpen.withLock { $0 = true }
        for other in others.dropLast() { #expect(try await other.value.status == 200) }
        #expect(mock.recordedCount == 2)

        let release = Lock(false)
        let failing = MockExecutor { _ in
            while !release.withLock({ $0 }) { await Task.yield() }
            throw RequestError(.connectionLost)
        }
        let failingExecutor = failing.intercepted(by: coalescing)
        let tasks = (0..<5).map { _ in Task { try await failingExecutor.execute(Self.request()) } }
        await Self.wait(for: 5, of: coalescing, before: failing)
        release.withLock { $0 = true }
        for task in tasks { await #expect(throws: RequestError.self) { try await task.value } }
        #expect(failing.recordedCount == 1)
    }

    @Test("a waiting call ends with its deadline, and the exchange continues")
    func deadlines() async throws {
        let gate = Gate()
        let mock = gate.executor
        let executor = mock.coalescing()
        let first = Task { try await executor.execute(Self.request()) }
        while mock.recordedCount < 1 { await Task.yield() }
        let late = try Self.request(deadline: .now + .milliseconds(20))
        let error = await #expect(throws: RequestError.self) { try await executor.execute(late) }
        #expect(error?.reason == .timedOut(.total))
        gate.isOpen.withLock { $0 = true }
        #expect(try await first.value.status == 200 && mock.recordedCount == 1)
    }

    @Test("many tasks that coalesce and are cancelled at random all end")
    func storm() async throws {
        let mock = MockExecutor { _ in
            for _ in 0..<5 { await Task.yield() }
            return .ok("ok")
        }
        let executor = mock.coalescing()
        await withTaskGroup { group in
            for number in 0..<600 {
                group.addTask {
                    let task = Task { try? await executor.execute(Self.request("/\(number % 3)")) }
                    for _ in 0..<number % 7 { await Task.yield() }
                    if number.isMultiple(of: 3) { task.cancel() }
                    let response = await task.value
                    #expect(response != nil || number.isMultiple(of: 3))
                }
            }
        }
        #expect(mock.recordedCount <= 600)
    }
}
