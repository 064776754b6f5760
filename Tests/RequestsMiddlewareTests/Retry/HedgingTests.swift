@_spi(Lock) import Requests
import RequestsMiddleware
import RequestsMock
import RequestsSocket
import RequestsTestServer
import TestSupport
import Testing

@Suite("Hedging", .tags(.concurrent), .timeLimit(.minutes(10)))
struct HedgingTests {
    /// A server that does not send its first `late` responses in time.
    private func server(late: Int = 1, _ response: MockResponse = .ok("hello")) -> MockExecutor {
        let count = Lock(0)
        return MockExecutor { _ in
            let number = count.withLock { count in
                count += 1
                return count
            }
            return number <= late ? response.delayed(by: .endless) : response
        }
    }

    @Test(
        "a slow response is requested a second time, and the first response is used, in every form",
        arguments: [Transport.memory, .socket], CallForm.allCases)
    func slow(transport: Transport, form: CallForm) async throws {
        let served = server()
        try await transport.run(serving: served) { api, executor in
            let hedged = executor.hedging(after: .milliseconds(20))
            let response = try await form.response(for: api.get(.text, from: "/x"), over: hedged)
            #expect(response.value == "hello")
            #expect(response.metrics.retries == [.init(cause: .slowResponse, delay: .milliseconds(20))])
        }
        #expect(served.recordedCount == 2)
    }

    /// An executor that blocks, and passes on the traits of the one behind it.
    private struct BlockingWrapper: RequestExecutor {
        let base: any RequestExecutor
        var traits: ExecutorTraits { base.traits }

        func execute(_ request: PreparedRequest) async throws(RequestError) -> RawResponse { try wait(request) }

        private func wait(_ request: PreparedRequest) throws(RequestError) -> RawResponse {
            try base.executeAndWait(request)
        }
    }

    @Test("attempts of a blocking call are hedged, if the hedging is passed on to its retries")
    func blockingAttempts() async throws {
        let served = server()
        try await withTestServer(serving: served) { server in
            let hedged = BlockingWrapper(base: SocketExecutor().retrying()).hedging(after: .milliseconds(20))
            let response = try await hedged.execute(PreparedRequest(url: server.baseURL))
            #expect(response.metrics.retries == [.init(cause: .slowResponse, delay: .milliseconds(20))])
        }
        #expect(served.recordedCount == 2)
    }

    @Test("a response before the delay needs one request")
    func fast() async throws {
        let served = server(late: 0)
        let response = try await served.hedging(after: .seconds(3600)).execute(preparedRequest())
        #expect(response.metrics.retries.isEmpty && served.recordedCount == 1)
    }

    @Test("the connection of the slower exchange is closed when the call returns, and the other one is reused")
    func connections() async throws {
        try await withTestServer(
            serving: server(late: 0),
            behaving: { connection, _ in connection == 0 ? .failing(.stallBeforeHead) : .standard }
        ) { server in
            let executor = SocketExecutor()
            let hedged = executor.hedging(after: .milliseconds(20))
            let request = try PreparedRequest(url: server.baseURL)
            _ = try await hedged.execute(request)
            try await server.waitUntil { $0.openConnections == 1 }
            let response = try await executor.execute(request)
            #expect(response.metrics.isReusedConnection && server.record.acceptedConnections == 2)
        }
    }

    @Test("a streamed response can be read after its exchange has won, whichever it is", arguments: [0, 1])
    func streamed(late: Int) async throws {
        let body = Data(count: 3 << 20)
        try await withTestServer(
            serving: MockExecutor(.data(body)),
            behaving: { connection, _ in connection < late ? .failing(.stallBeforeHead) : .standard },
            { server in
                var request = try PreparedRequest(url: server.baseURL)
                request.delivery = .streamed
                let executor = SocketExecutor().hedging(after: .milliseconds(late == 0 ? 3_600_000 : 20))
                guard case .stream(let stream) = try await executor.execute(request).body else {
                    Issue.record("the body is not streamed")
                    return
                }
                #expect(try await stream.collect() == body)
            })
    }

