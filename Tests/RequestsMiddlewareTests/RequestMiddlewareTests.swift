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

@Suite("The middleware of one request", .tags(.concurrent), .timeLimit(.minutes(10)))
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
        "middleware of a request responds and replaces errors, and the call fails with its error",
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

    @Test("the request in an error or a response has no middleware, which has already been applied", .rows("HT-22"))
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

    // MARK: Retries

    @Test(
        "a retry policy of a request is applied on an executor without retries", .rows("HT-9"),
        arguments: CallForm.allCases)
    func retries(form: CallForm) async throws {
        let executors: [(MockExecutor) -> any RequestExecutor] = [
            { $0 }, { $0.decodingContent() }, { $0.hedging(after: .seconds(3_600)) },
        ]
        for executor in executors {
            let served = scripted([503, 503, 200])
            let request = api.get(.text, from: "/x").retrying(.never)
                .retrying(.retryStatuses([503], with: .retryTwiceWithDelay(.zero)))
            let response = try await form.response(for: request, over: executor(served))
            #expect(response.status == 200 && response.metrics.retries.count == 2)
            #expect(served.recordedCount == 3)
        }
    }

    @Test("a retry policy of a request is applied after truncated JSON on an executor without retries")
    func truncated() async throws {
        let count = Lock(0)
        let mock = MockExecutor { _ in
            let number = count.withLock { count in
                count += 1
                return count
            }
            return .data(Data(number == 1 ? "[1,".utf8 : "[1]".utf8), contentType: .json)
        }
        let request = api.get(.json([Int].self), from: "/x")
        let error = await failure { () async throws(RequestError) in try await mock.perform(request) }
        #expect(error?.reason == .decodingFailed)
        count.withLock { $0 = 0 }
        let policy = RetryPolicy.retryNetworkFailure(with: .retryTwiceWithDelay(.zero))
        for form in CallForm.allCases {
            count.withLock { $0 = 0 }
            let response = try await form.response(for: request.retrying(policy), over: mock)
            #expect(response.value == [1] && response.metrics.retries.count == 1)
        }
    }

    @Test("retries of the executor apply the policy of the request, and no request is retried twice")
    func notTwice() async throws {
        let served = scripted([503, 503, 503, 503, 503])
        let clock = ManualClock()
        let executor = served.retrying(clock: clock.clock())
        let request = api.get(.text, from: "/x").retrying(.retryStatuses([503], with: .retryOnce))
        let error = await failure { () async throws(RequestError) in try await executor.perform(request) }
        #expect(error?.status == 503 && served.recordedCount == 2)
    }

    // MARK: Cookies

    @Test(
        "cookies of a request are sent and stored on an executor without cookies", .rows("HT-27", "HT-28"),
        arguments: CallForm.allCases)
    func cookies(form: CallForm) async throws {
        let mock = MockExecutor { request in
            request.target.path == "/set"
                ? .redirect(to: "/b").adding(headerField: Field(name: .setCookie, value: "id=7")) : .ok("end")
        }
        let (store, other) = (CookieStore(), CookieStore())
        let request = api.get(.text, from: "/set").keepingCookies(in: other).keepingCookies(in: store)
        for executor in [mock, mock.caching()] as [any RequestExecutor] {
            #expect(try await form.response(for: request, over: executor).value == "end")
        }
        #expect(mock.recordedRequests.map { $0.header[.cookie] } == [nil, "id=7", "id=7", "id=7"])
        #expect(store.cookies.count == 1 && other.cookies.isEmpty)
    }

    @Test("an executor that keeps cookies handles each attempt with the cookies of the request", .rows("HT-28"))
    func cookiesOfAttempts() async throws {
        let count = Lock(0)
        let mock = MockExecutor { _ in
            let number = count.withLock { count in
                count += 1
                return count
            }
            return number == 1 ? .status(503).adding(headerField: Field(name: .setCookie, value: "id=7")) : .ok("end")
        }
        let (shared, own) = (CookieStore(), CookieStore())
        let executor = mock.keepingCookies(in: shared).retrying(clock: ManualClock().clock())
        #expect(try await executor.perform(api.get(.text, from: "/x").keepingCookies(in: own)) == "end")
        #expect(mock.recordedRequests.map { $0.header[.cookie] } == [nil, "id=7"])
        #expect(shared.cookies.isEmpty && own.cookies.count == 1)
    }
}
