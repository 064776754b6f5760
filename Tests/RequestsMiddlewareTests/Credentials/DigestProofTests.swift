@_spi(Lock) import Requests
import RequestsMiddleware
import RequestsMock
import Testing

@Suite("Digest: the proof of the server and normalization")
struct DigestProofTests {
    private let api = AnonymousRequestProvider("http://e.com")

    private func client(
        _ server: DigestServer, username: String = "planted-user", password: String = "planted-password",
        prefersIntegrity: Bool = false
    ) -> Client<AnonymousRequestProvider> {
        Client(api, executor: server.executor).authenticating(
            with: DigestAuthenticator(username: username, password: password, prefersIntegrity: prefersIntegrity))
    }

    private func get(_ client: Client<AnonymousRequestProvider>) async -> RequestError? {
        await failure { () async throws(RequestError) in try await client.perform { $0.get(.text, from: "/a") } }
    }

    @Test("the right response digest is accepted, with upper-case digits too, for each request of a session (R-37)")
    func right() async {
        for change in [{ @Sendable in $0 }, { @Sendable in $0.uppercased() }] as [@Sendable (String) -> String] {
            let server = DigestServer()
            server.state.withLock { $0.prove = change }
            let client = client(server)
            for _ in 0..<3 { #expect(await get(client) == nil) }
            #expect(server.state.withLock { $0.accepted } == 3)
        }
    }

    @Test("a wrong response digest ends the call with a typed error that has the response (R-37, R-74)")
    func wrong() async throws {
        for change in [
            { @Sendable _ in "" }, { @Sendable _ in "planted" }, { @Sendable in String($0.dropLast()) },
            { @Sendable in "\($0)\u{301}" },
        ] as [@Sendable (String) -> String] {
            let server = DigestServer()
            server.state.withLock { $0.prove = change }
            let error = try #require(await get(client(server)))
            #expect(error.reason == .credentialsUnavailable && error.status == 200 && error.mayHaveReachedServer)
            guard case .serverNotAuthenticated? = error.underlying as? CredentialError else {
                Issue.record("another error: \(error)")
                continue
            }
            #expect("\(error)".hasSuffix("its own digest is wrong (RFC 7616 §3.5)"))
            #expect(!error.debugDescription.contains("planted-"))
        }
    }

    @Test("blocking calls verify the response digest too (R-37)")
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

    @Test("the digest of a protected body is not verified, because the body is read later")
    func integrity() async {
        let server = DigestServer(["qop": "auth-int"])
        server.state.withLock { $0.prove = { _ in "unknown" } }
        let client = client(server, prefersIntegrity: true)
        let error = await failure { () async throws(RequestError) in
            try await client.perform { $0.post(.text("a"), to: "/a") }
        }
        #expect(error == nil && server.state.withLock { $0.accepted } == 1)
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
