@_spi(Lock) import Requests
import RequestsMiddleware
import RequestsMock
import Synchronization
import TestSupport
import Testing

private enum Trace {
    @TaskLocal static var id = 0
}

/// Middleware that is a type, not a function.
private struct Recording: Middleware {
    let record: @Sendable () -> Void

    func intercept(_ request: PreparedRequest, next: any RequestExecutor) async throws(RequestError) -> RawResponse {
        record()
        return try await next.execute(request)
    }
}

private actor Counter {
    private(set) var count = 0

    func increment() { count += 1 }
}

/// A task that outlives the call that starts it.
private final class OutlivingTask: Sendable {
    private let task = Lock<Task<Int, Never>?>(nil)
    private let isReleased = Atomic(false)

    func start() {
        let new = Task(executorPreference: CallingThread.current) { [self] in
            while !isReleased.load(ordering: .acquiring) { await Task.yield() }
            return 1
        }
        task.withLock { $0 = new }
    }

    func end() async -> Int? {
        isReleased.store(true, ordering: .releasing)
        return await task.withLock(\.self)?.value
    }
}

@Suite("Middleware that suspends, in a blocking call", .tags(.concurrent), .timeLimit(.minutes(10)))
struct SuspendingMiddlewareTests {
    private let mock = MockExecutor { _ in .ok("body") }

    @Test("a function and a type have the task-local values of the caller", .rows("C29"), arguments: [false, true])
    func taskLocalValues(suspends: Bool) async throws {
        let request = try preparedRequest()
        let seen = Lock<[Int]>([])
        let executor = mock.intercepted(by: Recording { seen.withLock { $0.append(Trace.id) } })
            .intercepting { request, next in
                if suspends { await Task.yield() }
                seen.withLock { $0.append(Trace.id) }
                return try await next.execute(request)
            }
        for id in 1...3 {
            try await onThread {
                _ = try Trace.$id.withValue(id) { try executor.executeAndWait(request) }
            }
        }
        #expect(seen.withLock(\.self) == [1, 1, 2, 2, 3, 3])
    }

    @Test("a blocking call in a cancelled task is cancelled from its beginning", .rows("HT-6", "C29"))
    func cancelledBefore() async throws {
        let request = try preparedRequest()
        let task = Task { [mock] in
            func block() -> Result<RawResponse, RequestError> {
                withUnsafeCurrentTask { $0?.cancel() }
                return Result { () throws(RequestError) in try mock.executeAndWait(request) }
            }
            return block()
        }
        guard case .failure(let error) = await task.value else {
            Issue.record("a response")
            return
        }
        #expect(error.reason == .cancelled && !error.mayHaveReachedServer)
        #expect(mock.recordedRequests.isEmpty)
    }

    @Test("any error of a function is the error of the call, whether the function suspends or not", .rows("C29"))
    func errors() async throws {
        struct Failure: Error {}
        let request = try preparedRequest()
        for suspends in [false, true] {
            let wrapping = mock.intercepting { _, _ in
                if suspends { await Task.yield() }
                throw Failure()
            }
            let own = mock.intercepting { _, _ in
                if suspends { await Task.yield() }
                throw RequestError(.connectionFailed)
            }
            let wrapped = try await error(of: wrapping, request)
            #expect(wrapped?.reason == .other && wrapped?.underlying is Failure)
            #expect(wrapped?.request?.target == request.target)
            let passed = try await error(of: own, request)
            #expect(passed?.reason == .connectionFailed && passed?.underlying == nil)
        }
    }

    private func error(of executor: any RequestExecutor, _ request: PreparedRequest) async throws -> RequestError? {
        try await onThread {
            #expect(throws: RequestError.self) { try executor.executeAndWait(request) }
        }
    }

    @Test("middleware of a blocking call can perform other blocking calls", .rows("C29"))
    func nested() async throws {
        let request = try preparedRequest()
        let counter = Counter()
        let inner = mock.intercepting { request, next in
            await counter.increment()
            return try await next.execute(request)
        }
        let outer = inner.intercepting { request, next in
            func block() throws(RequestError) -> RawResponse { try inner.executeAndWait(request) }
            _ = try block()
            await Task.yield()
            _ = try block()
            return try await next.execute(request)
        }
        let status = try await onThread { try outer.executeAndWait(request).head.status }
        #expect(status == 200)
        #expect(await counter.count == 3)
    }

    @Test("a task that outlives the call continues after the call has ended", .rows("C29"))
    func outlivingTask() async throws {
        let request = try preparedRequest()
        let task = OutlivingTask()
        let executor = mock.intercepting { request, next in
            task.start()
            return try await next.execute(request)
        }
        let status = try await onThread { try executor.executeAndWait(request).head.status }
        #expect(status == 200)
        #expect(await task.end() == 1)
    }

    @Test("a redirect is followed, and each of its requests passes through a function", .rows("C29"))
    func redirects() async throws {
        let mock = MockExecutor { $0.target.path == "/x" ? .redirect(to: "/y") : .ok("end") }
        let count = Atomic(0)
        let executor = mock.intercepting { request, next in
            count.add(1, ordering: .relaxed)
            return try await next.execute(request)
        }
        let client = Client(AnonymousRequestProvider("http://e.com"), executor: executor)
        let chained = Client(client.api, executor: executor.retrying().keepingCookies(in: CookieStore()))
        for client in [client, chained] {
            count.store(0, ordering: .relaxed)
            let response = try await onThread { try client.responseAndWait { $0.get(.text, from: "/x") } }
            #expect(response.value == "end" && response.history.map(\.status) == [302])
            #expect(count.load(ordering: .relaxed) == 2)
        }
    }

    @Test(
        "a stream behind a function is read, whether its status is accepted or not", .rows("HT-5"),
        arguments: [200, 500] as [HTTPStatus])
    func stream(status: HTTPStatus) async throws {
        let mock = MockExecutor(.status(status, "stream"))
        let executor = mock.intercepting { request, next in
            var streamed = request
            streamed.delivery = .streamed
            return try await next.execute(streamed)
        }
        let client = Client(AnonymousRequestProvider("http://e.com"), executor: executor)
        let result = try await onThread {
            Result { () throws(RequestError) in try client.performAndWait { $0.get(.text, from: "/x") } }
        }
        switch result {
        case .success(let value): #expect(status == 200 && value == "stream")
        case .failure(let error): #expect(status == 500 && error.body == Data("stream".utf8))
        }
    }
}
