import Requests
import TestSupport
import Testing

private let base = URL("https://e.com/api/v1/")

private struct PlainAPI: RequestProviding {
    var baseURL: URL { base }
}

/// An API with the customization of Requests 0.3.2.
private struct StringAPI: RequestProviding {
    var baseURL: URL { base }

    func request(to endpoint: String, using method: HTTPMethod) -> Request<StringAPI, Void> {
        Request(api: self, endpoint: endpoint, responseDecoder: .none, method: method)
    }
}

private struct PathAPI: RequestProviding {
    var baseURL: URL { base }

    func request(to endpoint: RequestPath, using method: HTTPMethod) -> Request<PathAPI, Void> {
        Request(api: self, endpoint: endpoint, responseDecoder: .none, method: method)
    }
}

/// An API that adds a prefix to each path as text.
private struct TextPrefixAPI: RequestProviding {
    var baseURL: URL { base }

    func request(to endpoint: String, using method: HTTPMethod) -> Request<TextPrefixAPI, Void> {
        Request(api: self, endpoint: "/v2" + endpoint, responseDecoder: .none, method: method)
    }
}

/// An API that adds a prefix to each path as a path.
private struct PathPrefixAPI: RequestProviding {
    var baseURL: URL { base }

    func request(to endpoint: RequestPath, using method: HTTPMethod) -> Request<PathPrefixAPI, Void> {
        let prefix: RequestPath = "/v2"
        return Request(api: self, endpoint: prefix.appending(endpoint), responseDecoder: .none, method: method)
    }
}

/// An API that combines the customization of Requests 0.3.2 with an environment.
private struct StringEnvironmentAPI: RequestProviding {
    let environment: RequestEnvironment
    var baseURL: URL { environment.baseURL }

    func request(to endpoint: String, using method: HTTPMethod) -> Request<StringEnvironmentAPI, Void> {
        Request(api: self, endpoint: endpoint, responseDecoder: .none, method: method).within(environment)
    }
}

private struct Described: RequestConvertible {
    typealias Resource = Void
    let endpoint: RequestPath
    var baseURL: URL { base }
}

extension RequestProviding {
    /// A request to `path` of every function that takes a path.
    fileprivate func everyBuilder(_ path: RequestPath) -> [(String, any RequestConvertible)] {
        let body = BodyProvider.text("b")
        return [
            ("get", get(.text, from: path)), ("head", head(path)),
            ("post", post(body, to: path)), ("post receiving", post(body, to: path, receiving: .text)),
            ("put", put(body, to: path)), ("put receiving", put(body, to: path, receiving: .text)),
            ("patch to", patch(body, to: path)), ("patch to receiving", patch(body, to: path, receiving: .text)),
            ("patch", patch(path, with: body)), ("patch receiving", patch(path, with: body, receiving: .text)),
            ("delete", delete(path)), ("delete receiving", delete(path, receiving: .text)),
            ("request", request(to: path, using: .options)),
            ("with", head("/other").with(endpoint: path)),
            ("init", Request(api: self, endpoint: path, responseDecoder: .none)),
            ("deriving", head(path).deriving()), ("deriving from empty", head(.empty).deriving(to: path)),
            ("call", Call<Self, Void> { $0.head(path) }.request(from: self)),
            ("one-off", Request(method: .get, baseURL: baseURL, endpoint: path)),
            ("convertible", Described(endpoint: path)),
        ]
    }
}

@Suite("References")
struct ReferenceTests {
    static let references: [(reference: String, url: String)] = [
        ("", "https://e.com/api/v1/"), ("?q", "https://e.com/api/v1/?q"),
        ("?page=2&a=b", "https://e.com/api/v1/?page=2&a=b"),
        ("?é=a b", "https://e.com/api/v1/?%C3%A9=a%20b"), ("#f", "https://e.com/api/v1/#f"),
        ("#é f", "https://e.com/api/v1/#%C3%A9%20f"), ("/x", "https://e.com/x"), ("/é", "https://e.com/%C3%A9"),
        ("/a b?c d#e f", "https://e.com/a%20b?c%20d#e%20f"), ("/a%2Fb%zz", "https://e.com/a%2Fb%25zz"),
        ("x", "https://e.com/api/v1/x"), ("x y/?é", "https://e.com/api/v1/x%20y/?%C3%A9"),
        ("../u", "https://e.com/api/u"), ("../ü b", "https://e.com/api/%C3%BC%20b"), ("./", "https://e.com/api/v1/"),
        ("//h.test/p", "https://h.test/p"), ("//h.test/a b?c", "https://h.test/a%20b?c"),
        ("https://other.test/p?q#f", "https://other.test/p?q#f"), ("http://other.test", "http://other.test/"),
        ("https://other.test/a b?é", "https://other.test/a%20b?%C3%A9"),
    ]

