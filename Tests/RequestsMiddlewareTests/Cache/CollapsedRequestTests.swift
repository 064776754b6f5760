@_spi(Lock) import Requests
import RequestsMiddleware
import RequestsMock
import TestSupport
import Testing

@Suite("Identical requests at the same time", .tags(.concurrent), .serialized, .timeLimit(.minutes(10)))
struct CollapsedRequestTests {
    /// A server whose responses wait until a test permits them.
    private final class SlowServer: Sendable {
        private struct State {
            var isOpen = false
            var waiters: [CheckedContinuation<Void, Never>] = []
            var arrived = 0
        }

        private let state = Lock(State())

        var arrived: Int { state.withLock { $0.arrived } }

        func open() {
            let waiters = state.withLock { state in
                state.isOpen = true
                defer { state.waiters = [] }
                return state.waiters
            }
            waiters.forEach { $0.resume() }
        }

        func wait() async {
            await withCheckedContinuation { continuation in
                let isOpen = state.withLock { state in
                    state.arrived += 1
                    if !state.isOpen { state.waiters.append(continuation) }
                    return state.isOpen
                }
                if isOpen { continuation.resume() }
            }
        }

        func waitForArrivals(_ count: Int) async { while arrived < count { await Task.yield() } }
    }

    private func cache(_ server: SlowServer, _ header: Header) -> CacheUnderTest {
        CacheUnderTest { request in
            await server.wait()
            let user = request.header[.authorization] ?? "nobody"
            return MockResponse(header: header, body: [.bytes(Data(user.utf8))])
        }
    }

    @Test("a thousand identical misses are one request")
    func thousand() async throws {
        let server = SlowServer()
        let cache = cache(server, .caching("max-age=100"))
        try await withThrowingTaskGroup(of: RawResponse.self) { group in
            for _ in 0..<1_000 { group.addTask { try await cache.send() } }
            await server.waitForArrivals(1)
            for _ in 0..<100 { await Task.yield() }
            server.open()
            for try await response in group { #expect(response.text == "nobody") }
        }
        #expect(cache.contacts == 1)
    }

    @Test("identical misses of different spans are one request, which has one span's context")
    func traced() async throws {
        let server = SlowServer()
        let cache = cache(server, .caching("max-age=100"))
        let executor = cache.executor.observing(.calls, by: RequestTracing { _ in })
        try await withThrowingTaskGroup(of: RawResponse.self) { group in
            for _ in 0..<20 { group.addTask { try await executor.execute(cache.request()) } }
            await server.waitForArrivals(1)
            for _ in 0..<1_000 { await Task.yield() }
            server.open()
            for try await response in group { #expect(response.text == "nobody") }
        }
        #expect(cache.contacts == 1)
        #expect(cache.mock.recordedRequests.first?.header.contains("traceparent") == true)
    }

    @Test(
        "a response that must not be shared is requested by each",
        arguments: [
            "no-store", "max-age=0", "no-cache", "max-age=100, vary",
        ])
    func unshared(control: String) async throws {
        let server = SlowServer()
        var header = Header.caching(control)
        if control.hasSuffix("vary") { header.add(Field(name: .vary, value: "*")) }
        let cache = cache(server, header)
        try await withThrowingTaskGroup(of: RawResponse.self) { group in
            for _ in 0..<20 { group.addTask { try await cache.send() } }
            await server.waitForArrivals(1)
            server.open()
            for try await response in group { #expect(response.metrics.cacheStatus?.isCollapsed == false) }
        }
        #expect(cache.contacts == 20)
    }

    @Test("requests of different users at the same time are sent for each", .rows("R-41"))
    func users() async throws {
        let server = SlowServer()
        let cache = cache(server, .caching("max-age=100"))
        await withTaskGroup(of: Bool.self) { group in
            for number in 0..<40 {
                let user = "Bearer \(number % 4)"
                group.addTask { (try? await cache.send("/", [.authorization(user)]).text) == user }
            }
            await server.waitForArrivals(4)
            server.open()
            for await isOwn in group { #expect(isOwn) }
        }
        #expect(cache.contacts == 4)
    }

    @Test("cancelling a waiting or a sent request does not cancel others", arguments: [true, false])
    func cancelled(isFirst: Bool) async throws {
        let server = SlowServer()
        let cache = cache(server, .caching("max-age=100"))
        let first = Task { try await cache.send() }
        await server.waitForArrivals(1)
        let second = Task { try await cache.send() }
        let third = Task { try await cache.send() }
        for _ in 0..<100 { await Task.yield() }
        (isFirst ? first : second).cancel()
        if !isFirst { await #expect(throws: RequestError.self) { try await second.value } }
        server.open()
        #expect(try await third.value.text == "nobody")
        if isFirst {
            #expect(try await second.value.text == "nobody")
        } else {
            #expect(try await first.value.text == "nobody" && cache.contacts == 1)
        }
    }

    @Test("all identical requests fail if connecting fails, and each keeps its own deadline")
    func failures() async throws {
        let server = SlowServer()
        let cache = CacheUnderTest { _ in
            await server.wait()
            throw RequestError(.connectionFailed)
        }
        let first = Task { try await cache.send() }
        await server.waitForArrivals(1)
        var request = try cache.request()
        request.deadline = .now + .milliseconds(20)
        let late = request
        let error = await #expect(throws: RequestError.self) { try await cache.execute(late) }
        #expect(error?.reason == .timedOut(.total))
        let others = (0..<10).map { _ in Task { try await cache.send() } }
        for _ in 0..<100 { await Task.yield() }
        server.open()
        for task in [first] + others {
            let error = await #expect(throws: RequestError.self) { try await task.value }
            #expect(error?.reason == .connectionFailed)
        }
        #expect(cache.contacts <= 11)
    }

    @Test("a response is stored and used over every executor", arguments: Transport.allCases)
    func transports(transport: Transport) async throws {
        let body = String(repeating: "x", count: 100_000)
        let server = MockExecutor { _ in
            MockResponse(header: .caching("max-age=1000"), body: [.bytes(Data(body.utf8))])
        }
        try await transport.run(serving: server) { api, executor in
            let cached = executor.caching()
            for _ in 0..<3 {
                let text = try await cached.perform(api.get(.text, from: "/a"))
                #expect(text == body)
            }
            #expect(server.recordedCount == 1)
        }
    }

    @Test("readers and writers of a store in memory at the same time get whole entries within the capacity")
    func memory() async throws {
        let store = Caching.MemoryStore(capacity: 100_000)
        let cache = CacheUnderTest(in: store, partition: .named("test")) { request in
            let length = 1_000 + (Int(request.target.path.dropFirst()) ?? 0) * 10
            return MockResponse(header: .caching("max-age=1000"), body: [.bytes(pattern(length))])
        }
        await withTaskGroup(of: Int.self) { group in
            for worker in 0..<8 {
                group.addTask {
                    var wrong = 0
                    for round in 0..<500 {
                        let number = (round * 7 + worker * 3) % 100
                        let response = try? await cache.send("/\(number)")
                        if response?.data != pattern(1_000 + number * 10) { wrong += 1 }
                        if store.size > 100_000 { wrong += 1 }
                    }
                    return wrong
                }
            }
            for await wrong in group { #expect(wrong == 0) }
        }
        await store.removeAll()
        #expect(store.count == 0 && store.size == 0)
    }
}
