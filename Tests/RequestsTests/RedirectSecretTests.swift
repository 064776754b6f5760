@_spi(Lock) import Requests
import TestSupport
import Testing

extension PreparedRequest {
    /// Returns the request that follows a redirect of this request to `location`.
    fileprivate func redirected(_ status: HTTPStatus = 307, to location: String) throws -> PreparedRequest {
        let head = ResponseHead(status: status, header: [Field(name: .location, value: location)], target: target)
        return try #require(try redirectPolicy.request(following: self, after: head))
    }
}

/// Returns the text of a response from a call that blocks its thread.
private func performInPlace(
    _ request: Request<AnonymousRequestProvider, String>, by executor: any RequestExecutor
) throws -> String {
    try executor.performAndWait(request)
}

@Suite("Secrets and redirects")
struct RedirectSecretTests {
    private let secrets: [Field] = ["Authorization", "cookie", "Proxy-Authorization", "X-API-Key", "X-Own"].map {
        Field(name: Field.Name($0), value: "secret")
    }

    private func request(_ url: String = "http://a.com/x", header: Header = .empty) throws -> PreparedRequest {
        try redirectable(
            .post, url, header: header, body: .bytes(Data("x".utf8)), policy: RedirectPolicy(sensitiveFields: ["x-own"])
        )
    }

    @Test("a request that has left its origin drops new secrets, however they are added", .rows("R-27", "R-28"))
    func guarded() throws {
        for hops in [["http://b.com/"], ["http://b.com/", "http://b.com/y"], ["http://b.com/", "http://a.com/y"]] {
            var request = try request()
            for hop in hops { request = try request.redirected(to: hop) }
            #expect(request.hasLeftOrigin && request.redirectedFrom != nil)
            for field in secrets {
                request.header.set(field)
                request.header.add(field)
                request.header[field.name] = field.value
                request.header = request.header.adding(field)
                #expect(request.header.isEmpty, "\(field.name)")
            }
            request.header.set(Field(name: "X-Open", value: "open"))
            #expect(request.header.count == 1)
            request.redirectedFrom = nil
            request.header.set(Field(name: .authorization, value: "secret"))
            #expect(request.hasLeftOrigin && request.header.count == 1)
        }
    }

    @Test("a request to its first origin accepts secrets, also after redirects within it", .rows("R-27"))
    func unguarded() throws {
        var request = try request()
        for hop in ["/y", "http://A.com:80/z", "//a.com/"] { request = try request.redirected(to: hop) }
        for field in secrets { request.header.add(field) }
        request.target = try TargetURI("http://a.com/?token=secret")
        #expect(!request.hasLeftOrigin && request.header.count == secrets.count)
        #expect(request.target.query == "token=secret")
    }

    @Test(
        "a redirect to another origin drops every redacted field, and one within the origin keeps it",
        .rows("R-8", "R-27", "R-28"))
    func standardNames() throws {
        let names = SecretNameTests.secrets.map { Field.Name($0) }.filter(\.isValid)
        #expect(names.count > 50)
        for name in names {
            let first = try redirectable(
                .get, "http://a.com/x",
                header: [Field(name: name, value: "secret"), Field(name: "X-Open", value: "open")],
                policy: .standard)
            #expect(try first.redirected(to: "/y").header[name] == "secret", "\(name)")
            var other = try first.redirected(to: "http://b.com/")
            #expect(other.header == [Field(name: "X-Open", value: "open")], "\(name)")
            other.header.set(Field(name: name, value: "secret"))
            #expect(other.header[name] == nil, "\(name)")
            other.target = try TargetURI("http://b.com/?\(name)=secret&page=2")
            #expect(other.target.query == "page=2", "\(name)")
        }
    }

    @Test("a redirect to another origin keeps fields and items with everyday names", .rows("R-28"))
    func everydayNames() throws {
        for name in SecretNameTests.everyday.map({ Field.Name($0) }) where name.isValid && !name.belongsToExecutor {
            let field = Field(name: name, value: "text")
            var other = try redirectable(.get, "http://a.com/x", header: [field]).redirected(to: "http://b.com/")
            #expect(other.header == [field])
            other.target = try TargetURI("http://b.com/?\(name)=text")
            #expect(other.target.query == "\(name)=text")
        }
    }

