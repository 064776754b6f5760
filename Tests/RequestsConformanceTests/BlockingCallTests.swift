import Dispatch
import Foundation
@_spi(Lock) import Requests
import RequestsConformance
import RequestsSocket
import Synchronization
import TestSupport
import Testing

/// The peers of blocking calls: a mock in memory, or a server on the loopback.
enum Peer: String, CaseIterable, Sendable {
    case mock, socket

    /// Runs `body` with a client to whose requests `mock` responds, in memory or over TCP.
    func run<Value>(
        serving mock: MockExecutor, behaving behavior: TestServer.Behavior = .standard,
        _ body: (Client<AnonymousRequestProvider>, TestServer?) async throws -> Value
    ) async throws -> Value {
        switch self {
        case .mock:
            let url = try #require(URL(string: "http://api.example.com"))
            return try await body(Client(AnonymousRequestProvider(baseURL: url), executor: mock), nil)
        case .socket:
            return try await withTestServer(serving: mock, behaving: behavior) { server in
                let api = AnonymousRequestProvider(baseURL: server.baseURL)
                return try await body(Client(api, executor: SocketExecutor()), server)
            }
        }
    }
}

/// Runs `body` on a separate thread, which it may block.
func onThread<Value: Sendable>(_ body: @escaping @Sendable () -> Value) async -> Value {
    await withCheckedContinuation { continuation in
        Thread { continuation.resume(returning: body()) }.start()
    }
}

typealias Texts = Request<AnonymousRequestProvider, String>

extension Client {
    /// Performs `request` and blocks the thread.
    ///
    /// An async function cannot call `performAndWait(_:)` directly.
    func block<Resource>(on request: Request<API, Resource>) -> Result<Resource, RequestError> {
        Result { () throws(RequestError) in try performAndWait(request) }
    }
}

private func intercepted(
    _ executor: some RequestExecutor, by function: @escaping FunctionMiddleware.Function
) -> any RequestExecutor {
    executor.intercepting(function)
}

/// An executor that ignores time limits and cancellation, and fails when `gate` has ended.
private struct StuckExecutor: RequestExecutor {
    let gate: Task<Void, Never>

    func execute(_ request: PreparedRequest) async throws(RequestError) -> RawResponse {
        await gate.value
        throw RequestError(.other)
    }
}

private func thisThread() -> ObjectIdentifier { ObjectIdentifier(Thread.current) }

/// Runs jobs on threads that they may block, outside the pool, which other blocked calls may need.
final class BlockingTaskExecutor: TaskExecutor {
    private let queue = DispatchQueue(label: "test.blocking")

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        queue.async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}

/// A body that pauses for long before its second chunk.
private struct PausingBody: AsyncSequence, AsyncIteratorProtocol, Sendable {
    private var hasBegun = false

    func makeAsyncIterator() -> Self { self }

    mutating func next() async throws -> Data? {
        if hasBegun { try await Task.sleep(for: .seconds(600)) }
        hasBegun = true
        return Data("first".utf8)
    }
}

private actor ThreadRecord {
    private var threads: Set<ObjectIdentifier> = []

    func record() { threads.insert(thisThread()) }

    var all: Set<ObjectIdentifier> { threads }
}

@Suite("Blocking calls", .timeLimit(.minutes(10)))
struct BlockingCallTests {
    private let text: @Sendable (AnonymousRequestProvider) -> Texts = { $0.get(.text, from: "/x") }

    @Test(
        "every blocking method returns a value on a plain thread", .rows("HT-1", "HT-4", "C29"),
        arguments: Peer.allCases)
    func forms(peer: Peer) async throws {
        try await peer.run(serving: MockExecutor(.ok("hi"))) { client, _ in
            let texts = await onThread { [text] in
                [
                    try? client.performAndWait(text), try? client.performAndWait(Call(text)),
                    try? client.performAndWait(text(client.api)),
                    try? client.executor.performAndWait(text(client.api)),
                    try? client.responseAndWait(for: Call(text)).value,
                ]
            }
            #expect(texts == Array(repeating: "hi", count: 5))
        }
    }