    @Test(
        "a reference keeps its meaning with every builder and every kind of API",
        .rows("RQ-8", "RQ-10", "RQ-11", "T-39"),
        arguments: references)
    func square(reference: String, url: String) throws {
        func check(_ kind: String, _ api: some RequestProviding) throws {
            for (builder, request) in api.everyBuilder(.reference(reference)) {
                #expect(try request.preparedURL() == url, "\(kind), \(builder)")
            }
        }
        try check("plain", PlainAPI())
        try check("anonymous", AnonymousRequestProvider(baseURL: base))
        try check("text", StringAPI())
        try check("path", PathAPI())
        try check("path with a prefix", PathPrefixAPI())
        for joining in [RequestEnvironment.Joining.append, .resolve] {
            let environment = try #require(RequestEnvironment(baseURL: base, joining: joining))
            try check("environment, \(joining)", environment)
            try check("text and environment, \(joining)", StringEnvironmentAPI(environment: environment))
        }
    }

    @Test(
        "an environment that resolves paths receives them unchanged from every kind of API", .rows("T-39"),
        arguments: references)
    func resolvedLiterals(text: String, url: String) throws {
        let environment = try #require(RequestEnvironment(baseURL: base, joining: .resolve))
        let (direct, throughText) = (environment, StringEnvironmentAPI(environment: environment))
        let path = RequestPath(stringLiteral: text)
        #expect(try direct.get(.text, from: path).preparedURL() == url)
        #expect(try throughText.get(.text, from: path).preparedURL() == url)
        let template = try throughText.get(.text, from: "u/\("a/b")").prepared()
        #expect(template.target.absoluteString == "https://e.com/api/v1/u/a%2Fb")
        #expect(template.pathTemplate == "u/{}")
    }

    @Test("a path keeps its template with every builder and every kind of API", .rows("RQ-8", "RQ-10", "RQ-11"))
    func paths() throws {
        let value = "a/b?ü"
        let paths: [(RequestPath, String, String)] = [
            ("/x", "/x", "/x"), ("/é z", "/%C3%A9%20z", "/é z"), ("/\(value)/c", "/a%2Fb%3F%C3%BC/c", "/{}/c"),
            ("/a%2Fb%zz/\(value)", "/a%2Fb%25zz/a%2Fb%3F%C3%BC", "/a%2Fb%zz/{}"),
        ]
        func check(_ kind: String, _ api: some RequestProviding) throws {
            for (path, encoded, template) in paths {
                for (builder, request) in api.everyBuilder(path) {
                    let prepared = try request.prepared()
                    #expect(prepared.target.absoluteString == "https://e.com/api/v1\(encoded)", "\(kind), \(builder)")
                    #expect(prepared.pathTemplate == template, "\(kind), \(builder)")
                }
            }
        }
        try check("plain", PlainAPI())
        try check("anonymous", AnonymousRequestProvider(baseURL: base))
        try check("text", StringAPI())
        try check("path", PathAPI())
        try check("environment", #require(RequestEnvironment(baseURL: base)))
    }

    @Test("a reference that an API changes as text is an error, and a path is not", .rows("RQ-10"))
    func changedText() throws {
        let api = TextPrefixAPI()
        for (reference, _) in Self.references {
            expectInvalid(.changedReference, reference) { try api.get(.text, from: .reference(reference)).prepared() }
        }
        expectInvalid(.controlCharacterInPath) { try api.get(.text, from: .reference("\n")).prepared() }
        let prepared = try api.get(.text, from: "/\("a b")").prepared()
        #expect(prepared.target.path == "/api/v1/v2/a%20b" && prepared.pathTemplate == "/v2/{}")
    }

    @Test("a prefix is added as a path, and a reference replaces it", .rows("RQ-10"))
    func prefix() throws {
        let api = PathPrefixAPI()
        let prepared = try api.get(.text, from: "/\("a b")/é").prepared()
        #expect(prepared.target.path == "/api/v1/v2/a%20b/%C3%A9" && prepared.pathTemplate == "/v2/{}/é")
        expectInvalid(.dotSegment) { try api.get(.text, from: "/\("..")").prepared() }
        expectInvalid(.queryInPath) { try api.get(.text, from: "/a?b").prepared() }
    }

    @Test("a path appended to a reference is inserted before its query")
    func derivedReferences() throws {
        let cases = [
            ("/x?q", "https://e.com/x/y?q"), ("x/#f", "https://e.com/api/v1/x/y#f"),
            ("//h.test?q", "https://h.test/y?q"), ("https://h.test/a b", "https://h.test/a%20b/y"),
        ]
        for (reference, url) in cases {
            let request = PlainAPI().get(.text, from: .reference(reference)).deriving(to: "/y")
            #expect(try request.preparedURL() == url)
        }
        for reference in ["?q", "#f"] {
            expectInvalid(.changedReference) {
                try PlainAPI().get(.text, from: .reference(reference)).deriving(to: "/y").prepared()
            }
        }
    }
}
