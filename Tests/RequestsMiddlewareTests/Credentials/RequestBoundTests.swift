@_spi(Lock) import Requests
import RequestsMiddleware
import RequestsMock
import RequestsTestServer
import TestCorpora
import TestSupport
import Testing

/// Random responses, policies and credentials, checked against the bound that “Signing in” states.
@Suite("The bound on the requests of a call with credentials", .timeLimit(.minutes(10)))
struct RequestBoundTests {
    /// A response or a failure.
    enum Event: CaseIterable {
        case notSent, mayHaveArrived, broken, unavailable, tooMany, unauthorized, stale, forbidden, redirect
        case otherOrigin, truncatedJSON, malformedJSON, success

        func step(_ number: Int) -> ResponseScript.Step {
            switch self {
            case .notSent: .failure(RequestError(.connectionFailed))
            case .mayHaveArrived: .failure(RequestError(.connectionLost))
            case .broken: .truncated
            case .unavailable: .status(503, retryAfter: "1")
            case .tooMany: .status(429)
            case .unauthorized: .response(Self.challenge("realm=r, nonce=n, qop=auth, algorithm=SHA-256"))
            // Each challenge has another nonce, so that Digest always has a reason to try again.
            case .stale:
                .response(
                    Self.challenge("realm=r\(number), nonce=n\(number), qop=auth, algorithm=SHA-256, stale=true"))
            case .forbidden: .status(403)
            case .redirect: .response(.redirect(307, to: "/y"))
            case .otherOrigin: .response(.redirect(307, to: "http://f.com/z"))
            case .truncatedJSON: .json("[1,")
            case .malformedJSON: .json("[nope]")
            case .success: .json("[1]")
            }
        }

        private static func challenge(_ parameters: String) -> MockResponse {
            .status(401).adding(headerField: Field(name: .wwwAuthenticate, value: "Digest \(parameters)"))
        }

        /// Whether no policy and no authenticator of this suite sends another request.
        var endsCall: Bool { self == .success || self == .malformedJSON }

        var isRedirect: Bool { self == .redirect || self == .otherOrigin }

        /// Whether a request that is not idempotent may follow: the server has not acted on this one, or has responded
        /// as T-51 and T-56 say.
        var allowsAnother: Bool {
            switch self {
            case .notSent, .unavailable, .unauthorized, .stale, .forbidden, .redirect, .otherOrigin: true
            case .mayHaveArrived, .broken, .tooMany, .truncatedJSON, .malformedJSON, .success: false
            }
        }
    }

    /// An authenticator that has the server challenge it first, and handles everything.
    final class Challenged: Authenticator {
        private let isChallenged = Lock(false)
        private let name: Field.Name

        init(_ name: Field.Name = .authorization) {
            self.name = name
        }

        func hasCredentials(_ request: PreparedRequest) -> Bool { request.header.contains(name) }

        func credentials(for request: PreparedRequest) async throws(RequestError) -> (fields: Header, token: Void) {
            let value = Field(name: name, value: "Planted")
            // Without credentials again each other time, so that every request can be challenged.
            return isChallenged.withLock { challenged in
                challenged.toggle()
                return challenged ? ([], ()) : ([value], ())
            }
        }

        func handleUnauthorized(_: AuthenticationFailure<Void>) async throws(RequestError) -> Bool { true }
        func handleForbidden(_: AuthenticationFailure<Void>) async throws(RequestError) -> Bool { true }
    }

    /// A call with its executor and the values that limit it.
    struct Case {
        let name: String
        let method: HTTPMethod
        let policy: RetryPolicy
        let ignoresIdempotence: Bool
        let executor: any RequestExecutor
    }

    private static func authenticator(_ numbers: inout SplitMix64) -> (any Authenticator)? {
        let choice = Int.random(in: 0..<9, using: &numbers)
        let (refuses, fails) = (Bool.random(using: &numbers), Int.random(in: 0..<4, using: &numbers) == 0)
        switch choice {
        case 0: return nil
        case 1: return FixedCredentials.bearerToken("planted")
        case 2, 3: return NumberedTokens(handlesUnauthorized: !refuses)
        case 4, 5: return DigestAuthenticator(username: "planted-user", password: "planted-password")
        case 6, 7:
            let count = Lock(0)
            return RefreshableAuthenticator(bearerToken: choice == 6 ? "planted-0" : nil) { _ in
                if fails { throw RequestError(.connectionFailed) }
                return count.withLock { count in
                    count += 1
                    return refuses && count > 1 ? nil : "planted-\(count)"
                }
            }
        default: return Challenged()
        }
    }