    @Test(
        "a second request is sent only for a safe method, unless the request declares whether it is idempotent",
        .rows("PM-24"),
        arguments: [
            ("GET", nil, true), ("HEAD", nil, true), ("OPTIONS", nil, true), ("PROPFIND", nil, true),
            ("REPORT", nil, true), ("SEARCH", nil, true), ("QUERY", nil, true), ("PUT", nil, false),
            ("DELETE", nil, false), ("MOVE", nil, false), ("COPY", nil, false), ("MKCOL", nil, false),
            ("POST", nil, false), ("UNKNOWN", nil, false), ("PUT", true, true), ("MOVE", true, true),
            ("POST", true, true), ("GET", false, false), ("PROPFIND", false, false),
        ] as [(HTTPMethod, Bool?, Bool)])
    func methods(method: HTTPMethod, declared: Bool?, isHedged: Bool) async throws {
        let slept = Lock(false)
        var clock = Retrying.Clock.system
        clock.sleep = { _ in slept.withLock { $0 = true } }
        // The first of two responses is late; the only one is not.
        let served = server(late: isHedged ? 1 : 0)
        var request = try preparedRequest(method)
        if let declared { request.isIdempotent = declared }
        let response = try await served.hedging(after: .zero, clock: clock).execute(request)
        #expect(response.metrics.retries.map(\.cause) == (isHedged ? [.slowResponse] : []))
        #expect(served.recordedCount == (isHedged ? 2 : 1) && slept.withLock { $0 } == isHedged)
    }

    @Test("requests that may not be repeated are sent once")
    func excluded() async throws {
        var file = try preparedRequest()
        let folder = TemporaryDirectory()
        file.delivery = .file(path: folder.path(of: "body"))
        let oneShot = RequestBody.stream(length: 0, isReplayable: false) { throw RequestError(.bodyNotReplayable) }
        for request in [try preparedRequest(.post), try preparedRequest(.put, body: oneShot), file] {
            let slept = Lock(false)
            var clock = Retrying.Clock.system
            clock.sleep = { _ in slept.withLock { $0 = true } }
            let served = server(late: 0)
            _ = await failure { () async throws(RequestError) in
                try await served.hedging(after: .zero, clock: clock).execute(request)
            }
            #expect(!slept.withLock { $0 } && served.recordedCount <= 1)
        }
    }

    @Test("a failure before the delay is returned; after the delay, one successful request of two is enough")
    func failures() async throws {
        let script = ResponseScript(.failure(RequestError(.connectionFailed)))
        let early = await failure { () async throws(RequestError) in
            try await script.executor.hedging(after: .seconds(3600)).execute(
                try PreparedRequest(url: URL("http://e.com")))
        }
        #expect(early?.reason == .connectionFailed && early?.attempts == 1 && script.count == 1)

        for (responses, status, count) in [([503, 200], 200, 2), ([503, 500], 503, 2), ([200, 503], 200, 2)] {
            let number = Lock(0)
            let release = AsyncStream.makeStream(of: Void.self)
            let served = MockExecutor { _ in
                let index = number.withLock { number in
                    defer { number += 1 }
                    return number
                }
                // The first response waits until the second request has arrived.
                if index == 0 { for await _ in release.stream { break } } else { release.continuation.yield() }
                return .status(HTTPStatus(responses[min(index, 1)]))
            }
            let response = try await served.hedging(after: .zero).execute(preparedRequest())
            #expect(response.head.status == HTTPStatus(status) && served.recordedCount == count)
        }
    }

    @Test("second requests take tokens of the budget; without tokens there is none")
    func budget() async throws {
        let budget = RetryBudget(initial: 1, ratio: 0)
        let served = server()
        _ = try await served.hedging(after: .milliseconds(1), budget: budget).execute(preparedRequest())
        #expect(served.recordedCount == 2 && budget.availableRetries == 0)

        let (delayPassed, passDelay) = AsyncStream.makeStream(of: Void.self)
        var clock = Retrying.Clock.system
        clock.sleep = { _ in passDelay.yield() }
        let second = MockExecutor { _ in
            for await _ in delayPassed { break }
            return .ok("x")
        }
        _ = try await second.hedging(after: .seconds(1), budget: budget, clock: clock).execute(preparedRequest())
        #expect(second.recordedCount == 1)
    }

