@_spi(Lock) import Requests
import RequestsMiddleware
import RequestsMock
import TestSupport
import Testing

@Suite("Digest over every executor", .timeLimit(.minutes(10)))
struct DigestTransportTests {
    @Test(
        "challenges are met over every executor, with bodies in memory and in files, and stale nonces are replaced",
        .rows("R-37"),
        arguments: Transport.allCases, [CallForm.awaited, .blocking])
    func meets(transport: Transport, form: CallForm) async throws {
        let folder = TemporaryDirectory()
        try folder.write("content of a file".utf8, to: "file")
        let file = URL(filePath: folder.path(of: "file"))
        for quality in ["auth", "auth-int"] {
            let server = DigestServer(["qop": quality])
            server.state.withLock { $0.lifetime = 2 }
            let served = server.executor
            try await transport.run(serving: served) { api, base in
                let executor = base.authenticating(
                    with: DigestAuthenticator(username: "planted-user", password: "planted-password"),
                    within: try #require(RequestEnvironment(baseURL: api.baseURL)))
                for body in [BodyProvider.text("body é"), .file(at: file), .none, .file(at: file)] {
                    let request = api.post(body, to: "/a", receiving: .text).adding(queryItem: ("b", "c"))
                    #expect(try await form.response(for: request, over: executor).value == "in")
                }
            }
            // The first request, and the third one, whose nonce is stale.
            server.state.withLock { #expect($0.accepted == 4 && $0.challenges == 2 && $0.problems == []) }
            #expect(served.recordedCount == 6)
        }
    }

    @Test(
        "a server that always challenges ends the call after three requests, over every executor", .rows("R-37"),
        arguments: Transport.allCases)
    func ends(transport: Transport) async throws {
        let count = Lock(0)
        let served = MockExecutor { _ in
            let number = count.withLock { count in
                count += 1
                return count
            }
            let challenge = "Digest realm=r, nonce=n\(number), qop=auth, algorithm=SHA-256, stale=true"
            return .status(401).adding(headerField: Field(name: .wwwAuthenticate, value: challenge))
        }
        try await transport.run(serving: served) { api, base in
            let client = Client(api, executor: base).authenticating(
                with: DigestAuthenticator(username: "planted-user", password: "planted-password"))
            let error = await failure { () async throws(RequestError) in
                try await client.perform { $0.get(.text, from: "/a") }
            }
            #expect(error?.status == 401 && error?.attempts == 3)
        }
        #expect(served.recordedCount == 3)
    }
}
