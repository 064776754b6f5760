@_spi(Lock) import Requests
import RequestsMiddleware
import RequestsMock
import RequestsSocket
import RequestsTestServer
import TestSupport
import Testing

@Suite("Retrying", .tags(.concurrent), .timeLimit(.minutes(10)))
struct RetryingTests {
    private typealias Step = ResponseScript.Step

    @Test(
        "a truncated body is requested once more for GET, and not for POST", .rows("T-55", "PM-101"),
        arguments: Transport.allCases, CallForm.allCases)
    func truncated(transport: Transport, form: CallForm) async throws {
        for (steps, method, count, succeeds) in [
            ([.truncated, .json("[1]")], .get, 2, true), ([.truncated, .truncated, .json("[1]")], .get, 2, false),
            ([.truncated, .json("[1]")], .post, 1, false),
        ] as [([Step], HTTPMethod, Int, Bool)] {
            let script = ResponseScript(steps)
            try await transport.run(serving: script.executor) { api, executor in
                let retrying = executor.retrying(.retryNetworkFailure(with: .retryOnce))
                let request = api.request(to: "/x", using: method).receiving(.json([Int].self))
                let error = await failure { () async throws(RequestError) in
                    let response = try await form.response(for: request, over: retrying)
                    #expect(response.value == [1] && response.metrics.retries.count == count - 1)
                }
                #expect((error == nil) == succeeds)
                #expect(error.map { $0.attempts == count && $0.retries.count == count - 1 } != false)
            }
            #expect(script.count == count)
        }
    }

    @Test(
        "a 500 is not sent again; a 503 only by the policy for it, then for GET and POST", .rows("T-56", "PM-104"),
        arguments: Transport.allCases)
    func statuses(transport: Transport) async throws {
        for (status, policy, method, count) in [
            (500, .retryNetworkFailure(with: .retryOnce), .get, 1),
            (500, .retryNetworkFailureOrServiceUnavailable(with: .retryOnce), .get, 1),
            (503, .retryNetworkFailure(with: .retryOnce), .get, 1),
            (503, .retryNetworkFailureOrServiceUnavailable(with: .retryOnce), .get, 2),
            (503, .retryNetworkFailureOrServiceUnavailable(with: .retryOnce), .post, 2),
        ] as [(HTTPStatus, RetryPolicy, HTTPMethod, Int)] {
            let script = ResponseScript(.status(status), .json("[1]"))
            try await transport.run(serving: script.executor) { api, executor in
                let request = api.request(to: "/x", using: method).receiving(.json([Int].self))
                let error = await failure { () async throws(RequestError) in
                    try await executor.retrying(policy).perform(request)
                }
                #expect(error?.status == (count == 1 ? status : nil))
            }
            #expect(script.count == count)
        }
    }

    @Test(
        "the strategy determines the delays, and the attempts passed to a function are 0, 1 and 2",
        .rows("T-57", "PM-101"))
    func delays() async throws {
        let clock = ManualClock()
        let script = ResponseScript(.failure(RequestError(.connectionFailed)))
        let policy = RetryPolicy.retryNetworkFailure(with: .retryTwiceWithDelay(.seconds(3)))
        let error = await failure { () async throws(RequestError) in
            try await script.executor.retrying(policy, clock: clock.clock()).execute(try preparedGet())
        }
        #expect(error?.reason == .connectionFailed && error?.attempts == 3)
        let cause = RawResponse.Metrics.Retry.Cause.failure(.connectionFailed)
        #expect(error?.retries == [.init(cause: cause, delay: .zero), .init(cause: cause, delay: .seconds(3))])
        #expect(clock.sleeps == [.seconds(3)] && script.count == 3)

        let attempts = Lock([Int]())
        let strategy = RetryPolicy.Strategy { failure in
            attempts.withLock { $0.append(failure.attempt) }
            return failure.attempt < 2 ? .seconds(1) : nil
        }
        let custom = script.executor.retrying(.retryNetworkFailure(with: strategy), clock: clock.clock())
        _ = await failure { () async throws(RequestError) in try await custom.execute(try preparedGet()) }
        #expect(attempts.withLock { $0 } == [0, 1, 2] && script.count == 6)
    }