    @Test(
        "if the budget permits no second request, the failure of the first one says so, and so does the log",
        .rows("R-66"), arguments: [true, false])
    func refusal(isError: Bool) async throws {
        let entries = Collected<RequestLogging.Entry>()
        let (delayPassed, passDelay) = AsyncStream.makeStream(of: Void.self)
        var clock = Retrying.Clock.system
        let budget = RetryBudget(initial: 0, ratio: 0)
        let served = MockExecutor { _ in
            for await _ in delayPassed { break }
            if isError { throw RequestError(.connectionLost) }
            return .status(503)
        }
        clock.sleep = { _ in passDelay.yield() }
        let executor = served.hedging(after: .seconds(1), budget: budget, clock: clock)
            .observing(.calls, by: RequestLogging { entries.add($0) })
        let api = AnonymousRequestProvider("http://e.com")
        // One thread runs the jobs in their order, so that the delay ends before the response arrives.
        let result = try await withThreads(1) { thread in
            await withTaskExecutorPreference(thread) {
                await failure { () async throws(RequestError) in
                    try await executor.perform(api.get(.text, from: "/x"))
                }
            }
        }
        let error = try #require(result)
        #expect(error.reason == (isError ? .connectionLost : .unacceptableStatus) && served.recordedCount == 1)
        #expect(error.retryRefusal == .budgetExhausted)
        #expect(error.description.hasSuffix(": not repeated: the retry budget is exhausted"), "\(error)")
        let lines = entries.elements.flatMap(\.lines)
        #expect(lines.contains { $0.contains("not repeated: the retry budget is exhausted") }, "\(lines)")
    }

    @Test("cancelling a call cancels both requests")
    func cancellation() async throws {
        let served = server(late: 2)
        let request = try preparedRequest()
        let task = Task {
            await failure { () async throws(RequestError) in
                try await served.hedging(after: .milliseconds(1)).execute(request)
            }
        }
        while served.recordedCount < 2 { await Task.yield() }
        task.cancel()
        let error = await task.value
        #expect(error?.isCancellation == true && error?.attempts == 2)
    }

    /// Returns `executor` with hedging and a retry, of which the hedging or the retry receives a request first.
    private func nested(_ executor: MockExecutor, isHedgedFirst: Bool) -> any RequestExecutor {
        let (delay, policy) = (Duration.milliseconds(5), RetryPolicy.retryNetworkFailure(with: .retryOnce))
        return isHedgedFirst
            ? executor.retrying(policy).hedging(after: delay) : executor.hedging(after: delay).retrying(policy)
    }

    @Test(
        "each attempt of a retry is hedged, in whichever order the two are added", .rows("R-66"),
        arguments: [false, true])
    func nested(isHedgedFirst: Bool) async throws {
        let served = server(late: 3)
        var timeouts = Timeouts()
        timeouts.firstByte = .milliseconds(60)
        var request = try preparedRequest()
        request.timeouts = timeouts
        let response = try await nested(served, isHedgedFirst: isHedgedFirst).execute(request)
        #expect(response.head.status == 200 && served.recordedCount == 4)
        #expect(
            response.metrics.retries.map(\.cause) == [.slowResponse, .failure(.timedOut(.firstByte)), .slowResponse])
    }

    @Test(
        "a second request does not count as an attempt of a retry policy, also after an error of the decoder",
        arguments: [false, true])
    func attempts(isHedgedFirst: Bool) async throws {
        let count = Lock(0)
        let served = MockExecutor { _ in
            let number = count.withLock { count in
                count += 1
                return count
            }
            let response = MockResponse.ok(number < 4 ? "[1," : "[1]", contentType: .json)
            // The first request of each of the two exchanges is late.
            return number.isMultiple(of: 2) ? response : response.delayed(by: .endless)
        }
        let executor = nested(served, isHedgedFirst: isHedgedFirst)
        let api = AnonymousRequestProvider("http://e.com")
        let response = try await executor.response(for: api.get(.json([Int].self), from: "/x"))
        #expect(response.value == [1] && served.recordedCount == 4)
        #expect(
            response.metrics.retries.map(\.cause) == [.slowResponse, .failure(.decodingFailed), .slowResponse])
    }
}