    /// Returns a random call over `base`, with the credentials outside the retry as recommended, or inside.
    static func make(
        _ numbers: inout SplitMix64, over base: any RequestExecutor, within environment: RequestEnvironment
    ) -> Case {
        let (policy, ignores) = RetryBoundTests.policy(&numbers)
        let method = [HTTPMethod.get, .put, .post, .patch].randomElement(using: &numbers) ?? .get
        let authenticator = authenticator(&numbers)
        let isRecommended = Int.random(in: 0..<4, using: &numbers) > 0
        var executor = base
        func retry() {
            executor = executor.retrying(policy, budget: .unlimited, clock: ManualClock().clock())
        }
        if isRecommended { retry() }
        if let authenticator { executor = executor.authenticating(with: authenticator, within: environment) }
        if !isRecommended { retry() }
        let name = "\(method) \(policy.maximumAttempts) \(authenticator.map { "\($0)" } ?? "none") \(isRecommended)"
        return Case(
            name: name, method: method, policy: policy, ignoresIdempotence: ignores, executor: executor)
    }

    @Test(
        "random responses never cause more requests than (1 + redirects) × 4 × attempts, repetitions after truncated JSON included, and a request that is not idempotent is repeated only if that is safe",
        .rows("R-66", "T-51", "T-56"),
        arguments: CallForm.allCases)
    func bound(form: CallForm) async throws {
        var numbers = SplitMix64(state: 1_917)
        let api = AnonymousRequestProvider("http://e.com")
        let environment = try #require(RequestEnvironment(baseURL: api.baseURL))
        var longest = 0
        for round in 0..<2_000 {
            // Some rounds have few kinds of events, which lead to longer sequences.
            let kinds = Array(Event.allCases.shuffled(using: &numbers).prefix(Int.random(in: 2...13, using: &numbers)))
            let events = (0..<120).map { _ in
                let event = kinds.randomElement(using: &numbers) ?? .success
                // Most events that end a call are replaced, or few calls would be long.
                let isReplaced = event.endsCall && Int.random(in: 0..<8, using: &numbers) > 0
                return isReplaced
                    ? [.unavailable, .unauthorized, .stale].randomElement(using: &numbers) ?? event : event
            }
            let script = ResponseScript(events.enumerated().map { $1.step($0) })
            let item = Self.make(&numbers, over: script.executor, within: environment)
            let limit = Int.random(in: 0...2, using: &numbers)
            let request = api.request(to: "/x", using: item.method).receiving(.json([Int].self)).with(
                redirectPolicy: RedirectPolicy(limit: limit))
            var repetitions = 0
            let error = await failure { () async throws(RequestError) in
                repetitions = try await form.response(for: request, over: item.executor).metrics.retries.count
            }
            let sent = events.prefix(script.count)
            // Made only for a failure: the texts would take a third of the time.
            var place: Comment { "\(round): \(item.name) \(sent) \(String(describing: error))" }
            let followed = sent.dropLast().count { $0.isRedirect }
            #expect(followed <= limit, place)
            #expect(script.count <= (1 + followed) * 4 * item.policy.maximumAttempts, place)
            if error?.reason != .credentialsUnavailable {
                // The last request and those that led to it; without credentials, nothing may have been sent.
                let last = sent.reversed().dropFirst().prefix { !$0.isRedirect }
                #expect((error?.retries.count ?? repetitions) == last.count, place)
                #expect(error.map { $0.attempts == script.count } != false, place)
            }
            longest = max(longest, script.count)
            guard !item.method.isIdempotent, !item.ignoresIdempotence else { continue }
            #expect(sent.dropLast().allSatisfy { $0.allowsAnother }, place)
        }
        // A sample whose calls all end at once would prove nothing.
        #expect(longest >= 10)
    }