    private func preparedGet() throws(RequestError) -> PreparedRequest {
        try PreparedRequest(url: URL("http://e.com/x"))
    }

    @Test(
        "truncated JSON is requested again, malformed JSON is not, with the same number of attempts",
        .rows("T-58", "PM-102"),
        arguments: Transport.allCases, CallForm.allCases)
    func truncatedJSON(transport: Transport, form: CallForm) async throws {
        for (steps, method, count, succeeds) in [
            ([.json("{\"a\": [1,"), .json("{\"a\": [1]}")], .get, 2, true),
            ([.json("{nope}"), .json("{\"a\": [1]}")], .get, 1, false),
            ([.json("{\"a\": [1,"), .json("{\"a\": [1]}")], .post, 1, false),
            ([.status(503), .json("{\"a\": [1,"), .json("{\"a\": [1]}")], .get, 3, true),
            ([.json("{\"a\""), .json("{\"a\""), .json("{\"a\""), .json("{\"a\": [1]}")], .get, 3, false),
        ] as [([Step], HTTPMethod, Int, Bool)] {
            let script = ResponseScript(steps)
            try await transport.run(serving: script.executor) { api, executor in
                let retrying = executor.retrying(
                    .retryNetworkFailureOrServiceUnavailable(with: .retryTwiceWithDelay(.zero)))
                let request = api.request(to: "/x", using: method).receiving(.json([String: [Int]].self))
                let error = await failure { () async throws(RequestError) in
                    let response = try await form.response(for: request, over: retrying)
                    #expect(response.value == ["a": [1]] && response.metrics.retries.count == count - 1)
                }
                #expect((error == nil) == succeeds)
                #expect(error.map { $0.reason == .decodingFailed && $0.attempts == count } != false)
                #expect(error.map { $0.retries.count == count - 1 } != false)
            }
            #expect(script.count == count)
        }
    }