    @Test("middleware can act once per call, on the request that no redirect produced", .rows("R-27"))
    func oncePerCall() async throws {
        let counts = Lock((calls: 0, requests: 0))
        let executor = StubExecutor { request in
            let next = ["/api/x": "/1", "/1": "http://b.com/2", "/2": "http://e.com/3"][request.target.path]
            return next.map { .stub(307, header: [Field(name: .location, value: $0)], to: request) }
                ?? .stub(200, "end", to: request)
        }.intercepting { request, next in
            counts.withLock { $0.requests += 1 }
            if request.redirectedFrom == nil { counts.withLock { $0.calls += 1 } }
            return try await next.execute(request)
        }
        let request = AnonymousRequestProvider("http://e.com/api").get(.text, from: "/x")
        for call in 1...3 {
            #expect(try await executor.perform(request) == "end")
            #expect(counts.withLock { $0 } == (call, 4 * call))
        }
        let blocking = try await Task { try performInPlace(request, by: executor) }.value
        #expect(blocking == "end" && counts.withLock { $0 } == (4, 16))
    }

    @Test("secrets permitted by name can be added until the next redirect", .rows("R-27"))
    func permitted() throws {
        var first = try request()
        first.permitSecrets(.authorization)
        first = try first.redirected(to: "http://b.com/")
        first.header.add(secrets[0])
        #expect(first.header.isEmpty)
        var next = try request().redirected(to: "http://b.com/")
        next.permitSecrets(.authorization, "x-own")
        for field in secrets { next.header.add(field) }
        #expect(next.header == [secrets[0], secrets[4]])
        next.header.add(Field(name: "X-Open", value: "open"))
        #expect(next.header.count == 3)
        #expect(next.wireText.contains("Authorization: <redacted>"))
        // CallState redirects its own request, not middleware's copy; the permission ends even for the copy.
        var last = try next.redirected(to: "http://c.com/")
        last.header.add(secrets[0])
        #expect(last.header == [Field(name: "X-Open", value: "open")])
    }

    @Test("secret query items of a Location are kept, and new ones are dropped", .rows("R-8", "R-27"))
    func queryItems() throws {
        var request = try request("http://a.com/x?token=mine").redirected(to: "http://b.com/?a=1&signature=theirs")
        #expect(request.target.query == "a=1&signature=theirs")
        for (query, expected) in [
            ("a=1&signature=theirs&api_key=secret", "a=1&signature=theirs"), ("a=2&token=secret", "a=2"),
            ("b&b=", "b&b="), ("To%6ben=secret", nil), ("signature=mine", nil), ("%74oken=x&c", "c"),
        ] {
            var copy = request
            copy.target = try TargetURI("http://b.com/?\(query)")
            #expect(copy.target.query == expected)
        }
        #expect(request.wireText.contains("signature=<redacted>"))
        request.permitSecrets("api_key")
        request.target = try TargetURI("http://b.com/?api_key=theirs")
        #expect(request.target.query == "api_key=theirs")
    }

    @Test("secret trailers are sent to their origin only", .rows("R-27"))
    func trailers() throws {
        let header: Header = [Field(name: "X-API-Key", value: "s"), Field(name: "X-Sum", value: "1")]
        for trailers in [
            PreparedRequest.Trailers(header), PreparedRequest.Trailers(["X-API-Key", "X-Sum"]) { header },
        ] {
            var request = try request()
            request.trailers = trailers
            #expect(try request.redirected(to: "/y").trailers?.header() == header)
            let next = try request.redirected(to: "http://b.com/")
            #expect(next.trailers?.names == ["X-Sum"])
            #expect(try next.trailers?.header() == [Field(name: "X-Sum", value: "1")])
            var added = try self.request().redirected(to: "http://b.com/")
            added.trailers = PreparedRequest.Trailers([Field(name: "X-Own", value: "s")])
            #expect(added.trailers == nil)
        }
    }

    @Test("a field that an authentication provider sets is a secret, whatever its name", .rows("R-27"))
    func providers() throws {
        let provider = AuthenticationProvider { header in
            header.set(Field(name: "X-Signature", value: "s"))
            header.set(Field(name: "X-Date", value: "d"))
        }
        let prepared = try AnonymousRequestProvider.example.get(.data, from: "/x").adding(
            headerField: Field(name: "X-Open", value: "o")
        ).authenticated(with: provider).prepared()
        #expect(prepared.header.count == 3)
        #expect(try prepared.redirected(to: "/y").header == prepared.header)
        #expect(try prepared.redirected(to: "https://other.com/").header.map(\.name) == ["X-Open"])
    }
}

@Suite("Environments and redirects")
struct RedirectEnvironmentTests {
    private static let below = "https://a.com/v1/x"

