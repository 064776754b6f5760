import Requests
import Testing

@Suite("Perform")
struct PerformTests {
    private func redirect(to location: String, from request: PreparedRequest) -> RawResponse {
        .stub(302, header: [Field(name: .location, value: location)], "moved", to: request)
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

    @Test("a redirect whose body is over the limit is followed all the same; any other such response is not (R-25)")
    func oversizedRedirect() throws {
        var perform = Perform(try redirectable(), now: .now)
        let response = redirect(to: "/next", from: perform.request)
        try perform.receive(RequestError(.tooLarge(limit: 5), response: response.head))
        let next = perform.request
        #expect(next.target.path == "/next" && perform.history.map(\.status) == [302])
        let plain = ResponseHead(status: 200, target: next.target)
        for error in [
            RequestError(.tooLarge(limit: 5), response: plain), RequestError(.connectionLost, response: response.head),
        ] {
            #expect(throws: RequestError.self) { try perform.receive(error) }
        }
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
