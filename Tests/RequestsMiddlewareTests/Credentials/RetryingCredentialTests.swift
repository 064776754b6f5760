@_spi(Lock) import Requests
import RequestsMiddleware
import RequestsMock
import TestSupport
import Testing

@Suite("Retries behind credentials", .tags(.concurrent), .timeLimit(.minutes(10)))
struct RetryingCredentialTests {
    /// The statuses about which a policy was consulted that repeats every failure once.
    private final class Consultations: Sendable {
        private let list = Lock<[Int]>([])

        var statuses: [Int] { list.withLock { $0 } }

        var policy: RetryPolicy {
            RetryPolicy { failure in
                self.list.withLock { $0.append(failure.error.status?.code ?? 0) }
                return failure.attempt < 1 ? .zero : nil
            }
        }
    }

    @Test(
        "a policy is not consulted about a 401 that an authenticator handles, and is about any other",
        .rows("T-54", "PM-92", "C27"),
        arguments: [true, false], Transport.allCases)
    func unauthorized(hasCredentials: Bool, transport: Transport) async throws {
        let mock = scripted([401, 401, 401])
        try await transport.run(serving: mock) { api, base in
            let consultations = Consultations()
            let retrying = base.retrying(consultations.policy)
            let environment = try #require(RequestEnvironment(baseURL: api.baseURL))
            let executor: any RequestExecutor =
                hasCredentials ? retrying.authenticating(with: NumberedTokens(), within: environment) : retrying
            let error = await failure { () async throws(RequestError) in
                try await executor.perform(api.get(.data, from: "/x"))
            }
            #expect(error?.status == .unauthorized && error?.attempts == 2)
            #expect(mock.recordedRequests.count == 2)
            // Without credentials the policy repeats the first 401 and gives up after the second.
            #expect(consultations.statuses == (hasCredentials ? [] : [401, 401]))
        }
    }

    @Test(
        "a policy is consulted about a 403 before the authenticator, which handles the last one", .rows("PM-92"),
        arguments: Transport.allCases)
    func forbidden(transport: Transport) async throws {
        let mock = scripted([403, 403, 200])
        try await transport.run(serving: mock) { api, base in
            let consultations = Consultations()
            let environment = try #require(RequestEnvironment(baseURL: api.baseURL))
            let executor = base.retrying(consultations.policy).authenticating(
                with: NumberedTokens(), within: environment)
            let response = try await executor.response(for: api.get(.data, from: "/x"))
            // The policy repeats the first 403 with the same credentials and gives up after the second.
            #expect(consultations.statuses == [403, 403])
            #expect(response.metrics.retries.map(\.cause) == [.status(.forbidden), .rejected(.forbidden)])
        }
        #expect(mock.sentAuthorizations == [1, 1, 2].map { "Bearer planted-\($0)" })
    }

    @Test("the requests that an authenticator sends again are counted in metrics and errors", .rows("PM-91"))
    func attempts() async throws {
        let environment = try #require(RequestEnvironment(baseURL: URL("https://e.com")))
        let api = AnonymousRequestProvider("https://e.com")
        for (statuses, causes) in [
            ([200], []), ([401, 200], [.rejected(401)]),
            ([401, 403, 403, 200], [.rejected(401), .status(403), .rejected(403)]),
            ([503, 401, 503, 200], [.status(503), .rejected(401), .status(503)]),
        ] as [([Int], [RawResponse.Metrics.Retry.Cause])] {
            let executor = scripted(statuses).retrying(Consultations().policy).authenticating(
                with: NumberedTokens(), within: environment)
            let response = try await executor.response(for: api.get(.data, from: "/x"))
            #expect(response.metrics.retries.map(\.cause) == causes)
        }
        for statuses in [[401, 401], [401, 403, 403], [401, 500]] {
            let executor = scripted(statuses).authenticating(with: NumberedTokens(), within: environment)
            let error = await failure { () async throws(RequestError) in
                try await executor.perform(api.get(.data, from: "/x"))
            }
            #expect(error?.attempts == statuses.count && error?.retries.count == statuses.count - 1)
            #expect(error?.debugDescription.contains("401 Unauthorized, repeated with other credentials after") == true)
        }
        // The error of a request that was not repeated does not mention credentials.
        let single = await failure { () async throws(RequestError) in
            try await scripted([404]).authenticating(with: NumberedTokens(), within: environment)
                .perform(api.get(.data, from: "/x"))
        }
        #expect(single?.attempts == 1 && single?.debugDescription.contains("credentials") == false)
        // Without a call around it, an executor counts them too.
        let failing = MockExecutor { request in
            if request.header[.authorization] == "Bearer planted-1" { return .status(401) }
            throw RequestError(.connectionLost)
        }
        let executor = failing.authenticating(with: NumberedTokens(), within: environment)
        let error = await failure { () async throws(RequestError) in
            try await executor.execute(PreparedRequest(url: URL("https://e.com/x")))
        }
        #expect(error?.reason == .connectionLost && error?.attempts == 2)
    }