    /// Returns the fields that a request in the environment https://a.com/v1/ has after redirects through `hops`.
    private func fields(
        from first: String, through hops: [String], own: [Field] = [], forced: Bool = false
    ) throws -> [String] {
        var environment = try #require(RequestEnvironment(string: "https://a.com/v1/"))
        environment.joining = .resolve
        environment.header = [Field(name: "X-Tenant", value: "t"), Field(name: "X-API-Key", value: "k")]
        environment.authenticationProvider = .bearerToken("b")
        var described = environment.get(.none, from: RequestPath(first)).adding(headerFields: own)
        if forced { described = described.applyingDefaults(of: environment) }
        var request = try described.prepared()
        for hop in hops { request = try request.redirected(302, to: hop) }
        return request.header.map { "\($0.name)=\($0.value)" }.sorted()
    }

    private static let all = ["Authorization=Bearer b", "X-API-Key=k", "X-Tenant=t"]

    @Test(
        "each redirected request has the environment's defaults for its own target", .rows("PM-5", "R-27", "R-28"),
        arguments: [
            (below, [], all), (below, ["/v1/y"], all), (below, ["/v1/y", "https://u:p@A.com:443/v1/"], all),
            // Outside the environment at the same origin, and back.
            (below, ["/other"], []), (below, ["/v1/../other"], []), (below, ["/other", "/v1/y"], all),
            ("https://a.com/login", [], []), ("https://a.com/login", ["/v1/y"], all),
            // Another origin and back: secrets are not sent again, other defaults are.
            (below, ["https://b.com/v1/x"], []), (below, ["https://b.com/", "https://a.com/v1/y"], ["X-Tenant=t"]),
            (below, ["https://b.com/", "https://a.com/v1/y", "/v1/z"], ["X-Tenant=t"]),
            (below, ["https://b.com/", "https://a.com/v1/y", "/other", "/v1/z"], ["X-Tenant=t"]),
            (below, ["https://a.com:444/v1/x"], []), (below, ["https://sub.a.com/v1/x"], []),
            // From another origin into the environment: defaults apply, secrets only until the origin changes.
            ("http://a.com/v1/x", ["https://a.com/v1/x"], all), ("https://b.com/", ["https://a.com/v1/x"], all),
            ("https://b.com/", ["https://a.com/v1/x", "https://b.com/"], []),
            ("https://b.com/", ["https://a.com/v1/x", "https://b.com/", "https://a.com/v1/x"], ["X-Tenant=t"]),
        ] as [(String, [String], [String])])
    func hops(first: String, hops: [String], expected: [String]) throws {
        #expect(try fields(from: first, through: hops) == expected)
    }

    @Test("a request's own fields and credentials do not depend on its environment", .rows("PM-6", "R-27"))
    func own() throws {
        let fields: [Field] = [
            Field(name: "X-Tenant", value: "mine"), Field(name: .authorization, value: "mine"),
            Field(name: "X-API-Key", value: "k"),
        ]
        let kept = ["Authorization=mine", "X-API-Key=k", "X-Tenant=mine"]
        for hops in [[], ["/other"], ["/v1/y"], ["/other", "/v1/y"]] {
            #expect(try self.fields(from: Self.below, through: hops, own: fields) == kept, "\(hops)")
        }
        #expect(try self.fields(from: Self.below, through: ["https://b.com/"], own: fields) == ["X-Tenant=mine"])
    }

    @Test("defaults applied to a foreign target are kept within its origin only", .rows("PM-8", "R-27"))
    func forced() throws {
        #expect(try fields(from: "https://b.com/x", through: ["/y"], forced: true) == Self.all)
        #expect(try fields(from: "https://b.com/x", through: ["https://c.com/"], forced: true) == [])
        #expect(
            try fields(from: "https://b.com/x", through: ["https://a.com/v1/"], forced: true) == ["X-Tenant=t"])
    }

    @Test(
        "fields that an environment's credentials replaced are restored when the credentials are removed",
        .rows("PM-6", "R-27"))
    func displaced() throws {
        var environment = try #require(RequestEnvironment(string: "https://a.com/v1/"))
        environment.joining = .resolve
        environment.authenticationProvider = AuthenticationProvider { $0[.cookie] = "\($0[.cookie] ?? ""); session=s" }
        let cookie = Field(name: .cookie, value: "a=b")
        var request = try environment.get(.none, from: "x").adding(headerField: cookie).prepared()
        #expect(request.header[.cookie] == "a=b; session=s")
        request = try request.redirected(to: "/other")
        #expect(request.header[.cookie] == "a=b")
        request = try request.redirected(to: "/v1/y")
        #expect(request.header[.cookie] == "a=b; session=s")
        #expect(try request.redirected(to: "https://b.com/").header.isEmpty)
    }
}
