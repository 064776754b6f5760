import Requests
import Testing

@Suite("Perform")
struct PerformTests {
    private func redirect(to location: String, from request: PreparedRequest) -> RawResponse {
        .stub(302, header: [Field(name: .location, value: location)], "moved", to: request)
    }

    /// A call that blocks this thread.
    private func waited<R: RequestConvertible>(_ request: R, by executor: StubExecutor) throws -> R.Resource {
        try executor.performAndWait(request)
    }

    @Test("secrets that were left behind do not come back on the way to the first host (R-28)")
    func thereAndBack() throws {
        var perform = Perform(
            try redirectable(header: [Field(name: .authorization, value: "s"), Field(name: "X-A", value: "1")]),
            now: .now)
        for (host, count) in [("b.com", 1), ("a.com", 1)] {
            let step = try perform.receive(redirect(to: "https://\(host)/", from: perform.request))
            guard step == .execute else { throw RequestError(.other, detail: "finished") }
            let next = perform.request
            #expect(next.target.host == host && next.header.count == count && next.header.contains("X-A"))
        }
        #expect(perform.attempts == 3 && perform.history.map(\.target.host) == ["a.com", "b.com"])
    }

    @Test(
        "a redirect whose body fails is followed all the same (R-20, R-25, T-59)",
        arguments: [.tooLarge(limit: 5), .connectionLost, .protocolViolation, .timedOut(.betweenBytes)]
            as [RequestError.Reason])
    func failedBody(reason: RequestError.Reason) throws {
        var perform = Perform(try redirectable(), now: .now)
        try perform.receive(RequestError(reason, response: redirect(to: "/next", from: perform.request).head))
        #expect(perform.request.target.path == "/next" && perform.history.map(\.status) == [302])
        let plain = ResponseHead(status: 200, target: perform.request.target)
        #expect(throws: RequestError.self) { try perform.receive(RequestError(reason, response: plain)) }
        #expect(throws: RequestError.self) { try perform.receive(RequestError(reason)) }
    }

    @Test(
        "an error that ends the call, or refuses the response, ends it after a redirect as well (R-20, T-60)",
        arguments: [
            .cancelled, .timedOut(.total), .unexpectedRedirect, .unacceptableStatus, .unexpectedContentType, .other,
        ] as [RequestError.Reason])
    func endedCall(reason: RequestError.Reason) throws {
        var perform = Perform(try redirectable(), now: .now)
        let head = redirect(to: "/next", from: perform.request).head
        let error = #expect(throws: RequestError.self) { try perform.receive(RequestError(reason, response: head)) }
        #expect(error?.reason == reason && error?.status == 302)
    }

    @Test("a redirect that is not followed fails with its body (R-20, T-60)")
    func refusedRedirect() throws {
        for (policy, location) in [(RedirectPolicy.none, "/next"), (.standard, "ftp://a.com/"), (.standard, "")] {
            var perform = Perform(try redirectable(policy: policy), now: .now)
            let error = RequestError(.connectionLost, response: redirect(to: location, from: perform.request).head)
            let thrown = #expect(throws: RequestError.self) { try perform.receive(error) }
            #expect(thrown?.reason == .connectionLost && thrown?.status == 302)
        }
        var perform = Perform(try redirectable(policy: RedirectPolicy(limit: 1)), now: .now)
        _ = try perform.receive(redirect(to: "/x", from: perform.request))
        let error = RequestError(.connectionLost, response: redirect(to: "/y", from: perform.request).head)
        #expect(throws: RequestError.self) { try perform.receive(error) }
    }

    @Test("the body of a redirect counts unless a call follows it, whatever middleware changes (T-60)")
    func draining() throws {
        let request = try redirectable(policy: RedirectPolicy(limit: 1, drainLimit: -1, drainTimeout: .seconds(2)))
        let head = redirect(to: "/x", from: request).head
        #expect(request.drain(of: head) == nil)
        var perform = Perform(request, now: .now)
        let drain = try #require(perform.request.drain(of: head))
        #expect(drain.limit == 0 && drain.timeout == .seconds(2))
        var changed = perform.request
        changed.header.add(Field(name: "X", value: "y"))
        #expect(changed.drain(of: head) != nil)
        #expect(changed.offering(Field(name: "X", value: "y"), streamingCoded: false).drain(of: head) != nil)
        for other in [
            ResponseHead(status: 200, header: head.header, target: head.target),
            ResponseHead(status: 304, header: head.header, target: head.target),
            ResponseHead(status: 302, target: head.target), redirect(to: "ftp://a.com/", from: request).head,
        ] {
            #expect(changed.drain(of: other) == nil)
        }
        _ = try perform.receive(redirect(to: "/x", from: perform.request))
        #expect(perform.request.drain(of: head) == nil)
    }

    @Test(
        "a body of unknown length is not sent in chunks where the response said HTTP/1.0 (R-11, R-32, PM-47)",
        arguments: [("/next", true), ("https://a.com/next", true), ("https://b.com/next", false)])
    func oldServer(location: String, isOld: Bool) async throws {
        let body = RequestBody.stream {
            AsyncStream {
                $0.yield(Data("hello".utf8)); $0.finish()
            }
        }
        let executor = StubExecutor { request in
            var response = RawResponse.stub(200, "\(request.body)", to: request)
            guard request.target.path == "/x" else { return response }
            response = .stub(307, header: [Field(name: .location, value: location)], to: request)
            response.metrics.isHTTP10 = true
            return response
        }
        let api = try AnonymousRequestProvider(text: "https://a.com")
        let request = api.post(.body(body), to: "/x", receiving: .text).validating(.none)
        #expect(try await executor.perform(request) == (isOld ? "5 bytes" : "a stream"))
        #expect(try waited(request, by: executor) == (isOld ? "5 bytes" : "a stream"))
        let trailed = request.sending(trailers: [Field(name: "X-Sum", value: "1")])
        if isOld {
            let error = await #expect(throws: RequestError.self) { try await executor.perform(trailed) }
            #expect(error?.reason == .invalidRequest(.trailersNotSupported) && error?.status == 307)
        } else {
            #expect(try await executor.perform(trailed) == "a stream")
        }
    }

