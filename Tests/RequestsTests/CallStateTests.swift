import Requests
import TestSupport
import Testing

@Suite("Call state", .tags(.concurrent))
struct CallStateTests {
    private func redirect(to location: String, from request: PreparedRequest) -> RawResponse {
        .stub(302, header: [Field(name: .location, value: location)], "moved", to: request)
    }

    /// Performs `request` and blocks this thread until the call ends.
    private func performBlocking<R: RequestConvertible>(
        _ request: R, with executor: StubExecutor
    ) throws -> R.Resource {
        try executor.performAndWait(request)
    }

    @Test("a redirect back to the first host does not restore secrets that were removed", .rows("R-28"))
    func thereAndBack() throws {
        var state = CallState(
            try redirectable(header: [Field(name: .authorization, value: "s"), Field(name: "X-A", value: "1")]),
            now: .now)
        for (host, count) in [("b.com", 1), ("a.com", 1)] {
            let step = try state.receive(redirect(to: "https://\(host)/", from: state.request))
            guard step == .execute else { throw RequestError(.other, detail: "the redirect was not followed") }
            let next = state.request
            #expect(next.target.host == host && next.header.count == count && next.header.contains("X-A"))
        }
        #expect(state.attempts == 3 && state.history.map(\.target.host) == ["a.com", "b.com"])
    }

    @Test(
        "a redirect is followed even if its body fails", .rows("R-20", "R-25", "T-59"),
        arguments: [.tooLarge(limit: 5), .connectionLost, .protocolViolation, .timedOut(.betweenBytes)]
            as [RequestError.Reason])
    func failedBody(reason: RequestError.Reason) throws {
        var state = CallState(try redirectable(), now: .now)
        try state.receive(RequestError(reason, response: redirect(to: "/next", from: state.request).head))
        #expect(state.request.target.path == "/next" && state.history.map(\.status) == [302])
        let plain = ResponseHead(status: 200, target: state.request.target)
        #expect(throws: RequestError.self) { try state.receive(RequestError(reason, response: plain)) }
        #expect(throws: RequestError.self) { try state.receive(RequestError(reason)) }
    }

    @Test(
        "an error that ends the call or rejects the response prevents the redirect", .rows("R-20", "T-60"),
        arguments: [
            .cancelled, .timedOut(.total), .unexpectedRedirect, .unacceptableStatus, .unexpectedContentType, .other,
        ] as [RequestError.Reason])
    func endedCall(reason: RequestError.Reason) throws {
        var state = CallState(try redirectable(), now: .now)
        let head = redirect(to: "/next", from: state.request).head
        let error = #expect(throws: RequestError.self) { try state.receive(RequestError(reason, response: head)) }
        #expect(error?.reason == reason && error?.status == 302)
    }

    @Test("a redirect that is not followed fails if its body fails", .rows("R-20", "T-60"))
    func refusedRedirect() throws {
        for (policy, location) in [(RedirectPolicy.none, "/next"), (.standard, "ftp://a.com/"), (.standard, "")] {
            var state = CallState(try redirectable(policy: policy), now: .now)
            let error = RequestError(.connectionLost, response: redirect(to: location, from: state.request).head)
            let thrown = #expect(throws: RequestError.self) { try state.receive(error) }
            #expect(thrown?.reason == .connectionLost && thrown?.status == 302)
        }
        var state = CallState(try redirectable(policy: RedirectPolicy(limit: 1)), now: .now)
        _ = try state.receive(redirect(to: "/x", from: state.request))
        let error = RequestError(.connectionLost, response: redirect(to: "/y", from: state.request).head)
        #expect(throws: RequestError.self) { try state.receive(error) }
    }

    @Test(
        "the body of a redirect is drained only if a call follows the redirect, whatever middleware changes",
        .rows("T-60"))
    func draining() throws {
        let request = try redirectable(policy: RedirectPolicy(limit: 1, drainLimit: -1, drainTimeout: .seconds(2)))
        let head = redirect(to: "/x", from: request).head
        #expect(request.drain(of: head) == nil)
        var state = CallState(request, now: .now)
        let drain = try #require(state.request.drain(of: head))
        #expect(drain.limit == 0 && drain.timeout == .seconds(2))
        var changed = state.request
        changed.header.add(Field(name: "X", value: "y"))
        #expect(changed.drain(of: head) != nil)
        #expect(changed.offering(Field(name: "X", value: "y"), permittingStream: false).drain(of: head) != nil)
        for other in [
            ResponseHead(status: 200, header: head.header, target: head.target),
            ResponseHead(status: 304, header: head.header, target: head.target),
            ResponseHead(status: 302, target: head.target), redirect(to: "ftp://a.com/", from: request).head,
        ] {
            #expect(changed.drain(of: other) == nil)
        }
        _ = try state.receive(redirect(to: "/x", from: state.request))
        #expect(state.request.drain(of: head) == nil)
    }

