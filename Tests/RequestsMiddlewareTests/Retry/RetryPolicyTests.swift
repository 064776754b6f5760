@_spi(Lock) import Requests
import RequestsMiddleware
import TestSupport
import Testing

@Suite("Retry policies")
struct RetryPolicyTests {
    private static let networkFailure = RetryPolicy.retryNetworkFailure(with: .retryOnce)
    private static let orUnavailable = RetryPolicy.retryNetworkFailureOrServiceUnavailable(with: .retryOnce)

    private func retries(
        _ policy: RetryPolicy, _ error: RequestError, _ method: HTTPMethod, attempt: Int = 0
    ) async throws -> Bool {
        try await delay(policy, error, method, attempt: attempt) != nil
    }

    private func delay(
        _ policy: RetryPolicy, _ error: RequestError, _ method: HTTPMethod = .get, attempt: Int = 0,
        retryAfter: Duration? = nil, timeLeft: Duration? = nil, random: Double = 1
    ) async throws -> Duration? {
        let failure = RetryPolicy.Failure(
            error, of: try preparedRequest(method), attempt: attempt, retryAfter: retryAfter, timeLeft: timeLeft)
        guard case .retry(let delay) = await policy.decision(about: failure, random: { random }) else { return nil }
        return delay
    }

    @Test("an idempotent request is sent again after a failure of the network", .rows("PM-102"))
    func idempotent() async throws {
        let failures = SampleFailure.notSent + SampleFailure.mayHaveArrived + SampleFailure.broken
        for method in [HTTPMethod.get, .head, .put, .delete, .options, .trace, "PROPFIND", "REPORT", "QUERY"] {
            for policy in [Self.networkFailure, Self.orUnavailable, .standard] {
                for error in failures { #expect(try await retries(policy, error, method), "\(error) \(method)") }
                for error in SampleFailure.permanent {
                    #expect(try await !retries(policy, error, method), "\(error) \(method)")
                }
            }
        }
    }

    @Test("a request that is not idempotent is sent again only if it was not sent", .rows("PM-103"))
    func other() async throws {
        for method in [HTTPMethod.post, .patch, "PURGE", "LOCK"] {
            for policy in [Self.networkFailure, Self.orUnavailable, .standard] {
                for error in SampleFailure.notSent { #expect(try await retries(policy, error, method), "\(error)") }
                for error in SampleFailure.mayHaveArrived + SampleFailure.broken + SampleFailure.permanent {
                    #expect(try await !retries(policy, error, method), "\(error)")
                }
            }
        }
    }

    @Test("503 is sent again only by the policy for it, for every method; 500 by none", .rows("PM-104", "T-56"))
    func statuses() async throws {
        for method in [HTTPMethod.get, .post] {
            #expect(try await !retries(Self.networkFailure, SampleFailure.status(503), method))
            #expect(try await retries(Self.orUnavailable, SampleFailure.status(503), method))
            #expect(try await retries(.standard, SampleFailure.status(503), method))
            for status in [400, 401, 403, 404, 409, 500, 501, 505] as [HTTPStatus] {
                for policy in [Self.networkFailure, Self.orUnavailable, .standard] {
                    #expect(try await !retries(policy, SampleFailure.status(status), method), "\(status)")
                }
            }
        }
        for status in [408, 429, 502, 504] as [HTTPStatus] {
            #expect(try await retries(.standard, SampleFailure.status(status), .get))
            #expect(try await !retries(.standard, SampleFailure.status(status), .post))
            #expect(try await !retries(Self.orUnavailable, SampleFailure.status(status), .get))
        }
    }

    @Test("only listed statuses and methods are sent again", .rows("R-66"))
    func listed() async throws {
        let policy = RetryPolicy.retryStatuses([425, 500], with: .retryOnce)
        for (status, method, isRetried) in [
            (425, .get, true), (500, .put, true), (503, .get, false), (500, .post, false), (200, .get, false),
        ] as [(HTTPStatus, HTTPMethod, Bool)] {
            #expect(try await retries(policy, SampleFailure.status(status), method) == isRetried, "\(status)")
        }
        #expect(try await !retries(policy, RequestError(.connectionFailed), .get))
        #expect(try await retries(policy.ignoringIdempotence(), SampleFailure.status(500), .post))
    }

    @Test("the strategies retry once, or twice with a delay before the second retry", .rows("PM-101"))
    func strategies() async throws {
        let error = RequestError(.connectionFailed)
        for (strategy, delays) in [
            (.retryOnce, [.zero]), (.retryTwiceWithDelay(.seconds(7)), [.zero, .seconds(7)]),
            (.retryTwiceWithDefaultDelay, [.zero, .seconds(2)]), (.retryTwiceWithDelay(.seconds(-7)), [.zero, .zero]),
        ] as [(RetryPolicy.Strategy, [Duration])] {
            let policy = RetryPolicy.retryNetworkFailure(with: strategy)
            for (attempt, expected) in delays.enumerated() {
                #expect(try await delay(policy, error, attempt: attempt) == expected)
            }
            #expect(try await delay(policy, error, attempt: delays.count) == nil)
            #expect(policy.maximumAttempts == delays.count + 1)
        }
    }

    @Test("the first policy that agrees decides, the others keep their own rules", .rows("PM-105", "T-57"))
    func combined() async throws {
        let consulted = Lock([String]())
        func policy(_ name: String, _ delay: Duration?) -> RetryPolicy {
            RetryPolicy { _ in
                consulted.withLock { $0.append(name) }
                return delay
            }
        }
        let error = RequestError(.connectionLost)
        #expect(try await delay(.any(of: [policy("a", .seconds(1)), policy("b", .zero)]), error) == .seconds(1))
        #expect(consulted.withLock { $0 } == ["a"])
        #expect(try await delay(.any(of: [policy("a", nil), policy("b", .seconds(2))]), error) == .seconds(2))
        #expect(consulted.withLock { $0 } == ["a", "a", "b"])
        #expect(try await delay(.any(of: []), error) == nil)
        #expect(RetryPolicy.any(of: []).maximumAttempts == 1)
        let mixed = RetryPolicy.any(of: [
            policy("c", .zero), RetryPolicy { _ in .seconds(3) }.ignoringIdempotence(),
        ])
        #expect(try await delay(mixed, error, .post) == .seconds(3))
        #expect(consulted.withLock { $0 }.last == "b")
    }

    @Test("a custom function is consulted for idempotent requests, and for all requests by name", .rows("PM-100"))
    func custom() async throws {
        let attempts = Lock([Int]())
        let function: RetryPolicy.Strategy.Function = { failure in
            attempts.withLock { $0.append(failure.attempt) }
            return .zero
        }
        let error = SampleFailure.status(418)
        let policy = RetryPolicy(maximumRetries: 3, function)
        for attempt in 0..<5 { _ = try await delay(policy, error, attempt: attempt) }
        #expect(try await delay(policy, error, .post) == nil)
        #expect(attempts.withLock { $0 } == [0, 1, 2])
        #expect(try await delay(RetryPolicy(function).ignoringIdempotence(), error, .post) == .zero)
        #expect(RetryPolicy(maximumRetries: .min, function).maximumAttempts == 1)
        #expect(RetryPolicy(maximumRetries: .max, function).maximumAttempts > 1)
    }

    @Test("a request decides its idempotence itself, whatever its method is", .rows("PM-24"))
    func ownIdempotence() async throws {
        for (method, own) in [(HTTPMethod.post, true), (.get, false)] {
            var request = try preparedRequest(method)
            #expect(request.isIdempotent != own)
            request.isIdempotent = own
            let failure = RetryPolicy.Failure(RequestError(.connectionLost), of: request)
            let decision = await Self.networkFailure.decision(about: failure, random: { 0 })
            #expect(decision == (own ? .retry(after: .zero) : .giveUp(.notIdempotent)))
        }
    }

    @Test(
        "a request keeps its idempotence when its resource changes; a derived request's method determines it again",
        .rows("PM-24"))
    func inheritedIdempotence() throws {
        let api = AnonymousRequestProvider("http://e.com")
        let request = api.post(.json([1]), to: "/x").idempotent()
        #expect(request.isIdempotent && request.receiving(.json([Int].self)).isIdempotent)
        #expect(try request.receiving(.data).prepared().isIdempotent)
        #expect(!request.deriving(using: .post).isIdempotent && request.deriving(using: .put).isIdempotent)
        #expect(!api.get(.data, from: "/x").idempotent(false).isIdempotent)
        #expect(!api.post(.json([1]), to: "/x").isIdempotent && api.get(.data, from: "/x").isIdempotent)
    }

    @Test("whatever the policy is, a body that can be sent once and a call that has ended are not sent again")
    func always() async throws {
        let policy = RetryPolicy { _ in .zero }.ignoringIdempotence()
        let body = RequestBody.stream(length: 1, isReplayable: false) { throw RequestError(.bodyNotReplayable) }
        let oneShot = RetryPolicy.Failure(RequestError(.connectionFailed), of: try preparedRequest(.put, body: body))
        #expect(await policy.decision(about: oneShot, random: { 0 }) == .giveUp(.bodyNotReplayable))
        for error in [RequestError(.cancelled), RequestError(.timedOut(.total))] {
            let ended = RetryPolicy.Failure(error, of: try preparedRequest())
            #expect(await policy.decision(about: ended, random: { 0 }) == .giveUp(.callEnded))
        }
    }

    @Test("a refusal has its reason")
    func refusals() async throws {
        func refusal(
            _ reason: RequestError.Reason, _ method: HTTPMethod = .get, attempt: Int = 0, timeLeft: Duration? = nil,
            budget: RetryBudget = .unlimited
        ) async throws -> RetryPolicy.Decision {
            let failure = RetryPolicy.Failure(
                RequestError(reason), of: try preparedRequest(method), attempt: attempt, retryAfter: .seconds(5),
                timeLeft: timeLeft)
            return await Self.orUnavailable.decision(about: failure, budget: budget, random: { 0 })
        }
        let error = RequestError.Reason.connectionFailed
        #expect(try await refusal(.tooLarge(limit: 1)) == .giveUp(.failureNotIncluded))
        #expect(try await refusal(.connectionLost, .post) == .giveUp(.notIdempotent))
        #expect(try await refusal(.tooLarge(limit: 1), .post) == .giveUp(.failureNotIncluded))
        #expect(try await refusal(error, attempt: 1) == .giveUp(.retriesExhausted))
        #expect(try await refusal(error, timeLeft: .seconds(5)) == .giveUp(.deadlineTooClose))
        #expect(try await refusal(error, budget: RetryBudget(initial: 0)) == .giveUp(.budgetExhausted))
        #expect(try await refusal(error, timeLeft: .seconds(6)) == .retry(after: .seconds(5)))
    }
}

@Suite("Delays of retries")
struct RetryDelayTests {
    private func delay(
        _ strategy: RetryPolicy.Strategy, attempt: Int = 0, retryAfter: Duration? = nil, random: Double = 1,
        maximumRetryAfter: Duration = .seconds(60)
    ) async throws -> Duration? {
        var policy = RetryPolicy.retryNetworkFailure(with: strategy)
        policy.maximumRetryAfter = maximumRetryAfter
        let failure = RetryPolicy.Failure(
            RequestError(.connectionFailed), of: try preparedRequest(), attempt: attempt, retryAfter: retryAfter)
        guard case .retry(let delay) = await policy.decision(about: failure, random: { random }) else { return nil }
        return delay
    }

    @Test("the longest delay doubles up to the maximum, and the delay is a random part of it", .rows("R-66"))
    func backoff() async throws {
        let strategy = RetryPolicy.Strategy.exponentialBackoff(
            maximumRetries: 1000, initial: .milliseconds(100), maximum: .seconds(2))
        for (attempt, longest) in [0: 100, 1: 200, 2: 400, 3: 800, 4: 1600, 5: 2000, 6: 2000, 999: 2000] {
            #expect(try await delay(strategy, attempt: attempt) == .milliseconds(longest))
            #expect(try await delay(strategy, attempt: attempt, random: 0.5) == .milliseconds(longest) / 2)
            #expect(try await delay(strategy, attempt: attempt, random: 0) == .zero)
        }
        #expect(try await delay(strategy, attempt: 1000) == nil)
    }

    @Test("extreme durations and random numbers are limited")
    func extremes() async throws {
        let huge = Duration.seconds(Int64.max)
        let limit = Duration.seconds(1_000_000_000)
        typealias Strategy = RetryPolicy.Strategy
        for (strategy, expected) in [
            (Strategy { _ in huge }, limit), (Strategy { _ in .zero - huge }, .zero),
            (.exponentialBackoff(maximumRetries: 500, initial: huge, maximum: huge), limit),
            (.exponentialBackoff(maximumRetries: 500, initial: .zero - huge, maximum: .seconds(1)), .zero),
            (.exponentialBackoff(maximumRetries: 500, initial: .seconds(1), maximum: .zero), .zero),
        ] as [(Strategy, Duration)] {
            #expect(try await delay(strategy, attempt: 1) == expected || expected == limit)
            #expect(try await delay(strategy, attempt: 400 % strategy.maximumRetries) == expected)
        }
        for random in [-1, 2, .nan, .infinity] {
            #expect(try await delay(.exponentialBackoff(), random: random) == .seconds(1))
        }
    }

    @Test("Retry-After counts if it is longer than the delay of the strategy, up to a maximum", .rows("R-66"))
    func retryAfter() async throws {
        let strategy = RetryPolicy.Strategy.retryTwiceWithDelay(.seconds(10))
        #expect(try await delay(strategy, retryAfter: .seconds(3)) == .seconds(3))
        #expect(try await delay(strategy, attempt: 1, retryAfter: .seconds(3)) == .seconds(10))
        #expect(try await delay(strategy, retryAfter: .seconds(1_000_000_000)) == .seconds(60))
        #expect(try await delay(strategy, retryAfter: .seconds(-5)) == .zero)
        #expect(try await delay(strategy, retryAfter: .seconds(9), maximumRetryAfter: .zero) == .zero)
        #expect(try await delay(strategy, retryAfter: .seconds(9), maximumRetryAfter: .seconds(-1)) == .zero)
    }
}
