/// A test of redirects to every kind of destination, with every secret from every source.
///
/// It is for executors that reach any host.
///
/// The caller maps all host names, and the default ports of two servers, to the loopback.
package struct SecretMatrix: Sendable {
    /// The part of a client that sets the secrets.
    package enum Source: CaseIterable, Sendable {
        /// The request itself, its environment, its authentication provider, or middleware.
        case request, environment, authenticationProvider, middleware
        /// Middleware that creates new requests instead of changing copies.
        case recreatingMiddleware
    }

    /// The field names of the secrets, in three spellings.
    ///
    /// The request's policy declares the last one of each as sensitive.
    static let spellings: [[Field.Name]] = [
        [
            "authorization", "cookie", "proxy-authorization", "x-api-key", "x-access-token", "private-token",
            "x-goog-signature", "x-auth", "x-key",
        ],
        [
            "AUTHORIZATION", "COOKIE", "PROXY-AUTHORIZATION", "X-API-KEY", "X_ACCESS_TOKEN", "PRIVATE-TOKEN",
            "X-AMZ-SECURITY-TOKEN", "SESSION", "X-KEY",
        ],
        [
            "aUtHoRiZaTiOn", "cOoKiE", "pRoXy-AuThOrIzAtIoN", "x-aPi-KeY", "accessToken", "PrivateToken",
            "x-Hub-Signature-256", "csrfToken", "x-kEY",
        ],
    ]

    static let statuses: [HTTPStatus] = [301, 302, 303, 307, 308]

    /// The targets of the redirects from ``base``, and whether each has the same origin.
    let locations: [(name: String, location: String, isSameOrigin: Bool)]

    /// The URL of the first server.
    package let base: URL

    /// Creates a matrix of hosts at `port`, or at the default port if it is nil, with a second server at `otherPort`.
    ///
    /// - Throws: ``ConformanceFailure`` for ports that do not form a URL.
    package init(port: Int? = nil, otherPort: Int = 8080) throws {
        let suffix = port.map { ":\($0)" } ?? ""
        base = try need("a base URL", URL(string: "http://api.example.com\(suffix)"))
        let common = [
            ("the same path", "/next", true), ("a relative path", "next?q", true),
            ("the same URL", "http://api.example.com\(suffix)/next", true),
            ("another case", "HTTP://API.Example.COM\(suffix)/next", true),
            ("no scheme", "//api.example.com\(suffix)/next", true),
            ("userinfo", "http://user:pass@api.example.com\(suffix)/next", true),
            ("another host", "http://other.example\(suffix)/next", false),
            ("another port", "http://api.example.com:\(otherPort)/next", false),
            ("another scheme", "https://api.example.com\(suffix)/next", false),
            ("a subdomain", "http://sub.api.example.com\(suffix)/next", false),
            ("a parent domain", "http://example.com\(suffix)/next", false),
            ("a trailing dot", "http://api.example.com.\(suffix)/next", false),
            ("another host, with userinfo", "http://user:pass@other.example\(suffix)/next", false),
        ]
        let withDefaultPort = ("the default port", "http://api.example.com:80/next", true)
        locations = port == nil ? common + [withDefaultPort] : common
    }

    /// A matrix of the zones of one link-local address, for executors that do not connect to it.
    package static var zones: SecretMatrix {
        SecretMatrix(
            base: URL("http://[fe80::1%25a]"),
            locations: [
                ("the same path", "/next", true), ("the same zone", "http://[fe80::1%25a]:80/next", true),
                ("another zone", "http://[fe80::1%25b]/next", false), ("no zone", "http://[fe80::1]/next", false),
                ("another port", "http://[fe80::1%25a]:81/next", false),
            ])
    }

    private init(base: URL, locations: [(String, String, Bool)]) {
        self.base = base
        self.locations = locations
    }

    /// An executor that responds to `/` with the redirect that the request describes, and to all other paths with text.
    package static var responder: MockExecutor { MockExecutor { request in response(to: request) } }

    private static func response(to request: PreparedRequest) -> MockResponse {
        guard request.target.path == "/", let location = request.header["X-To"],
            let status = request.header["X-Status"].flatMap({ Int($0) })
        else { return .ok("there") }
        return .redirect(HTTPStatus(status), to: location)
    }

    /// Follows every redirect with `executor`, with the secrets set by each of `sources`, and checks the received
    /// headers.
    ///
    /// - Parameters:
    ///   - executor: An executor that reaches a server with the responses of ``responder`` at every host and port.
    ///   - schemes: The schemes whose requests reach the server; after a redirect to any other scheme the call fails.
    ///   - isProxied: Whether the server is the proxy of `executor`, which receives Proxy-Authorization.
    ///   - sources: The parts of a client that set the secrets.
    ///   - received: Returns the headers of the latest requests for `/next`.
    /// - Throws: ``ConformanceFailure`` if a secret was sent to another origin, or not sent within its own.
    package func verify(
        over executor: any RequestExecutor, reaching schemes: Set<String>, isProxied: Bool = false,
        sources: [Source] = Source.allCases, received: () -> [Header]
    ) async throws {
        var number = 0
        for source in sources {
            for status in Self.statuses {
                for (name, location, isSameOrigin) in locations {
                    for names in Self.spellings {
                        number += 1
                        let marks = [("X-Number", "\(number)"), ("X-To", location), ("X-Status", "\(status.code)")]
                        let isFollowed = try await follow(marks, names, from: source, over: executor)
                        let arrived = received().filter { $0["X-Number"] == "\(number)" }
                        let label = "\(status.code) to \(name), secrets of the \(source)"
                        let isReached = schemes.contains(location.hasBytePrefix("https:") ? "https" : "http")
                        try expect("whether there is a response after \(label)", isFollowed, is: isReached)
                        try expect("number of requests after \(label)", arrived.count, is: isReached ? 1 : 0)
                        guard let last = arrived.first else { continue }
                        // The field is for proxies only, so most executors never send it.
                        let expectedNames =
                            isProxied || last.contains(.proxyAuthorization)
                            ? names : names.filter { $0 != .proxyAuthorization }
                        try check(last, expectedNames, isSameOrigin, label)
                    }
                }
            }
        }
    }

    private func check(_ header: Header, _ names: [Field.Name], _ isSameOrigin: Bool, _ label: String) throws {
        for name in names {
            try expect("\(name) after \(label)", header[name], is: isSameOrigin ? "a=secret" : nil)
        }
    }

    /// Sends a request with the secrets, and returns whether the redirect was followed.
    private func follow(
        _ marks: [(String, String)], _ names: [Field.Name], from source: Source, over executor: any RequestExecutor
    ) async throws -> Bool {
        let secrets = Header(names.map { Field(name: $0, value: "a=secret") })
        var executor = executor
        // The request always sets the marks, which are not secrets and are sent to every origin.
        var request = Probe(baseURL: base).get(.text, from: "/").with(
            header: Header(marks.map { Field(name: Field.Name($0.0), value: $0.1) }))
        request = request.with(redirectPolicy: RedirectPolicy(sensitiveFields: ["x-key"]))
        switch source {
        case .request: request = request.adding(headerFields: Array(secrets))
        case .environment:
            var environment = try need("an environment", RequestEnvironment(baseURL: base))
            // The environment sets half of the secrets as credentials, and half as fields.
            let credentials = secrets.filter { $0.name == .authorization || $0.name == .cookie }
            environment.header = Header(secrets.filter { !credentials.contains($0) })
            environment.authenticationProvider = AuthenticationProvider { header in
                for field in credentials { header.set(field) }
            }
            request = request.within(environment)
        case .authenticationProvider:
            // Not declared by the policy: every field that a provider sets is a secret, whatever its name.
            request = request.with(redirectPolicy: .standard).authenticated(
                with: AuthenticationProvider { header in for field in secrets { header.set(field) } })
        case .middleware:
            executor = executor.intercepting { request, next in
                var request = request
                for field in secrets { request.header.set(field) }
                return try await next.execute(request)
            }
        case .recreatingMiddleware:
            executor = executor.intercepting { request, next in
                var created = PreparedRequest(
                    method: request.method, target: request.target, header: request.header, body: request.body,
                    delivery: request.delivery)
                for field in secrets { created.header.set(field) }
                return try await next.execute(created)
            }
        }
        do throws(RequestError) {
            _ = try await executor.perform(request)
            return true
        } catch {
            guard error.attempts == 2 else { throw error }
            return false
        }
    }
}
