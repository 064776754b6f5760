import CRequestsPOSIX
@_spi(Lock) import Requests
import RequestsPOSIX
import RequestsSocket
import TestSupport
import Testing

@Suite("HTTP proxy", .timeLimit(.minutes(10)))
struct ProxyTests {
    /// Returns a peer that records every request and responds with `response` of the first line.
    private static func peer(_ response: @escaping @Sendable (String) -> String = { _ in ok }) throws -> ScriptedPeer {
        try ScriptedPeer { line, _, peer in
            while let request = line.receiveRequest() {
                peer.note(request)
                line.send(response(String(request.prefix { $0 != "\r\n" })))
            }
        }
    }

    /// Returns an executor with `peer` as its proxy; no other name has an address.
    private static func executor(
        through peer: ScriptedPeer, authorization: SocketExecutor.Proxy.Authorization? = nil,
        excludedHosts: [String] = []
    ) throws -> SocketExecutor {
        let port = Int(try #require(peer.address.port))
        return .with {
            $0.proxy = .init(host: "127.0.0.1", port: port, authorization: authorization, excludedHosts: excludedHosts)
            $0.resolver = Resolver { _ throws(ResolverError) in throw .hostNotFound("unexpected lookup") }
        }
    }

    private func request(_ url: String, _ header: Header = .empty) throws -> PreparedRequest {
        PreparedRequest(target: try TargetURI(url), header: header)
    }

    private static let credentials = SocketExecutor.Proxy.Authorization.basic(username: "u", password: "hunter2")
    private static let field = "Proxy-Authorization: Basic dTpodW50ZXIy"

    @Test("a request to a proxy has an absolute URI, Host of the origin and proxy credentials", .rows("R-4", "R-51"))
    func absoluteForm() async throws {
        let peer = try Self.peer()
        let executor = try Self.executor(through: peer, authorization: Self.credentials)
        #expect(try await executor.execute(request("http://u:p@Origin.example:80/a?b#c")).text == "ok")
        _ = try await executor.execute(request("http://other.example:8080"))
        let fields = "Accept-Encoding: identity\r\n\(Self.field)\r\n\r\n"
        #expect(
            peer.notes == [
                "GET http://origin.example/a?b HTTP/1.1\r\nHost: origin.example\r\n\(fields)",
                "GET http://other.example:8080/ HTTP/1.1\r\nHost: other.example:8080\r\n\(fields)",
            ])
        #expect(peer.connections == 1)
    }

    @Test("a 407 is returned, and proxy credentials of the request take precedence", .rows("R-51"))
    func proxyAuthentication() async throws {
        let peer = try Self.peer { _ in
            "HTTP/1.1 407 Proxy Authentication Required\r\nProxy-Authenticate: Basic realm=x\r\nContent-Length: 0\r\n\r\n"
        }
        let executor = try Self.executor(through: peer, authorization: Self.credentials)
        let response = try await executor.execute(
            request("http://origin.example/", [Field(name: .proxyAuthorization, value: "Basic own")]))
        #expect(response.head.status == 407)
        #expect(response.head.header[.proxyAuthenticate] == "Basic realm=x")
        #expect(peer.notes.count == 1)
        #expect(peer.notes[0].contains("Proxy-Authorization: Basic own\r\n"))
        #expect(!peer.notes[0].contains(Self.field))
    }