    /// Responds on the calling thread, with a body that is not yet read.
    private struct StreamingExecutor: RequestExecutor {
        let status: HTTPStatus

        func execute(_ request: PreparedRequest) async throws(RequestError) -> RawResponse {
            let head = ResponseHead(status: status, target: request.target)
            return RawResponse(head: head, body: .stream(ResponseStream(Data("stream".utf8))))
        }
    }

    @Test(
        "a stream that is returned in place is read, whether its status is accepted or not", .rows("HT-5"),
        arguments: [200, 500] as [HTTPStatus])
    func streamedInPlace(status: HTTPStatus) async throws {
        let api = AnonymousRequestProvider("http://api.example.com")
        let client = Client(api, executor: StreamingExecutor(status: status))
        let result = await onThread { [text] in client.block(on: text(api)) }
        switch result {
        case .success(let value): #expect(status == 200 && value == "stream")
        case .failure(let error): #expect(status == 500 && error.body == Data("stream".utf8))
        }
    }

    @Test(
        "a blocking call returns the value with its response, or throws the error", .rows("HT-5"),
        arguments: Peer.allCases)
    func results(peer: Peer) async throws {
        let mock = MockExecutor(routes: .on(.get, "/x", .ok("hi")), .on(.get, "/y", .status(404, "none")))
        try await peer.run(serving: mock) { client, _ in
            let found = await onThread { Result { try client.responseAndWait { $0.get(.text, from: "/x") } } }
            let response = try found.get()
            #expect(response.status == 200 && response.value == "hi")
            let error = await onThread {
                #expect(throws: RequestError.self) { try client.responseAndWait { $0.get(.text, from: "/y") } }
            }
            #expect(error?.reason == .unacceptableStatus && error?.status == 404)
            #expect(error?.body == Data("none".utf8))
        }
    }

    @Test("one blocking exchange follows no redirect", .rows("HT-4"), arguments: Peer.allCases)
    func exchange(peer: Peer) async throws {
        try await peer.run(serving: MockExecutor(.redirect(to: "/y"))) { client, _ in
            let request = try client.preparedRequest(for: text)
            let response = await onThread {
                Result { () throws(RequestError) in try client.executor.executeAndWait(request) }
            }
            let status = try response.get().head.status
            #expect(status == 302)
        }
    }

    @Test("middleware, child tasks and actors run on the calling thread", .rows("C29"), arguments: Peer.allCases)
    func staysOnThread(peer: Peer) async throws {
        let mock = MockExecutor(MockResponse.ok("hi").delayed(by: .milliseconds(5)))
        try await peer.run(serving: mock) { client, _ in
            let threads = ThreadRecord()
            let executor = intercepted(client.executor) { request, next in
                await threads.record()
                try await withThrowingTaskGroup { group in
                    for _ in 0..<4 { group.addTask { await threads.record() } }
                    try await group.waitForAll()
                }
                async let first = next.execute(request)
                async let second = next.execute(request)
                _ = try await first
                let response = try await second
                await threads.record()
                return response
            }
            let (caller, result) = await onThread { [text] in
                (thisThread(), Client(client.api, executor: executor).block(on: text(client.api)))
            }
            let value = try result.get()
            #expect(value == "hi")
            #expect(await threads.all == [caller])
        }
    }

