@_spi(Lock) import Requests
import RequestsMiddleware
import RequestsMock
import TestSupport
import Testing

/// Refreshes whose credentials have expired when they arrive.
@Suite("Renewed credentials that have expired", .tags(.concurrent), .timeLimit(.minutes(10)))
struct ExpiredRenewalTests {
    private struct Credential: Sendable {
        var number: Int
        var end: Date
    }

    /// The numbers of the credentials that a refresh received.
    private final class Received: Sendable {
        private let list = Lock<[Int?]>([])
        var numbers: [Int?] { list.withLock { $0 } }

        /// Records a number, and returns how many there are.
        func record(_ number: Int?) -> Int {
            list.withLock { list in
                list.append(number)
                return list.count
            }
        }
    }

    private let server = TokenServer()
    private let now = Date(timeIntervalSince1970: 1_000)

    /// Returns an authenticator whose refresh returns credentials that end after the times in `lifetimes`, and the
    /// numbers of the credentials that it received.
    private func authenticator(
        _ first: Credential?, lifetimes: [TimeInterval]
    ) -> (RefreshableAuthenticator<Credential>, received: Received) {
        let received = Received()
        let now = now
        let authenticator = RefreshableAuthenticator<Credential>(
            first, expiration: { $0.end }, leeway: .zero, holdsDuringRefresh: false, now: { now },
            fields: { [Field(name: .authorization, value: "Bearer planted-\($0.number)")] }
        ) { old in
            let number = received.record(old?.number)
            return Credential(number: number + 1, end: now + lifetimes[min(number, lifetimes.count) - 1])
        }
        return (authenticator, received)
    }

    private func get(
        _ authenticator: some Authenticator, _ executor: some RequestExecutor
    ) async -> RequestError? {
        let client = Client(AnonymousRequestProvider("http://e.com"), executor: executor).authenticating(
            with: authenticator)
        return await failure { () async throws(RequestError) in
            try await client.perform { $0.get(.text, from: "/a") }
        }
    }

    private func isExpired(_ error: RequestError?) -> Bool {
        if case .renewedCredentialExpired? = error?.underlying as? CredentialError { true } else { false }
    }

    @Test(
        "a token that has expired when a refresh delivers it is a typed failure: it is not sent, there is no loop, and the next refresh receives it",
        .rows("PM-94", "R-38", "D-20"),
        arguments: [0, -1, -1e9])
    func expired(lifetime: TimeInterval) async {
        let (authenticator, received) = authenticator(nil, lifetimes: [lifetime, lifetime, 60])
        let executor = server.executor
        for count in 1...2 {
            let error = await get(authenticator, executor)
            #expect(error?.reason == .credentialsUnavailable && isExpired(error))
            #expect(error?.mayHaveReachedServer == false && executor.recordedCount == 0)
            #expect(received.numbers.count == count)
        }
        server.state.withLock { $0.valid = "planted-4" }
        #expect(await get(authenticator, executor) == nil)
        #expect(executor.sentAuthorizations == ["Bearer planted-4"])
        #expect(received.numbers == [nil, 2, 3])
    }

    @Test(
        "a hundred rejections, early and late, share one refresh that returns an expired token",
        .rows("R-38", "D-20"))
    func rejected() async {
        let (authenticator, received) = authenticator(Credential(number: 1, end: now + 60), lifetimes: [0])
        let late = RefreshGate()
        let executor = MockExecutor { request in
            if request.target.requestTarget.hasSuffix("late") { await late.wait() }
            return .status(401)
        }
        let client = Client(AnonymousRequestProvider("http://e.com"), executor: executor).authenticating(
            with: authenticator)
        async let last = failure { () async throws(RequestError) in
            try await client.perform { $0.get(.text, from: "/late") }
        }
        while executor.recordedCount < 1 { await Task.yield() }
        await withTaskGroup { group in
            for _ in 0..<100 {
                group.addTask {
                    let error = await get(authenticator, executor)
                    #expect(error?.reason == .credentialsUnavailable && isExpired(error))
                }
            }
        }
        // Each had the old token, or began after the refresh and another one.
        let refreshes = received.numbers.count
        late.open()
        let error = await last
        #expect(error?.status == 401 && isExpired(error))
        #expect(received.numbers.count == refreshes)
        #expect(executor.sentAuthorizations.allSatisfy { $0 == "Bearer planted-1" })
    }

    @Test("signing in again replaces an expired token at once", .rows("PM-94"))
    func replaced() async {
        let (authenticator, received) = authenticator(nil, lifetimes: [0])
        let executor = server.executor
        #expect(isExpired(await get(authenticator, executor)))
        authenticator.replaceCredential(with: Credential(number: 1, end: now + 60))
        #expect(await get(authenticator, executor) == nil)
        #expect(received.numbers.count == 1)
    }
}
