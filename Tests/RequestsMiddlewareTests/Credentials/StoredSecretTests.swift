@_spi(Lock) import Requests
import RequestsMiddleware
import RequestsMock
import TestSupport
import Testing

/// Secrets of authenticators and signers are in no log or recording, even if the server repeats them, and in no file of
/// a cache (R-74).
@Suite("Secrets that are logged or stored", .timeLimit(.minutes(10)))
struct StoredSecretTests {
    /// The way in which a request gets its credentials.
    enum Source: String, CaseIterable, CustomTestStringConvertible {
        case basic, bearer, refreshed, fields, digest, signature

        var testDescription: String { rawValue }

        /// Returns `executor` with this source of credentials.
        func adding(to executor: some RequestExecutor) throws -> any RequestExecutor {
            let environment = try #require(RequestEnvironment(string: "http://e.com"))
            func authenticating(_ authenticator: some Authenticator) -> any RequestExecutor {
                executor.authenticating(with: authenticator, within: environment)
            }
            switch self {
            case .basic:
                return authenticating(FixedCredentials.basicAuth(username: "planted-u", password: "planted-p"))
            case .bearer: return authenticating(FixedCredentials.bearerToken("planted-token"))
            case .refreshed:
                return authenticating(
                    RefreshableAuthenticator(bearerToken: "planted-old") { _ in "planted-new" })
            case .fields:
                return authenticating(
                    FixedCredentials(fields: [Field(name: "X-Api-Key", value: "planted-key")]))
            case .digest: return authenticating(DigestAuthenticator(username: "planted-u", password: "planted-p"))
            case .signature:
                let credentials = AWSSignature.Credentials(
                    accessKeyID: "AKID", secretAccessKey: "planted-secret", sessionToken: "planted-session")
                let signature = AWSSignature(credentials: credentials, region: "r", service: "s3")
                return executor.signing(with: .aws(signature), within: environment)
            }
        }
    }

    /// A server that rejects the first request, and repeats the secrets of the later ones in its responses.
    private var server: MockExecutor {
        let challenge = Field(
            name: .wwwAuthenticate, value: "Digest realm=r, nonce=n, qop=auth, algorithm=SHA-256, Basic realm=r")
        let isFirst = Lock(true)
        return MockExecutor { request in
            let rejects = isFirst.withLock { isFirst in
                defer { isFirst = false }
                return isFirst
            }
            if rejects { return .status(401).adding(headerField: challenge) }
            let secrets = request.header.filter(\.isPlanted).map { $0.value.replacing("\"", with: "\\\"") }
            let body = Data("{\"repeated\": \"\(secrets.joined(separator: " "))\"}".utf8)
            return MockResponse(
                header: [.contentType(.json), Field(name: .cacheControl, value: "max-age=60")], body: [.bytes(body)])
        }
    }

    @Test("logs and recordings contain no secret, whatever provides the credentials", arguments: Source.allCases)
    func written(source: Source) async throws {
        let lines = Lock<[String]>([])
        let sink: @Sendable (RequestLogging.Entry) -> Void = { entry in lines.withLock { $0 += entry.lines } }
        var logging = RequestLogging(requests: .everything, responses: .everything, sink: sink)
        logging.responseFields = nil
        let served = server
        let recorder = HARRecorder()
        let observed = served.intercepted(by: recorder)
            .observing(.attempts, by: RequestLogging.trace(bodies: true, sink: sink), logging)
        // The observers and the recorder in front see the request before it has credentials.
        let executor = try source.adding(to: observed).intercepted(by: recorder).observing(
            .calls, by: logging, RequestLogging.trace(bodies: true, sink: sink))
        let request = try PreparedRequest(target: TargetURI("http://e.com/a"))
        for _ in 0..<2 { _ = try await executor.execute(request) }
        #expect(served.recordedRequests.contains { $0.header.contains { $0.isPlanted } })
        let folder = TemporaryDirectory()
        try recorder.archive.write(to: folder.path(of: "recording.har"))
        let recording = try #require(folder.read("recording.har"))
        #expect(recording.count > 500 && lines.withLock { $0.count } > 20)
        for text in lines.withLock(\.self) + [String(decoding: recording, as: UTF8.self)] {
            for secret in Self.encodings { #expect(!text.contains(secret), "\(text)") }
        }
    }

    @Test(
        "an error prints no credentials that its response repeats, whatever its status is", .rows("R-74"),
        arguments: Source.allCases, CallForm.allCases)
    func errors(source: Source, form: CallForm) async throws {
        let challenge = Field(name: .wwwAuthenticate, value: "Digest realm=r, nonce=n, qop=auth, algorithm=SHA-256")
        let api = AnonymousRequestProvider("http://e.com")
        for status in [400, 401, 403, 404, 500] {
            let served = MockExecutor { request in
                let secrets = request.header.filter(\.isPlanted).map(\.value)
                guard !secrets.isEmpty else { return .status(401).adding(headerField: challenge) }
                return .status(HTTPStatus(status), "{\"a\": \(secrets.joined(separator: " "))")
            }
            let executor = try source.adding(to: served)
            for request in [
                api.get(.text, from: "/a"), api.get(.text, from: "/a").receiving(.json(String.self)).validating(.none),
            ] {
                let error = await failure { () async throws(RequestError) in
                    try await form.response(for: request, over: executor)
                }
                let body = String(decoding: error?.body ?? Data(), as: UTF8.self)
                #expect(
                    error?.status?.code == status && body.contains("Digest ")
                        || Self.encodings.contains(where: body.contains))
                var text = "\(String(describing: error)) \(String(reflecting: error))"
                dump(error, to: &text)
                // A Digest response proves the password to the server, so it is not printed either.
                for secret in Self.encodings + ["Digest username"] { #expect(!text.contains(secret), "\(text)") }
            }
        }
    }

    @Test("the files of a cache contain no credentials of a request", arguments: Source.allCases)
    func cached(source: Source) async throws {
        let folder = TemporaryDirectory()
        let challenge = Field(name: .wwwAuthenticate, value: "Digest realm=r, nonce=n, qop=auth, algorithm=SHA-256")
        let served = MockExecutor { request in
            guard request.header.contains(where: \.isPlanted) else {
                return .status(401).adding(headerField: challenge)
            }
            let varying = Field(name: .vary, value: "Authorization, X-Api-Key, X-Amz-Security-Token")
            return MockResponse(
                header: [Field(name: .cacheControl, value: "max-age=60"), varying], body: [.bytes(Data("body".utf8))])
        }
        let store = Caching.DiskStore(folder: folder.path(of: "cache"))
        let executor = try source.adding(to: served.caching(in: store, partition: .named("planted-partition")))
        let request = try PreparedRequest(target: TargetURI("http://e.com/a?token=planted-query"))
        for _ in 0..<2 { _ = try await executor.execute(request) }
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.path(of: "cache"))
        #expect(!names.isEmpty)
        for name in names {
            let text = String(decoding: try #require(folder.read("cache/\(name)")), as: UTF8.self)
            for secret in Self.encodings { #expect(!name.contains(secret) && !text.contains(secret), "\(text)") }
        }
    }

    /// Parts of the secrets as they are, in base64 of Basic credentials, and percent-encoded.
    private static let encodings = ["planted", "cGxhbnRlZ", "%70lanted"]
}

extension Field {
    /// Whether the value has a secret of these tests, or one computed from it.
    fileprivate var isPlanted: Bool {
        value.contains("planted") || value.contains("cGxhbnRlZ") || value.hasPrefix("Digest ")
    }
}
