@_spi(Lock) import Requests
import RequestsMiddleware
import RequestsMock
import TestSupport
import Testing

@Suite("OAuth credentials of a client", .tags(.concurrent), .timeLimit(.minutes(10)))
struct OAuthRefreshTests {
    private let api = AnonymousRequestProvider("https://api.e.com")
    private let clock = DateClock()

    /// An API that accepts one token, and rejects all others with 401.
    private func served(accepting token: String) -> MockExecutor {
        MockExecutor { request in
            request.header[.authorization] == "Bearer \(token)" ? .ok("in") : .status(401)
        }
    }

    private func credential(
        _ token: String = "old", refreshToken: String? = "planted-r1", expiresIn seconds: Double? = nil
    )
        -> OAuthCredential
    {
        OAuthCredential(
            accessToken: token, refreshToken: refreshToken, expiration: seconds.map { clock.start + $0 })
    }

    private func get(_ authenticator: some Authenticator, _ executor: MockExecutor) async -> RequestError? {
        let client = Client(api, executor: executor).authenticating(with: authenticator)
        return await failure { () async throws(RequestError) in try await client.perform { $0.get(.text, from: "/a") } }
    }

    @Test("a hundred rejections request one token, and all are sent again with it", .rows("AF-64", "PM-94"))
    func singleFlight() async {
        let rejected = Lock(0)
        let allRejected = RefreshGate()
        // The endpoint responds when all requests have been rejected.
        let endpoint = MockExecutor { _ in
            await allRejected.wait()
            return .ok(tokenJSON("\"expires_in\": 3600"), contentType: .json)
        }
        let tokens = Client(OAuthServer.test(clock: clock), executor: endpoint)
        let authenticator = RefreshableAuthenticator(credential(), from: tokens)
        let executor = MockExecutor { request in
            if request.header[.authorization] == "Bearer planted-access" { return .ok("in") }
            let count = rejected.withLock { count in
                count += 1
                return count
            }
            if count == 100 { allRejected.open() }
            return .status(401)
        }
        await withTaskGroup { group in
            for _ in 0..<100 { group.addTask { #expect(await get(authenticator, executor) == nil) } }
        }
        #expect(endpoint.recordedCount == 1 && rejected.withLock { $0 } == 100 && executor.recordedCount == 200)
        #expect(authenticator.credential?.refreshToken == "planted-r1")
        #expect(authenticator.credential?.expiration == clock.start + 3600)
    }

    @Test("an expired token is renewed before a request is sent, and a soon expiring one meanwhile", .rows("AF-63"))
    func expiry() async throws {
        let (tokens, endpoint) = tokenClient(.test(clock: clock), .json(tokenJSON("\"expires_in\": 3600")))
        let authenticator = RefreshableAuthenticator(credential(expiresIn: 100), from: tokens)
        let executor = served(accepting: "planted-access")
        clock.advance(by: .seconds(100))
        #expect(await get(authenticator, executor) == nil)
        #expect(executor.recordedCount == 1 && endpoint.recordedCount == 1)
        // Within the leeway of 60 s the present token is sent, and a refresh begins.
        clock.advance(by: .seconds(3_550))
        #expect(await get(authenticator, executor) == nil)
        while endpoint.recordedCount < 2 { await Task.yield() }
    }

    @Test(
        "a refused refresh fails the request with the code; without a refresh token the user must sign in",
        .rows("AF-64"))
    func refusals() async {
        let (tokens, endpoint) = tokenClient(.test(clock: clock), .refusal("invalid_grant"))
        let error = await get(RefreshableAuthenticator(credential(), from: tokens), served(accepting: "x"))
        #expect(error?.reason == .credentialsUnavailable && error?.status == 401 && endpoint.recordedCount == 1)
        guard case .refused(let refusal)? = error?.oauthFailure else {
            Issue.record("not refused")
            return
        }
        #expect(refusal.code == .invalidGrant)
        for credential in [credential(refreshToken: nil), nil] {
            let authenticator = RefreshableAuthenticator(credential, from: tokens)
            let executor = served(accepting: "x")
            #expect(await get(authenticator, executor)?.oauthFailure == .signInRequired)
            #expect(executor.recordedCount == (credential == nil ? 0 : 1))
        }
        #expect(endpoint.recordedCount == 1)
    }

    @Test("an app renews its own tokens with any grant", .rows("AF-64"))
    func ownGrant() async {
        let (tokens, endpoint) = tokenClient(.test(clock: clock), .json(tokenJSON("\"expires_in\": 100")))
        let authenticator = RefreshableAuthenticator(nil, clock: clock.clock) { _ in
            try await tokens.perform { $0.clientCredentials() }
        }
        #expect(await get(authenticator, served(accepting: "planted-access")) == nil)
        #expect(endpoint.recordedCount == 1)
    }

    @Test("a token of another type is not sent", .rows("AF-63"))
    func unknownType() async {
        let authenticator = RefreshableAuthenticator(
            OAuthCredential(accessToken: "planted", tokenType: "mac"), clock: clock.clock
        ) { _ in nil }
        let executor = served(accepting: "planted")
        let error = await get(authenticator, executor)
        #expect(error?.oauthFailure == .unsupportedTokenType("mac") && executor.recordedCount == 0)
    }

    @Test("a renewed credential is stored, and a credential that another process has stored is used", .rows("AF-65"))
    func stores() async throws {
        let (tokens, endpoint) = tokenClient(
            .test(clock: clock), .json(tokenJSON("\"expires_in\": 3600, \"refresh_token\": \"planted-r2\"")))
        let store = OAuthCredential.MemoryStore(credential())
        let first = RefreshableAuthenticator(nil, from: tokens, store: store)
        // The stored token is tried, rejected, and renewed.
        let executor = served(accepting: "planted-access")
        #expect(await get(first, executor) == nil)
        #expect(executor.sentAuthorizations == ["Bearer old", "Bearer planted-access"])
        #expect(try await store.load()?.refreshToken == "planted-r2" && endpoint.recordedCount == 1)
        // A second process still has the old one.
        let second = RefreshableAuthenticator(credential(), from: tokens, store: store)
        #expect(await get(second, executor) == nil && endpoint.recordedCount == 1)
        #expect(second.credential == first.credential)
    }

    /// A store that keeps the tokens, but not the ID token.
    private struct Forgetful: CredentialStore {
        let kept = OAuthCredential.MemoryStore()

        func load() async throws(CredentialError) -> OAuthCredential? { try await kept.load() }

        func update(
            _ change: @Sendable (OAuthCredential?) -> OAuthCredential?
        ) async throws(CredentialError) -> OAuthCredential? {
            try await kept.update { old in
                var new = change(old)
                new?.idToken = nil
                return new
            }
        }
    }

    @Test("an authenticator recognizes a stored token as its own and not another process's", .rows("AF-65"))
    func ownCredential() async throws {
        let folder = TemporaryDirectory()
        let file = OAuthCredential.FileStore(path: folder.path(of: "token"))
        // The last bit of this date is lost in seconds since 1970, which a file contains.
        clock.advance(by: .nanoseconds(119))
        for store in [file, Forgetful()] as [any CredentialStore<OAuthCredential>] {
            let (tokens, endpoint) = tokenClient(
                .test(clock: clock), .json(tokenJSON("\"expires_in\": 3600, \"id_token\": \"planted-id\"")),
                .json(tokenJSON("\"expires_in\": 3600").replacing("planted-access", with: "planted-second")))
            let authenticator = RefreshableAuthenticator(credential(), from: tokens, store: store)
            #expect(await get(authenticator, served(accepting: "planted-access")) == nil)
            // The server revokes the token, so the stored one is rejected too.
            #expect(await get(authenticator, served(accepting: "planted-second")) == nil)
            #expect(endpoint.recordedCount == 2)
        }
        #expect(try await file.load()?.accessToken == "planted-second")
    }

    @Test("signing out, or in as another user, does not bring the stored credential back", .rows("AF-65"))
    func signedOutWithStore() async throws {
        let (tokens, endpoint) = tokenClient(
            .test(clock: clock), .json(tokenJSON("\"expires_in\": 3600, \"refresh_token\": \"planted-r2\"")))
        let store = OAuthCredential.MemoryStore(credential())
        let authenticator = RefreshableAuthenticator(nil, from: tokens, store: store)
        let executor = served(accepting: "planted-access")
        #expect(await get(authenticator, executor) == nil)
        authenticator.replaceCredential(with: nil)
        // The error of a call without a credential; nothing is sent.
        let error = await get(authenticator, executor)
        #expect(error?.reason == .credentialsUnavailable && executor.recordedCount == 2)
        #expect(authenticator.credential == nil && endpoint.recordedCount == 1)
        authenticator.replaceCredential(with: OAuthCredential(accessToken: "other", refreshToken: "planted-other"))
        #expect(await get(authenticator, executor) == nil)
        // The token of the other user is rejected, and renewed with its own refresh token.
        #expect(endpoint.recordedCount == 2 && executor.sentAuthorizations[2] == "Bearer other")
        let form = endpoint.recordedRequests.last.flatMap { request -> String? in
            if case .bytes(let data) = request.body { String(decoding: data, as: UTF8.self) } else { nil }
        }
        #expect(form?.contains("refresh_token=planted-other") == true)
    }

    @Test("signing out during a refresh keeps its result out of the store", .rows("AF-65"))
    func signedOutDuringRefresh() async throws {
        let (isSent, isSignedOut) = (RefreshGate(), RefreshGate())
        let endpoint = MockExecutor { _ in
            isSent.open()
            await isSignedOut.wait()
            return .ok(tokenJSON(), contentType: .json)
        }
        let store = OAuthCredential.MemoryStore(credential())
        let authenticator = RefreshableAuthenticator(
            credential(), from: Client(OAuthServer.test(clock: clock), executor: endpoint), store: store)
        async let error = get(authenticator, served(accepting: "planted-access"))
        await isSent.wait()
        authenticator.replaceCredential(with: nil)
        _ = try await store.update { _ in nil }
        isSignedOut.open()
        #expect(await error?.status == 401)
        #expect(try await store.load() == nil && authenticator.credential == nil)
    }

    @Test("a credential that cannot be stored is used, and the failure is reported", .rows("AF-65"))
    func failingStore() async {
        struct Full: CredentialStore {
            func load() async throws(CredentialError) -> OAuthCredential? { nil }
            func update(
                _ change: @Sendable (OAuthCredential?) -> OAuthCredential?
            ) async throws(CredentialError) -> OAuthCredential? { throw .storeFailed("the disk is full") }
        }
        let (tokens, _) = tokenClient(.test(clock: clock), .json(tokenJSON()))
        let reported = Lock<[String]>([])
        let authenticator = RefreshableAuthenticator(credential(), from: tokens, store: Full()) { error in
            reported.withLock { $0.append("\(error)") }
        }
        #expect(await get(authenticator, served(accepting: "planted-access")) == nil)
        #expect(reported.withLock { $0 } == ["could not use the stored credentials: the disk is full"])
    }

    /// A store that keeps its first credential, or cannot be read either.
    private struct Stuck: CredentialStore {
        let stored: OAuthCredential?

        func load() async throws(CredentialError) -> OAuthCredential? {
            guard let stored else { throw .storeFailed("the disk is gone") }
            return stored
        }

        func update(
            _ change: @Sendable (OAuthCredential?) -> OAuthCredential?
        ) async throws(CredentialError) -> OAuthCredential? { throw .storeFailed("the disk is full") }
    }

    @Test("after a failed write, the next refresh uses the new refresh token, not the stored one", .rows("AF-65"))
    func staleStore() async throws {
        let (tokens, endpoint) = tokenClient(
            .test(clock: clock),
            .json(tokenJSON("\"expires_in\": 3600, \"refresh_token\": \"planted-r2\"")))
        for store in [Stuck(stored: credential()), Stuck(stored: nil)] {
            let before = endpoint.recordedCount
            let authenticator = RefreshableAuthenticator(credential(), from: tokens, store: store)
            // The token is rejected twice: by a server that knows no token.
            let executor = served(accepting: "none")
            _ = await get(authenticator, executor)
            _ = await get(authenticator, executor)
            let sent = endpoint.recordedRequests.dropFirst(before).map { request -> String in
                guard case .bytes(let data) = request.body else { return "" }
                return String(decoding: data, as: UTF8.self)
            }
            #expect(sent.count == 2 && sent.last?.contains("planted-r2") == true, "\(sent.count)")
        }
    }
}
