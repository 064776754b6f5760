@_spi(Lock) import Requests
import RequestsMock
import TestSupport
import Testing

@Suite("The middleware of the article about writing it", .tags(.concurrent), .timeLimit(.minutes(10)))
struct WritingMiddlewareTests {
    @Test(
        "a middleware that adds a field, measures and retries once is the same over every executor, awaited, with a handler and blocking",
        .rows("C29"), arguments: Transport.allCases, CallForm.allCases)
    func measuring(transport: Transport, form: CallForm) async throws {
        let count = Lock(0)
        let served = MockExecutor { request in
            let number = count.withLock { count in
                count += 1
                return count
            }
            return number.isMultiple(of: 2) && request.method == .get ? .ok("served") : .status(503)
        }
        let reports = Collected<HTTPStatus>()
        try await transport.run(serving: served) { (api, executor) async throws in
            let measured = executor.intercepted(
                by: WritingMiddlewareArticle.Measuring { status, time in
                    if time > .zero { reports.add(status) }
                })
            let response = try await form.response(for: api.get(.text, from: "/a"), over: measured)
            #expect(response.value == "served" && response.request?.header["X-Client"] == "shop/2")
            // The second response is returned, whatever it is.
            let error = await failure { () async throws(RequestError) in
                try await form.response(for: api.post(.none, to: "/b"), over: measured)
            }
            #expect(error?.status == 503 && error?.request?.header["X-Client"] == "shop/2")
        }
        #expect(reports.elements == [200, 503])
        #expect(served.recordedRequests.map(\.target.path) == ["/a", "/a", "/b", "/b"])
        #expect(served.recordedRequests.allSatisfy { $0.header["X-Client"] == "shop/2" })
    }

    @Test("the closures of the article sign, tag, count calls, and sign for another origin", .rows("HT-22"))
    func closures() async throws {
        let mock = MockExecutor { request in
            request.target.host == "e.com"
                ? .redirect(to: "https://storage.com/x") : .ok("{\"login\": \"octocat\"}", contentType: .json)
        }
        let api = AnonymousRequestProvider("https://e.com")
        _ = try await WritingMiddlewareArticle.signing(mock, "planted").perform(api.get(.data, from: "/a"))
        #expect(mock.recordedRequests.map { $0.header[.authorization] } == ["Bearer planted", nil])
        let counter = WritingMiddlewareArticle.Counter()
        let (tagged, request) = WritingMiddlewareArticle.tagging(mock, api)
        let storing = WritingMiddlewareArticle.storing(tagged, "storage.com") { _ in "own" }
        let executor = WritingMiddlewareArticle.counting(storing, counter)
        #expect(try await executor.perform(request).login == "octocat")
        #expect(counter.value == 1)
        let sent = mock.recordedRequests.suffix(2)
        #expect(sent.map { $0.header.values(of: "X-Tag") } == [["b", "a"], ["b", "a"]])
        #expect(sent.map { $0.header[.authorization] } == [nil, "own"])
        try await WritingMiddlewareArticle.exchange(mock, Client(api, executor: mock))
    }
}