    @Test(
        "a redirect loop ends at the limit with an error that contains the last response", .rows("R-34", "T-59"),
        arguments: [1, 2, 20])
    func loop(limit: Int) throws {
        var state = CallState(try redirectable(policy: RedirectPolicy(limit: limit)), now: .now)
        for _ in 0..<limit {
            guard case .execute = try state.receive(redirect(to: "/x", from: state.request)) else {
                throw RequestError(.other, detail: "the call ended before the limit")
            }
        }
        let error = #expect(throws: RequestError.self) {
            try state.receive(redirect(to: "/x", from: state.request))
        }
        #expect(error?.reason == .unexpectedRedirect && error?.status == 302)
        #expect(error?.body == Data("moved".utf8) && error?.attempts == limit + 1)
        #expect(error?.request?.target == state.request.target)
    }

    @Test(
        "a 3xx that is not followed is a value if not validated, and otherwise an error with its Location",
        .rows("T-60", "C26"),
        arguments: [302, 304] as [HTTPStatus])
    func notFollowed(status: HTTPStatus) async throws {
        let executor = StubExecutor(status, header: [Field(name: .location, value: "/z")])
        let described = AnonymousRequestProvider.example.get(.data, from: "/x").with(redirectPolicy: .none)
        let raw = try await executor.response(for: described.validating(.none))
        #expect(raw.status == status && raw.header[.location] == "/z" && raw.history.isEmpty)
        let error = await #expect(throws: RequestError.self) { try await executor.perform(described) }
        #expect(error?.reason == .unexpectedRedirect && error?.response?.header[.location] == "/z")
        #expect(error?.attempts == 1)
    }

    @Test(
        "a 304 to a condition of the request is “not modified”, and otherwise an unexpected redirect", .rows("C26"),
        arguments: [
            (Field(name: .ifNoneMatch, value: "\"a\""), .notModified),
            (Field(name: .ifModifiedSince, value: "Sun, 06 Nov 1994 08:49:37 GMT"), .notModified),
            (Field(name: .accept, value: "*/*"), .unexpectedRedirect),
        ] as [(Field, RequestError.Reason)])
    func notModified(field: Field, reason: RequestError.Reason) async throws {
        let described = AnonymousRequestProvider.example.get(.data, from: "/x").setting(headerField: field)
        let error = await #expect(throws: RequestError.self) {
            try await StubExecutor(304).perform(described)
        }
        #expect(error?.reason == reason && error?.status == 304)
        // Only 304 responds to a condition.
        let other = await #expect(throws: RequestError.self) { try await StubExecutor(305).perform(described) }
        #expect(other?.reason == .unexpectedRedirect)
    }

    @Test("a redirect that preserves the method sends the same body again", .rows("R-32", "T-59", "D-14"))
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

    @Test("the total time limit sets the deadline once, and an earlier deadline takes precedence")
    func deadline() throws {
        let start = Deadline.now
        var limited = try redirectable()
        limited.timeouts.total = .seconds(5)
        var state = CallState(limited, now: start)
        #expect(state.request.deadline == start.advanced(by: .seconds(5)).instant)
        _ = try state.receive(redirect(to: "/z", from: limited))
        #expect(state.request.deadline == start.advanced(by: .seconds(5)).instant)
        limited.deadline = start.advanced(by: .seconds(1)).instant
        #expect(CallState(limited, now: start).request.deadline == start.advanced(by: .seconds(1)).instant)
        #expect(CallState(try redirectable(), now: start).request.deadline == nil)
    }

    @Test("an expired deadline or a cancelled task ends the call before the executor is called")
    func tooLate() async throws {
        let executor = StubExecutor { (_) throws(RequestError) in
            Issue.record("the executor was called")
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

    @Test("an executor's error contains its request and the number of attempts")
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
