import Dispatch
@_spi(Lock) import Requests
import RequestsMiddleware
import RequestsMock
import Synchronization
import TestCorpora
import TestSupport
import Testing

@Suite("Authentication", .tags(.concurrent), .timeLimit(.minutes(10)))
struct AuthenticationTests {
    private static func environment(_ text: String) throws -> RequestEnvironment {
        try #require(RequestEnvironment(string: text))
    }

    /// The rows of T-51: the statuses, whether a 401 is handled, the final status and the number of requests.
    static let sequences: [([Int], Bool, Int, Int)] = [
        ([401, 200], false, 401, 1), ([401, 200], true, 200, 2), ([401, 401, 200], true, 401, 2),
        ([403, 200], true, 200, 2), ([401, 403, 200], true, 200, 3), ([403, 401, 200], true, 401, 2),
        ([401, 503, 403, 200], true, 200, 4), ([403, 503, 401, 200], true, 401, 3),
        ([403, 403, 200], true, 403, 2), ([401, 403, 401, 200], true, 401, 3), ([401, 403, 403, 200], true, 403, 3),
    ]

    @Test(
        "401 and 403 are handled once each, and a 401 after a handled 403 is final", .rows("T-51", "PM-91", "D-7"),
        arguments: sequences, Transport.allCases)
    func follows(row: ([Int], Bool, Int, Int), transport: Transport) async throws {
        let (statuses, handles, final, count) = row
        let served = scripted(statuses)
        try await transport.run(serving: served) { api, executor in
            let tokens = NumberedTokens(handlesUnauthorized: handles)
            let client = Client(api, executor: executor.retrying(clock: ManualClock().clock()))
                .authenticating(with: tokens)
            let error = await failure { () async throws(RequestError) in
                try await client.perform { $0.get(.text, from: "/a") }
            }
            #expect(error?.status == (final == 200 ? nil : HTTPStatus(final)))
            #expect(error == nil || error?.reason == .unacceptableStatus)
        }
        #expect(served.recordedCount == count)
    }

