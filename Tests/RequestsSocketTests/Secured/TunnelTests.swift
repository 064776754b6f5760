import RequestsPOSIX
import RequestsSocket
import RequestsTLS
import RequestsTestServer
import TestSupport
import Testing

/// Tunnels through scripted proxies, each of which is the origin server at the same time.
@Suite("https: tunnels", .enabled(if: Secured.isAvailable, Secured.comment), .timeLimit(.minutes(10)))
struct TunnelTests {
    private static let credentials = SocketExecutor.Proxy.Authorization.basic(username: "u", password: "hunter2")

    /// Returns an executor with the proxy `peer`; no name has an address.
    private static func executor(
        through peer: ScriptedPeer, _ scheme: SocketExecutor.Proxy.Scheme = .http,
        authorization: SocketExecutor.Proxy.Authorization? = nil
    ) throws -> SocketExecutor {
        let port = Int(try #require(peer.address.port))
        let trust = try Secured.trust
        return try Secured.executor {
            $0.proxy = .init(scheme: scheme, host: "127.0.0.1", port: port, authorization: authorization)
            $0.proxyTLS.trust = trust
            $0.resolver = Resolver { _ throws(ResolverError) in throw .hostNotFound("unexpected lookup") }
        }
    }

    private func request(_ url: String, _ header: Header = .empty) throws -> PreparedRequest {
        PreparedRequest(target: try TargetURI(url), header: header).patient()
    }

    /// Returns a proxy that answers CONNECT with `response`, and then is the server `origin`.
    private static func proxy(
        _ response: String = "HTTP/1.1 200 Connection established\r\n\r\n", securedWith tls: TLSContext? = nil,
        origin: TLSContext
    ) throws -> ScriptedPeer {
        try ScriptedPeer(securedWith: tls) { line, _, peer in
            guard let head = line.receiveRequest() else { return }
            peer.note(head)
            line.send(response)
            guard head.hasPrefix("CONNECT "), response.contains(" 200 ") else { return line.waitForEnd() }
            line.tls.secure(origin)
            while let request = line.receiveRequest() {
                peer.note(request)
                line.send(ok)
            }
        }
    }

    @Test("https through a proxy is a tunnel: the proxy receives no field of the request", .rows("R-51", "R-27"))
    func tunnel() async throws {
        let peer = try Self.proxy(origin: Secured.server(names: ["origin.example"]))
        let executor = try Self.executor(through: peer, authorization: Self.credentials)
        let header: Header = [
            Field(name: "X-Token", value: "hidden"), Field(name: .proxyAuthorization, value: "Basic own"),
        ]
        for path in ["/a?b", "/c"] {
            let response = try await executor.execute(request("https://Origin.example\(path)", header))
            #expect(response.text == "ok" && response.metrics.tls?.version == "TLSv1.3")
        }
        let tail = "Host: origin.example\r\nX-Token: hidden\r\nAccept-Encoding: identity\r\n\r\n"
        #expect(
            peer.notes == [
                "CONNECT origin.example:443 HTTP/1.1\r\nHost: origin.example:443\r\n"
                    + "Proxy-Authorization: Basic dTpodW50ZXIy\r\n\r\n",
                "GET /a?b HTTP/1.1\r\n\(tail)", "GET /c HTTP/1.1\r\n\(tail)",
            ])
        #expect(peer.connections == 1)
        // Another origin, and http, have connections of their own.
        _ = await executor.failure(of: try request("https://origin.example:444/"))
        #expect(peer.notes.contains { $0.hasPrefix("CONNECT origin.example:444 ") })
        #expect(peer.connections == 2)
    }

    @Test("the certificate in a tunnel belongs to the origin server", .rows("S-2", "R-51"))
    func wrongOrigin() async throws {
        let peer = try Self.proxy(origin: Secured.server(names: ["proxy.example"]))
        let error = await (try Self.executor(through: peer)).failure(of: try request("https://origin.example/"))
        #expect(error?.reason == .certificateRefused(.nameMismatch))
        // The tunnel is open, so the error concerns the origin server.
        #expect(error?.detail?.contains("the proxy") == false)
        #expect(peer.notes.count == 1)
    }

    @Test("a refusal of the proxy is an error with its response, before anything is sent", .rows("R-51"))
    func refusals() async throws {
        for (status, isPermanent) in [(407, true), (403, true), (502, false), (503, false), (301, false)] {
            let peer = try Self.proxy(
                "HTTP/1.1 \(status) No\r\nProxy-Authenticate: Basic realm=x\r\nContent-Length: 3\r\n\r\nno!",
                origin: Secured.server())
            let executor = try Self.executor(through: peer, authorization: Self.credentials)
            let error = await executor.failure(of: try request("https://origin.example/"))
            #expect(error?.reason == .proxyRefused && error?.status?.code == status)
            #expect(error?.response?.header[.proxyAuthenticate] == "Basic realm=x")
            #expect(error?.mayHaveReachedServer == false && error?.isPermanent == isPermanent)
            #expect(error?.detail?.hasPrefix("the proxy \(peer.authority): \(status)") == true)
            #expect(error?.debugDescription.contains("dTpodW50ZXIy") == false)
            #expect(executor.connections.open == 0)
        }
    }

