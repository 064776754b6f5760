import Requests
import Synchronization
import TestCorpora
import TestSupport
import Testing

private let api = AnonymousRequestProvider.example

private struct Refused: Error, Equatable {}

private struct Minimal: RequestConvertible {
    typealias Resource = Void
    var baseURL: URL { URL("https://e.com/api") }
    var endpoint: RequestPath { "/x" }
}

private struct Texts: RequestConvertible {
    typealias Resource = String
    var baseURL: URL { URL("https://e.com/api") }
    var endpoint: RequestPath { "/x" }
}

private struct Bytes: RequestConvertible {
    typealias Resource = Data
    var baseURL: URL { URL("https://e.com/api") }
    var endpoint: RequestPath { "/x" }
}

private struct Nested: RequestConvertible {
    struct Resource: Decodable, Equatable { let id: Int }
    var baseURL: URL { URL("https://e.com/api") }
    var endpoint: RequestPath { "/x" }
    var responseDecoder: ResponseDecoder<Resource> { .json() }
}

/// A request with its own `prepared()`.
private struct Decided: RequestConvertible {
    typealias Resource = String
    var baseURL: URL { URL("https://e.com/api") }
    var endpoint: RequestPath { "/x" }
    func prepared() throws(RequestError) -> PreparedRequest {
        try PreparedRequest(url: URL("https://e.com/other"))
    }
}

@Suite("RequestConvertible")
struct RequestConvertibleTests {
    @Test("a type's own prepared() is used however the request is performed")
    func decided() async throws {
        let executor = StubExecutor { .stub(200, $0.target.path, to: $0) }
        #expect(try await executor.perform(Decided()) == "/other")
        #expect(try await executor.response(for: Decided()).value == "/other")
        let blocking: @Sendable () throws -> String = { try executor.performAndWait(Decided()) }
        #expect(try blocking() == "/other")
    }

    @Test(
        "a request type needs two properties, and the others have defaults",
        .rows("RQ-2", "RQ-3", "RQ-35", "C21", "C22", "AF-3", "HT-7"))
    func defaults() async throws {
        let request = Minimal()
        #expect(request.method == .get && request.header.isEmpty && request.queryItems.isEmpty)
        #expect(request.timeouts == .standard && request.cachePolicy == .useProtocolCachePolicy)
        let prepared = try request.prepared()
        #expect(prepared.wireText == "GET /api/x HTTP/1.1\nHost: e.com\n\n")
        #expect(prepared.timeouts.firstByte == .seconds(60) && prepared.timeouts.total == nil)
        #expect(try await StubExecutor(200, "text").perform(Texts()) == "text")
        #expect(try await StubExecutor(200, "text").perform(Bytes()) == Data("text".utf8))
        #expect(try await StubExecutor(200, #"{"id":7}"#).perform(Nested()) == Nested.Resource(id: 7))
    }

    @Test(
        "the endpoint is appended to the base URL with one slash between them",
        .rows("RQ-6", "RQ-36", "T-8", "T-9", "C7", "L12"),
        arguments: [
            ("https://e.com/api", RequestPath(""), "https://e.com/api"),
            ("https://e.com/api/", RequestPath(""), "https://e.com/api/"),
            ("https://e.com", RequestPath(""), "https://e.com/"),
            ("https://dev.e.com/api", RequestPath("user/1"), "https://dev.e.com/api/user/1"),
            ("https://dev.e.com/api", RequestPath("/user/1"), "https://dev.e.com/api/user/1"),
            ("https://dev.e.com/api", RequestPath("/user/1/"), "https://dev.e.com/api/user/1/"),
            ("https://dev.e.com/api/", RequestPath("/user"), "https://dev.e.com/api/user"),
            ("https://dev.e.com/api/", RequestPath("user"), "https://dev.e.com/api/user"),
            ("https://e.com", RequestPath("a"), "https://e.com/a"),
            ("https://e.com/", RequestPath("/"), "https://e.com/"),
            ("https://e.com/a", RequestPath("/"), "https://e.com/a/"),
            ("https://e.com/a", RequestPath("//b"), "https://e.com/a//b"),
            ("https://e.com/a%20b", RequestPath("c d"), "https://e.com/a%20b/c%20d"),
            ("https://e.com", RequestPath("http://f.com"), "https://e.com/http://f.com"),
            ("https://e.com", RequestPath("//f.com/x"), "https://e.com//f.com/x"),
        ])
    func joining(base: String, endpoint: RequestPath, url: String) throws {
        #expect(try AnonymousRequestProvider(text: base).head(endpoint).preparedURL() == url)
    }

