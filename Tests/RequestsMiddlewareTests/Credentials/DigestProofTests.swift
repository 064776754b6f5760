@_spi(Lock) import Requests
import RequestsMiddleware
import RequestsMock
import TestSupport
import Testing

@Suite("Digest: the proof of the server and normalization", .tags(.concurrent))
struct DigestProofTests {
    private let api = AnonymousRequestProvider("http://e.com")

    private func client(
        _ server: DigestServer, username: String = "planted-user", password: String = "planted-password"
    ) -> Client<AnonymousRequestProvider> {
        Client(api, executor: server.executor).authenticating(
            with: DigestAuthenticator(username: username, password: password))
    }

    private func get(_ client: Client<AnonymousRequestProvider>) async -> RequestError? {
        await failure { () async throws(RequestError) in try await client.perform { $0.get(.text, from: "/a") } }
    }

    @Test(
        "the right response digest is accepted, with upper-case digits too, for each request of a session",
        .rows("R-37"))
    func right() async {
        for change in [{ @Sendable in $0 }, { @Sendable in $0.uppercased() }] as [@Sendable (String) -> String] {
            let server = DigestServer()
            server.state.withLock { $0.prove = change }
            let client = client(server)
            for _ in 0..<3 { #expect(await get(client) == nil) }
            #expect(server.state.withLock { $0.accepted } == 3)
        }
    }

    @Test("a wrong response digest ends the call with a typed error that has the response", .rows("R-37", "R-74"))
    func wrong() async throws {
        for change in [
            { @Sendable _ in "" }, { @Sendable _ in "planted" }, { @Sendable in String($0.dropLast()) },
            { @Sendable in "\($0)\u{301}" }, { @Sendable in String($0.reversed()) },
        ] as [@Sendable (String) -> String] {
            let server = DigestServer()
            server.state.withLock { $0.prove = change }
            let error = try #require(await get(client(server)))
            #expect(error.reason == .credentialsUnavailable && error.status == 200 && error.mayHaveReachedServer)
            guard case .serverNotAuthenticated? = error.underlying as? CredentialError else {
                Issue.record("another error: \(error)")
                continue
            }
            #expect("\(error)".hasSuffix("wrong response digest (RFC 7616 §3.5)"))
            #expect(!error.debugDescription.contains("planted-"))
        }
    }

    @Test("blocking calls verify the response digest too", .rows("R-37"))
    func blocking() async throws {
        let server = DigestServer()
        server.state.withLock { $0.prove = { $0 } }
        let client = client(server)
        try await onOwnThread {
            for _ in 0..<2 { _ = try client.performAndWait { $0.get(.text, from: "/a") } }
        }
        server.state.withLock { $0.prove = { _ in "0" } }
        let error = try await onOwnThread { () -> RequestError? in
            do throws(RequestError) {
                _ = try client.performAndWait { $0.get(.text, from: "/a") }
                return nil
            } catch {
                return error
            }
        }
        #expect(error?.underlying is CredentialError)
    }

    @Test(
        "with auth-int the response digest covers the body: a wrong digest and a changed body end the call",
        .rows("R-37"))
    func integrity() async {
        for (change, body, isAccepted) in [
            ({ @Sendable in $0 }, "in", true), ({ @Sendable _ in "unknown" }, "in", false),
            ({ @Sendable in $0 }, "In", false), ({ @Sendable in $0 }, "", false),
        ] as [(@Sendable (String) -> String, String, Bool)] {
            let server = DigestServer(["qop": "auth-int"])
            server.state.withLock { $0.prove = change }
            let executor = server.executor.intercepting { request, next in
                var response = try await next.execute(request)
                if response.status == .ok { response.body = .bytes(Data(body.utf8)) }
                return response
            }
            let client = Client(api, executor: executor).authenticating(
                with: DigestAuthenticator(username: "planted-user", password: "planted-password"))
            let error = await failure { () async throws(RequestError) in
                try await client.perform { $0.post(.text("a"), to: "/a", receiving: .data) }
            }
            #expect((error == nil) == isAccepted && (error?.underlying is CredentialError) != isAccepted)
            #expect(server.state.withLock { $0.accepted } == 1)
        }
    }

    @Test(
        "with auth-int, the response digest of a streamed or decoded body is not verified, because it is not available"
    )
    func unverifiable() async throws {
        let server = DigestServer(["qop": "auth-int"])
        server.state.withLock { $0.prove = { _ in "unknown" } }
        let executor = server.executor.intercepting { request, next in
            var response = try await next.execute(request)
            if request.header.contains("X-Coded") { response.metrics.contentEncoding = "gzip" }
            return response
        }
        let environment = try #require(RequestEnvironment(baseURL: api.baseURL))
        let authenticated = executor.authenticating(
            with: DigestAuthenticator(username: "planted-user", password: "planted-password"), within: environment)
        let request = try PreparedRequest(url: URL("http://e.com/a"))
        var (streamed, coded) = (request, request)
        streamed.delivery = .streamed
        coded.header.set(Field(name: "X-Coded", value: "1"))
        #expect(try await authenticated.execute(streamed).status == .ok)
        #expect(try await authenticated.execute(coded).status == .ok)
        await #expect(throws: RequestError.self) { try await authenticated.execute(request) }
    }

    @Test("user name and password are normalized if the server announces UTF-8, and only then (RFC 7616 §4)")
    func normalization() async {
        let decomposed = (username: "Ja\u{308}so\u{323}\u{302}n", password: "pa\u{308}ss\u{1100}\u{1161}")
        let composed = (username: "J\u{E4}s\u{1ED9}n", password: "p\u{E4}ss\u{AC00}")
        let announced: FieldParameters = ["qop": "auth", "charset": "UTF-8", "userhash": "true"]
        let server = DigestServer(username: composed.username, password: composed.password, announced)
        #expect(await get(client(server, username: decomposed.username, password: decomposed.password)) == nil)
        // Without the announcement the server has what was registered, byte for byte.
        let old = DigestServer(username: decomposed.username, password: decomposed.password, ["userhash": "true"])
        #expect(await get(client(old, username: decomposed.username, password: decomposed.password)) == nil)
        #expect(await get(client(old, username: composed.username, password: composed.password))?.status == 401)
    }
}