    @Test(
        "calls on 16 threads of a pool, or in 16 tasks, complete", .rows("HT-1", "D-21", "C29"),
        arguments: Peer.allCases)
    func manyThreads(peer: Peer) async throws {
        // A server must not need the threads of the blocked pool, so only the mock, which sleeps on the calling thread,
        // delays its response.
        let response = MockResponse.ok("hi")
        let mock = MockExecutor(peer == .mock ? response.delayed(by: .milliseconds(5)) : response)
        try await peer.run(serving: mock) { client, _ in
            let request = text(client.api)
            await withTaskGroup { group in
                for _ in 0..<16 { group.addTask { #expect((try? client.block(on: request).get()) == "hi") } }
            }
            let count = await onThread {
                let count = Lock(0)
                DispatchQueue.concurrentPerform(iterations: 16) { _ in
                    for _ in 0..<10 where (try? client.block(on: request).get()) == "hi" { count.withLock { $0 += 1 } }
                }
                return count.withLock { $0 }
            }
            #expect(count == 160)
        }
    }

    @Test(
        "a task that yields repeatedly does not starve the exchange on its thread", .rows("C29"),
        arguments: Peer.allCases)
    func yielding(peer: Peer) async throws {
        let mock = MockExecutor(MockResponse.ok("hi").delayed(by: .milliseconds(20)))
        try await peer.run(serving: mock) { client, _ in
            let executor = intercepted(client.executor) { request, next in
                let isDone = Atomic(false)
                async let response = next.execute(request)
                async let spinning: Void = {
                    while !isDone.load(ordering: .acquiring) { await Task.yield() }
                }()
                let result = try await response
                isDone.store(true, ordering: .releasing)
                await spinning
                return result
            }
            let result = await onThread { [text] in
                Client(client.api, executor: executor).block(on: text(client.api))
            }
            let value = try result.get()
            #expect(value == "hi")
        }
    }

    @Test(
        "a response later than a limit: the error names the limit, and the connection is closed", .rows("T-83", "HT-1"),
        arguments: [Timeouts(firstByte: .milliseconds(50)), Timeouts(total: .milliseconds(50))])
    func slowServer(timeouts: Timeouts) async throws {
        let behavior = TestServer.Behavior.failing(.stallBeforeHead)
        try await Peer.socket.run(serving: MockExecutor(.ok()), behaving: behavior) { client, server in
            let request = text(client.api).with(timeouts: timeouts)
            let start = ContinuousClock.now
            let result = await onThread { client.block(on: request) }
            #expect(ContinuousClock.now - start >= .milliseconds(50))
            guard case .failure(let error) = result else { return #expect(Bool(false), "expected an error") }
            #expect(error.reason == .timedOut(timeouts.total == nil ? .firstByte : .total))
            try await server?.waitUntil { $0.openConnections == 0 }
        }
    }

    @Test("cancelling its task ends a blocking call", .rows("HT-6", "C29", "T-61"), arguments: Peer.allCases)
    func insideTask(peer: Peer) async throws {
        let mock = MockExecutor(MockResponse.ok("hi").delayed(by: .endless))
        try await peer.run(serving: mock) { client, _ in
            let request = text(client.api).with(timeouts: Timeouts(firstByte: nil))
            let task = Task(executorPreference: BlockingTaskExecutor()) { client.block(on: request) }
            while mock.recordedRequests.isEmpty { await Task.yield() }
            task.cancel()
            guard case .failure(let error) = await task.value else { return #expect(Bool(false), "expected an error") }
            #expect(error.isCancellation)
        }
    }

    @Test(
        "the total limit ends a blocking call during a pause of its body or its middleware, with that reason",
        .rows("R-48", "HT-1"), arguments: Peer.allCases, [true, false])
    func pauses(peer: Peer, isInBody: Bool) async throws {
        try await peer.run(serving: MockExecutor(.ok())) { client, _ in
            let pausing = intercepted(client.executor) { request, next in
                if !isInBody { try await Task.sleep(for: .seconds(600)) }
                return try await next.execute(request)
            }
            let executors: [any RequestExecutor] = isInBody ? [client.executor, pausing] : [pausing]
            let body = isInBody ? BodyProvider.stream { PausingBody() } : .none
            for executor in executors {
                let request = client.api.put(body, to: "/x").with(timeouts: Timeouts(total: .milliseconds(50)))
                let result = await onThread {
                    Result { () throws(RequestError) in try executor.responseAndWait(for: request) }
                }
                guard case .failure(let error) = result else {
                    Issue.record("a response")
                    continue
                }
                #expect(error.reason == .timedOut(.total))
                #expect(error.request != nil)
            }
        }
    }

    @Test("progress is reported while the thread is blocked", .rows("HT-6"), arguments: Peer.allCases)
    func progress(peer: Peer) async throws {
        let mock = MockExecutor(.data(Data(count: 300_000)))
        try await peer.run(serving: mock) { client, _ in
            let last = Lock(TransferProgress())
            let request = client.api.get(.data, from: "/x").onProgress { progress in last.withLock { $0 = progress } }
            let result = await onThread { client.block(on: request) }
            let count = try result.get().count
            #expect(count == 300_000)
            #expect(last.withLock { $0 }.bytesReceived == 300_000)
        }
    }

    @Test(
        "middleware on the main actor runs there while another thread is blocked", .rows("HT-2"),
        arguments: Peer.allCases)
    func freeMainActor(peer: Peer) async throws {
        try await peer.run(serving: MockExecutor(.ok("done"))) { client, _ in
            let visits = Lock(0)
            let executor = client.executor.intercepting { @MainActor request, next in
                MainActor.assertIsolated()
                visits.withLock { $0 += 1 }
                let response = try await next.execute(request)
                MainActor.assertIsolated()
                return response
            }
            let mainClient = Client(client.api, executor: executor)
            let request: Texts = client.api.get(.text, from: "/x")
            let text = try await onThread { mainClient.block(on: request) }.get()
            #expect(text == "done")
            #expect(visits.withLock { $0 } == 1)
        }
    }

    // In a separate process, because other tests can delay the thread.
    @Test(
        "a blocking call over an executor or middleware that ignores cancellation ends 3 s after its total limit",
        .rows("R-48"))
    func ignoredLimits() async {
        await #expect(processExitsWith: .success) {
            for isInMiddleware in [false, true] {
                let (gate, opening) = AsyncStream.makeStream(of: Void.self)
                let stuck = StuckExecutor(gate: Task.detached { for await _ in gate {} })
                let executor =
                    isInMiddleware
                    ? intercepted(MockExecutor(.ok())) { request, _ in try await stuck.execute(request) } : stuck
                let request = AnonymousRequestProvider("http://api.example.com").get(.none, from: "/x")
                    .with(timeouts: Timeouts(total: .milliseconds(100)))
                let start = ContinuousClock.now
                let result = await onThread {
                    Result { () throws(RequestError) in try executor.responseAndWait(for: request) }
                }
                // The bound allows 5 s more for a busy machine.
                #expect(ContinuousClock.now - start < .seconds(8))
                #expect(throws: RequestError.self) { try result.get() }
                guard case .failure(let error) = result else { return }
                #expect(error.reason == .timedOut(.total) && error.request?.target.path == "/x")
                opening.finish()
                await stuck.gate.value
            }
        }
    }

    @Test("middleware that waits for the blocked main actor results in a timeout error", .rows("HT-2"))
    func mainActor() async {
        await #expect(processExitsWith: .success) {
            let start = ContinuousClock.now
            let error = await MainActor.run {
                let executor = MockExecutor(.ok()).intercepting { request, next in
                    await MainActor.run {}
                    return try await next.execute(request)
                }
                let request = AnonymousRequestProvider("http://api.example.com").get(.none, from: "/x")
                let limited = request.with(timeouts: Timeouts(total: .milliseconds(10)))
                return #expect(throws: RequestError.self) { try executor.responseAndWait(for: limited) }
            }
            #expect(error?.reason == .timedOut(.total))
            #expect(error?.detail?.contains("main actor") == true)
            // It ends 3 s after the limit; the bound allows 5 s more for a busy machine.
            #expect(ContinuousClock.now - start < .seconds(8))
        }
    }
}