    @Test(
        "an error of an authenticator has the rejection that it handled, and counts the requests before it",
        .rows("PM-90"))
    func failedRenewal() async throws {
        struct Refused: Error {}
        let mock = scripted([503, 401])
        let environment = try #require(RequestEnvironment(baseURL: URL("https://e.com")))
        let executor = mock.retrying(Consultations().policy).authenticating(
            with: RefreshableAuthenticator(bearerToken: "planted") { _ in throw Refused() }, within: environment)
        let error = await failure { () async throws(RequestError) in
            try await executor.perform(AnonymousRequestProvider("https://e.com").get(.data, from: "/x"))
        }
        #expect(error?.reason == .credentialsUnavailable && error?.status == 401 && error?.attempts == 2)
        #expect(error?.retries.map(\.cause) == [.status(503)])
    }

    @Test("a failure that is not a 401 is repeated behind an authenticator, with the same credentials", .rows("PM-92"))
    func unavailable() async throws {
        let mock = scripted([503, 401, 503, 200])
        let consultations = Consultations()
        let environment = try #require(RequestEnvironment(baseURL: URL("https://e.com")))
        let executor = mock.retrying(consultations.policy).authenticating(with: NumberedTokens(), within: environment)
        _ = try await executor.perform(AnonymousRequestProvider("https://e.com").get(.data, from: "/x"))
        #expect(consultations.statuses == [503, 503])
        let sent = mock.sentAuthorizations
        #expect(sent == ["Bearer planted-1", "Bearer planted-1", "Bearer planted-2", "Bearer planted-2"])
    }

    @Test("a retry below Digest repeats a nonce count; a server that rejects that is sent another one")
    func repeatedCount() async throws {
        let server = DigestServer()
        let isLost = Lock(false)
        let executor = server.executor.intercepting { request, next in
            let response = try await next.execute(request)
            let loses = response.status == .ok && !isLost.withLock { $0 }
            guard loses else { return response }
            // The server has accepted the request, but its response is lost.
            isLost.withLock { $0 = true }
            return RawResponse(head: ResponseHead(status: 503, target: request.target), body: .bytes(Data()))
        }
        let environment = try #require(RequestEnvironment(baseURL: URL("https://e.com")))
        let client = executor.retrying(Consultations().policy).authenticating(
            with: DigestAuthenticator(username: "planted-user", password: "planted-password"), within: environment)
        let response = try await client.response(
            for: AnonymousRequestProvider("https://e.com").get(.text, from: "/x"))
        #expect(response.value == "in" && isLost.withLock { $0 })
        #expect(server.state.withLock { $0.problems.count } == 1)
        // The repetition is part of the metrics, although another request followed the rejection.
        #expect(response.metrics.retries.map(\.cause) == [.rejected(401), .status(503), .rejected(401)])
    }

    @Test("Digest with a wrong password is rejected once more after a repetition, and then the call ends")
    func wrongPassword() async throws {
        let server = DigestServer()
        let mock = server.executor
        let isFirst = Lock(true)
        let executor = mock.intercepting { request, next in
            let response = try await next.execute(request)
            let fails =
                request.header.contains(.authorization)
                && isFirst.withLock { first in
                    defer { first = false }
                    return first
                }
            return fails
                ? RawResponse(head: ResponseHead(status: 503, target: request.target), body: .bytes(Data())) : response
        }
        let environment = try #require(RequestEnvironment(baseURL: URL("https://e.com")))
        let client = executor.retrying(Consultations().policy).authenticating(
            with: DigestAuthenticator(username: "planted-user", password: "wrong"), within: environment)
        let error = await failure { () async throws(RequestError) in
            try await client.perform(AnonymousRequestProvider("https://e.com").get(.text, from: "/x"))
        }
        // Without credentials, twice with the first count, and once with the next one.
        #expect(error?.status == .unauthorized && mock.recordedCount == 4 && error?.attempts == 4)
        #expect(error?.retries.map(\.cause) == [.rejected(401), .status(503), .rejected(401)])
    }
}
