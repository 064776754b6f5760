@_spi(Lock) import Requests
import RequestsMiddleware
import RequestsMock
import RequestsPOSIX
import TestSupport
import Testing

/// Secrets of authenticators and signers appear in no description, dump, error or command.
@Suite("Planted credentials")
struct PlantedCredentialTests {
    private let api = AnonymousRequestProvider("http://e.com")

    /// Returns everything that can be printed about `value`.
    private func texts(of value: Any) -> [String] {
        var dumped = ""
        dump(value, to: &dumped)
        return ["\(value)", String(reflecting: value), String(describing: Mirror(reflecting: value)), dumped]
    }

    private func expectHidden(_ value: Any, _ place: String) {
        for text in texts(of: value) {
            for secret in ["planted", "cGxhbnRlZ", "%70lanted"] { #expect(!text.contains(secret), "\(place): \(text)") }
        }
    }

    private func expectHidden(_ error: RequestError?, _ place: String) throws {
        let error = try #require(error, "\(place)")
        expectHidden(error, place)
        if let underlying = error.underlying { expectHidden(underlying, place) }
        if let request = error.request { expectHidden(request, place) }
    }

    private static func refreshable() -> RefreshableAuthenticator<String> {
        RefreshableAuthenticator(bearerToken: "planted-token") { _ in
            struct Refused: Error {}
            throw Refused()
        }
    }

    @Test("authenticators, their middleware and its clients print no secret", .rows("R-74"))
    func values() async throws {
        func check(_ authenticator: some Authenticator) throws {
            expectHidden(authenticator, "authenticator")
            let environment = try #require(RequestEnvironment(string: "http://e.com"))
            let executor = scripted([401]).authenticating(with: authenticator, within: environment)
            expectHidden(executor.middleware, "middleware")
            expectHidden(executor, "executor")
            expectHidden(Client(api, executor: executor), "client")
        }
        try check(FixedCredentials.basicAuth(username: "planted-user", password: "planted-password"))
        try check(FixedCredentials.bearerToken("planted-token"))
        try check(FixedCredentials(fields: [Field(name: "X-Key", value: "planted-key")]))
        try check(DigestAuthenticator(username: "planted-user", password: "planted-password"))
        try check(Self.refreshable())
    }

    @Test("the token of a Digest request prints neither its user name nor its key", .rows("R-74"))
    func digestToken() async throws {
        let authenticator = DigestAuthenticator(username: "planted-user", password: "planted-password")
        let client = Client(api, executor: DigestServer().executor).authenticating(with: authenticator)
        _ = try await client.perform { $0.get(.text, from: "/a") }
        let request = try client.preparedRequest { $0.get(.text, from: "/a") }
        let token = try await authenticator.credentials(for: request).token
        expectHidden(token, "token")
        #expect(Mirror(reflecting: token).children.isEmpty && "\(token)" == "Digest token")
    }

    @Test("errors of requests with credentials, sent or not, print no secret", .rows("R-74", "R-8"))
    func errors() async throws {
        func error(_ authenticator: some Authenticator, status: Int = 401) async -> RequestError? {
            let challenge = Field(
                name: .wwwAuthenticate, value: "Digest realm=r, nonce=n, qop=auth, algorithm=SHA-256, Basic realm=r")
            let executor = MockExecutor { _ in .status(HTTPStatus(status)).adding(headerField: challenge) }
            let client = Client(api, executor: executor).authenticating(with: authenticator)
            return await failure { () async throws(RequestError) in
                try await client.perform { $0.get(.text, from: "/a") }
            }
        }
        for status in [401, 403, 500] {
            try expectHidden(
                await error(
                    FixedCredentials.basicAuth(username: "planted-user", password: "planted-pass"), status: status),
                "basic")
            try expectHidden(await error(FixedCredentials.bearerToken("planted-token"), status: status), "bearer")
            try expectHidden(await error(Self.refreshable(), status: status), "refreshable")
            try expectHidden(
                await error(FixedCredentials(fields: [Field(name: "X-Key", value: "planted-key")]), status: status),
                "key")
            try expectHidden(
                await error(
                    DigestAuthenticator(username: "u", password: "planted-pass", allowing: .basic), status: status),
                "digest")
        }
        try expectHidden(await error(FixedCredentials.bearerToken("planted token")), "invalid token")
        try expectHidden(
            await error(FixedCredentials.basicAuth(username: "planted:user", password: "planted-pass")), "invalid name")
        try expectHidden(await error(DigestAuthenticator(username: "planted\r\n", password: "planted")), "controls")
    }

    @Test("signed requests, and signatures and their errors, print no secret", .rows("R-74"))
    func signatures() async throws {
        let signature = AWSSignature(
            credentials: .init(
                accessKeyID: "AKID", secretAccessKey: "planted-secret", sessionToken: "planted-session"),
            region: "r", service: "s3")
        expectHidden(signature, "signature")
        expectHidden(signature.credentials, "credentials")
        let key = Data("planted-hmac-key".utf8)
        let hmac = RequestSigner.hmacSHA256(key: key, field: "X-Signature") { $1 }
        expectHidden(hmac, "signer")
        let served = scripted([500])
        let environment = try #require(RequestEnvironment(string: "http://e.com"))
        let executor = served.signing(with: .aws(signature), within: environment)
        expectHidden(executor, "executor")
        try expectHidden(
            await failure { () async throws(RequestError) in
                try await executor.perform(api.get(.text, from: "/a"))
            },
            "signed")
        let request = try #require(served.recordedRequests.first)
        #expect(request.header["X-Amz-Security-Token"] == "planted-session")
        expectHidden(request, "request")
        #expect(!request.curlCommand().contains("planted") && !request.wireText.contains("planted"))
        let url = try signature.presignedURL(for: request, expiresIn: .seconds(60))
        let target = try TargetURI(url.absoluteString)
        let value = try #require(target.query?.split(separator: "&").last?.split(separator: "=").last)
        for text in texts(of: target) + texts(of: PreparedRequest(target: target)) {
            #expect(!text.contains("planted") && !text.contains(value), "\(text)")
        }
    }
}
