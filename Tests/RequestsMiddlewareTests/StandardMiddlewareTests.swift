@_spi(Lock) import Requests
import RequestsMiddleware
import RequestsMock
import TestSupport
import Testing

@Suite("The standard middleware", .tags(.concurrent), .timeLimit(.minutes(10)))
struct StandardMiddlewareTests {
    private let api = AnonymousRequestProvider("http://e.com/v1")
    private let clock = ManualClock()

    /// A signer whose signature has the credentials and the codings of the request, and its own number.
    private func signer() -> RequestSigner {
        let count = Lock(0)
        return RequestSigner { request, _ in
            let number = count.withLock { count in
                count += 1
                return count
            }
            var request = request
            let covered = [request.header[.authorization], request.header[.acceptEncoding]].map { $0 ?? "none" }
            request.header["X-Signature"] = "\(number) \(covered.joined(separator: " "))"
            return request
        }
    }

    private func offer() throws -> String {
        let names = ContentDecoding.availableCodings
        try #require(!names.isEmpty)
        return names.joined(separator: ", ")
    }

    @Test("without a valid base URL every call of the client fails before anything is sent")
    func invalidBaseURL() async throws {
        let mock = MockExecutor(.ok())
        let client = Client(AnonymousRequestProvider(baseURL: URL("mailto:a@e.com")), executor: mock)
        let request = try PreparedRequest(url: URL("http://e.com/"))
        for client in [
            client.withStandardMiddleware(), client.authenticating(with: NumberedTokens()),
            client.signing(with: signer()),
        ] {
            let error = await failure { () async throws(RequestError) in try await client.executor.execute(request) }
            #expect(error?.reason == .invalidRequest(.malformedURL) && error?.mayHaveReachedServer == false)
            let relative = await failure { () async throws(RequestError) in
                try await client.perform { $0.get(.text, from: "/a") }
            }
            #expect(relative?.mayHaveReachedServer == false)
        }
        #expect(mock.recordedCount == 0)
    }