    @Test(
        "calls that reach the bound exist, with the rejections in each attempt or after truncated JSON", .rows("R-66"),
        arguments: [0, 1, 2], CallForm.allCases)
    func reached(redirects: Int, form: CallForm) async throws {
        let api = AnonymousRequestProvider("http://e.com")
        let environment = try #require(RequestEnvironment(baseURL: api.baseURL))
        let policy = RetryPolicy.retryNetworkFailureOrServiceUnavailable(
            with: .exponentialBackoff(maximumRetries: 2, initial: .zero))
        let attempts: [Event] = [.unavailable, .unavailable]
        let ofAttempts = [.unauthorized, .unauthorized, .forbidden].flatMap { attempts + [$0] } + attempts
        let ofDecoder: [Event] = [.unauthorized, .unauthorized, .forbidden, .truncatedJSON]
        for (hop, last) in [(ofAttempts, ofAttempts), (ofAttempts, ofDecoder + ofDecoder + ofDecoder.dropLast())] {
            let events = (0..<redirects).flatMap { _ in hop + [Event.redirect] } + last + [.success]
            let script = ResponseScript(events.enumerated().map { $1.step($0) })
            let executor = script.executor.retrying(
                policy, budget: .unlimited, clock: ManualClock().clock()
            ).authenticating(
                with: Challenged(), within: environment)
            let response = try await form.response(for: api.get(.json([Int].self), from: "/x"), over: executor)
            #expect(response.value == [1] && response.history.count == redirects)
            #expect(script.count == (1 + redirects) * 4 * policy.maximumAttempts)
            #expect(response.metrics.retries.count == 4 * policy.maximumAttempts - 1)
        }
    }

    @Test(
        "several authenticators add their repetitions and do not multiply them: at most (1 + redirects) × (1 + 3 × authenticators) × attempts, which is reached",
        .rows("R-66", "PM-91"),
        arguments: 1...3, CallForm.allCases)
    func several(authenticators: Int, form: CallForm) async throws {
        let api = AnonymousRequestProvider("http://e.com")
        let environment = try #require(RequestEnvironment(baseURL: api.baseURL))
        func executor(over script: ResponseScript, _ policy: RetryPolicy) -> any RequestExecutor {
            var executor: any RequestExecutor = script.executor.retrying(
                policy, budget: .unlimited, clock: ManualClock().clock())
            for number in 0..<authenticators {
                executor = executor.authenticating(with: Challenged(Field.Name("X-\(number)")), within: environment)
            }
            return executor
        }
        let policy = RetryPolicy.retryNetworkFailureOrServiceUnavailable(
            with: .exponentialBackoff(maximumRetries: 1, initial: .zero))
        let bound = (1 + 3 * authenticators) * policy.maximumAttempts
        // Every rejection of each authenticator, each after a failure that is retried.
        let rejections = (0..<authenticators).flatMap { _ in [Event.unauthorized, .unauthorized, .forbidden] }
        for last in [[Event.success], Array(repeating: rejections, count: 40).flatMap(\.self)] {
            let events = (rejections + last).flatMap { [Event.unavailable, $0] }
            let script = ResponseScript(events.enumerated().map { $1.step($0) })
            let request = api.get(.json([Int].self), from: "/x")
            let executor = executor(over: script, policy)
            let error = await failure { () async throws(RequestError) in
                try await form.response(for: request, over: executor)
            }
            #expect(error?.status == (last.count == 1 ? nil : 401))
            #expect(script.count == bound, "\(last.first.map { "\($0)" } ?? "")")
        }

        var numbers = SplitMix64(state: 30)
        for round in 0..<300 {
            let events = (0..<200).map { _ in
                [Event.unauthorized, .forbidden, .stale, .unavailable, .truncatedJSON, .redirect, .success]
                    .randomElement(using: &numbers) ?? .success
            }
            let script = ResponseScript(events.enumerated().map { $1.step($0) })
            let limit = Int.random(in: 0...2, using: &numbers)
            let request = api.get(.json([Int].self), from: "/x").with(redirectPolicy: RedirectPolicy(limit: limit))
            let executor = executor(over: script, policy)
            _ = await failure { () async throws(RequestError) in
                try await form.response(for: request, over: executor)
            }
            #expect(script.count <= (1 + limit) * bound, "\(round): \(events.prefix(script.count))")
        }
    }