    @Test(
        "the query of the base URL comes first, and its fragment last",
        .rows("RQ-6", "C7", "C32", "T-11", "AF-10", "L12"),
        arguments: [
            ("https://e.com/a?k=1", QueryItems.empty, "https://e.com/a/b?k=1"),
            ("https://e.com/a?k=1", ["x": 2], "https://e.com/a/b?k=1&x=2"),
            ("https://e.com/a?", ["x": 2], "https://e.com/a/b?x=2"),
            ("https://e.com/a#f", ["x": 2], "https://e.com/a/b?x=2#f"),
            ("https://e.com/a?k=1#f", ["x": "#"], "https://e.com/a/b?k=1&x=%23#f"),
        ] as [(String, QueryItems, String)])
    func baseQuery(base: String, query: QueryItems, url: String) throws {
        let request = try AnonymousRequestProvider(text: base).head("b").with(query: query)
        #expect(try request.preparedURL() == url)
        #expect(try !request.prepared().wireText.contains("#"))
    }

    @Test(
        "header, body and authentication apply in this order; each sees earlier fields",
        .rows("RQ-4", "RQ-5", "T-4", "T-5", "T-6", "C9", "AF-8")
    )
    func precedence() throws {
        let request = api.post(.json(["a": 1]), to: "/x")
            .with(header: [.contentType(.html), Field(name: .authorization, value: "Y")])
            .authenticated(with: AuthenticationProvider { $0["X-Seen"] = $0[.contentType] })
        let header = try request.prepared().header
        // The request's own Content-Type is not dropped (decision 0074).
        #expect(header[.contentType] == "text/html; charset=utf-8")
        #expect(header[.authorization] == "Y")
        #expect(header["X-Seen"] == "text/html; charset=utf-8")
        #expect(try request.authenticated(with: .bearerToken("Z")).prepared().header[.authorization] == "Bearer Z")
        #expect(try request.using(method: .get).sending(.none).prepared().header[.contentType] == nil)
    }

