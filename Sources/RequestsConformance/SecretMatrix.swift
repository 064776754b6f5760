/// Redirects to every kind of destination, with every secret from every source, for executors that reach any host.
///
/// Hosts are mapped to the loopback by whoever runs it: all names and the default ports of two servers are theirs.
package struct SecretMatrix: Sendable {
    /// The part of a client that sets the secrets.
    package enum Source: CaseIterable, Sendable {
        case request, environment, authenticationProvider, middleware
    }

    /// The names of the secrets in three spellings; the last one is declared secret by the request's policy.
    static let spellings: [[Field.Name]] = [
        ["authorization", "cookie", "proxy-authorization", "x-api-key", "x-key"],
        ["AUTHORIZATION", "COOKIE", "PROXY-AUTHORIZATION", "X-API-KEY", "X-KEY"],
        ["aUtHoRiZaTiOn", "cOoKiE", "pRoXy-AuThOrIzAtIoN", "x-aPi-KeY", "x-kEY"],
    ]

    static let statuses: [HTTPStatus] = [301, 302, 303, 307, 308]

    /// Where redirects from ``base`` lead, and whether that is the same origin.
    let locations: [(what: String, location: String, isSameOrigin: Bool)]

    /// The URL of the first server.
    package let base: URL

    /// Hosts at `port`, and one other port that leads to a server as well; nil for the default port.
    ///
    /// - Throws: ``ConformanceFailure`` for ports that make no URL.
    package init(port: Int? = nil, otherPort: Int = 8080) throws {
        let at = port.map { ":\($0)" } ?? ""
        base = try need("a base URL", URL(string: "http://api.example.com\(at)"))
        let everywhere = [
            ("the same path", "/next", true), ("a relative path", "next?q", true),
            ("the same URL", "http://api.example.com\(at)/next", true),
            ("another case", "HTTP://API.Example.COM\(at)/next", true),
            ("no scheme", "//api.example.com\(at)/next", true),
            ("userinfo", "http://user:pass@api.example.com\(at)/next", true),
            ("another host", "http://other.example\(at)/next", false),
            ("another port", "http://api.example.com:\(otherPort)/next", false),
            ("another scheme", "https://api.example.com\(at)/next", false),
            ("a subdomain", "http://sub.api.example.com\(at)/next", false),
            ("a parent domain", "http://example.com\(at)/next", false),
            ("a trailing dot", "http://api.example.com.\(at)/next", false),
            ("another host, with userinfo", "http://user:pass@other.example\(at)/next", false),
        ]
        let atDefault = ("the default port", "http://api.example.com:80/next", true)
        locations = port == nil ? everywhere + [atDefault] : everywhere
    }

    /// Redirects between the zones of one link-local address, for executors that need no such address.
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

    /// Answers `/` with the redirect that the request asks for, and everything else with text.
    package static var responder: MockExecutor { MockExecutor { request in answer(request) } }

    private static func answer(_ request: PreparedRequest) -> MockResponse {
        guard request.target.path == "/", let location = request.header["X-To"],
            let status = request.header["X-Status"].flatMap({ Int($0) })
        else { return .ok("there") }
        return .redirect(HTTPStatus(status), to: location)
    }

    /// Follows every redirect with `executor`, the secrets set by each of `sources`, and looks at what arrived.
    ///
    /// - Parameters:
    ///   - executor: Reaches a server that answers as ``responder``, whatever the host and the port.
    ///   - schemes: The schemes whose requests reach the server; a redirect to another one fails after it was followed.
    ///   - isProxied: Whether the server is the proxy of `executor`, which receives Proxy-Authorization.
    ///   - sources: The parts of a client that set the secrets.
    ///   - received: The headers of the latest requests that have arrived for `/next`.
    /// - Throws: ``ConformanceFailure`` for a secret that went too far, or not far enough.
    package func verify(
        over executor: any RequestExecutor, reaching schemes: Set<String>, isProxied: Bool = false,
        sources: [Source] = Source.allCases, received: () -> [Header]
    ) async throws {
        var number = 0
        for source in sources {
            for status in Self.statuses {
                for (what, location, isSameOrigin) in locations {
                    for names in Self.spellings {
                        number += 1
                        let marks = [("X-Number", "\(number)"), ("X-To", location), ("X-Status", "\(status.code)")]
                        let isFollowed = try await follow(marks, names, from: source, over: executor)
                        let arrived = received().filter { $0["X-Number"] == "\(number)" }
                        let label = "\(status.code) to \(what), secrets of the \(source)"
                        let isReached = schemes.contains(location.hasBytePrefix("https:") ? "https" : "http")
                        try expect("whether there is a response after \(label)", isFollowed, is: isReached)
                        try expect("requests after \(label)", arrived.count, is: isReached ? 1 : 0)
                        guard let last = arrived.first else { continue }
                        // It is for proxies only, so that most executors never send it.
                        let names =
                            isProxied || last.contains(.proxyAuthorization)
                            ? names : names.filter { $0 != .proxyAuthorization }
                        try check(last, names, isSameOrigin, label)
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

    /// Whether the redirect led to a response.
    private func follow(
        _ marks: [(String, String)], _ names: [Field.Name], from source: Source, over executor: any RequestExecutor
    ) async throws -> Bool {
        let secrets = Header(names.map { Field(name: $0, value: "a=secret") })
        var executor = executor
        // The marks are the request's own in every case: they are no secrets, and are followed everywhere.
        var request = Probe(baseURL: base).get(.text, from: "/").with(
            header: Header(marks.map { Field(name: Field.Name($0.0), value: $0.1) }))
        request = request.redirecting(RedirectPolicy(secretFields: ["x-key"]))
        switch source {
        case .request: request = request.adding(headerFields: Array(secrets))
        case .environment:
            var environment = try need("an environment", RequestEnvironment(base))
            // Half of them by each of its two ways.
            let credentials = secrets.filter { $0.name == .authorization || $0.name == .cookie }
            environment.header = Header(secrets.filter { !credentials.contains($0) })
            environment.authenticationProvider = AuthenticationProvider { header in
                for field in credentials { header.set(field) }
            }
            request = request.within(environment)
        case .authenticationProvider:
            // Not declared by the policy: what a provider sets is secret whatever its name is.
            request = request.redirecting(.standard).authenticated(
                with: AuthenticationProvider { header in for field in secrets { header.set(field) } })
        case .middleware:
            executor = executor.intercepted { request, next in
                var request = request
                for field in secrets { request.header.set(field) }
                return try await next.execute(request)
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