    @Test("if the app's token and the user's token have expired, both are renewed", .rows("PM-91", "PM-94"))
    func bothExpired() async throws {
        let environment = try #require(
            RequestEnvironment(baseURL: AnonymousRequestProvider("http://e.com").baseURL))
        func authenticator(_ name: Field.Name) -> RefreshableAuthenticator<String> {
            RefreshableAuthenticator("planted-old", fields: { [Field(name: name, value: $0)] }, refresh: { _ in "new" })
        }
        let mock = MockExecutor { request in
            let isValid = request.header["X-App"] == "new" && request.header["X-User"] == "new"
            return .status(isValid ? 200 : 401)
        }
        let executor = mock.authenticating(with: authenticator("X-App"), within: environment).authenticating(
            with: authenticator("X-User"), within: environment)
        let response = try await executor.execute(preparedRequest())
        #expect(response.head.status == 200 && mock.recordedCount == 3)
    }

    /// The place of hedging in a chain with a retry and credentials.
    enum HedgingPlace: CaseIterable {
        case innermost, beforeRetry, outermost
    }

    @Test(
        "hedging at most doubles the requests of a call, wherever in the chain it is", .rows("R-66"),
        arguments: HedgingPlace.allCases)
    func hedged(place: HedgingPlace) async throws {
        var numbers = SplitMix64(state: 9)
        let api = AnonymousRequestProvider("http://e.com")
        let environment = try #require(RequestEnvironment(baseURL: api.baseURL))
        var longest = 0.0
        for round in 0..<500 {
            let kinds: [Event] = Bool.random(using: &numbers) ? Event.allCases : [.unavailable, .truncatedJSON]
            let events = (0..<120).map { _ in kinds.randomElement(using: &numbers) ?? .success }
            let script = ResponseScript(events.enumerated().map { $1.step($0) })
            // Some responses are slow, so that others overtake them.
            let slow = script.executor.intercepting { request, next in
                if script.count.isMultiple(of: 3) { for _ in 0..<50 { await Task.yield() } }
                return try await next.execute(request)
            }
            func hedged(_ executor: some RequestExecutor) -> any RequestExecutor {
                executor.hedging(after: .zero, budget: .unlimited, clock: ManualClock().clock())
            }
            let item: Case
            var executor: any RequestExecutor
            switch place {
            case .innermost:
                item = Self.make(&numbers, over: hedged(slow), within: environment)
                executor = item.executor
            case .beforeRetry:
                item = Self.make(&numbers, over: slow, within: environment)
                executor = hedged(slow.retrying(item.policy, budget: .unlimited, clock: ManualClock().clock()))
            case .outermost:
                item = Self.make(&numbers, over: slow, within: environment)
                executor = hedged(item.executor)
            }
            let limit = Int.random(in: 0...2, using: &numbers)
            _ = await failure { () async throws(RequestError) in
                try await executor.perform(
                    api.request(to: "/x", using: item.method).receiving(.json([Int].self)).with(
                        redirectPolicy: RedirectPolicy(limit: limit)))
            }
            let factor = item.method.isSafe ? 2 : 1
            let rejections = place == .beforeRetry ? 1 : 4
            let bound = factor * (1 + limit) * rejections * item.policy.maximumAttempts
            #expect(script.count <= bound, "\(round): \(item.name)")
            longest = max(longest, Double(script.count) / Double((1 + limit) * item.policy.maximumAttempts))
        }
        // Without second requests, no call would have more.
        #expect(longest > 1)
    }

    @Test("a request that is not idempotent is seen once by a server that closes the connection", .rows("R-66"))
    func closed() async throws {
        var numbers = SplitMix64(state: 3)
        try await withTestServer(serving: MockExecutor(.ok("[1]")), fault: .closeBeforeHead) { server in
            let environment = try #require(RequestEnvironment(baseURL: server.baseURL))
            let api = AnonymousRequestProvider(baseURL: server.baseURL)
            let socket = Transport.socket.executor
            for round in 0..<200 {
                let before = server.record.requestCount
                let item = Self.make(&numbers, over: socket, within: environment)
                _ = await failure { () async throws(RequestError) in
                    try await item.executor.perform(
                        api.request(to: "/x", using: item.method).receiving(.json([Int].self)))
                }
                let isRepeated = item.method.isIdempotent || item.ignoresIdempotence
                let limit = isRepeated ? 4 * item.policy.maximumAttempts : 1
                #expect(server.record.requestCount - before <= limit, "\(round): \(item.name)")
            }
        }
    }
}
