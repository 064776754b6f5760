import Dispatch
import Foundation
@_spi(Lock) import Requests
import RequestsConformance
import RequestsSocket
import Synchronization
import Testing

/// What answers blocking calls.
enum Peer: String, CaseIterable, Sendable {
    case mock, socket

    /// Runs `body` with a client whose requests `mock` answers, in memory or over TCP.
    func run<Value>(
        serving mock: MockExecutor, behaving behavior: Behavior = .standard,
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

/// Runs `body` on a thread of its own, which it may block.
func onThread<Value: Sendable>(_ body: @escaping @Sendable () -> Value) async -> Value {
    await withCheckedContinuation { continuation in
        Thread { continuation.resume(returning: body()) }.start()
    }
}

private typealias Texts = Request<AnonymousRequestProvider, String>

extension Client {
    /// What an async function cannot call.
    fileprivate func block<Resource>(on request: Request<API, Resource>) -> Result<Resource, RequestError> {
        Result { () throws(RequestError) in try performAndWait(request) }
    }
}

private func intercepted(
    _ executor: some RequestExecutor, by function: @escaping FunctionMiddleware.Function
) -> any RequestExecutor {
    executor.intercepted(function)
}

private func thisThread() -> ObjectIdentifier { ObjectIdentifier(Thread.current) }

/// Runs jobs where they may block: what blocks the pool's threads must not need them to be unblocked.
private final class OwnThread: TaskExecutor {
    private let queue = DispatchQueue(label: "test.blocking")

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        queue.async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}

private actor Tally {
    private var threads: Set<ObjectIdentifier> = []

    func note() { threads.insert(thisThread()) }

    var all: Set<ObjectIdentifier> { threads }
}

@Suite("Blocking calls", .timeLimit(.minutes(5)))
struct BlockingFaceTests {
    private let text: @Sendable (AnonymousRequestProvider) -> Texts = { $0.get(.text, from: "/x") }

    @Test("every form gives a value, on a plain thread (HT-1, HT-4, C29)", arguments: Peer.allCases)
    func forms(peer: Peer) async throws {
        try await peer.run(serving: MockExecutor(.ok("hi"))) { client, _ in
            let texts = await onThread { [text] in
                [
                    try? client.performAndWait(text), try? client.performAndWait(Call(text)),
                    try? client.performAndWait(text(client.api)),
                    try? client.executor.performAndWait(text(client.api)),
                    try? client.resultAndWait(for: Call(text)).get().value,
                ]
            }
            #expect(texts == Array(repeating: "hi", count: 5))
        }
    }

    /// Answers on the calling thread with a body that has still to be read.
    private struct StreamingInPlace: RequestExecutor {
        let status: HTTPStatus

        func execute(_ request: PreparedRequest) async throws(RequestError) -> RawResponse { response(to: request) }

        func executeBlocking(_ request: PreparedRequest) throws(RequestError) -> BlockingExecution {
            .response(response(to: request))
        }

        private func response(to request: PreparedRequest) -> RawResponse {
            let head = ResponseHead(status: status, target: request.target)
            return RawResponse(head: head, body: .stream(ResponseStream(Data("stream".utf8))))
        }
    }

    @Test(
        "what is answered in place as a stream is read, refused or not (HT-5)", arguments: [200, 500] as [HTTPStatus])
    func streamedInPlace(status: HTTPStatus) async throws {
        let api = AnonymousRequestProvider("http://api.example.com")
        let client = Client(api, executor: StreamingInPlace(status: status))
        let result = await onThread { [text] in client.block(on: text(api)) }
        switch result {
        case .success(let value): #expect(status == 200 && value == "stream")
        case .failure(let error): #expect(status == 500 && error.body == Data("stream".utf8))
        }
    }

    @Test("the result is a value with its response, or the error (HT-5)", arguments: Peer.allCases)
    func results(peer: Peer) async throws {
        let mock = MockExecutor(routes: .on(.get, "/x", .ok("hi")), .on(.get, "/y", .status(404, "none")))
        try await peer.run(serving: mock) { client, _ in
            let found = await onThread { client.resultAndWait { $0.get(.text, from: "/x") } }
            let response = try found.get()
            #expect(response.status == 200 && response.value == "hi")
            let missing = await onThread { client.resultAndWait { $0.get(.text, from: "/y") } }
            guard case .failure(let error) = missing else { return #expect(Bool(false), "an error") }
            #expect(error.reason == .unacceptableStatus && error.status == 404)
            #expect(error.body == Data("none".utf8))
        }
    }

    @Test("one exchange can be executed as it is, with no redirect followed (HT-4)", arguments: Peer.allCases)
    func exchange(peer: Peer) async throws {
        try await peer.run(serving: MockExecutor(.redirect(to: "/y"))) { client, _ in
            let request = try client.prepared(text)
            let response = await onThread {
                Result { () throws(RequestError) in try client.executor.executeAndWait(request) }
            }
            let status = try response.get().head.status
            #expect(status == 302)
        }
    }

    @Test("middleware, child tasks, actors and their sleeps stay on the thread (HT-3, C29)", arguments: Peer.allCases)
    func staysOnThread(peer: Peer) async throws {
        let mock = MockExecutor(MockResponse.ok("hi").delayed(by: .milliseconds(5)))
        try await peer.run(serving: mock) { client, _ in
            let tally = Tally()
            let executor = intercepted(client.executor) { request, next in
                await tally.note()
                try await withThrowingTaskGroup { group in
                    for _ in 0..<4 { group.addTask { await tally.note() } }
                    try await group.waitForAll()
                }
                async let first = next.execute(request)
                async let second = next.execute(request)
                _ = try await first
                let response = try await second
                await tally.note()
                return response
            }
            let (caller, result) = await onThread { [text] in
                (thisThread(), Client(client.api, executor: executor).block(on: text(client.api)))
            }
            let value = try result.get()
            #expect(value == "hi")
            #expect(await tally.all == [caller])
        }
    }

    @Test("sixteen threads of a pool at once, and sixteen tasks (HT-2, D-21, C29)", arguments: Peer.allCases)
    func manyThreads(peer: Peer) async throws {
        // What answers must not need the pool that is blocked: in memory the sleep is the calling thread's own.
        let answer = MockResponse.ok("hi")
        let mock = MockExecutor(peer == .mock ? answer.delayed(by: .milliseconds(5)) : answer)
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

    @Test("a job that keeps yielding does not keep the thread from its socket (C29)", arguments: Peer.allCases)
    func yielding(peer: Peer) async throws {
        let mock = MockExecutor(MockResponse.ok("hi").delayed(by: .milliseconds(20)))
        try await peer.run(serving: mock) { client, _ in
            let executor = intercepted(client.executor) { request, next in
                let isDone = Atomic(false)
                async let response = next.execute(request)
                async let spinning: Void = {
                    while !isDone.load(ordering: .acquiring) { await Task.yield() }
                }()
                let answer = try await response
                isDone.store(true, ordering: .releasing)
                await spinning
                return answer
            }
            let result = await onThread { [text] in
                Client(client.api, executor: executor).block(on: text(client.api))
            }
            let value = try result.get()
            #expect(value == "hi")
        }
    }

    @Test(
        "a server slower than the limit: the error names it, and the connection is closed (T-83, HT-1)",
        arguments: [Timeouts(firstByte: .milliseconds(50)), Timeouts(total: .milliseconds(50))])
    func slowServer(timeouts: Timeouts) async throws {
        let behavior = Behavior.failing(.stallBeforeHead)
        try await Peer.socket.run(serving: MockExecutor(.ok()), behaving: behavior) { client, server in
            let request = text(client.api).with(timeouts: timeouts)
            let start = ContinuousClock.now
            let result = await onThread { client.block(on: request) }
            #expect(ContinuousClock.now - start >= .milliseconds(50))
            guard case .failure(let error) = result else { return #expect(Bool(false), "an error") }
            #expect(error.reason == .timedOut(timeouts.total == nil ? .firstByte : .total))
            try await server?.waitUntil { $0.openConnections == 0 }
        }
    }

    @Test("inside a task it completes too, and ends when that task is cancelled (HT-6, C29)", arguments: Peer.allCases)
    func insideTask(peer: Peer) async throws {
        let mock = MockExecutor(MockResponse.ok("hi").delayed(by: .endless))
        try await peer.run(serving: mock) { client, _ in
            let request = text(client.api).with(timeouts: Timeouts(firstByte: nil))
            let task = Task(executorPreference: OwnThread()) { client.block(on: request) }
            while mock.recorded.isEmpty { await Task.yield() }
            task.cancel()
            guard case .failure(let error) = await task.value else { return #expect(Bool(false), "an error") }
            #expect(error.isCancellation)
        }
    }

    @Test("progress is told while the thread waits (HT-6)", arguments: Peer.allCases)
    func progress(peer: Peer) async throws {
        let mock = MockExecutor(.data(Data(count: 300_000)))
        try await peer.run(serving: mock) { client, _ in
            let last = Lock(TransferProgress())
            let request = client.api.get(.data, from: "/x").onProgress { progress in last.withLock { $0 = progress } }
            let result = await onThread { client.block(on: request) }
            let count = try result.get().count
            #expect(count == 300_000)
            #expect(last.withLock { $0 }.received == 300_000)
        }
    }

    @Test("middleware that waits for the main actor, called from there: an error once the limit is over (HT-2)")
    func mainActor() async {
        await #expect(processExitsWith: .success) {
            let error = try await MainActor.run {
                let executor = MockExecutor(.ok()).intercepted { request, next in
                    await MainActor.run {}
                    return try await next.execute(request)
                }
                let request = AnonymousRequestProvider("http://api.example.com").get(.none, from: "/x")
                let limited = request.with(timeouts: Timeouts(total: .milliseconds(10)))
                guard case .failure(let error) = executor.resultAndWait(for: limited) else { throw CancellationError() }
                return error
            }
            #expect(error.reason == .timedOut(.total))
            #expect(error.detail?.contains("main actor") == true)
        }
    }
}
