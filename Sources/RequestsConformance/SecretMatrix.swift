/// Redirects to every kind of destination, with every secret in every spelling, for executors that reach any host.
///
/// Hosts are mapped to the loopback by whoever runs it: all names and the default ports of two servers are theirs.
package struct SecretMatrix: Sendable {
    /// What the secrets are called, three times.
    static let spellings: [[Field.Name]] = [
        ["authorization", "cookie", "proxy-authorization", "x-key"],
        ["AUTHORIZATION", "COOKIE", "PROXY-AUTHORIZATION", "X-KEY"],
        ["aUtHoRiZaTiOn", "cOoKiE", "pRoXy-AuThOrIzAtIoN", "x-kEY"],
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

    /// Answers `/` with the redirect that the request asks for, and everything else with text.
    package static var responder: MockExecutor { MockExecutor { request in answer(request) } }

    private static func answer(_ request: PreparedRequest) -> MockResponse {
        guard request.target.path == "/", let location = request.header["X-To"],
            let status = request.header["X-Status"].flatMap({ Int($0) })
        else { return .ok("there") }
        return .redirect(HTTPStatus(status), to: location)
    }

    /// Follows every redirect with `executor` and looks at what arrived.
    ///
    /// - Parameters:
    ///   - executor: Reaches a server that answers as ``responder``, whatever the host and the port.
    ///   - received: The headers of the latest requests that have arrived for `/next`.
    /// - Throws: ``ConformanceFailure`` for a secret that went too far, or not far enough.
    package func verify(over executor: any RequestExecutor, received: () -> [Header]) async throws {
        var number = 0
        for status in Self.statuses {
            for (what, location, isSameOrigin) in locations {
                for names in Self.spellings {
                    number += 1
                    let header = [Field(name: "X-Number", value: "\(number)")] + names.map(Self.secret)
                    let isFollowed = try await follow(location, status, Header(header), over: executor)
                    let arrived = received().filter { $0["X-Number"] == "\(number)" }
                    let label = "\(status.code) to \(what)"
                    try expect("requests after \(label)", arrived.count, is: isFollowed ? 1 : 0)
                    // What an executor does not speak is refused before anything is sent.
                    try expect(isFollowed || location.hasPrefix("https:"), "\(label) is followed")
                    guard let last = arrived.first else { continue }
                    for name in names {
                        // Some executors send this one to proxies only.
                        if isSameOrigin, name == .proxyAuthorization, last[name] == nil { continue }
                        try expect("\(name) after \(label)", last[name], is: isSameOrigin ? "a=secret" : nil)
                    }
                }
            }
        }
    }

    private static func secret(_ name: Field.Name) -> Field {
        Field(name: name, value: "a=secret")
    }

    /// Whether the redirect led to an answer.
    private func follow(
        _ location: String, _ status: HTTPStatus, _ header: Header, over executor: any RequestExecutor
    ) async throws -> Bool {
        var header = header
        header.add(Field(name: "X-To", value: location))
        header.add(Field(name: "X-Status", value: "\(status.code)"))
        let request = Probe(baseURL: base).get(.text, from: "/").with(header: header)
            .redirecting(RedirectPolicy(secretFields: ["x-key"]))
        do throws(RequestError) {
            _ = try await executor.perform(request)
            return true
        } catch {
            guard error.attempts == 2 else { throw error }
            return false
        }
    }
}
