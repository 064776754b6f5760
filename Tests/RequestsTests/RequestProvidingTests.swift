import Requests
import TestSupport
import Testing

/// An API that customizes every request in the function that takes a path.
private struct PathAPI: RequestProviding {
    var baseURL: URL { URL("https://e.com/api") }

    func request(to endpoint: RequestPath, using method: HTTPMethod) -> Request<PathAPI, Void> {
        Request(api: self, endpoint: endpoint, responseDecoder: .none, method: method)
            .adding(headerField: Field(name: "X-APPLICATION-KEY", value: "k"))
    }
}

/// An API that customizes every request in the function of Requests 0.3.2.
private struct StringAPI: RequestProviding {
    var baseURL: URL { URL("https://e.com/api") }

    func request(to endpoint: String, using method: HTTPMethod) -> Request<StringAPI, Void> {
        Request(api: self, endpoint: endpoint, responseDecoder: .none, method: method)
            .adding(headerField: Field(name: "X-APPLICATION-KEY", value: "k"))
    }
}

/// An API that adds a prefix to every path in the function that takes a `String`.
private struct VersionedAPI: RequestProviding {
    var baseURL: URL { URL("https://e.com/api") }

    func request(to endpoint: String, using method: HTTPMethod) -> Request<VersionedAPI, Void> {
        Request(api: self, endpoint: "/v2" + endpoint, responseDecoder: .none, method: method)
    }
}

private struct PlainAPI: RequestProviding {
    var baseURL: URL { URL("https://e.com/api") }
}

private enum Environment: RequestProviding {
    case development, production
    var baseURL: URL {
        switch self {
        case .development: URL("https://dev.e.com")
        case .production: URL("https://e.com")
        }
    }
}

extension RequestProviding {
    /// A request with every verb, each with a literal whose value must be escaped.
    fileprivate var everyVerb: [(HTTPMethod, any RequestConvertible)] {
        let body = BodyProvider.text("b")
        let name = "a/b?c"
        return [
            (.get, get(.none, from: "/x/\(name)")), (.get, get(.text, from: "/x/\(name)")),
            (.post, post(body, to: "/x/\(name)")), (.post, post(body, to: "/x/\(name)", receiving: .text)),
            (.put, put(body, to: "/x/\(name)")), (.put, put(body, to: "/x/\(name)", receiving: .text)),
            (.patch, patch(body, to: "/x/\(name)")), (.patch, patch(body, to: "/x/\(name)", receiving: .text)),
            (.patch, patch("/x/\(name)", with: body)), (.patch, patch("/x/\(name)", with: body, receiving: .text)),
            (.delete, delete("/x/\(name)")), (.delete, delete("/x/\(name)", receiving: .text)),
            (.head, head("/x/\(name)")),
        ]
    }
}

@Suite("RequestProviding")
struct RequestProvidingTests {
    @Test("either customization applies to every verb, and values are escaped", .rows("RQ-8", "RQ-10", "T-19"))
    func customization() throws {
        func check(_ api: some RequestProviding, key: String?) throws {
            for (method, request) in api.everyVerb {
                let prepared = try request.prepared()
                #expect(prepared.method == method)
                #expect(prepared.target.absoluteString == "https://e.com/api/x/a%2Fb%3Fc", "\(method)")
                #expect(prepared.pathTemplate == "/x/{}", "\(method)")
                #expect(prepared.header["x-application-key"] == key, "\(method)")
            }
        }
        try check(PathAPI(), key: "k")
        try check(StringAPI(), key: "k")
        try check(PlainAPI(), key: nil)
    }

    @Test("values in a literal passed directly are escaped", .rows("RQ-8"))
    func direct() throws {
        let name = "a/b?c"
        #expect(try PathAPI().request(to: "/x/\(name)", using: .get).preparedURL().hasSuffix("/a%2Fb%3Fc"))
        #expect(try StringAPI().request(to: "/x/\(raw: "y")", using: .get).preparedURL().hasSuffix("/x/y"))
        #expect(try PlainAPI().request(to: "/x/\(name)", using: .get).preparedURL().hasSuffix("/a%2Fb%3Fc"))
    }

    @Test("a path known at run time is trusted", .rows("RQ-8"))
    func runtimePath() throws {
        let path = "/x/a%2Fb c"
        #expect(try PlainAPI().request(to: path, using: .get).preparedURL() == "https://e.com/api/x/a%2Fb%20c")
    }

    @Test("a customization that changes the path keeps its template and its errors")
    func changedPath() throws {
        let api = VersionedAPI()
        let prepared = try api.get(.none, from: "/users/\("a/b")").prepared()
        #expect(prepared.target.path == "/api/v2/users/a%2Fb")
        #expect(prepared.pathTemplate == "/v2/users/{}")
        let problems: [(RequestPath, RequestError.InvalidRequest)] = [
            ("/users/\("..")", .dotSegment), ("/users/\("")", .emptySegment), ("/users?a=b", .queryInPath),
            ("/users#a", .fragmentInPath),
        ]
        for (path, problem) in problems { expectInvalid(problem) { try api.get(.none, from: path).prepared() } }
        #expect(try api.get(.none, from: .empty).prepared().target.path == "/api/v2")
    }

    @Test("the environment is read when the request is prepared", .rows("RQ-9"))
    func environments() throws {
        #expect(try Environment.development.head("/a").preparedURL() == "https://dev.e.com/a")
        #expect(try Environment.production.head("/a").preparedURL() == "https://e.com/a")
        #expect(Environment.production.head("/a").api == .production)
    }

    @Test("one-off requests do not need an API type", .rows("RQ-11"))
    func anonymous() throws {
        let url = URL("https://e.com/a")
        #expect(AnonymousRequestProvider("https://e.com/a") == AnonymousRequestProvider(baseURL: url))
        let request = Request(method: .put, baseURL: url)
        #expect(try request.preparedURL() == "https://e.com/a")
        #expect(request.method == .put)
        #expect(try Request(method: .get, baseURL: url, endpoint: "b").preparedURL() == "https://e.com/a/b")
        #expect(try Request(method: .get, baseURL: url, endpoint: "").preparedURL() == "https://e.com/a")
    }

    @Test("a literal that is not a URL ends the process", .rows("RQ-11", "RQ-33"))
    func invalidLiteral() async {
        await #expect(processExitsWith: .failure) { _ = URL("http://[") }
        await #expect(processExitsWith: .failure) { _ = AnonymousRequestProvider("http://[") }
    }
}
