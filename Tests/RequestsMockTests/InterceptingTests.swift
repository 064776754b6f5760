import RequestsMock
import TestSupport
import Testing

@Suite("Requests without a stub")
struct InterceptingTests {
    @Test("an intercepting mock responds with a marked 500, or another status", .rows("PM-126", "C24", "D-3"))
    func intercepting() async throws {
        let error = try #require(
            await requestError {
                try await library(MockExecutor(unmatched: .intercepting)).perform(StubbedBooks.titled("Emma"))
            })
        #expect(error.status == 500)
        #expect(error.body == Data("No mock found for URL.".utf8))
        #expect(error.response?.header[.cacheControl] == "no-store")
        #expect(error.response?.header["X-PMHTTP-Mock"] == "intercepted")
        #expect(error.response?.header[.contentType] == "text/plain; charset=utf-8")
        #expect(error.response?.isInterceptedByMock == true)
        let other = MockExecutor(unmatched: .intercepting(status: 501))
        #expect(await requestError { try await library(other).perform(StubbedBooks.titled("Emma")) }?.status == 501)
        let routes = MockExecutor(routes: .on(.get, "/x", .ok()))
        let unmatched = await requestError { try await library(routes).perform(StubbedBooks.titled("Emma")) }
        #expect(unmatched?.response?.isInterceptedByMock == true)
        #expect(
            ResponseHead(status: 500, header: .empty, target: routes.recordedRequests[0].target)
                .isInterceptedByMock == false)
    }

    @Test(
        "requests of the environment, others, all or none are intercepted; the rest reach the server",
        .rows("PM-126", "T-68"))
    func classes() async throws {
        let environment = try #require(RequestEnvironment(baseURL: StubbedLibrary.main.baseURL))
        let inside = StubbedLibrary.main.get(.none, from: "/x")
        let outside = StubbedLibrary.mirror.get(.none, from: "/x")
        for (interceptsInside, interceptsOutside) in [(true, false), (false, true), (true, true), (false, false)] {
            let server = MockExecutor(.status(204))
            let mock = MockExecutor(
                unmatched: .choosing { request in
                    let isInside = environment.isPrefix(of: request.target)
                    let isIntercepted = isInside ? interceptsInside : interceptsOutside
                    return isIntercepted ? .intercepting : .passingThrough(to: server)
                })
            for (request, isIntercepted) in [(inside, interceptsInside), (outside, interceptsOutside)] {
                let response = try await mock.response(for: request.validating(.none))
                #expect(response.head.isInterceptedByMock == isIntercepted)
            }
            #expect(server.recordedCount == (interceptsInside ? 0 : 1) + (interceptsOutside ? 0 : 1))
        }
    }

    @Test("an unmatched request passes through with its body, and its response comes back")
    func passing() async throws {
        let server = MockExecutor { request in .data(request.body.bytes ?? Data()) }
        let mock = MockExecutor(unmatched: .passingThrough(to: server))
        mock.on(StubbedBooks.titled("Emma"), return: emma)
        #expect(try await library(mock).perform(StubbedBooks.titled("Emma")) == emma)
        let body = RequestBody.oneShot(length: 3, OneChunk(remainder: Data("abc".utf8)))
        var request = PreparedRequest(method: .post, target: try TargetURI("http://host.test/x"))
        request.body = body
        let response = try await mock.execute(request)
        guard case .bytes(Data("abc".utf8)) = response.body else {
            Issue.record("the body did not arrive: \(response.body)")
            return
        }
        #expect(mock.recordedCount == 2)
        #expect(server.recordedCount == 1)
    }

    @Test("a choice that always returns a choice ends as a strict mock")
    func endlessChoice() async throws {
        @Sendable func choice() -> MockExecutor.Unmatched { .choosing { _ in choice() } }
        let error = await requestError {
            try await library(MockExecutor(unmatched: choice())).perform(StubbedBooks.titled("Emma"))
        }
        #expect(error?.underlying is MockExecutor.UnmatchedRequest)
    }
}

@Suite("Mocks of requests")
struct RequestMockTests {
    @Test("the result of a request is used before all stubs", .rows("PM-127", "T-69"))
    func requests() async throws {
        let mock = MockExecutor()
        mock.on(.get, "books/:title", respond: .status(500))
        let request = StubbedBooks.titled("Emma").request(from: .main)
        #expect(try await mock.perform(request.mocked(.value(emma))) == emma)
        #expect(await requestError { try await mock.perform(request.mocked(.status(404))) }?.status == 404)
        #expect(await requestError { try await mock.perform(request) }?.status == 500)
    }

    @Test("a mocked value is returned whatever its content type is, and no decoder runs", .rows("PM-128", "T-69"))
    func values() async throws {
        struct Unreadable: Error {}
        let api = StubbedLibrary.main
        let decoder = ResponseDecoder<Int>(accepting: [.json]) { _, _ in throw Unreadable() }
        let request = api.get(decoder, from: "/x").mocked(.status(404))
        let mock = MockExecutor(unmatched: .intercepting)
        let response = try await mock.response(for: request.mocked(with: 7, header: [.contentType(.html)]))
        #expect(response.value == 7)
        #expect(response.status == 200)
        #expect(response.header[.contentType] == "text/html; charset=utf-8")
        let typed = try await mock.response(for: request.mocked(with: 8))
        #expect(typed.value == 8)
        #expect(typed.header[.contentType] == "application/json")
        let clock = MockClock()
        let slow = request.mocked(with: 9, delay: .seconds(5))
        #expect(try await MockExecutor(clock: clock).perform(slow) == 9)
        #expect(clock.elapsed == .seconds(5))
    }
}

extension RequestMockTests {
    /// An executor that is not a mock.
    private struct OtherExecutor: RequestExecutor {
        let mock = MockExecutor(.ok("sent"))

        func execute(_ request: PreparedRequest) async throws(RequestError) -> RawResponse {
            // A mock would use the result of the request.
            try await mock.execute(PreparedRequest(method: request.method, target: request.target))
        }
    }

    @Test("another executor sends a request that has its own result; a mocked value is still returned", .rows("PM-127"))
    func otherExecutors() async throws {
        let other = OtherExecutor()
        let request = StubbedLibrary.main.get(.text, from: "/x")
        #expect(try await other.perform(request.mocked(.status(404))) == "sent")
        #expect(try await other.perform(request.mocked(with: "value")) == "value")
        #expect(other.mock.recordedCount == 2)
    }
}

extension RequestBody {
    fileprivate var bytes: Data? { if case .bytes(let data) = self { data } else { nil } }
}

private struct OneChunk: RequestBody.Source {
    var remainder: Data?

    mutating func next() -> Data? { remainder.take() }
}