    @Test(
        "a closure, fixed credentials and an authenticator sign in the same request, and the closure's stay",
        .rows("C19"))
    func providers() async throws {
        let served = scripted([200])
        let client = Client(AnonymousRequestProvider("http://e.com"), executor: served)
        let authenticators: [any Authenticator] = [
            FixedCredentials.basicAuth(username: "planted", password: "planted"),
            FixedCredentials.bearerToken("planted"),
            RefreshableAuthenticator(bearerToken: "planted-refreshable") { _ in nil },
        ]
        for authenticator in authenticators {
            let authenticated = client.authenticating(with: authenticator)
            _ = try await authenticated.perform { $0.get(.text, from: "/a") }
            _ = try await authenticated.perform {
                $0.get(.text, from: "/a").authenticated(
                    with: AuthenticationProvider { $0.set(Field(name: .authorization, value: "Own")) })
            }
        }
        let basic = "Basic \(Data("planted:planted".utf8).base64EncodedString())"
        #expect(
            served.sentAuthorizations == [basic, "Own", "Bearer planted", "Own", "Bearer planted-refreshable", "Own"])
    }

    @Test("each request after a handled rejection has new credentials, a retry has the same ones", .rows("PM-90"))
    func tokens() async throws {
        let served = scripted([401, 503, 403, 200])
        let marks = Lock<[Bool]>([])
        let executor = served.intercepting { request, next in
            marks.withLock { $0.append(request.handlesUnauthorized) }
            return try await next.execute(request)
        }
        let client = Client(
            AnonymousRequestProvider("http://e.com"), executor: executor.intercepted(by: RetryingUnavailable()))
        _ = try await client.authenticating(with: NumberedTokens()).perform { $0.get(.text, from: "/a") }
        #expect(served.sentAuthorizations == [1, 2, 2, 3].map { "Bearer planted-\($0)" })
        _ = try await client.perform { $0.get(.text, from: "/a") }
        #expect(marks.withLock { $0 } == [true, true, true, true, false])
    }

    /// The base URL of the environment, the URL of the request, and whether credentials are sent.
    static let scopes: [(String, String, Bool)] = [
        ("http://e.com/api", "http://e.com/api/x", true), ("http://e.com/api", "http://e.com/api", true),
        ("http://e.com/api/", "http://e.com/api?q=1", true), ("http://e.com", "http://e.com/x", true),
        ("http://e.com/api", "http://e.com/apix", false), ("http://e.com/api", "http://e.com/", false),
        ("http://e.com/api", "http://e.com:81/api/x", false), ("http://e.com/api", "https://e.com/api/x", false),
        ("https://e.com/api", "http://e.com/api/x", false), ("https://e.com/api", "https://e.com:443/api/x", true),
        ("http://e.com/api", "http://f.com/api/x", false), ("http://e.com/api", "http://e.com./api/x", false),
        ("http://e.com/api", "http://a.e.com/api/x", false), ("http://e.com/api", "http://e.com/api/%2e%2E/x", false),
        ("http://e.com/api", "http://e.com/api/%2e./x", false), ("http://e.com/api", "http://e.com/api/a.b/%20", true),
        ("http://E.com:80/api", "http://e.COM/api/x", true), ("http://e.com/api", "http://e.com/api/..%2Fx", false),
        ("http://e.com/api", "http://e.com/api/a%2f%2e%2e%2f..%2fx", false),
        ("http://e.com/api", "http://e.com/api/..%5Cx", false), ("http://e.com/api", "http://e.com/api/..;a/x", false),
        ("http://e.com/api", "http://e.com/api/a%2Fb..%2F...;.c/x", true),
    ]

    @Test(
        "credentials are sent only at or below the base URL of the environment", .rows("PM-6", "R-36"),
        arguments: scopes)
    func scope(base: String, url: String, isSent: Bool) async throws {
        let served = scripted([200])
        let executor = try served.authenticating(with: NumberedTokens(), within: Self.environment(base))
        _ = try await executor.execute(PreparedRequest(target: TargetURI(url)))
        #expect(served.sentAuthorizations == [isSent ? "Bearer planted-1" : nil])
    }

    @Test(
        "a path that leaves the base URL by dot segments is not below it", .rows("PM-6"),
        arguments: ["/%2e%2e/x", "/a/%2E./%2e./x"])
    func dotSegments(text: String) async throws {
        let served = scripted([200])
        let client = Client(AnonymousRequestProvider("http://e.com/api"), executor: served).authenticating(
            with: NumberedTokens())
        let endpoint = RequestPath(stringLiteral: text)
        let error = await failure { () async throws(RequestError) in
            try await client.perform { $0.get(.text, from: endpoint) }
        }
        #expect(error == nil && served.sentAuthorizations == [nil])
    }

    @Test("a request with its own credentials keeps them, and its rejection is not handled", .rows("PM-6"))
    func ownCredentials() async throws {
        let served = scripted([401, 200])
        let client = Client(AnonymousRequestProvider("http://e.com"), executor: served).authenticating(
            with: NumberedTokens())
        let error = await failure { () async throws(RequestError) in
            try await client.perform { $0.get(.text, from: "/a").authenticated(with: .bearerToken("mine")) }
        }
        #expect(error?.status == 401 && served.sentAuthorizations == ["Bearer mine"])
        let key = FixedCredentials(fields: [Field(name: "X-Key", value: "planted-key")])
        let other = scripted([200])
        let keyed = Client(AnonymousRequestProvider("http://e.com"), executor: other).authenticating(with: key)
        _ = try await keyed.perform {
            $0.get(.text, from: "/a").adding(headerField: Field(name: "X-Key", value: "mine"))
        }
        #expect(other.recordedRequests.map { $0.header["X-Key"] } == ["mine"])
    }

    @Test("an API key and a token are sent together, whatever their order", .rows("PM-90"), arguments: [false, true])
    func twoAuthenticators(isKeyOuter: Bool) async throws {
        let served = scripted([401, 200])
        let client = Client(AnonymousRequestProvider("http://e.com"), executor: served)
        let key = FixedCredentials(fields: [Field(name: "X-Key", value: "planted-key")])
        let both =
            isKeyOuter
            ? client.authenticating(with: NumberedTokens()).authenticating(with: key)
            : client.authenticating(with: key).authenticating(with: NumberedTokens())
        _ = try await both.perform { $0.get(.text, from: "/a") }
        #expect(served.recordedRequests.map { $0.header["X-Key"] } == ["planted-key", "planted-key"])
        #expect(served.sentAuthorizations == ["Bearer planted-1", "Bearer planted-2"])
    }

    @Test(
        "the target of each redirect decides, and a call that left its origin has no credentials",
        .rows("R-27", "R-28", "R-36"))
    func redirects() async throws {
        let served = MockExecutor { request in
            switch request.target.absoluteString {
            case "http://e.com/api/1": .redirect(to: "/api/2")
            case "http://e.com/api/2": .redirect(to: "/other")
            case "http://e.com/other": .redirect(to: "/api/3")
            case "http://e.com/api/3": .redirect(to: "http://f.com/api/4")
            case "http://f.com/api/4": .redirect(to: "http://e.com/api/5")
            default: .ok()
            }
        }
        let tokens = NumberedTokens()
        let executor = try served.authenticating(
            with: tokens, within: Self.environment("http://e.com/api"))
        let api = AnonymousRequestProvider("http://e.com")
        _ = try await executor.perform(api.get(.text, from: "/api/1"))
        let numbers: [Int?] = [1, 2, nil, 3, nil, nil]
        #expect(served.sentAuthorizations == numbers.map { $0.map { "Bearer planted-\($0)" } })
        // Not even requested after the call has left its origin.
        #expect(tokens.made == 3)
    }

    @Test("fields of any name stay with their origin", .rows("R-27"))
    func otherFields() async throws {
        let served = MockExecutor { request in
            request.target.host == "e.com" ? .redirect(to: "http://f.com/") : .ok()
        }
        let executor = try served.authenticating(
            with: FixedCredentials(fields: [Field(name: "X-Private", value: "planted-key")]),
            within: Self.environment("http://e.com"))
        _ = try await executor.perform(AnonymousRequestProvider("http://e.com").get(.text, from: "/"))
        #expect(served.recordedRequests.map { $0.header["X-Private"] } == ["planted-key", nil])
        #expect(served.recordedRequests[0].redirectPolicy.sensitiveFields == ["X-Private"])
    }

    @Test("fields of the executor are not changed by credentials")
    func executorFields() async throws {
        let served = scripted([200])
        let fields: Header = [
            Field(name: .host, value: "f.com"), Field(name: .contentLength, value: "3"),
            Field(name: "X-Key", value: "k"),
        ]
        let executor = try served.authenticating(
            with: FixedCredentials(fields: fields), within: Self.environment("http://e.com"))
        _ = try await executor.execute(PreparedRequest(target: TargetURI("http://e.com/")))
        #expect(served.recordedRequests.first?.header == [Field(name: "X-Key", value: "k")])
    }

    @Test("a body that can be sent once is refused clearly, and nothing is sent a second time", .rows("R-33"))
    func oneShot() async throws {
        struct OneChunk: RequestBody.Source {
            var chunk: Data? = Data("x".utf8)
            mutating func next() async throws -> Data? { chunk.take() }
        }
        let served = scripted([401, 200])
        let executor = try served.authenticating(with: NumberedTokens(), within: Self.environment("http://e.com"))
        let request = try PreparedRequest(
            method: .post, target: TargetURI("http://e.com/"), body: .oneShot(OneChunk()))
        let error = await failure { () async throws(RequestError) in try await executor.execute(request) }
        #expect(error?.reason == .bodyNotReplayable && error?.status == 401 && served.recordedCount == 1)
    }

    @Test("a server that always rejects ends the call after the stated number of requests", .rows("R-37"))
    func bound() async throws {
        final class Challenged: Authenticator {
            func credentials(for: PreparedRequest) async throws(RequestError) -> (fields: Header, token: Void) {
                ([], ())
            }
            func handleUnauthorized(_: AuthenticationFailure<Void>) async throws(RequestError) -> Bool { true }
            func handleForbidden(_: AuthenticationFailure<Void>) async throws(RequestError) -> Bool { true }
        }
        let environment = try Self.environment("http://e.com")
        let request = try PreparedRequest(target: TargetURI("http://e.com/"))
        for statuses in [[401], [403], [401, 403], [403, 401], [401, 403, 401]] {
            let served = scripted(statuses)
            _ = try await served.authenticating(with: Challenged(), within: environment).execute(request)
            #expect(served.recordedCount <= 4)
        }
    }

    @Test("random sequences of statuses stay within the stated bound", .rows("PM-91"))
    func randomSequences() async throws {
        let environment = try Self.environment("http://e.com")
        let request = try PreparedRequest(target: TargetURI("http://e.com/"))
        var random = SplitMix64(state: 1)
        for _ in 0..<2_000 {
            let statuses = (0..<8).map { _ in [200, 401, 403, 500, 401, 403][Int.random(in: 0..<6, using: &random)] }
            let served = scripted(statuses)
            let response = try await served.authenticating(with: NumberedTokens(), within: environment).execute(request)
            // One for the request, and one for each kind of rejection.
            #expect(served.recordedCount <= 3 && response.head.status == HTTPStatus(statuses[served.recordedCount - 1]))
            let sent = statuses.prefix(served.recordedCount)
            #expect(sent.dropLast().filter { $0 == 401 }.count <= 1 && sent.dropLast().filter { $0 == 403 }.count <= 1)
            if let forbidden = sent.dropLast().firstIndex(of: 403) {
                #expect(!sent.dropLast()[forbidden...].contains(401), "\(sent)")
            }
        }
    }

    @Test("suppression spans suspensions and child tasks, and concerns one authenticator only", .rows("PM-14"))
    func suppression() async throws {
        let served = scripted([401, 200])
        let (tokens, other) = (NumberedTokens(), NumberedTokens())
        let client = Client(AnonymousRequestProvider("http://e.com"), executor: served).authenticating(with: tokens)
        @Sendable func get() async -> RequestError? {
            await failure { () async throws(RequestError) in
                try await client.perform { $0.get(.text, from: "/a") }
            }
        }
        let rejected = await tokens.withoutCredentials { () async in
            let first = await get()
            await Task.yield()
            let second = await Task { await get() }.value
            return (first, second)
        }
        // The 401 of a request without the credentials is not handled.
        #expect(rejected.0?.status == 401 && rejected.1 == nil && served.recordedCount == 2)
        #expect(await other.withoutCredentials { () async in await get() } == nil)
        #expect(await get() == nil)
        #expect(served.sentAuthorizations == [nil, nil, "Bearer planted-1", "Bearer planted-2"])
        let error = await failure { () async throws(RequestError) in
            try await tokens.withoutCredentials { () async throws(RequestError) in throw RequestError(.cancelled) }
        }
        #expect(error?.reason == .cancelled)
    }

    @Test("suppression concerns blocking calls too", .rows("PM-14"))
    func blockingSuppression() throws {
        let served = scripted([200])
        let key = FixedCredentials.bearerToken("planted")
        let client = Client(AnonymousRequestProvider("http://e.com"), executor: served).authenticating(with: key)
        try key.withoutCredentials { () throws(RequestError) in
            _ = try client.performAndWait { $0.get(.text, from: "/a") }
        }
        _ = try client.performAndWait { $0.get(.text, from: "/a") }
        #expect(served.sentAuthorizations == [nil, "Bearer planted"])
    }

    @Test(
        "suppression concerns calls with a completion handler that begin within it, whenever they end", .rows("PM-14"))
    func completionSuppression() async throws {
        let released = RefreshGate()
        let served = MockExecutor { _ in
            await released.wait()
            return .ok("")
        }
        let tokens = NumberedTokens()
        let environment = try Self.environment("http://e.com")
        let executor = served.authenticating(with: tokens, within: environment)
        let request = AnonymousRequestProvider("http://e.com").get(.text, from: "/a")
        let result = await withCheckedContinuation { continuation in
            tokens.withoutCredentials {
                _ = executor.perform(request, on: .global()) { continuation.resume(returning: $0) }
            }
            // The call ends after the scope in which it began.
            released.open()
        }
        _ = try result.get()
        _ = try await executor.perform(request)
        #expect(served.sentAuthorizations == [nil, "Bearer planted-1"])
    }

    @Test("blocking calls have the same rules", .rows("T-51"), arguments: sequences)
    func blocking(row: ([Int], Bool, Int, Int)) throws {
        let (statuses, handles, final, count) = row
        let served = scripted(statuses)
        let client = Client(
            AnonymousRequestProvider("http://e.com"), executor: served.retrying(clock: ManualClock().clock())
        ).authenticating(with: NumberedTokens(handlesUnauthorized: handles))
        let response = try client.responseAndWait { $0.get(.text, from: "/a").validating(.none) }
        #expect(response.status.code == final && served.recordedCount == count)
    }

    @Test("an error of the authenticator ends the call before anything is sent")
    func problems() async throws {
        let served = scripted([200])
        let environment = try Self.environment("http://e.com")
        let request = try PreparedRequest(target: TargetURI("http://e.com/"))
        let cases: [(FixedCredentials, RequestError.InvalidRequest)] = [
            (.basicAuth(username: "a:b", password: "c"), .colonInUsername),
            (.basicAuth(username: "a\r\n", password: "c"), .invalidFieldValue),
            (.basicAuth(username: "a", password: "\u{0}"), .invalidFieldValue), (.bearerToken(""), .invalidBearerToken),
            (.bearerToken("a b"), .invalidBearerToken), (.bearerToken("a\r\nX: y"), .invalidBearerToken),
        ]
        for (credentials, problem) in cases {
            let executor = served.authenticating(with: credentials, within: environment)
            let error = await failure { () async throws(RequestError) in try await executor.execute(request) }
            #expect(error?.reason == .invalidRequest(problem) && error?.mayHaveReachedServer == false)
            #expect(error?.request?.target == request.target)
        }
        #expect(served.recordedCount == 0)
    }
}
