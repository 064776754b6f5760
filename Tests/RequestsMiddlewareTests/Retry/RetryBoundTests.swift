@_spi(Lock) import Requests
import RequestsMiddleware
import RequestsMock
import RequestsSocket
import RequestsTestServer
import TestCorpora
import TestSupport
import Testing

/// Random sequences of responses and failures, checked against the bounds that the article states.
@Suite("The bound on the number of requests", .timeLimit(.minutes(10)))
struct RetryBoundTests {
    enum Event: CaseIterable {
        case notSent, mayHaveArrived, broken, unavailable, tooMany, serverError, unauthorized, redirect, truncatedJSON
        case malformedJSON, success

        var step: ResponseScript.Step {
            switch self {
            case .notSent: .failure(RequestError(.connectionFailed))
            case .mayHaveArrived: .failure(RequestError(.connectionLost))
            case .broken: .truncated
            case .unavailable: .status(503, retryAfter: "1")
            case .tooMany: .status(429)
            case .serverError: .status(500)
            case .unauthorized: .status(401)
            case .redirect: .response(.redirect(307, to: "/y"))
            case .truncatedJSON: .json("[1,")
            case .malformedJSON: .json("[nope]")
            case .success: .json("[1]")
            }
        }

        /// Whether another request is allowed after this event if the request is not idempotent.
        var allowsAnother: Bool { [.notSent, .unavailable, .redirect].contains(self) }
    }

    static func policy(_ numbers: inout SplitMix64) -> (policy: RetryPolicy, ignores: Bool) {
        let strategies: [RetryPolicy.Strategy] = [
            .retryOnce, .retryTwiceWithDefaultDelay,
            .exponentialBackoff(maximumRetries: Int.random(in: 0...5, using: &numbers)),
            RetryPolicy.Strategy(maximumRetries: 3) { _ in .milliseconds(5) },
        ]
        func any() -> RetryPolicy {
            let strategy = strategies.randomElement(using: &numbers) ?? .retryOnce
            let policies: [RetryPolicy] = [
                .retryNetworkFailure(with: strategy), .retryNetworkFailureOrServiceUnavailable(with: strategy),
                .standard,
                .never, .retryStatuses([429, 500, 401], with: strategy), RetryPolicy(maximumRetries: 4) { _ in .zero },
            ]
            return policies.randomElement(using: &numbers) ?? .never
        }
        let policy = Bool.random(using: &numbers) ? any() : RetryPolicy.any(of: [any(), any()])
        let ignores = Int.random(in: 0..<8, using: &numbers) == 0
        return (ignores ? policy.ignoringIdempotence() : policy, ignores)
    }

    @Test(
        "random failures never cause more requests than (1 + redirects) × maximumAttempts", .rows("R-66"),
        arguments: CallForm.allCases)
    func bound(form: CallForm) async throws {
        var numbers = SplitMix64(state: 17)
        let api = AnonymousRequestProvider("http://e.com")
        for round in 0..<1500 {
            let events = (0..<60).map { _ in Event.allCases.randomElement(using: &numbers) ?? .success }
            let (policy, ignores) = Self.policy(&numbers)
            let method = [HTTPMethod.get, .put, .post, .patch].randomElement(using: &numbers) ?? .get
            let script = ResponseScript(events.map(\.step))
            let redirects = Int.random(in: 0...2, using: &numbers)
            let request = api.request(to: "/x", using: method).receiving(.json([Int].self)).with(
                redirectPolicy: RedirectPolicy(limit: redirects))
            let executor = script.executor.retrying(policy, budget: .unlimited, clock: ManualClock().clock())
            var retries = 0
            let error = await failure { () async throws(RequestError) in
                retries = try await form.response(for: request, over: executor).metrics.retries.count
            }
            let sent = events.prefix(script.count)
            let followed = sent.dropLast().count { $0 == .redirect }
            #expect(script.count <= (1 + followed) * policy.maximumAttempts, "\(round): \(events) \(method)")
            #expect(error.map { $0.attempts == script.count } != false, "\(round): \(events) \(method)")
            // The last request and those that led to it.
            let last = sent.reversed().dropFirst().prefix { $0 != .redirect }
            #expect(
                (error?.retries.count ?? retries) == last.count,
                "\(round): \(events) \(method) \(String(reflecting: error))")
            guard !method.isIdempotent, !ignores else { continue }
            #expect(sent.dropLast().allSatisfy { $0.allowsAnother }, "\(round): \(events) \(method)")
        }
    }

    @Test(
        "a request that is not idempotent and may have arrived is seen once by a server that closes the connection",
        arguments: [Transport.socket, .urlSession])
    func once(transport: Transport) async throws {
        for (fault, method, count) in [
            (.closeBeforeHead, .post, 1), (.truncateHead(atByte: 9), .post, 1), (.truncateBody(atByte: 1), .post, 1),
            (.closeBeforeHead, .patch, 1), (.truncateBody(atByte: 1), .get, 3),
        ] as [(TestServer.Fault, HTTPMethod, Int)] {
            // A truncated head ends the process under URLSession on Linux.
            if transport == .urlSession, fault == .truncateHead(atByte: 9) { continue }
            try await withTestServer(serving: MockExecutor(.ok("hello")), fault: fault) { server in
                let executor: any RequestExecutor = transport.executor
                let request = try PreparedRequest(method: method, url: server.baseURL)
                let error = await failure { () async throws(RequestError) in
                    try await executor.retrying(clock: ManualClock().clock()).execute(request)
                }
                #expect(error?.reason == .connectionLost, "\(fault)")
                #expect(server.record.requestCount == count, "\(fault) \(method)")
            }
        }
    }

    @Test(
        "an executor replaces a stale connection for requests that are idempotent by name or by method", .rows("PM-24"))
    func stale() async throws {
        for (method, own, count) in [
            (.get, nil, 3), (.get, false, 2), (.post, nil, 2), (.post, true, 3),
        ] as [(HTTPMethod, Bool?, Int)] {
            try await withTestServer(
                serving: MockExecutor(.ok("hello")),
                behaving: { connection, exchange in
                    connection == 0 && exchange == 1 ? .failing(.closeBeforeHead) : .standard
                },
                { server in
                    let executor = SocketExecutor()
                    var request = try PreparedRequest(method: method, url: server.baseURL)
                    if let own { request.isIdempotent = own }
                    _ = try await executor.execute(request)
                    let error = await failure { () async throws(RequestError) in try await executor.execute(request) }
                    #expect((error == nil) == (count == 3), "\(method) \(String(describing: own))")
                    #expect(server.record.requestCount == count)
                })
        }
    }

    @Test("a request that no stub of a mock matches is not repeated, by a retry or a hedge", .rows("D-3"))
    func miss() async throws {
        let mock = MockExecutor()
        let request = PreparedRequest(target: try TargetURI("http://host.test/x"))
        let retrying = mock.retrying(clock: ManualClock().clock())
        for executor in [retrying, retrying.hedging(after: .seconds(3_600))] as [any RequestExecutor] {
            let error = await failure { () async throws(RequestError) in try await executor.execute(request) }
            #expect(error?.underlying is MockExecutor.UnmatchedRequest)
        }
        #expect(mock.recordedCount == 2)
    }
}