    @Test(
        "the request in middleware, a response or an error has no credentials for the proxy", .rows("R-51", "R-74"),
        arguments: [false, true], [false, true])
    func namedRequests(isDigest: Bool, isBlocking: Bool) async throws {
        let digest = DigestProxy()
        let peer = try ScriptedPeer { line, _, peer in
            while let head = line.receiveRequest() {
                peer.note(head)
                if isDigest, let challenge = digest.challenge(for: head) {
                    line.send(DigestProxy.Ending.keepsOpen.response(challenge))
                } else if head.contains("/lost") {
                    return
                } else {
                    line.send("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")
                }
            }
        }
        let named = Lock<[PreparedRequest?]>([])
        let executor = try Self.executor(
            through: peer, authorization: isDigest ? .init(with: ProxyChallengeTests.digest) : Self.credentials
        ).intercepting { request, next in
            named.withLock { $0.append(request) }
            do throws(RequestError) {
                let response = try await next.execute(request)
                named.withLock { $0.append(response.request) }
                return response
            } catch {
                named.withLock { $0.append(error.request) }
                throw error
            }
        }
        for path in ["missing", "lost"] {
            let request = AnonymousRequestProvider("http://origin.example").get(.none, from: "/\(path)")
            let error = await #expect(throws: RequestError.self) {
                guard isBlocking else { return try await executor.perform(request) }
                try await onThread {
                    Result { () throws(RequestError) in try executor.performAndWait(request) }
                }.get()
            }
            named.withLock { $0.append(error?.request) }
            #expect(peer.notes.last?.contains(".example/\(path) ") == true)
            #expect(peer.notes.last?.contains("Proxy-Authorization: ") == true)
        }
        let requests = named.withLock { $0 }
        #expect(requests.count == 6)
        for request in requests {
            let request = try #require(request)
            #expect(!request.header.contains(.proxyAuthorization))
            #expect(!request.curlCommand(secrets: .revealed).contains("roxy"))
        }
    }

    @Test("proxy credentials are never sent to an origin server", .rows("R-27", "R-51"))
    func direct() async throws {
        let origin = try Self.peer()
        let proxy = try Self.peer()
        let header: Header = [Field(name: .proxyAuthorization, value: "Basic own")]
        let excluding = try Self.executor(through: proxy, authorization: Self.credentials, excludedHosts: ["127.0.0.1"])
        for executor in [SocketExecutor(), excluding] {
            _ = try await executor.execute(request("http://\(origin.authority)/", header))
        }
        let plain = "GET / HTTP/1.1\r\nHost: \(origin.authority)\r\nAccept-Encoding: identity\r\n\r\n"
        #expect(origin.notes == [plain, plain])
        #expect(proxy.connections == 0)
    }

    @Test("connections to an address as a proxy and as an origin are separate", .rows("R-51"))
    func pooled() async throws {
        let peer = try Self.peer()
        let executor = try Self.executor(through: peer, excludedHosts: ["127.0.0.1"])
        _ = try await executor.execute(request("http://origin.example/"))
        _ = try await executor.execute(request("http://\(peer.authority)/"))
        #expect(peer.connections == 2)
        #expect(executor.connections == (2, 2))
    }

    @Test(
        "a redirect is sent with credentials for the proxy, without credentials for the origin", .rows("R-27", "R-51"))
    func redirects() async throws {
        let peer = try Self.peer { line in
            guard line.contains("a.example") else { return ok }
            return "HTTP/1.1 302 Found\r\nLocation: http://b.example/next\r\nContent-Length: 0\r\n\r\n"
        }
        let executor = try Self.executor(through: peer, authorization: Self.credentials)
        let api = AnonymousRequestProvider(baseURL: try #require(URL(string: "http://a.example")))
        let text = try await executor.perform(
            api.get(.text, from: "/first").authenticated(with: .bearerToken("secret")))
        #expect(text == "ok")
        #expect(peer.notes.map { $0.contains(Self.field) } == [true, true])
        #expect(peer.notes.map { $0.contains("Bearer secret") } == [true, false])
        #expect(peer.notes.last?.hasPrefix("GET http://b.example/next HTTP/1.1\r\nHost: b.example\r\n") == true)
    }

    @Test(
        "the Proxy-Authorization field of a request is kept only by redirects within the origin", .rows("R-27", "R-51"))
    func ownCredentials() async throws {
        for (location, isKept) in [
            ("/next", true), ("http://a.example:80/next", true), ("http://b.example/next", false),
        ] {
            let peer = try Self.peer { line in
                guard line.contains("/first") else { return ok }
                return "HTTP/1.1 302 Found\r\nLocation: \(location)\r\nContent-Length: 0\r\n\r\n"
            }
            let api = AnonymousRequestProvider(baseURL: try #require(URL(string: "http://a.example")))
            let own = Field(name: .proxyAuthorization, value: "Basic own")
            let text = try await Self.executor(through: peer).perform(
                api.get(.text, from: "/first").adding(headerField: own))
            #expect(text == "ok")
            #expect(
                peer.notes.map { $0.contains("Proxy-Authorization: Basic own\r\n") } == [true, isKept], "\(location)")
        }
    }

    @Test("an unreachable proxy is a failed connection, over http and https")
    func unreachable() async throws {
        let closed = try Socket.bound(to: .loopback())
        let port = Int(try #require(try closed.localAddress().port))
        let executor = SocketExecutor.with { $0.proxy = .init(host: "127.0.0.1", port: port) }
        #expect(await executor.failure(of: try request("http://origin.example/"))?.reason == .connectionFailed)
        // Whether TLS is installed or not, nothing is sent to the origin.
        let reason = await executor.failure(of: try request("https://origin.example/"))?.reason
        #expect(reason == .connectionFailed || reason == .tlsUnavailable)
    }

    @Test("a proxy that cannot be reached is named in the error, and the origin is not", .rows("R-51"))
    func named() async throws {
        let closed = try Socket.bound(to: .loopback())
        let port = Int(try #require(try closed.localAddress().port))
        for scheme in [SocketExecutor.Proxy.Scheme.http, .socks5] {
            for (host, reason) in [
                ("127.0.0.1", RequestError.Reason.connectionFailed), ("gateway.invalid", .hostNotFound),
            ] {
                let executor = SocketExecutor.with {
                    $0.proxy = .init(
                        scheme: scheme, host: host, port: port,
                        authorization: .basic(username: "planted", password: "hunter2"))
                    $0.resolver = Resolver { _ throws(ResolverError) in throw .hostNotFound("no such name") }
                }
                let error = await executor.failure(of: try request("http://origin.example/"))
                #expect(error?.reason == reason)
                #expect(error?.detail?.hasPrefix("the proxy \(host):\(port): ") == true)
                #expect(error?.description.contains("the proxy \(host):\(port)") == true)
                #expect(error?.debugDescription.contains("hunter2") == false)
            }
        }
        // A proxy that accepts connections and is silent.
        let silent = try ScriptedPeer { line, _, _ in line.waitForEnd() }
        let executor = SocketExecutor.with {
            $0.proxy = .init(scheme: .socks5, host: "127.0.0.1", port: Int(silent.address.port ?? 0))
        }
        var slow = try request("http://origin.example/")
        slow.timeouts.connect = .milliseconds(50)
        let error = await executor.failure(of: slow)
        #expect(error?.reason == .timedOut(.connecting))
        #expect(error?.detail?.contains("the proxy \(silent.authority)") == true)
    }

    @Test("an invalid proxy is an error before anything is sent", .rows("R-1", "R-2"))
    func invalid() async throws {
        for (host, port, authorization) in [
            ("", 80, "Basic a"), ("a b", 80, "Basic a"), ("u@h", 80, "Basic a"), ("h/x", 80, "Basic a"),
            ("h\r\n", 80, "Basic a"), ("h", 0, "Basic a"), ("h", 70_000, "Basic a"), ("h", -1, "Basic a"),
            ("h", 80, "a\r\nX: y"), ("h", 80, "a\0"),
        ] {
            let executor = SocketExecutor.with {
                $0.proxy = .init(host: host, port: port, authorization: .init(authorization))
            }
            let error = await executor.failure(of: try request("http://127.0.0.1:1/"))
            #expect(error?.reason == .invalidRequest(.invalidProxy), "\(host) \(port)")
            #expect(error?.mayHaveReachedServer == false)
        }
    }

    @Test("hosts are excluded by name or by suffix")
    func exclusions() async throws {
        let peer = try Self.peer()
        let executor = try Self.executor(through: peer, excludedHosts: ["Example.com", ".example.org", "[::1]"])
        for host in ["www.example.com", "example.org", "notexample.com", "example.com.net", "[::2]"] {
            #expect(try await executor.execute(request("http://\(host)/")).text == "ok", "\(host)")
        }
        for host in ["example.com", "EXAMPLE.COM", "a.example.org", "a.b.example.org"] {
            #expect(await executor.failure(of: try request("http://\(host)/"))?.reason == .hostNotFound, "\(host)")
        }
        #expect(await executor.failure(of: try request("http://[::1]:1/"))?.reason == .connectionFailed)
    }

    @Test(
        "an excluded host has one canonical form, however it and the URL are spelled", .rows("R-51"),
        arguments: [
            ("example.com.", "example.com", nil, true), ("EXAMPLE.com", "example.com.", nil, true),
            ("\texample.com \t", "example.com", nil, true), (".Example.COM.", "a.example.com", nil, true),
            (".example.com", "example.com", nil, false), ("bücher.test", "xn--bcher-kva.test", nil, true),
            ("BÜCHER.test", "xn--bcher-kva.test", nil, true), ("XN--BCHER-KVA.test", "xn--bcher-kva.test", nil, true),
            (".bücher.test", "a.xn--bcher-kva.test", nil, true), ("[::1]", "[::1]", nil, true),
            ("::1", "[::1]", nil, true), ("0:0:0:0:0:0:0:1", "[::1]", nil, true), ("[0::01]", "[::1]", nil, true),
            ("[FD00::A]", "[fd00::a]", nil, true), ("::ffff:1.2.3.4", "[::ffff:1.2.3.4]", nil, true),
            ("1.2.3.4", "[::ffff:1.2.3.4]", nil, false), ("[fd00::]/8", "[fd12::1]", nil, true),
            ("FD00::/8", "[fd12::1]", nil, true), ("127.0.0.1.", "127.0.0.1", nil, true),
            ("example.com:8080", "example.com", 8080, true), ("example.com:8080", "example.com", 80, false),
            ("example.com:", "example.com", 80, false), ("[::1]:81", "[::1]", 81, true),
            ("[::1]:81", "[::1]", 80, false),
            ("127.0.0.1:82", "127.0.0.1", 82, true), (".example.com:81", "a.example.com", 81, true),
            ("example.com:99999", "example.com", 80, false), ("", "example.com", 80, false),
            (".", "example.com", 80, false),
            ("example.com\u{301}", "example.com", 80, false),
            ("example.com:+80", "example.com", 80, false),
            ("*", "example.com", nil, true), (" * ", "[::1]", 81, true), ("*", "127.0.0.1", 80, true),
            ("*:81", "example.com", 81, true), ("*:81", "example.com", 80, false),
            ("*.Example.com", "a.example.com", 80, true), ("*.example.com", "example.com", 80, false),
            ("*example.com", "example.com", 80, false), ("a*", "a", 80, false),
        ] as [(String, String, Int?, Bool)])
    func spellings(entry: String, host: String, port: Int?, isExcluded: Bool) {
        let proxy = SocketExecutor.Proxy(host: "p", port: 1, excludedHosts: [entry])
        #expect(proxy.serves(host, port: port) == !isExcluded)
    }

    @Test("the port of an excluded host is compared with the port of the URL, also with the default one", .rows("R-51"))
    func excludedPorts() async throws {
        let peer = try Self.peer()
        let executor = try Self.executor(through: peer, excludedHosts: ["a.example:80", "b.example:81"])
        for url in ["http://a.example:81/", "http://b.example/"] {
            #expect(try await executor.execute(request(url)).text == "ok", "\(url)")
        }
        for url in ["http://a.example/", "http://a.example./", "http://b.example:81/"] {
            #expect(await executor.failure(of: try request(url))?.reason == .hostNotFound, "\(url)")
        }
    }

    @Test("the description of a proxy contains no credentials", .rows("R-74"))
    func printed() {
        let proxy = SocketExecutor.Proxy(host: "h", port: 1, authorization: Self.credentials)
        var text = "\(proxy)"
        dump(proxy, to: &text)
        #expect(!text.contains("dTpodW50ZXIy"))
    }

    @Test("proxies and credentials of the environment are not used", .rows("R-35"))
    func environment() async {
        await #expect(processExitsWith: .success) {
            let folder = TemporaryDirectory()
            try folder.write(Array("default login u password hunter2\n".utf8), to: ".netrc")
            setenv("HOME", folder.path, 1)
            setenv("NETRC", folder.path(of: ".netrc"), 1)
            let proxy = try ScriptedPeer { line, _, _ in line.respondToAll(ok) }
            for name in ["http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY", "https_proxy"] {
                setenv(name, "http://\(proxy.authority)", 1)
            }
            setenv("no_proxy", "", 1)
            let origin = try ScriptedPeer { line, _, peer in
                while let request = line.receiveRequest() {
                    peer.note(request)
                    line.send(ok)
                }
            }
            #expect(try await SocketExecutor().execute(origin.request()).text == "ok")
            #expect(
                origin.notes == [
                    "GET / HTTP/1.1\r\nHost: \(origin.authority)\r\nAccept-Encoding: identity\r\n\r\n"
                ])
            #expect(proxy.connections == 0)
        }
    }
}
