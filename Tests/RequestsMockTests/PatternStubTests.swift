@_spi(Lock) import Requests
import RequestsMock
import TestSupport
import Testing

/// An API with any base URL.
private struct AnyAPI: RequestProviding {
    let baseURL: URL
}

/// Returns whether a stub for `pattern` matches a request to `path` below `base`, and the parameters.
private func match(
    _ pattern: String, _ path: RequestPath, base: String = "http://host.test/env", method: HTTPMethod? = nil
) async throws -> [String: String]? {
    let mock = MockExecutor(unmatched: .intercepting)
    let found = Lock<[String: String]?>(nil)
    mock.on(method, pattern) { _, parameters in
        found.withLock { $0 = parameters }
        return .ok()
    }
    let api = AnyAPI(baseURL: try #require(URL(string: base)))
    let request = api.get(.none, from: path).validating(.none)
    _ = try await mock.perform(request)
    return found.withLock { $0 }
}

/// Returns whether a stub for `pattern` matches a request without an API to `url`.
private func matches(_ pattern: String, url: String) async throws -> Bool {
    let mock = MockExecutor(unmatched: .intercepting)
    mock.on(nil, pattern, respond: .status(204))
    return try await mock.execute(PreparedRequest(target: try TargetURI(url))).head.status == 204
}

@Suite("Stubs for URL patterns")
struct PatternStubTests {
    @Test("a parameter matches one component that is not empty, and is passed decoded", .rows("PM-124", "T-64"))
    func parameters() async throws {
        #expect(try await match("users/:uid", "users") == nil)
        #expect(try await match("users/:uid", "users/501") == ["uid": "501"])
        #expect(try await match("posts/:id/:name", "posts/123/x") == ["id": "123", "name": "x"])
        #expect(try await match("posts/:id/:name", "posts/123/x/y") == nil)
        #expect(try await match("users/:uid", "users/\("a/b c")") == ["uid": "a/b c"])
        #expect(try await match("a/:", "a/:") == [:])
        #expect(try await match("a/:", "a/x") == nil)
    }

    @Test("components are split, then decoded; doubled and trailing slashes are ignored", .rows("PM-125", "T-65"))
    func components() async throws {
        #expect(try await match("foo/bar", "foo%2fbar") == nil)
        #expect(try await match("foo%2fbar", "foo/bar") == nil)
        #expect(try await match("foo%2fbar", "foo%2Fbar") == [:])
        #expect(try await match("foo/bar/", "foo/bar") == [:])
        #expect(try await match("foo//bar", "foo/bar") == [:])
        #expect(try await match("foo/bar", "foo/bar/") == [:])
        #expect(try await match("f%6Fo/b r", "foo/b%20r") == [:])
        // The components of the environment are literals.
        #expect(try await match("x", "x", base: "http://host.test/:env") == [:])
        #expect(try await match("/:env/x", "x", base: "http://host.test/:env") == ["env": ":env"])
        #expect(try await match("x", "/../other/x", base: "http://host.test/:env") == nil)
    }

    @Test("bytes that are not UTF-8, and canonically equivalent texts, differ", .rows("PM-125"))
    func bytes() async throws {
        #expect(try await match("%FF", "%FE") == nil)
        #expect(try await match("%FF", "%FF") == [:])
        #expect(try await match("caf\u{E9}", "caf%C3%A9") == [:])
        #expect(try await match("caf\u{E9}", "cafe%CC%81") == nil)
        #expect(try await match(":\u{301}", "x") != nil)
    }

    @Test("a relative pattern is below the environment, one with a slash is not", .rows("PM-124"))
    func environments() async throws {
        #expect(try await match("x", "x") == [:])
        #expect(try await match("/x", "x") == nil)
        #expect(try await match("/env/x", "x") == [:])
        #expect(try await matches("x", url: "http://any.test/x"))
        #expect(try await matches("/x", url: "http://any.test/x"))
        #expect(try await !matches("/x", url: "http://any.test/env/x"))
    }

    @Test(
        "scheme, host, port and query are compared if the pattern contains them", .rows("PM-125", "T-66"),
        arguments: [
            ("//host/foo", "http://host/foo", true), ("//host/foo", "https://host/foo", true),
            ("//HOST/foo", "http://host/foo", true), ("//host/foo", "https://other/foo", false),
            ("http://host:9/foo", "http://host/foo", false), ("http://host:80/foo", "http://host/foo", true),
            ("//host:443/foo", "https://host/foo", true), ("//host:443/foo", "http://host/foo", false),
            ("https://host/foo", "http://host/foo", false), ("HTTPS://host/foo", "https://host/foo", true),
            ("/foo?a=1", "http://host/foo?b=2&a=1", true), ("/foo?a=1", "http://host/foo?b=2", false),
            ("/foo?a=1", "http://host/foo?a=11", false), ("/foo?a", "http://host/foo?a=", false),
            ("/foo?a%20b=%31", "http://host/foo?a%20b=1", true), ("/foo#f", "http://host/foo", true),
            ("/foo?", "http://host/foo?a=1", true), ("//host", "http://host/", true), ("", "http://host/", true),
        ])
    func origins(pattern: String, url: String, isMatch: Bool) async throws {
        #expect(try await matches(pattern, url: url) == isMatch)
    }

    @Test("a pattern without a host matches only at the origin of the API", .rows("PM-124"))
    func otherOrigin() async throws {
        let mock = MockExecutor(unmatched: .intercepting)
        mock.on(.get, "/start", respond: .response(.redirect(to: "http://other.test/end")))
        mock.on(.get, "/end", respond: .status(204))
        let api = AnyAPI(baseURL: URL("http://host.test"))
        #expect(await requestError { try await mock.perform(api.get(.none, from: "/start")) }?.status == 500)
        mock.on(.get, "//other.test/end", respond: .status(204))
        try await mock.perform(api.get(.none, from: "/start"))
    }

    @Test("the method is compared without regard to case, and nil is every method", .rows("PM-120"))
    func methods() async throws {
        #expect(try await match("x", "x", method: "get") == [:])
        #expect(try await match("x", "x", method: .post) == nil)
        #expect(try await match("x", "x", method: nil) == [:])
    }

    @Test(
        "a malformed pattern matches nothing, and the report names it",
        arguments: ["http://[/x", "//a b/x", "http://host:99999999999999999999/x", "https://h\u{E9}st/x"])
    func malformed(pattern: String) async throws {
        let mock = MockExecutor()
        mock.on(.get, pattern, respond: .status(204))
        let request = PreparedRequest(target: try TargetURI("http://host.test/x"))
        let error = try #require(await requestError { try await mock.execute(request) })
        #expect("\(error)".contains("is malformed"))
    }

    @Test("a condition of its own decides about a request", .rows("PM-120"))
    func conditions() async throws {
        let mock = MockExecutor(unmatched: .intercepting)
        mock.on(where: { $0.header[.userAgent] == "x" }, respond: .status(204))
        var request = PreparedRequest(target: try TargetURI("http://host.test/x"))
        #expect(try await mock.execute(request).head.isInterceptedByMock)
        request.header = [.userAgent("x")]
        #expect(try await mock.execute(request).head.status == 204)
    }

    @Test("stubs can be added and removed by a condition or a function that responds")
    func reentrant() async throws {
        let mock = MockExecutor()
        mock.on(
            where: { _ in
                mock.on(.get, "/added", respond: .status(204))
                return false
            }, respond: .status(500))
        mock.on(.get, "/x") { _, _ in
            mock.removeAllStubs()
            return .status(204)
        }
        let request = PreparedRequest(target: try TargetURI("http://host.test/x"))
        #expect(try await mock.execute(request).head.status == 204)
        await #expect(throws: RequestError.self) { try await mock.execute(request) }
    }
}