    @Test(
        "a 2xx to CONNECT has no body, whatever fields it has", .rows("R-51", "R-9", "R-11"),
        arguments: [
            "Content-Length: 0", "Content-Length: 5", "Content-Length: -1", "Content-Length: x", "Content-Length: 1, 2",
            "Content-Length: 1\r\nContent-Length: 2", "Content-Length: 99999999999999999999", "Content-Length:",
            "Transfer-Encoding: chunked", "Transfer-Encoding: gzip", "Transfer-Encoding: chunked, chunked",
            "Transfer-Encoding: chunked\r\nContent-Length: 5", "Content-Length: 5\r\nTransfer-Encoding: chunked",
            "Transfer-Encoding: identity\r\nContent-Length: 1, 2", "Connection: close",
            "Connection: close\r\nContent-Length: 3",
        ])
    func fieldsOfTunnel(fields: String) async throws {
        let origin = try Secured.server(names: ["origin.example"])
        for line in ["HTTP/1.1 200 OK", "HTTP/1.0 200 Connection established", "HTTP/1.1 204 No", "HTTP/1.1 299 x"] {
            let peer = try ScriptedPeer { connection, _, _ in
                guard connection.receiveRequest() != nil else { return }
                connection.send("\(line)\r\n\(fields)\r\n\r\n")
                connection.tls.secure(origin)
                connection.respondToAll(ok)
            }
            let executor = try Self.executor(through: peer)
            #expect(try await executor.execute(request("https://origin.example/")).text == "ok", "\(line)")
        }
    }

    @Test(
        "a proxy that violates HTTP, closes or stalls is a typed error, before anything is sent", .rows("R-51", "R-48"))
    func hostileProxies() async throws {
        let origin = try Secured.server()
        for (response, reason) in [
            ("garbage\r\n\r\n", RequestError.Reason.protocolViolation),
            ("HTTP/1.1 200 OK\r\n\r\nHTTP/1.1 200 OK\r\n\r\n", .protocolViolation),
            ("HTTP/1.1 200 OK\r\nX: \(String(repeating: "a", count: 200_000))\r\n\r\n", .tooLarge(limit: 100 << 10)),
            ("HTTP/1.1 100 Continue\r\n", .timedOut(.connecting)), ("HTTP/1.1 20", .timedOut(.connecting)),
        ] {
            let peer = try Self.proxy(response, origin: origin)
            var request = try request("https://origin.example/")
            if case .timedOut = reason { request.timeouts.connect = .milliseconds(80) }
            let error = await (try Self.executor(through: peer)).failure(of: request)
            #expect(error?.reason == reason, "\(response.prefix(40)) \(String(describing: error))")
            #expect(error?.mayHaveReachedServer == false)
        }
        for text in ["", "HTTP/1.1 200 OK\r\n"] {
            let closing = try ScriptedPeer { line, _, _ in
                _ = line.receiveRequest()
                line.send(text)
            }
            let error = await (try Self.executor(through: closing)).failure(of: try request("https://origin.example/"))
            #expect(error?.reason == .connectionFailed && error?.mayHaveReachedServer == false)
        }
    }

    @Test("a head of the proxy that arrives byte by byte, after an interim response, is read", .rows("R-51"))
    func splitHead() async throws {
        let origin = try Secured.server(names: ["origin.example"])
        let peer = try ScriptedPeer { line, _, _ in
            guard line.receiveRequest() != nil else { return }
            line.send("HTTP/1.1 103 Early\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n", piece: 1)
            line.tls.secure(origin)
            line.respondToAll(ok)
        }
        #expect(try await Self.executor(through: peer).execute(request("https://origin.example/")).text == "ok")
    }

    @Test("a proxy with the scheme https is reached over TLS, also below the TLS of the origin", .rows("R-51"))
    func securedProxy() async throws {
        let forwarding = try ScriptedPeer(securedWith: Secured.server()) { line, _, peer in
            while let request = line.receiveRequest() {
                peer.note(request)
                line.send(ok)
            }
        }
        let executor = try Self.executor(through: forwarding, .https, authorization: Self.credentials)
        let response = try await executor.execute(request("http://origin.example/a"))
        #expect(response.text == "ok" && response.metrics.tls != nil)
        #expect(forwarding.notes.first?.hasPrefix("GET http://origin.example/a HTTP/1.1\r\n") == true)
        #expect(forwarding.notes.first?.contains("Proxy-Authorization: Basic dTpodW50ZXIy") == true)

        let tunnelling = try Self.proxy(
            securedWith: Secured.server(), origin: Secured.server(names: ["origin.example"]))
        let tunnelled = try Self.executor(through: tunnelling, .https)
        for _ in 0..<2 {
            #expect(try await tunnelled.execute(request("https://origin.example/")).text == "ok")
        }
        #expect(tunnelling.notes.count == 3 && tunnelling.connections == 1)
        // A proxy whose certificate is not trusted receives nothing.
        let careful = try Secured.executor {
            $0.proxy = .init(scheme: .https, host: "127.0.0.1", port: Int(tunnelling.address.port ?? 0))
            $0.proxyTLS.trust = .system
        }
        let error = await careful.failure(of: try request("https://origin.example/"))
        #expect(error?.mayHaveReachedServer == false && error?.isPermanent == true)
        #expect(tunnelling.notes.count == 3)
    }
}
