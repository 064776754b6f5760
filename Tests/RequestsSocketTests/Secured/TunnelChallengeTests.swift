@_spi(Lock) import Requests
import RequestsMiddleware
import RequestsPOSIX
import RequestsSocket
import RequestsTLS
import TestSupport
import Testing

/// The challenges of proxies before they provide a tunnel.
@Suite("https: challenges of a proxy", .enabled(if: Secured.isAvailable, Secured.comment), .timeLimit(.minutes(10)))
struct TunnelChallengeTests {
    private static func executor(
        through peer: ScriptedPeer, _ scheme: SocketExecutor.Proxy.Scheme = .http,
        with authenticator: some AuthenticationChallenge.ProxyAuthenticator = DigestAuthenticator(
            username: DigestProxy.username, password: DigestProxy.password)
    ) throws -> SocketExecutor {
        let port = Int(try #require(peer.address.port))
        let trust = try Secured.trust
        return try Secured.executor {
            $0.proxy = .init(scheme: scheme, host: "127.0.0.1", port: port, authorization: .init(with: authenticator))
            $0.proxyTLS.trust = trust
            $0.resolver = Resolver { _ throws(ResolverError) in throw .hostNotFound("unexpected lookup") }
        }
    }

    private func request(_ url: String = "https://origin.example/") throws -> PreparedRequest {
        PreparedRequest(target: try TargetURI(url), header: [Field(name: "X-Token", value: "origin-secret")]).patient()
    }

    /// Returns a proxy with the rules of `proxy`, which is the origin server behind its tunnels.
    private static func peer(
        _ proxy: DigestProxy, ending: DigestProxy.Ending = .keepsOpen, securedWith tls: TLSContext? = nil,
        response: String = ok
    ) throws -> ScriptedPeer {
        let origin = try Secured.server(names: ["origin.example", "other.example"])
        return try ScriptedPeer(securedWith: tls) { line, _, peer in
            while let head = line.receiveRequest() {
                peer.note(head)
                guard let challenge = proxy.challenge(for: head) else {
                    line.send("HTTP/1.1 200 OK\r\n\r\n")
                    break
                }
                line.send(ending.response(challenge))
                if !ending.reuses, ending != .longBody { return }
            }
            line.tls.secure(origin)
            while let request = line.receiveRequest() {
                peer.note("in the tunnel: \(request)")
                line.send(response)
            }
        }
    }

    @Test(
        "a challenge to CONNECT is met on the same connection where the proxy keeps it open, else on a new one",
        .rows("R-37", "R-51"),
        arguments: DigestProxy.Ending.allCases)
    func meets(ending: DigestProxy.Ending) async throws {
        let proxy = DigestProxy()
        let peer = try Self.peer(proxy, ending: ending)
        let executor = try Self.executor(through: peer)
        for _ in 0..<2 { #expect(try await executor.execute(request()).text == "ok") }
        let heads = peer.notes.filter { $0.hasPrefix("CONNECT origin.example:443 HTTP/1.1\r\n") }
        #expect(heads.count == 2 && peer.notes.count == 4)
        #expect(heads[0].field("Proxy-Authorization") == nil)
        #expect(heads[1].field("Proxy-Authorization")?.contains("uri=\"origin.example:443\"") == true)
        #expect(peer.connections == (ending.reuses ? 1 : 2))
        #expect(executor.connections.open == 1)

        // The next tunnel has credentials at once.
        #expect(try await executor.execute(request("https://other.example/")).text == "ok")
        let last = try #require(peer.notes.last { $0.hasPrefix("CONNECT other.example:443 ") })
        // Credentials that were lost with a connection are not used again.
        let counts = ending == .closesSilently ? ["nc=00000002", "nc=00000003"] : ["nc=00000002"]
        #expect(counts.contains { last.field("Proxy-Authorization")?.contains($0) == true })
        #expect(proxy.state.withLock { ($0.challenges, $0.accepted) } == (1, 2))
    }

    @Test("neither side of a tunnel receives the credentials of the other", .rows("R-27", "R-37"))
    func separate() async throws {
        let challenge = "Digest realm=r, nonce=origin, algorithm=SHA-256, qop=auth"
        let peer = try Self.peer(
            DigestProxy(),
            response: "HTTP/1.1 407 No\r\nProxy-Authenticate: \(challenge)\r\nContent-Length: 0\r\n\r\n")
        let executor = try Self.executor(through: peer)
        let response = try await executor.execute(request())
        #expect(response.head.status == 407 && response.metrics.retries.isEmpty)
        let inside = peer.notes.filter { $0.hasPrefix("in the tunnel") }
        #expect(inside.count == 1)
        #expect(inside.allSatisfy { !$0.contains("Proxy-Authorization") && !$0.contains("planted") })
        #expect(peer.notes.filter { $0.hasPrefix("CONNECT") }.allSatisfy { !$0.contains("origin-secret") })
    }

    @Test(
        "a challenge of a proxy over TLS is met, also on a new connection", .rows("R-37", "R-51"),
        arguments: [
            DigestProxy.Ending.keepsOpen, .closes, .closesSilently,
        ])
    func secured(ending: DigestProxy.Ending) async throws {
        let peer = try Self.peer(DigestProxy(), ending: ending, securedWith: Secured.server())
        let response = try await Self.executor(through: peer, .https).execute(request())
        #expect(response.text == "ok" && peer.connections == (ending.reuses ? 1 : 2))
    }

    @Test("a stale nonce is replaced before the tunnel exists", .rows("R-37"))
    func stale() async throws {
        let proxy = DigestProxy()
        let peer = try Self.peer(proxy)
        let executor = try Self.executor(through: peer)
        _ = try await executor.execute(request())
        proxy.state.withLock { ($0.nonce, $0.counts) = (7, []) }
        #expect(try await executor.execute(request("https://other.example/")).text == "ok")
        #expect(proxy.state.withLock { ($0.challenges, $0.accepted) } == (2, 2))
    }

    @Test(
        "wrong credentials, and challenges without end, are refusals after a bounded number of requests",
        .rows("R-37", "R-66"))
    func refused() async throws {
        let count = Lock(0)
        @Sendable func stale() -> String {
            let number = count.withLock { count in
                count += 1
                return count
            }
            return "Digest realm=r, nonce=n\(number), algorithm=SHA-256, qop=auth, stale=true"
        }
        let (right, wrong) = (DigestProxy.password, "wrong-password")
        let proxy = DigestProxy()
        let cases: [(String, @Sendable (String) -> String, Int)] = [
            (wrong, { proxy.challenge(for: $0) ?? "" }, 2), (right, { _ in stale() }, 3),
            (right, { _ in "Basic realm=r" }, 1), (right, { _ in "Digest realm=\"unterminated" }, 1),
        ]
        for (password, challenge, transmissions) in cases {
            for ending in [DigestProxy.Ending.keepsOpen, .closes, .closesSilently] {
                let peer = try ScriptedPeer { line, _, peer in
                    while let head = line.receiveRequest() {
                        peer.note(head)
                        line.send(ending.response(challenge(head)))
                        if ending != .keepsOpen { return }
                    }
                }
                let fresh = DigestAuthenticator(username: DigestProxy.username, password: password)
                let executor = try Self.executor(through: peer, with: fresh)
                let error = await executor.failure(of: try request())
                #expect(error?.reason == .proxyRefused && error?.status == 407, "\(String(describing: error))")
                #expect(error?.isPermanent == true && error?.mayHaveReachedServer == false)
                #expect(peer.notes.count == transmissions, "\(ending)")
                #expect(executor.connections.open == 0)
                let text = "\(error.debugDescription)"
                #expect(!text.contains("planted") && !text.contains("wrong-password") && !text.contains("cnonce"))
            }
        }
    }

    @Test(
        "a challenge whose body never ends, or a proxy that closes each connection, ends the call",
        .rows("R-37", "R-48"))
    func hostile() async throws {
        let start = "HTTP/1.1 407 No\r\nProxy-Authenticate: Digest realm=r, nonce=n, algorithm=SHA-256, qop=auth\r\n"
        // Bodies that are too long to be read cost a connection for each challenge.
        let endless = try ScriptedPeer { line, _, peer in
            guard let head = line.receiveRequest() else { return }
            peer.note(head)
            line.send(start + "Transfer-Encoding: chunked\r\n\r\n")
            while line.send("1000\r\n\(String(repeating: "x", count: 4096))\r\n") {}
        }
        let error = await (try Self.executor(through: endless)).failure(of: try request())
        #expect(error?.reason == .proxyRefused && endless.notes.count == 2 && endless.connections == 2)

        // A body that stalls costs the time for connecting.
        let stalling = try ScriptedPeer { line, _, _ in
            guard line.receiveRequest() != nil else { return }
            line.send(start + "Content-Length: 100\r\n\r\nx")
            line.waitForEnd()
        }
        var limited = try request()
        limited.timeouts.connect = .milliseconds(200)
        let executor = try Self.executor(through: stalling)
        try await executor.reloadTLS(timeout: nil)
        #expect(await executor.failure(of: limited)?.reason == .timedOut(.connecting))

        // After a challenge a closed connection is replaced, without a challenge it is an error.
        let closing = try ScriptedPeer { line, number, peer in
            while let head = line.receiveRequest() {
                peer.note(head)
                if number > 0 { return }
                line.send(start + "Content-Length: 0\r\n\r\n")
            }
        }
        let closed = await (try Self.executor(through: closing)).failure(of: try request())
        #expect(closed?.reason == .proxyRefused || closed?.reason == .connectionFailed)
        #expect(closed?.mayHaveReachedServer == false && closing.connections <= 2)

        let silent = try ScriptedPeer { line, number, peer in
            guard let head = line.receiveRequest() else { return }
            peer.note(head)
            if number == 0 { line.send(start + "Content-Length: 0\r\n\r\n") }
        }
        let lost = await (try Self.executor(through: silent)).failure(of: try request())
        #expect(lost?.reason == .connectionFailed && lost?.mayHaveReachedServer == false)
        #expect(silent.connections == 2)
    }

    @Test(
        "credentials of an authenticator that cannot be sent are an error before anything is sent", .rows("R-1", "R-37")
    )
    func unusable() async throws {
        let peer = try Self.peer(DigestProxy())
        let executor = try Self.executor(through: peer, with: ProxyChallengeTests.Fixed("a\r\nX: y"))
        let error = await executor.failure(of: try request())
        #expect(error?.reason == .invalidRequest(.invalidProxy) && error?.mayHaveReachedServer == false)
        #expect(peer.notes.isEmpty)
    }

    @Test("a lost connection after CONNECT with credentials is replaced once, without a loop", .rows("R-37"))
    func lost() async throws {
        let proxy = DigestProxy()
        let origin = try Secured.server(names: ["origin.example"])
        let peer = try ScriptedPeer { line, number, peer in
            while let head = line.receiveRequest() {
                peer.note(head)
                let challenge = proxy.challenge(for: head)
                if number == 0, challenge == nil { return }
                line.send(challenge.map(DigestProxy.Ending.keepsOpen.response) ?? "HTTP/1.1 200 OK\r\n\r\n")
                if challenge == nil { break }
            }
            line.tls.secure(origin)
            line.respondToAll(ok)
        }
        // The proxy has read the credentials, so the next ones have another count.
        #expect(try await Self.executor(through: peer).execute(request()).text == "ok")
        let counts = peer.notes.compactMap { $0.field("Proxy-Authorization")?.firstMatch(of: /nc=(\d+)/)?.1 }
        #expect(counts == ["00000001", "00000002"] && peer.connections == 2)
    }
}