    @Test("a body that is too long to be collected for HTTP/1.0 is a typed error, and is not sent (R-11, PM-47)")
    func oldServerLongBody() async throws {
        let megabyte = Data(count: 1 << 20)
        let body = RequestBody.stream { AsyncStream(unfolding: { megabyte }) }
        let executor = StubExecutor { request in
            if request.target.path == "/next" { Issue.record("the body was sent") }
            var response = RawResponse.stub(307, header: [Field(name: .location, value: "/next")], to: request)
            response.metrics.isHTTP10 = true
            return response
        }
        let error = await #expect(throws: RequestError.self) {
            try await executor.perform(AnonymousRequestProvider.example.post(.body(body), to: "/x"))
        }
        #expect(error?.reason == .bodyNotEncoded && error?.underlying as? InvalidBody == .notInMemory)
        #expect(error?.attempts == 2)
    }

    @Test("a loop ends at the limit, the last response at hand (R-34, T-59)", arguments: [1, 2, 20])
    func loop(limit: Int) throws {
        var perform = Perform(try redirectable(policy: RedirectPolicy(limit: limit)), now: .now)
        for _ in 0..<limit {
            guard case .execute = try perform.receive(redirect(to: "/x", from: perform.request)) else {
                throw RequestError(.other, detail: "finished early")
            }
        }
        let error = #expect(throws: RequestError.self) {
            try perform.receive(redirect(to: "/x", from: perform.request))
        }
        #expect(error?.reason == .unexpectedRedirect && error?.status == 302)
        #expect(error?.body == Data("moved".utf8) && error?.attempts == limit + 1)
        #expect(error?.request?.target == perform.request.target)
    }

    @Test(
        "without following, a 3xx is the answer: raw a value, validated an error with its Location (T-60, C26)",
        arguments: [302, 304] as [HTTPStatus])
    func notFollowed(status: HTTPStatus) async throws {
        let executor = StubExecutor(status, header: [Field(name: .location, value: "/z")])
        let described = AnonymousRequestProvider.example.get(.data, from: "/x").redirecting(.none)
        let raw = try await executor.response(for: described.validating(.none))
        #expect(raw.status == status && raw.header[.location] == "/z" && raw.history.isEmpty)
        let error = await #expect(throws: RequestError.self) { try await executor.perform(described) }
        #expect(error?.reason == .unexpectedRedirect && error?.response?.header[.location] == "/z")
        #expect(error?.attempts == 1)
    }

    @Test("a body that was sent is sent again, the same (R-32, T-59, D-14)")
    func resent() async throws {
        let executor = StubExecutor { request in
            guard case .bytes(let data) = request.body else { return .stub(400, to: request) }
            return request.target.path == "/api/x"
                ? .stub(307, header: [Field(name: .location, value: "/z")], to: request)
                : .stub(200, "\(request.method) \(String(decoding: data, as: UTF8.self))", to: request)
        }
        let described = AnonymousRequestProvider.example.post(.text("body"), to: "/x", receiving: .text)
        #expect(try await executor.perform(described) == "POST body")
    }

    @Test("the limit for the whole becomes a deadline once; the earlier one holds")
    func deadline() throws {
        let start = ContinuousClock.now
        var limited = try redirectable()
        limited.timeouts.total = .seconds(5)
        var perform = Perform(limited, now: start)
        #expect(perform.request.deadline == start + .seconds(5))
        _ = try perform.receive(redirect(to: "/z", from: limited))
        #expect(perform.request.deadline == start + .seconds(5))
        limited.deadline = start + .seconds(1)
        #expect(Perform(limited, now: start).request.deadline == start + .seconds(1))
        #expect(Perform(try redirectable(), now: start).request.deadline == nil)
    }

    @Test("a deadline that has passed, or a cancelled task, reaches no executor")
    func tooLate() async throws {
        let executor = StubExecutor { (_) throws(RequestError) in
            Issue.record("the executor was asked")
            throw RequestError(.other)
        }
        let described = AnonymousRequestProvider.example.get(.data, from: "/x")
        let late = described.with(timeouts: Timeouts(total: .zero))
        let error = await #expect(throws: RequestError.self) { try await executor.perform(late) }
        #expect(error?.reason == .timedOut(.total) && error?.mayHaveReachedServer == false && error?.request != nil)
        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return await #expect(throws: RequestError.self) { try await executor.perform(described) }
        }
        let cancelled = await task.value
        #expect(cancelled?.isCancellation == true && cancelled?.mayHaveReachedServer == false)
    }

    @Test("an executor's error comes with the request it was for and the number of attempts (HT-33)")
    func failing() async throws {
        let executor = StubExecutor { (request) throws(RequestError) in
            guard request.target.path == "/z" else {
                return .stub(302, header: [Field(name: .location, value: "/z")], to: request)
            }
            throw RequestError(.connectionLost)
        }
        let error = await #expect(throws: RequestError.self) {
            try await executor.perform(AnonymousRequestProvider.example.get(.data, from: "/x"))
        }
        #expect(error?.reason == .connectionLost && error?.attempts == 2)
        #expect(error?.request?.target.absoluteString == "https://e.com/z")
    }
}
