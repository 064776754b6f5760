import Requests
import TestSupport
import Testing

/// An API with its own environment.
private struct Shop: RequestProviding {
    var environment: RequestEnvironment
    var baseURL: URL { environment.baseURL }

    init(_ environment: RequestEnvironment) { self.environment = environment }

    func request(to endpoint: RequestPath, using method: HTTPMethod) -> Request<Shop, Void> {
        Request(api: self, endpoint: endpoint, responseDecoder: .none, method: method).within(environment)
    }
}

@Suite("RequestEnvironment")
struct RequestEnvironmentTests {
    static func environment(_ text: String, joining: RequestEnvironment.Joining = .append) throws -> RequestEnvironment
    {
        var environment = try #require(RequestEnvironment(string: text))
        environment.joining = joining
        return environment
    }

    @Test(
        "base URLs are normalized, and text that is not a base URL is rejected", .rows("PM-3", "PM-4", "T-37"),
        arguments: [
            ("http://apple.com", "http://apple.com"), ("http://apple.com/", "http://apple.com/"),
            ("http://apple.com/foo", "http://apple.com/foo/"), ("http://apple.com/foo/", "http://apple.com/foo/"),
            ("http://apple.com/foo?bar=baz", "http://apple.com/foo/"),
            ("http://apple.com/foo#bar", "http://apple.com/foo/"),
            ("HTTP://Apple.com:80/a/../foo", "http://apple.com/foo/"), ("foo", nil), ("", nil), ("mailto:x", nil),
        ] as [(String, String?)])
    func normalizing(text: String, normal: String?) throws {
        #expect(RequestEnvironment(string: text)?.baseURL.absoluteString == normal)
        let apple = try #require(RequestEnvironment(string: "http://apple.com"))
        #expect(RequestEnvironment(string: "foo", relativeTo: apple)?.baseURL.absoluteString == "http://apple.com/foo/")
    }

    @Test(
        "an environment is a prefix of the URLs below it", .rows("PM-5", "T-38"),
        arguments: [
            ("https://ipa/api/v1/", "https://ipa/api/v1/foo", true), ("https://ipa/api/v1/", "https://ipa/foo", false),
            ("https://ipa/api/v1/", "https://ipa/api/v1/../foo", false),
            ("https://ipa/api/v1/", "https://ipa/api/v1/../v1/foo", true),
            ("https://ipa/api/v1/", "https://ipa:443/api/v1/foo", true),
            ("https://ipa:443/api/v1/", "https://IPA/api/v1/foo", true),
            ("https://ipa/api/v1/", "https://ipa:80/api/v1/foo", false),
            ("https://ipa/api/v1/", "http://ipa/api/v1/foo", false), ("https://ipa", "https://ipa/any", true),
            ("https://ipa/api/v1", "https://ipa/api/v10", false), ("https://ipa/a/", "https://ipa", false),
            ("https://u:p@ipa/", "https://ipa/x", false), ("https://u:p@ipa/", "https://u:p@ipa/x", true),
            ("https://ipa/a/", "https://ipa/a/%2e%2e/b", false), ("https://ipa/a/", "x", false),
        ])
    func prefix(base: String, url: String, isBelow: Bool) throws {
        #expect(try Self.environment(base).isPrefix(of: #require(URL(string: url))) == isBelow)
    }

