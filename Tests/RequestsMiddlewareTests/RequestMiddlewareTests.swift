@_spi(Lock) import Requests
import RequestsMiddleware
import RequestsMock
import TestSupport
import Testing

/// The executors that a request with its own middleware is performed over.
private enum Base: String, CaseIterable {
    case bare, wrapped, standard

    func executor(over mock: MockExecutor) throws -> any RequestExecutor {
        switch self {
        case .bare: return mock
        case .wrapped: return mock.intercepting { request, next in try await next.execute(request) }
        case .standard:
            let environment = try #require(RequestEnvironment(string: "http://e.com/"))
            return mock.withStandardMiddleware(within: environment) {
                $0.cache = Caching()
                $0.cookies = CookieStore()
                $0.coalescesRequests = true
            }
        }
    }
}

@Suite("The middleware of one request", .timeLimit(.minutes(10)))
struct RequestMiddlewareTests {
    private let api = AnonymousRequestProvider("http://e.com")

    @Test(
        "middleware of a request runs on every executor, once for each request of the call, and awaited, with a handler or blocking",
        .rows("HT-9", "HT-22"), arguments: Base.allCases, CallForm.allCases)
    fileprivate func runs(base: Base, form: CallForm) async throws {
        let mock = MockExecutor { $0.target.path == "/a" ? .redirect(to: "/b") : .ok("end") }
        let steps = Collected<String>()
        let request = api.get(.text, from: "/a")
            .intercepting { request, next in
                var request = request
                request.header["X-Outer"] = "1"
                steps.add("\(request.target.path)")
                return try await next.execute(request)
            }
            .intercepted(
                by: RequestInterceptors().onRequest { request in
                    var request = request
                    // It receives what the middleware before it has changed.
                    request.header["X-Inner"] = request.header["X-Outer"]
                    return request
                })
        for count in 1...2 {
            let response = try await form.response(for: request, over: base.executor(over: mock))
            #expect(response.value == "end" && response.history.map(\.status) == [302])
            #expect(response.request?.header["X-Inner"] == "1")
            #expect(
                mock.recordedRequests.map { $0.header.values(of: "X-Inner") }
                    == Array(repeating: ["1"], count: count * 2))
        }
        #expect(steps.elements == ["/a", "/b", "/a", "/b"])
    }

    @Test(
        "middleware of a request responds, replaces errors, and its own error is that of the call",
        .rows("HT-22"), arguments: Base.allCases, CallForm.allCases)
    fileprivate func replaces(base: Base, form: CallForm) async throws {
        struct Refused: Error {}
        let mock = MockExecutor { _ in throw RequestError(.tooLarge(limit: 1)) }
        let executor = try base.executor(over: mock)
        let request = api.get(.text, from: "/x")
        let replaced = request.intercepted(
            by: RequestInterceptors().onError { _, request in
                RawResponse(head: ResponseHead(status: 200, target: request.target), body: .bytes(Data("own".utf8)))
            })
        #expect(try await form.response(for: replaced, over: executor).value == "own")
        #expect(mock.recordedCount == 1)
        let refused = request.intercepting { _, _ in throw Refused() }
        let error = await failure { () async throws(RequestError) in
            try await form.response(for: refused, over: executor)
        }
        #expect(error?.underlying is Refused && error?.request?.target.path == "/x" && mock.recordedCount == 1)
    }

    @Test("the request of an error and of a response has no middleware, which has been applied", .rows("HT-22"))
    func leaving() async throws {
        let mock = MockExecutor(.status(404))
        let kept = Lock<[PreparedRequest]>([])
        let executor = mock.intercepting { request, next in
            kept.withLock { $0.append(request) }
            return try await next.execute(request)
        }
        let request = api.get(.text, from: "/x").intercepting { request, next in
            var request = request
            request.header.add(Field(name: "X-Own", value: "1"))
            return try await next.execute(request)
        }
        let error = await failure { () async throws(RequestError) in try await executor.perform(request) }
        let sent = try #require(error?.request)
        #expect(try request.prepared().attributes.middleware.count == 1)
        #expect(sent.attributes.middleware.isEmpty && kept.withLock { $0.allSatisfy(\.attributes.middleware.isEmpty) })
        _ = try await executor.execute(sent)
        #expect(mock.recordedRequests.map { $0.header.values(of: "X-Own") } == [["1"], ["1"]])
    }
}