    @Test("credentials are outside retries, and each request is signed as it is sent", .rows("C27", "PM-92"))
    func order() async throws {
        let served = scripted([503, 401, 503, 200])
        let client = Client(api, executor: served).withStandardMiddleware {
            $0.authenticator = NumberedTokens()
            $0.signer = signer()
            $0.clock = clock.clock()
        }
        _ = try await client.perform { $0.get(.text, from: "/a") }
        // A retry has the same credentials, and a signature of its own.
        let tokens = ["planted-1", "planted-1", "planted-2", "planted-2"]
        #expect(served.sentAuthorizations == tokens.map { "Bearer \($0)" })
        let offer = try offer()
        #expect(
            served.recordedRequests.map { $0.header["X-Signature"] }
                == tokens.enumerated().map { "\($0 + 1) Bearer \($1) \(offer)" })
        #expect(clock.sleeps.count == 2)
    }

    @Test(
        "requests outside the base URL have codings and retries, but neither credentials nor a signature", .rows("R-36")
    )
    func scope() async throws {
        let served = scripted([503, 200])
        let client = Client(api, executor: served).withStandardMiddleware {
            $0.authenticator = NumberedTokens()
            $0.signer = signer()
            $0.clock = clock.clock()
        }
        _ = try await client.perform { $0.get(.text, from: .reference("http://other.com/a")) }
        #expect(served.recordedRequests.count == 2)
        for request in served.recordedRequests {
            #expect(request.header[.authorization] == nil && request.header["X-Signature"] == nil)
            #expect(try request.header[.acceptEncoding] == offer())
        }
    }

    @Test(
        "a sign-in with OAuth is renewed over every executor, and coded responses are decoded", .rows("PM-94", "T-52"),
        arguments: Transport.allCases)
    func transports(transport: Transport) async throws {
        let coded = try #require(Coding.gzip.apply(to: Data("in".utf8)))
        let served = MockExecutor { request in
            if request.target.path == "/token" { return .ok(tokenJSON(), contentType: .json) }
            guard request.header[.authorization] == "Bearer planted-access" else { return .status(401) }
            return .data(coded, contentType: .plainText).adding(
                headerField: Field(name: .contentEncoding, value: "gzip"))
        }
        try await transport.run(serving: served) { api, executor in
            // In memory the endpoint is another machine, which needs https.
            let base = transport == .memory ? URL("https://e.com") : api.baseURL
            let server = OAuthServer(
                tokenEndpoint: base.appending(path: "token"), client: .basic(id: "a", secret: "planted"))
            let authenticator = RefreshableAuthenticator(
                OAuthCredential(accessToken: "old", refreshToken: "r"), from: Client(server, executor: executor))
            let client = Client(api, executor: executor).withStandardMiddleware {
                $0.authenticator = authenticator
            }
            for _ in 0..<2 {
                let text = try await client.perform { $0.get(.text, from: "/a") }
                #expect(text == "in")
            }
        }
        #expect(served.recordedCount == 4)
    }

    @Test("with everything on: one request for two calls, cookies, credentials, a signature, and both observers")
    func everything() async throws {
        let served = MockExecutor { _ in
            .ok("body")
                .adding(headerField: Field(name: .setCookie, value: "planted-id=1"))
                .adding(headerField: Field(name: .cacheControl, value: "max-age=86400"))
        }
        let calls = Lock(0)
        let attempts = Lock(0)
        let reports = (calls: Observing.Reports(), attempts: Observing.Reports())
        reports.calls.handler = { _ in calls.withLock { $0 += 1 } }
        reports.attempts.handler = { _ in attempts.withLock { $0 += 1 } }
        let client = Client(api, executor: served).withStandardMiddleware {
            $0.callObservers = [reports.calls]
            $0.cache = Caching()
            $0.authenticator = NumberedTokens()
            $0.hedgingDelay = .seconds(3_600)
            $0.circuitBreaker = CircuitBreaker()
            $0.rateLimit = RateLimit(1_000, per: .seconds(1))
            $0.concurrencyLimit = ConcurrencyLimit(64, perOrigin: 8)
            $0.cookies = CookieStore()
            $0.memoryBudget = MemoryBudget(1 << 20)
            $0.coalescesRequests = true
            $0.attemptObservers = [reports.attempts]
            $0.signer = signer()
        }
        for path in ["/a", "/a", "/b"] as [RequestPath] {
            let text = try await client.perform { $0.get(.text, from: path) }
            #expect(text == "body")
        }
        #expect(served.recordedRequests.map(\.target.path) == ["/v1/a", "/v1/b"])
        #expect(served.recordedRequests.map { $0.header[.cookie] } == [nil, "planted-id=1"])
        #expect(served.sentAuthorizations == ["Bearer planted-1", "Bearer planted-2"])
        let offer = try offer()
        #expect(
            served.recordedRequests.map { $0.header["X-Signature"] }
                == [1, 2].map { "\($0) Bearer planted-\($0) \(offer)" })
        #expect(calls.withLock(\.self) == 3 && attempts.withLock(\.self) == 2)
    }

    @Test("each part can be left out")
    func parts() async throws {
        let served = scripted([503])
        let plain = Client(api, executor: served).withStandardMiddleware { $0.retryPolicy = nil }
        let error = await failure { () async throws(RequestError) in
            try await plain.perform { $0.get(.text, from: "/a") }
        }
        #expect(error?.status == 503 && served.recordedCount == 1 && served.sentAuthorizations == [nil])
        let environment = try #require(RequestEnvironment(baseURL: api.baseURL))
        let executor: any RequestExecutor = served
        let signed = executor.withStandardMiddleware(within: environment) {
            $0.retryPolicy = .any(of: [])
            $0.retryBudget = .unlimited
            $0.signer = signer()
        }
        _ = await failure { () async throws(RequestError) in try await signed.perform(api.get(.text, from: "/a")) }
        #expect(try served.recordedRequests.last?.header["X-Signature"] == "1 none \(offer())")
    }
}