    @Test(
        "append joins an endpoint below the base URL, and resolve follows RFC 3986", .rows("C7", "PM-9", "T-39"),
        arguments: [
            ("/foo", "https://h/api/v1/foo", "https://h/foo"), ("foo", "https://h/api/v1/foo", "https://h/api/v1/foo"),
            ("foo/", "https://h/api/v1/foo/", "https://h/api/v1/foo/"), ("/", "https://h/api/v1/", "https://h/"),
            ("", "https://h/api/v1/", "https://h/api/v1/"), ("?q", nil, "https://h/api/v1/?q"),
            ("//other/x", "https://h/api/v1//other/x", "https://other/x"),
            ("http://other/x?y", nil, "http://other/x?y"), ("../x", nil, "https://h/api/x"), ("mailto:x", nil, nil),
        ] as [(String, String?, String?)])
    func joining(endpoint: String, appended: String?, resolved: String?) throws {
        let append = try Self.environment("https://h/api/v1")
        let resolve = try Self.environment("https://h/api/v1", joining: .resolve)
        if let appended { #expect(try append.get(.data, from: RequestPath(endpoint)).preparedURL() == appended) }
        #expect((try? resolve.get(.data, from: RequestPath(endpoint)).preparedURL()) == resolved)
        if endpoint == "?q" { expectInvalid(.queryInPath) { try append.get(.data, from: "?q").prepared() } }
    }

    @Test(
        "a resolved reference keeps its query before the request's, and an empty path is sent as a slash", .rows("T-39")
    )
    func resolvedQuery() throws {
        let environment = try Self.environment("https://h", joining: .resolve)
        let request = environment.get(.data, from: "/x?a=1").adding(queryItem: ("b", 2))
        #expect(try request.preparedURL() == "https://h/x?a=1&b=2")
        #expect(try environment.get(.data, from: "").prepared().target.requestTarget == "/")
        #expect(try environment.get(.data, from: "/u/\("a/b")").preparedURL() == "https://h/u/a%2Fb")
        expectInvalid(.controlCharacterInPath) { try environment.get(.data, from: .reference("/a\nb")).prepared() }
    }

    @Test(
        "defaults apply only below the environment unless applied explicitly",
        .rows("PM-6", "PM-8", "T-41", "AF-3", "AF-7", "C9", "D-2")
    )
    func defaults() throws {
        var environment = try Self.environment("https://h/api", joining: .resolve)
        environment.header = [
            .acceptLanguages(["en"]), .userAgent("App/1.2"), Field(name: "X-A", value: "default"),
        ]
        environment.authenticationProvider = .bearerToken("secret")
        environment.options = .userInitiated
        let shop = Shop(environment)
        let inside = try shop.get(.data, from: "x").setting(headerField: Field(name: "x-a", value: "own")).prepared()
        #expect(inside.header.map(\.value) == ["en", "App/1.2", "own", "Bearer secret"])
        #expect(inside.header[.acceptLanguage] == "en" && inside.header[.userAgent] == "App/1.2")
        #expect(inside.options == .userInitiated)
        for outside in ["/x", "https://other/api/x", "../x", "http://h/api/x"] {
            let request = try shop.get(.data, from: RequestPath(outside)).prepared()
            #expect(request.header.isEmpty && request.options == RequestOptions(), "\(outside)")
        }
        let foreign = try shop.get(.data, from: "https://other/x").applyingDefaults(of: environment).prepared()
        #expect(foreign.header[.authorization] == "Bearer secret" && foreign.header["X-A"] == "default")
    }

    @Test(
        "a request's credentials take precedence over the environment's and can be disabled",
        .rows("T-41", "PM-6", "AF-8", "T-76"))
    func credentials() throws {
        var environment = try Self.environment("https://h/api/")
        environment.authenticationProvider = .basicAuth(username: "user", password: "password")
        let request = Shop(environment).get(.data, from: "/x")
        #expect(try request.prepared().header[.authorization] == "Basic dXNlcjpwYXNzd29yZA==")
        #expect(try request.withoutDefaultAuthentication().prepared().header.isEmpty)
        #expect(try request.authenticated(with: .bearerToken("t")).prepared().header[.authorization] == "Bearer t")
        let byHand = request.setting(headerField: Field(name: .authorization, value: "x"))
        #expect(try byHand.prepared().header.values(of: .authorization) == ["x"])
        let key = request.authenticated(with: AuthenticationProvider { $0["X-Key"] = "k" })
        #expect(try key.prepared().header.map(\.value) == ["k"])
        environment.authenticationProvider = .none
        #expect(try Shop(environment).get(.data, from: "/x").prepared().header.isEmpty)
        var header = Header(Field(name: "A", value: "b"))
        header["a"] = nil
        #expect(header.isEmpty)
    }

    @Test("several environments can exist at once, and a request keeps its own", .rows("PM-3", "PM-4", "T-40", "D-2"))
    func several() throws {
        var one = try Self.environment("https://one/a")
        one.authenticationProvider = .bearerToken("1")
        let first = Shop(one).get(.data, from: "/x")
        let second = Shop(try Self.environment("https://two/b")).get(.data, from: "/x")
        #expect(try first.preparedURL() == "https://one/a/x" && second.preparedURL() == "https://two/b/x")
        #expect(try first.prepared().header[.authorization] == "Bearer 1" && second.prepared().header.isEmpty)
        // Replacing the environment of an API replaces its credentials; requests made before keep theirs.
        var shop = Shop(one)
        let early = shop.get(.data, from: "/x")
        shop = Shop(try Self.environment("https://two/b"))
        #expect(try shop.get(.data, from: "/x").prepared().header[.authorization] == nil)
        #expect(try early.preparedURL() == "https://one/a/x" && early.prepared().header[.authorization] == "Bearer 1")
        shop = Shop(one)
        #expect(try shop.get(.data, from: "/x").prepared().header[.authorization] == "Bearer 1")
        let same = try Self.environment("https://one/a/")
        #expect(same == one && same.hashValue == one.hashValue && "\(same)" == "https://one/a/")
    }

    @Test(
        "a derived request appends to the path and inherits header and query but not the method",
        .rows("HT-8", "HT-15", "T-78"),
        arguments: [("", "https://h.com/api"), ("/u", "https://h.com/api/u"), ("u", "https://h.com/api/u")])
    func deriving(endpoint: String, url: String) throws {
        let api = try AnonymousRequestProvider(text: "https://h.com")
        let base = api.post(.text("x"), to: "/api").adding(queryItem: ("a", 1)).timeout(after: .seconds(5))
            .adding(headerFields: Field(name: "A", value: "base"), Field(name: "B", value: "base"))
            .authenticated(with: .bearerToken("t"))
        let derived = base.deriving(to: RequestPath(endpoint)).adding(queryItem: ("b", 2))
            .setting(headerField: Field(name: "a", value: "own"))
        let prepared = try derived.prepared()
        #expect(prepared.target.absoluteString == url + "?a=1&b=2" && prepared.method == .get)
        #expect(prepared.timeouts.firstByte == .seconds(5) && prepared.body.isNone)
        #expect(prepared.header.dictionaryValue == ["A": "own", "B": "base", "Authorization": "Bearer t"])
        #expect(try base.prepared().method == .post && base.prepared().contentType == .plainText)
        let sets = base.adding(parameters: ["k": "base", "m": "base"], in: .query).deriving()
            .adding(parameters: ["k": "own"], in: .query)
        #expect(try sets.prepared().target.query == "a=1&m=base&k=own")
        #expect(try sets.timeout(after: .seconds(2)).prepared().timeouts.firstByte == .seconds(2))
        // A query is not part of a path; it is added separately.
        expectInvalid(.queryInPath) { try base.deriving(to: "?q").prepared() }
        #expect(try base.deriving().adding(queryItem: ("q", String?.none)).preparedURL() == "https://h.com/api?a=1&q")
        let user = base.deriving(to: "/users/\(7)")
        #expect(try user.prepared().pathTemplate == "/api/users/{}")
    }

    @Test(
        "the content type of the request replaces the body's; credentials cannot set it, nor the framing",
        .rows("PM-34", "PM-35", "T-50")
    )
    func contentType() throws {
        let api = AnonymousRequestProvider.example
        let request = api.post(.json([1]), to: "/x")
            .adding(headerFields: Field(name: .contentType, value: "a/b"), Field(name: .contentLength, value: "9"))
            .authenticated(
                with: AuthenticationProvider { header in
                    for name in ["Content-Type", "CONTENT-LENGTH", "Accept", "X-A"] {
                        header.set(Field(name: Field.Name(name), value: "z"))
                    }
                })
        let prepared = try request.prepared()
        #expect(
            prepared.contentType == "a/b" && prepared.header.dictionaryValue == ["Content-Type": "a/b", "X-A": "z"])
        #expect(try api.get(.data, from: "/x").prepared().contentType == nil)
    }

    @Test(
        "options are nil unless set, and a request's override its environment's",
        .rows("AF-2", "PM-26", "PM-27", "HT-7")
    )
    func options() throws {
        let api = AnonymousRequestProvider.example
        #expect(try api.get(.data, from: "/x").prepared().options == RequestOptions())
        let options = RequestOptions(allowsCellularAccess: false, priority: .low)
        #expect(try api.get(.data, from: "/x").with(options: options).prepared().options == options)
        var environment = try Self.environment("https://h/")
        environment.options = RequestOptions(handlesCookies: false, priority: .high)
        let both = try environment.get(.data, from: "/x").with(options: options).prepared().options
        #expect(both == RequestOptions(allowsCellularAccess: false, handlesCookies: false, priority: .low))
    }
}
