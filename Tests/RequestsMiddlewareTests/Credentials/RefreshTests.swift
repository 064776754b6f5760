@_spi(Lock) import Requests
import RequestsMiddleware
import RequestsMock
import RequestsPOSIX
import Synchronization
import TestSupport
import Testing

@Suite("Refreshable credentials", .tags(.concurrent), .timeLimit(.minutes(10)))
struct RefreshTests {
    private let api = AnonymousRequestProvider("http://e.com")
    private let server = TokenServer()

    private func client(
        _ authenticator: some Authenticator, _ executor: (any RequestExecutor)? = nil
    ) -> Client<AnonymousRequestProvider> {
        Client(api, executor: executor ?? server.executor).authenticating(with: authenticator)
    }

    private func get(_ client: Client<AnonymousRequestProvider>) async -> RequestError? {
        await failure { () async throws(RequestError) in
            try await client.perform { $0.get(.text, from: "/a") }
        }
    }

    private func expire() { server.state.withLock { $0.valid = "planted-other" } }

    @Test(
        "a thousand rejections at once begin one refresh, and all are sent again",
        .rows("T-52", "R-38", "D-20", "HT-37"))
    func singleFlight() async {
        let authenticator = RefreshableAuthenticator(bearerToken: "planted-1") { _ in server.renew() }
        let client = client(authenticator)
        server.state.withLock {
            $0.valid = "planted-other"
            $0.held = 1_000
        }
        await withTaskGroup { group in
            for _ in 0..<1_000 { group.addTask { #expect(await get(client) == nil) } }
        }
        #expect(server.refreshes == 1 && server.state.withLock { $0.rejected } == 1_000)
        #expect(authenticator.credential == "planted-2")
    }

    @Test(
        "a refused refresh returns every 401, a failed one fails every request, and neither is repeated",
        .rows("T-52", "R-38"))
    func refused() async {
        struct Refused: Error {}
        for isFailing in [false, true] {
            let count = Lock(0)
            let authenticator = RefreshableAuthenticator(bearerToken: "planted-1") { _ in
                count.withLock { $0 += 1 }
                if isFailing { throw Refused() }
                return nil
            }
            let client = client(authenticator)
            server.state.withLock {
                $0.valid = "planted-other"
                $0.held = 100
            }
            await withTaskGroup { group in
                for _ in 0..<100 {
                    group.addTask {
                        let error = await get(client)
                        #expect(error?.reason == (isFailing ? .credentialsUnavailable : .unacceptableStatus))
                        #expect(error?.status == 401 && (error?.underlying is Refused) == isFailing)
                    }
                }
            }
            #expect(count.withLock { $0 } == 1)
        }
    }

    @Test("a request with a token that was replaced meanwhile is sent again without another refresh", .rows("T-52"))
    func staleToken() async {
        let authenticator = RefreshableAuthenticator(bearerToken: "planted-1") { _ in server.renew() }
        // The token is replaced while the request is in progress.
        let executor = server.executor.intercepting { request, next in
            if request.header[.authorization] == "Bearer planted-1" {
                authenticator.replaceCredential(with: "planted-new")
                server.state.withLock { $0.valid = "planted-new" }
            }
            return try await next.execute(request)
        }
        #expect(await get(client(authenticator, executor)) == nil)
        #expect(server.refreshes == 0)
    }

    @Test("a server that rejects every token ends each call after one refresh", .rows("R-38"))
    func loop() async {
        let executor = scripted([401])
        let authenticator = RefreshableAuthenticator(bearerToken: "planted-1") { _ in server.renew() }
        #expect(await get(client(authenticator, executor))?.status == 401)
        #expect(executor.recordedCount == 2 && server.refreshes == 1)
    }

    @Test("requests within a refresh are sent without the credentials, and never wait for it", .rows("T-53", "PM-96"))
    func within() async {
        let executor = server.executor
        let nested = Lock<[String?]>([])
        let slot = Lock<Client<AnonymousRequestProvider>?>(nil)
        let authenticator = RefreshableAuthenticator(bearerToken: "planted-1") { _ in
            let client = slot.withLock { $0 }
            // Directly, in a task, and in a blocking call.
            let error = await get(client ?? self.client(NumberedTokens()))
            let other = await Task { await get(client ?? self.client(NumberedTokens())) }.value
            let blocking = Self.blocked { () throws(RequestError) in
                try client?.performAndWait { $0.get(.text, from: "/a") }
            }
            guard case .failure(let last) = blocking else { return nil }
            nested.withLock { $0 += [error, other, last].map { $0?.request?.header[.authorization] ?? "none" } }
            #expect(error?.status == 401 && other?.status == 401 && last.status == 401)
            return server.renew()
        }
        let client = client(authenticator, executor)
        slot.withLock { $0 = client }
        expire()
        #expect(await get(client) == nil)
        #expect(server.refreshes == 1 && nested.withLock { $0 } == ["none", "none", "none"])
        slot.withLock { $0 = nil }
    }

    @Test(
        "a task of an ended refresh belongs neither to that refresh nor to the next", .rows("T-53", "PM-96"))
    func afterRefresh() async {
        let slot = Lock<Client<AnonymousRequestProvider>?>(nil)
        let later = Lock<Task<RequestError?, Never>?>(nil)
        let gate = RefreshGate()
        let authenticator = RefreshableAuthenticator(bearerToken: "planted-1") { old in
            let client = slot.withLock { $0 }
            if old == "planted-1" {
                let task = Task { () -> RequestError? in
                    await gate.wait()
                    guard let client else { return nil }
                    return await get(client)
                }
                later.withLock { $0 = task }
            }
            return server.renew()
        }
        let client = client(authenticator)
        slot.withLock { $0 = client }
        expire()
        #expect(await get(client) == nil)
        // The task begins its request after the refresh, with a token that is rejected, so it begins the next refresh.
        expire()
        gate.open()
        #expect(await later.withLock { $0 }?.value == nil)
        #expect(server.refreshes == 2 && authenticator.credential == "planted-3")
        slot.withLock { $0 = nil }
    }

    @Test("a refresh that waits for itself fails instead", .rows("PM-96"))
    func recursion() async {
        let slot = Lock<RefreshableAuthenticator<String>?>(nil)
        let authenticator = RefreshableAuthenticator(bearerToken: "planted-1") { _ in
            let error = await failure { () async throws(RequestError) in
                try await slot.withLock { $0 }?.refresh()
            }
            guard case .refreshWithinRefresh? = error?.underlying as? CredentialError else { return nil }
            return server.renew()
        }
        slot.withLock { $0 = authenticator }
        expire()
        #expect(await get(client(authenticator)) == nil)
        slot.withLock { $0 = nil }
    }

    @Test(
        "cancelling waiting requests, the first one included, does not cancel the refresh of the others", .rows("R-38"))
    func cancellation() async {
        let gate = RefreshGate()
        let authenticator = RefreshableAuthenticator(bearerToken: "planted-1") { _ in
            await gate.wait()
            try Task.checkCancellation()
            return server.renew()
        }
        let client = client(authenticator)
        expire()
        let tasks = (0..<10).map { _ in Task { await get(client) } }
        while server.state.withLock({ $0.rejected }) < 10 { await Task.yield() }
        for task in tasks.prefix(5) { task.cancel() }
        for task in tasks.prefix(5) { #expect(await task.value?.reason == .cancelled) }
        gate.open()
        for task in tasks.dropFirst(5) { #expect(await task.value == nil) }
        #expect(server.refreshes == 1)
    }

    @Test("waiting for a refresh ends at the deadline of the call")
    func deadline() async {
        let gate = RefreshGate()
        let authenticator = RefreshableAuthenticator(bearerToken: "planted-1") { _ in
            await gate.wait()
            return server.renew()
        }
        let client = client(authenticator)
        expire()
        let error = await failure { () async throws(RequestError) in
            try await client.perform {
                $0.get(.text, from: "/a").with(timeouts: Timeouts(total: .milliseconds(20)))
            }
        }
        #expect(error?.reason == .timedOut(.total), "\(String(describing: error))")
        gate.open()
    }

    @Test("credentials are obtained before the first request, and renewed ahead of their expiry", .rows("PM-94"))
    func expiry() async {
        struct Credential: Sendable {
            var token: String
            var end: Date
        }
        let clock = Lock(Date(timeIntervalSince1970: 1_000))
        let now: @Sendable () -> Date = { clock.withLock { $0 } }
        let authenticator = RefreshableAuthenticator<Credential>(
            nil, expiration: { $0.end }, leeway: .seconds(60), holdsDuringRefresh: false, now: now,
            fields: { [Field(name: .authorization, value: "Bearer \($0.token)")] }
        ) { _ in Credential(token: server.renew(), end: now() + 3_600) }
        let executor = server.executor
        let client = client(authenticator, executor)
        #expect(await get(client) == nil)
        #expect(executor.sentAuthorizations == ["Bearer planted-2"] && server.refreshes == 1)
        clock.withLock { $0 += 3_500 }
        #expect(await get(client) == nil)
        #expect(server.refreshes == 1)
        // Within the leeway the request is sent with the old token, and a refresh begins beside it.
        clock.withLock { $0 += 50 }
        _ = await get(client)
        while server.refreshes < 2 || authenticator.credential?.token != "planted-3" { await Task.yield() }
        // Expired credentials are never sent.
        clock.withLock { $0 += 4_000 }
        #expect(await get(client) == nil)
        #expect(server.refreshes == 3 && executor.sentAuthorizations.last == "Bearer planted-4")
    }

    @Test("a refresh ahead of the expiry that fails is not repeated before it", .rows("D-20"))
    func earlyFailure() async {
        struct Refused: Error {}
        let end = Date(timeIntervalSince1970: 1_050)
        let count = Lock(0)
        let authenticator = RefreshableAuthenticator<String>(
            "planted-1", expiration: { _ in end }, leeway: .seconds(60), holdsDuringRefresh: true,
            now: { Date(timeIntervalSince1970: 1_000) },
            fields: { [Field(name: .authorization, value: "Bearer \($0)")] }
        ) { _ in
            count.withLock { $0 += 1 }
            throw Refused()
        }
        let client = client(authenticator)
        // A request that begins during a refresh waits for its end, so each of them would begin another one.
        for _ in 0..<5 { #expect(await get(client) == nil) }
        #expect(count.withLock { $0 } == 1)
    }

    @Test(
        "requests that begin during a refresh are sent with the old token, or held if that is enabled", .rows("PM-95"),
        arguments: [false, true])
    func hold(holds: Bool) async {
        let gate = RefreshGate()
        let authenticator = RefreshableAuthenticator<String>(
            "planted-1", holdsDuringRefresh: holds,
            fields: { [Field(name: .authorization, value: "Bearer \($0)")] }
        ) { _ in
            await gate.wait()
            return server.renew()
        }
        let executor = server.executor
        let client = client(authenticator, executor)
        expire()
        let first = Task { await get(client) }
        while server.state.withLock({ $0.rejected }) < 1 { await Task.yield() }
        // The first one is rejected, so its refresh begins or has begun.
        while !gate.isWaited { await Task.yield() }
        let second = Task { await get(client) }
        if !holds { while server.state.withLock({ $0.rejected }) < 2 { await Task.yield() } }
        gate.open()
        #expect(await first.value == nil)
        #expect(await second.value == nil)
        #expect(server.refreshes == 1 && executor.recordedCount == (holds ? 3 : 4))
    }

    @Test("signing out during a refresh discards its result")
    func signOut() async {
        let gate = RefreshGate()
        let authenticator = RefreshableAuthenticator(bearerToken: "planted-1") { old in
            if old == nil { return nil }
            await gate.wait()
            return server.renew()
        }
        let client = client(authenticator)
        expire()
        let request = Task { await get(client) }
        while !gate.isWaited { await Task.yield() }
        authenticator.replaceCredential(with: nil)
        gate.open()
        #expect(await request.value?.status == 401)
        #expect(authenticator.credential == nil)
        guard case .refreshRefused? = await get(client)?.underlying as? CredentialError else {
            Issue.record("sent without credentials")
            return
        }
    }

    @Test("releasing the authenticator cancels its refresh", .rows("PM-96"))
    func release() async {
        let wasCancelled = RefreshGate()
        let gate = RefreshGate()
        var authenticator: RefreshableAuthenticator<String>? = RefreshableAuthenticator(bearerToken: nil) { _ in
            await withTaskCancellationHandler {
                await gate.wait()
            } onCancel: {
                wasCancelled.open()
            }
            return "planted-1"
        }
        let waiting = Task { [authenticator] () -> RequestError? in
            await failure { () async throws(RequestError) in try await authenticator?.refresh() }
        }
        while !gate.isWaited { await Task.yield() }
        waiting.cancel()
        #expect(await waiting.value?.reason == .cancelled)
        authenticator = nil
        await wasCancelled.wait()
        gate.open()
    }

    @Test("blocking calls on every thread of the pool share one refresh", .rows("PM-94"))
    func blocking() async {
        let authenticator = RefreshableAuthenticator(bearerToken: "planted-1") { _ in
            // Another suspension, so that the refresh needs a thread again.
            await Task.yield()
            return server.renew()
        }
        let client = client(authenticator)
        expire()
        await withTaskGroup { group in
            for _ in 0..<64 {
                group.addTask {
                    let result = Self.blocked { () throws(RequestError) in
                        try client.performAndWait { $0.get(.text, from: "/a") }
                    }
                    #expect(throws: Never.self) { try result.get() }
                }
            }
        }
        #expect(server.refreshes == 1)
    }

    private static func blocked<Value>(_ body: () throws(RequestError) -> Value) -> Result<Value, RequestError> {
        Result(catching: body)
    }

    @Test("the bearer token of a refresh is checked before it is sent", arguments: ["", "a b", "a\r\nX: y", "é"])
    func badToken(token: String) async {
        let authenticator = RefreshableAuthenticator(bearerToken: "planted-1") { _ in token }
        let executor = scripted([401, 200])
        let error = await get(client(authenticator, executor))
        #expect(error?.reason == .invalidRequest(.invalidBearerToken) && executor.recordedCount == 1)
    }
}
