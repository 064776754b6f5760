@_spi(Lock) import Requests
import RequestsMiddleware
import RequestsMock
import TestSupport
import Testing

@Suite("Request interceptors", .serialized, .timeLimit(.minutes(10)))
struct InterceptorTests {
    private let api = AnonymousRequestProvider("http://e.com")

    private func recording(_ name: String, _ steps: Collected<String>) -> RequestInterceptors {
        RequestInterceptors()
            .onRequest { request in
                steps.add("\(name) request")
                var request = request
                request.header.add(Field(name: "X-Step", value: name))
                return request
            }
            .onResponse { response, _ in
                steps.add("\(name) response \(response.status.code)")
                return response
            }
            .onError { error, _ in
                steps.add("\(name) error")
                throw error
            }
    }

    @Test(
        "the request's interceptors surround the transport's, and each runs once", .rows("HT-22", "HT-24"),
        arguments: CallForm.allCases)
    func order(form: CallForm) async throws {
        let steps = Collected<String>()
        let mock = MockExecutor(.ok("x"))
        let executor = mock.intercepted(by: recording("transport", steps))
        let request = api.get(.text, from: "/x").intercepted(by: recording("first", steps))
            .intercepted(by: recording("second", steps))
        for _ in 0..<2 { #expect(try await form.response(for: request, over: executor).value == "x") }
        let once = ["first", "second", "transport"]
        let expected = once.map { "\($0) request" } + once.reversed().map { "\($0) response 200" }
        // Performing the request again accumulates nothing.
        #expect(steps.elements == expected + expected)
        #expect(mock.recordedRequests.map { $0.header.values(of: "X-Step") } == [once, once])
    }

    @Test("a derived request inherits interceptors, and its own follow", .rows("HT-7", "HT-8", "HT-9"))
    func derived() async throws {
        let steps = Collected<String>()
        let executor = MockExecutor(.ok("x"))
        let base = api.get(.text, from: "/x").intercepted(by: recording("base", steps))
        let request = base.deriving(to: "/y").intercepted(by: recording("own", steps))
        #expect(try await executor.perform(base) == "x")
        try await executor.perform(request)
        #expect(
            steps.elements == [
                "base request", "base response 200",
                "base request", "own request", "own response 200", "base response 200",
            ])
    }

    @Test("an error passes through the interceptors from the executor outwards", .rows("HT-22", "HT-24"))
    func errorOrder() async {
        let steps = Collected<String>()
        func noting(_ name: String) -> RequestInterceptors {
            RequestInterceptors().onError { error, _ in
                steps.add(name)
                throw error
            }
        }
        let executor = MockExecutor { _ in throw RequestError(.connectionLost) }
            .intercepted(by: noting("transport"))
        let request = api.get(.text, from: "/x").intercepted(by: noting("first")).intercepted(by: noting("second"))
        let error = await failure { () async throws(RequestError) in try await executor.perform(request) }
        #expect(error?.reason == .connectionLost && steps.elements == ["transport", "second", "first"])
    }

    @Test("a request fails with the error that a response function throws", .rows("HT-22"))
    func throwingResponse() async {
        struct Refused: Error {}
        let executor = MockExecutor(.ok("x"))
            .intercepted(by: RequestInterceptors().onResponse { _, _ in throw Refused() })
        let error = await failure { () async throws(RequestError) in
            try await executor.perform(api.get(.text, from: "/x"))
        }
        #expect(error?.underlying is Refused)
    }

    @Test("interceptors see a response before it is validated, whatever its status", .rows("HT-23", "HT-24"))
    func beforeValidation() async throws {
        let steps = Collected<String>()
        let failing = MockExecutor(.status(503, "full")).intercepted(by: recording("a", steps))
        let error = await failure { () async throws(RequestError) in
            try await failing.perform(api.get(.text, from: "/x"))
        }
        #expect(error?.reason == .unacceptableStatus && steps.elements == ["a request", "a response 503"])
        #expect(try await failing.perform(api.get(.text, from: "/x").validating(.none)) == "full")
        let mended = MockExecutor(.status(503, "full")).intercepted(
            by: RequestInterceptors().onResponse { response, _ in
                var response = response
                response.status = 200
                return response
            })
        #expect(try await mended.perform(api.get(.text, from: "/x")) == "full")
    }

    @Test("an error function changes an error, or replaces it with a response for later functions", .rows("HT-22"))
    func errors() async throws {
        struct Clear: Error {}
        let steps = Collected<String>()
        let lost = MockExecutor { _ in throw RequestError(.connectionLost) }
        let clarified = lost.intercepted(
            by: RequestInterceptors().onError { _, _ in throw Clear() }
                .onError { error, _ in
                    steps.add("\(error.underlying is Clear)")
                    throw error
                })
        let error = await failure { () async throws(RequestError) in
            try await clarified.perform(api.get(.text, from: "/x"))
        }
        #expect(error?.underlying is Clear && steps.elements == ["true"])
        let replaced = lost.intercepted(
            by: RequestInterceptors()
                .onError { _, request in
                    RawResponse(
                        head: ResponseHead(status: 200, target: request.target), body: .bytes(Data("spare".utf8)))
                }
                .onResponse { response, _ in
                    steps.add("response")
                    return response
                }
                .onError { error, _ in
                    steps.add("error")
                    throw error
                })
        #expect(try await replaced.perform(api.get(.data, from: "/x")) == Data("spare".utf8))
        #expect(steps.elements == ["true", "response"])
    }

    @Test("an error of a request function sends nothing and passes through the error functions", .rows("HT-22"))
    func refused() async throws {
        struct Refused: Error {}
        let steps = Collected<String>()
        let mock = MockExecutor(.ok("x"))
        let executor = mock.intercepted(
            by: RequestInterceptors().onRequest { _ in throw Refused() }
                .onError { error, _ in
                    steps.add("error")
                    throw error
                })
        let error = await failure { () async throws(RequestError) in
            try await executor.perform(api.get(.text, from: "/x"))
        }
        #expect(error?.underlying is Refused && error?.mayHaveReachedServer == false)
        #expect(mock.recordedCount == 0 && steps.elements == ["error"])
        let cancelled = mock.intercepted(by: RequestInterceptors().onRequest { _ in throw CancellationError() })
        let other = await failure { () async throws(RequestError) in
            try await cancelled.perform(api.get(.text, from: "/x"))
        }
        #expect(other?.isCancellation == true)
    }

    @Test(
        "interceptors of a request run once for each of its requests, also with interceptors of the executor",
        .rows("HT-22"))
    func nested() async throws {
        let steps = Collected<String>()
        let served = MockExecutor { request in
            request.target.path.hasSuffix("b") ? .ok("x") : .redirect(to: "/b")
        }
        let executor = served.intercepted(by: RequestInterceptors()).intercepted(by: recording("outer", steps))
        let request = api.get(.text, from: "/a").intercepted(by: recording("own", steps))
        #expect(try await executor.perform(request) == "x")
        #expect(
            steps.elements == [
                "own request", "outer request", "outer response 302", "own response 302", "own request",
                "outer request", "outer response 200", "own response 200",
            ])
    }
}