    @Test("authentication cannot change Accept, Content-Type or the framing fields", .rows("PM-34", "C9"))
    func authenticationIsLimited() throws {
        let provider = AuthenticationProvider { header in
            header["ACCEPT"] = "x/y"
            header["content-TYPE"] = "x/y"
            header["content-length"] = "0"
            header["Transfer-encoding"] = "gzip"
            header["host"] = "evil"
            header["X-Key"] = "k"
        }
        let prepared = try api.post(.text("b"), to: "/x", receiving: .json([Int].self)).authenticated(with: provider)
            .prepared()
        #expect(
            prepared.header.dictionaryValue == [
                "Accept": "application/json", "Content-Type": "text/plain; charset=utf-8", "X-Key": "k",
            ])
        let without = try api.head("/x").authenticated(with: provider).prepared()
        #expect(without.header.dictionaryValue == ["X-Key": "k"])
    }

    @Test("a body provider that throws changes nothing and runs again next time", .rows("RQ-4", "RQ-23", "T-7"))
    func providerThrows() {
        let calls = Mutex(0)
        let provider = BodyProvider { header in
            calls.withLock { $0 += 1 }
            header["X"] = "changed"
            throw Refused()
        }
        let request = api.post(provider, to: "/x")
        for _ in 1...2 {
            let error = #expect(throws: RequestError.self) { try request.prepared() }
            #expect(error?.reason == .bodyEncodingFailed)
            #expect(error?.underlying as? Refused == Refused())
            #expect(error?.mayHaveReachedServer == false)
        }
        #expect(calls.withLock { $0 } == 2)
        #expect(request.header.isEmpty)
    }

    @Test(
        "credentials have the form of RFC 7617 and RFC 6750, and a 401 is an error",
        .rows("RQ-24", "T-13", "PM-93", "AF-8", "R-1"))
    func credentials() async throws {
        let request = api.head("/x")
        func value(_ provider: AuthenticationProvider) throws -> String? {
            try request.authenticated(with: provider).prepared().header[.authorization]
        }
        #expect(try value(.basicAuth(username: "user", password: "password")) == "Basic dXNlcjpwYXNzd29yZA==")
        #expect(try value(.basicAuth(username: "é", password: ":")) == "Basic w6k6Og==")
        #expect(try value(.bearerToken("t")) == "Bearer t")
        #expect(try value(.none) == nil)
        expectInvalid(.invalidBearerToken) { try request.authenticated(with: .bearerToken("a\r\nb")).prepared() }
        let basic = request.authenticated(with: .basicAuth(username: "user", password: "password"))
        let refused = await #expect(throws: RequestError.self) { try await StubExecutor(401).perform(basic) }
        #expect(refused?.reason == .unacceptableStatus && refused?.status == 401)
    }

    /// The ways to describe a request with a bearer token.
    private static func spellings(_ token: String) throws -> [() throws -> PreparedRequest] {
        var environment = try #require(RequestEnvironment(string: "https://e.com"))
        environment.authenticationProvider = .bearerToken(token)
        var fields = environment
        fields.authenticationProvider = .none
        fields.header.set(.authorization(bearerToken: token))
        return [
            api.head("/x").authenticated(with: .bearerToken(token)).prepared,
            api.head("/x").setting(headerField: .authorization(bearerToken: token)).prepared,
            api.head("/x").setting(headerField: .authorization("Bearer \(token)")).prepared,
            api.head("/x").setting(headerField: Field(name: "authorization", value: "bearer \(token)")).prepared,
            environment.head("/x").prepared, fields.head("/x").prepared,
        ]
    }

    @Test("every spelling of a bearer token accepts visible ASCII characters and refuses all others", .rows("RQ-24"))
    func bearerTokens() throws {
        let visible = String(String.UnicodeScalarView((0x21...0x7E).map { Unicode.Scalar($0) }))
        for token in ["5|abc", "a:b$c", visible, "=", "a=b"] {
            for prepared in try Self.spellings(token) {
                #expect(try prepared().header[.authorization]?.utf8.dropFirst(7).elementsEqual(token.utf8) == true)
            }
        }
        for (token, problem) in [
            ("", "it is empty"), (" ", "it contains a space at offset 0"), ("a b", "it contains a space at offset 1"),
            ("a\t", "it contains U+0009 at offset 1"), ("a\r\nb", "it contains U+000D at offset 1"),
            ("\u{7F}", "it contains U+007F at offset 0"), ("aé", "it contains U+00E9 at offset 1"),
            ("a|\u{301}", "it contains U+0301 at offset 2"), ("🔑", "it contains U+1F511 at offset 0"),
        ] {
            for prepared in try Self.spellings(token) {
                let error = #expect(throws: RequestError.self) { try prepared() }
                #expect(error?.reason == .invalidRequest(.invalidBearerToken), "\(token.debugDescription)")
                #expect(error?.detail?.hasSuffix(problem) == true, "\(error?.detail ?? "")")
            }
        }
    }

    @Test("ambiguous Basic credentials are rejected, whatever their source", .rows("RQ-24", "R-1"))
    func ambiguousCredentials() throws {
        let odd = AuthenticationProvider.basicAuth(username: "us:er", password: "x")
        expectInvalid(.colonInUsername) { try api.head("/x").authenticated(with: odd).prepared() }
        for provider in [
            AuthenticationProvider.basicAuth(username: "us\r\ner", password: "x"),
            .basicAuth(username: "user", password: "x\0y"),
        ] {
            expectInvalid(.invalidFieldValue) { try api.head("/x").authenticated(with: provider).prepared() }
        }
        expectInvalid(.colonInUsername) {
            try AnonymousRequestProvider(text: "https://us%3Aer:x@e.com").head("/x").prepared()
        }
        var environment = try #require(RequestEnvironment(string: "https://e.com/a/"))
        environment.authenticationProvider = odd
        expectInvalid(.colonInUsername) { try environment.head("/x").prepared() }
        let own = environment.head("/x").authenticated(with: .bearerToken("t"))
        #expect(try own.prepared().header[.authorization] == "Bearer t")
    }

    @Test(
        "the collected credentials are written or rejected as expected",
        .enabled(if: Corpora.arePresent, "the case collections are not part of the repository"))
    func credentialCorpus() throws {
        let corpus = try #require(Corpora.credentials)
        for item in corpus.basic {
            let provider = AuthenticationProvider.basicAuth(username: item.user, password: item.password)
            let request = Result { try api.head("/x").authenticated(with: provider).prepared() }
            #expect(item.header == (try? request.get())?.header[.authorization], "\(item.user)")
        }
        // Servers issue tokens that are not a token68, such as `1|abc`; only those that break a message are rejected.
        for item in corpus.bearer
        where item.mustRefuse != true || item.token.contains(where: { $0.isNewline || $0 == "\0" }) {
            let request = Result { try api.head("/x").authenticated(with: .bearerToken(item.token)).prepared() }
            #expect(item.header == (try? request.get())?.header[.authorization], "\(item.token)")
        }
    }

    @Test("userinfo of the base URL becomes Basic credentials unless others are set", .rows("R-8"))
    func userinfo() throws {
        let request = try AnonymousRequestProvider(text: "https://user:pass%20word@e.com").head("/x")
        let prepared = try request.prepared()
        #expect(prepared.header[.authorization] == "Basic dXNlcjpwYXNzIHdvcmQ=")
        #expect(prepared.target.absoluteString == "https://e.com/x")
        #expect(try request.authenticated(with: .bearerToken("t")).prepared().header[.authorization] == "Bearer t")
    }

    @Test("each body provider sets its content and content type", .rows("RQ-22", "RQ-23", "PM-45", "PM-46", "AF-19"))
    func bodies() throws {
        func prepared(_ provider: BodyProvider) throws -> PreparedRequest {
            try api.post(provider, to: "/x").prepared()
        }
        #expect(try prepared(.raw(data: Data([1]))).header[.contentType] == "application/octet-stream")
        #expect(try prepared(.raw(data: Data([1]), contentType: .png)).header[.contentType] == "image/png")
        #expect(try prepared(.text("é")).wireText.hasSuffix("Content-Length: 2\n\né"))
        #expect(
            try prepared(.json(encoded: [1, 2])).wireText.hasSuffix(
                "Content-Type: application/json\nContent-Length: 5\n\n[1,2]"))
        #expect(try prepared(.none).header.isEmpty)
        let error = #expect(throws: RequestError.self) { try prepared(.json(encoded: Double.nan)) }
        #expect(error?.reason == .bodyEncodingFailed && error?.underlying is EncodingError)
    }

    @Test("the decoder's types are sent in Accept unless the request sets it")
    func accept() throws {
        let decoder = ResponseDecoder<Void>(accepting: [.json, .xml, .any]) { _, _ in }
        let value = try api.get(decoder, from: "/x").prepared().header[.accept]
        #expect(value == "application/json, application/xml;charset=utf-8;q=0.9, */*;q=0.8")
        let own = api.get(decoder, from: "/x").adding(headerField: .accept(.png))
        #expect(try own.prepared().header.values(of: .accept) == ["image/png"])
    }

    @Test("describing and preparing execute nothing, and every executor performs the same request", .rows("RQ-1"))
    func executors() async throws {
        let calls = Mutex(0)
        let counting = StubExecutor { request in
            calls.withLock { $0 += 1 }
            return .stub(200, "counted", to: request)
        }
        let request = api.get(.text, from: "/x")
        _ = ("\(request)", try request.prepared(), try request.prepared().wireText)
        #expect(calls.withLock { $0 } == 0)
        for (executor, text) in [(counting, "counted"), (StubExecutor(200, "other"), "other")] {
            #expect(try await executor.perform(request) == text)
        }
        #expect(calls.withLock { $0 } == 1)
    }

    @Test("a body is encoded and decoded at the priority of the calling task", .rows("PM-27"))
    func priority() async throws {
        let seen = Mutex<[TaskPriority]>([])
        let provider = BodyProvider { _ in
            seen.withLock { $0.append(Task.currentPriority) }
            return .none
        }
        let decoder = ResponseDecoder<Int> { _, _ in
            seen.withLock { $0.append(Task.currentPriority) }
            return 1
        }
        let request = api.post(provider, to: "/x", receiving: decoder).with(options: RequestOptions(priority: .low))
        let value = try await Task(priority: .high) { try await StubExecutor(200).perform(request) }.value
        #expect(value == 1 && seen.withLock { $0 } == [.high, .high])
    }

    @Test("an executor performs any type that describes a request", .rows("RQ-27"))
    func ownType() async throws {
        struct Ping: RequestConvertible {
            typealias Resource = String
            let baseURL = URL("https://e.com/api")
            var endpoint: RequestPath { "/ping/\(7)" }
        }
        let executor: any RequestExecutor = StubExecutor { .stub(200, $0.target.path, to: $0) }
        #expect(try await executor.perform(Ping()) == "/api/ping/7")
    }

    @Test("the description builds only the URL and runs no provider", .rows("RQ-7"))
    func description() {
        let request = api.get(.json([Int].self), from: "/x").sending(
            BodyProvider { _ in
                Issue.record("the body provider ran")
                return .none
            }
        )
        .authenticated(
            with: AuthenticationProvider { _ in Issue.record("the authentication provider ran") })
        #expect("\(request)" == "Request<Array<Int>> [GET] (https://e.com/api/x)")
        #expect(
            "\(request.using(method: .put).adding(queryItem: ("token", "hunter2")).adding(queryItem: ("a", "b c")))"
                == "Request<Array<Int>> [PUT] (https://e.com/api/x?token=<redacted>&a=b%20c)")
        #expect("\(api.head("/a?b"))" == "Request<()> (INVALID)")
    }
}