    @Test("a repeated exchange does not repeat the redirects that led to it, so a POST is sent once")
    func redirected() async throws {
        let script = ResponseScript(
            .response(.redirect(303, to: "/result")), .status(503), .json("[1,"), .json("[1,"), .json("[1]"))
        let api = AnonymousRequestProvider("http://e.com")
        let executor = script.executor.retrying(
            .retryNetworkFailureOrServiceUnavailable(with: .exponentialBackoff(maximumRetries: 3, initial: .zero)))
        let response = try await executor.response(for: api.post(.json([7]), to: "/x", receiving: .json([Int].self)))
        #expect(response.value == [1] && response.history.count == 1)
        #expect(
            response.metrics.retries.map(\.cause) == [
                .status(503), .failure(.decodingFailed), .failure(.decodingFailed),
            ])
        #expect(script.executor.recordedRequests.map(\.method) == [.post, .get, .get, .get, .get])
    }

    @Test(
        "middleware below sees every attempt with the original request, middleware above one exchange for each decoding",
        .rows("PM-100")
    )
    func original() async throws {
        let script = ResponseScript(.status(503), .failure(RequestError(.connectionLost)), .json("[1,"), .json("[1]"))
        let below = Lock([Header]())
        let above = Lock(0)
        let executor = script.executor.intercepting { request, next in
            below.withLock { $0.append(request.header) }
            var request = request
            request.header.add(Field(name: "X-Below", value: "1"))
            return try await next.execute(request)
        }.retrying(
            .any(of: [.standard, .retryNetworkFailure(with: .exponentialBackoff(maximumRetries: 5, initial: .zero))]),
            clock: ManualClock().clock()
        ).intercepting { request, next in
            above.withLock { $0 += 1 }
            return try await next.execute(request)
        }
        let api = AnonymousRequestProvider("http://e.com")
        #expect(try await executor.perform(api.get(.json([Int].self), from: "/x")) == [1])
        let seen = below.withLock { $0 }
        #expect(seen.count == 4 && seen.allSatisfy { $0 == seen.first && !$0.contains("X-Below") })
        // One for the first exchange, and one for that after the decoder's error.
        #expect(above.withLock { $0 } == 2)
    }

    @Test(
        "each attempt has the request's priority, and all run at one task priority, the waiting caller's",
        .rows("PM-100"),
        arguments: [CallForm.awaited, .completion])
    func priority(form: CallForm) async throws {
        let script = ResponseScript(.status(503), .failure(RequestError(.connectionLost)), .json("[1]"))
        let seen = Lock<[TaskPriority?]>([])
        let executor = script.executor.intercepting { request, next in
            seen.withLock { $0 += [request.options.priority, Task.currentPriority] }
            return try await next.execute(request)
        }.retrying(clock: ManualClock().clock())
        let request = AnonymousRequestProvider("http://e.com").get(.json([Int].self), from: "/x")
            .with(options: RequestOptions(priority: .low))
        let value = try await Task(priority: .high) { try await form.response(for: request, over: executor).value }
            .value
        #expect(value == [1])
        let priorities = seen.withLock { $0 }
        #expect(priorities.count == 6 && stride(from: 0, to: 6, by: 2).allSatisfy { priorities[$0] == .low })
        #expect(stride(from: 1, to: 6, by: 2).allSatisfy { priorities[$0] == priorities[1] })
        #expect(form == .completion || priorities[1] == .high)
    }

    @Test("Retry-After in seconds and as a date is respected, and hostile values are harmless", .rows("R-66"))
    func retryAfter() async throws {
        let digits = String(repeating: "9", count: 400)
        for (value, delay) in [
            ("7", 7), ("Sun, 06 Nov 1994 08:49:47 GMT", 10), ("Sunday, 06-Nov-94 08:49:47 GMT", 10),
            ("1000000000000000000", 60), (digits, 60), ("-5", 0), ("-" + digits, 0), ("0", 0),
            ("Thu, 01 Jan 1970 00:00:00 GMT", 0), ("Fri, 31 Dec 9999 23:59:59 GMT", 60), ("soon", 0), ("", 0),
            ("1e3", 0), ("7\u{301}", 0), ("18446744073709551616", 60),
        ] {
            let clock = ManualClock()
            let script = ResponseScript(.status(503, retryAfter: value), .json("[1]"))
            let executor = script.executor.retrying(
                .retryNetworkFailureOrServiceUnavailable(with: .retryOnce), clock: clock.clock())
            let response = try await executor.execute(preparedGet())
            #expect(response.head.status == 200 && script.count == 2)
            #expect(clock.sleeps == (delay == 0 ? [] : [.seconds(delay)]), "\(value)")
        }
    }

    @Test("a date in Retry-After is compared with the Date of the response, whatever the clock says", .rows("R-66"))
    func serverTime() async throws {
        for local in [0, 784_111_000, 784_111_777, 784_999_999, 4e17, -.infinity, .nan] {
            let clock = ManualClock(date: Date(timeIntervalSince1970: local))
            var refusal = MockResponse.status(503)
            refusal.header["Date"] = "Sun, 06 Nov 1994 08:49:37 GMT"
            refusal.header["Retry-After"] = "Sun, 06 Nov 1994 08:49:47 GMT"
            let script = ResponseScript(.response(refusal), .json("[1]"))
            let executor = script.executor.retrying(
                .retryNetworkFailureOrServiceUnavailable(with: .retryOnce), clock: clock.clock())
            let response = try await executor.execute(preparedGet())
            #expect(response.status == 200 && clock.sleeps == [.seconds(10)], "\(local)")
        }
    }

    @Test("no delay passes the deadline of the call, and the last failure is returned")
    func deadline() async throws {
        let clock = ManualClock()
        let script = ResponseScript(.status(503, retryAfter: "40"))
        let executor = script.executor.retrying(
            .retryNetworkFailureOrServiceUnavailable(with: .retryTwiceWithDelay(.seconds(1))), clock: clock.clock())
        var request = try preparedGet()
        request.deadline = clock.start + .seconds(60)
        let last = try await executor.execute(request)
        #expect(last.head.status == 503 && last.metrics.retries.count == 1 && clock.sleeps == [.seconds(40)])
        let ended = try await executor.execute(preparedGet())
        #expect(ended.head.status == 503 && ended.metrics.retries.count == 2)
    }

    @Test("a policy’s function that waits is cancelled at the deadline of the call", arguments: CallForm.allCases)
    func suspendingFunction(form: CallForm) async throws {
        let api = AnonymousRequestProvider("http://e.com")
        let script = ResponseScript(.status(503))
        let isCancelled = Lock(false)
        let endless = RetryPolicy { _ in
            do {
                // Longer than any test runs: only the deadline of the call ends the wait.
                try await CallingThread.sleep(until: .after(.seconds(3600)))
            } catch {
                isCancelled.withLock { $0 = true }
            }
            return .zero
        }
        let request = api.get(.data, from: "/x").with(timeouts: Timeouts(total: .seconds(4)))
        let error = await failure { () async throws(RequestError) in
            try await form.response(for: request, over: script.executor.retrying(endless))
        }
        #expect(error?.status == 503 && isCancelled.withLock { $0 } && script.count == 1)
    }

    @Test("the time for which a policy’s function waits counts towards the deadline of the call")
    func slowFunction() async throws {
        let script = ResponseScript(.status(503))
        let clock = ManualClock()
        // 40 s and 30 s would each fit into the 60 s of the call.
        let slow = RetryPolicy { [clock = clock.clock()] _ in
            try? await clock.sleep(.seconds(40))
            return .seconds(30)
        }
        var request = try preparedGet()
        request.deadline = clock.start + .seconds(60)
        let last = try await script.executor.retrying(slow, clock: clock.clock()).execute(request)
        #expect(last.head.status == 503 && script.count == 1 && clock.sleeps == [.seconds(40)])
    }

    @Test("a call that is cancelled during a delay ends at once, in every form")
    func cancellation() async throws {
        let api = AnonymousRequestProvider("http://e.com")
        let script = ResponseScript(.status(503))
        let (waiting, isWaiting) = AsyncStream.makeStream(of: Void.self)
        var clock = Retrying.Clock.system
        let sleep = clock.sleep
        clock.sleep = { duration in
            isWaiting.yield()
            try await sleep(duration)
        }
        let executor = script.executor.retrying(
            .retryNetworkFailureOrServiceUnavailable(with: .init { _ in .seconds(3600) }), clock: clock)
        for form in CallForm.allCases where form != .completion {
            let task = Task {
                await failure { () async throws(RequestError) in
                    try await form.response(for: api.get(.data, from: "/x"), over: executor)
                }
            }
            for await _ in waiting { break }
            task.cancel()
            let error = await task.value
            #expect(error?.isCancellation == true && error?.attempts == 2, "\(form)")
        }
        #expect(script.count == 2)
    }

    @Test("a call that is cancelled during an attempt is not repeated, also without a delay")
    func cancelledAttempt() async throws {
        let count = Lock(0)
        let base = MockExecutor(.ok()).intercepting { (_, _) async throws(RequestError) -> RawResponse in
            count.withLock { $0 += 1 }
            // The exchange fails at the moment of the cancellation.
            withUnsafeCurrentTask { $0?.cancel() }
            throw RequestError(.connectionLost)
        }
        let executor = base.retrying(.retryNetworkFailure(with: .retryOnce))
        let request = try preparedRequest()
        let error = await Task {
            await failure { () async throws(RequestError) in try await executor.execute(request) }
        }.value
        #expect(error?.isCancellation == true && count.withLock { $0 } == 1)
    }

    @Test("a request has its own policy, which the executor obeys", .rows("PM-100"))
    func ownPolicy() async throws {
        let api = AnonymousRequestProvider("http://e.com")
        let script = ResponseScript(.failure(RequestError(.connectionFailed)))
        let executor = script.executor.retrying(.retryNetworkFailure(with: .retryOnce))
        for (policy, count) in [(RetryPolicy.never, 1), (.retryNetworkFailure(with: .retryTwiceWithDelay(.zero)), 3)] {
            let before = script.count
            let request = api.get(.data, from: "/x").retrying(policy).receiving(.text)
            _ = await failure { () async throws(RequestError) in try await executor.perform(request) }
            #expect(script.count - before == count)
        }
    }

    @Test("a policy decides from the response, its JSON and the error, at most a number of times", .rows("HT-37"))
    func retrier() async throws {
        let api = AnonymousRequestProvider("http://e.com")
        let script = ResponseScript(.status(409))
        let seen = Lock([String?]())
        let policy = RetryPolicy(maximumRetries: 4) { failure in
            seen.withLock { $0.append(failure.error.message?.text) }
            return failure.error.status == 409 ? .zero : nil
        }.ignoringIdempotence()
        let error = await failure { () async throws(RequestError) in
            try await script.executor.retrying(policy).perform(api.post(.json([1]), to: "/x", receiving: .data))
        }
        #expect(error?.status == 409 && error?.attempts == 5 && script.count == 5)
        #expect(seen.withLock { $0 } == ["no", "no", "no", "no"])
    }

    @Test("a body that can be sent once is sent once, and its response is returned")
    func oneShot() async throws {
        struct Piece: RequestBody.Source {
            var data: Data? = Data("x".utf8)
            mutating func next() async throws -> Data? { data.take() }
        }
        let script = ResponseScript(.status(503), .json("[]"))
        let request = try preparedRequest(.put, body: .oneShot(Piece()))
        #expect(try await script.executor.retrying().execute(request).head.status == 503)
        #expect(script.count == 1)
    }

    @Test("a streamed response that is not used releases its connection before the delay")
    func streamed() async throws {
        let script = ResponseScript(
            .response(MockResponse(status: 503, body: [.bytes(Data(count: 1 << 20))])), .json("[1]"))
        try await withTestServer(serving: script.executor) { server in
            var clock = Retrying.Clock.system
            clock.sleep = { _ in try await server.waitUntil { $0.openConnections == 0 } }
            let executor = SocketExecutor().retrying(
                .retryNetworkFailureOrServiceUnavailable(with: .init { _ in .seconds(1) }), clock: clock)
            var request = try PreparedRequest(url: server.baseURL)
            request.delivery = .streamed
            let response = try await executor.execute(request)
            #expect(response.head.status == 200 && response.metrics.retries.first?.cause == .status(503))
        }
    }

    @Test("a decoder's error about a request of its own does not repeat a request that was received")
    func nestedError() async throws {
        let script = ResponseScript(.json("[1]"))
        let api = AnonymousRequestProvider("http://e.com")
        let decoder = ResponseDecoder<Int> { _, _ in throw RequestError(.connectionFailed).beforeSending() }
        let error = await failure { () async throws(RequestError) in
            try await script.executor.retrying(.retryNetworkFailure(with: .retryOnce)).perform(
                api.post(.json([1]), to: "/x", receiving: decoder))
        }
        #expect(error?.reason == .connectionFailed && script.count == 1)
    }

    @Test("the description of an error lists its retries")
    func description() async throws {
        let script = ResponseScript(.status(503), .failure(RequestError(.connectionLost)))
        let api = AnonymousRequestProvider("http://e.com")
        let executor = script.executor.retrying(.retryNetworkFailureOrServiceUnavailable(with: .retryOnce))
        let error = await failure { () async throws(RequestError) in
            try await executor.perform(api.get(.data, from: "/x"))
        }
        let text = error.map { String(reflecting: $0) } ?? ""
        #expect(
            text.contains("requests sent: 2") && text.contains("attempt 1: 503 Service Unavailable, repeated after"))
    }
}
