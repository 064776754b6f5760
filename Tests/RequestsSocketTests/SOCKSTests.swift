import RequestsPOSIX
import RequestsSocket
import RequestsTLS
import TestSupport
import Testing

@Suite("SOCKS 5 proxy", .timeLimit(.minutes(10)))
struct SOCKSTests {
    /// Returns a proxy that answers the messages of a client with `replies`, notes them, and is the origin server then.
    private static func proxy(
        _ replies: [[UInt8]], piece: Int = .max, securedWith origin: TLSContext? = nil, isServing: Bool = true
    ) throws -> ScriptedPeer {
        try ScriptedPeer { line, _, peer in
            for reply in replies {
                guard let message = line.receive() else { return }
                peer.note("\(message)")
                line.send(reply, piece: piece)
            }
            guard isServing else { return line.waitForEnd() }
            if let origin { line.tls.secure(origin) }
            while let request = line.receiveRequest() {
                peer.note(request)
                line.send(ok)
            }
        }
    }

    private static func executor(
        through peer: ScriptedPeer, authorization: SocketExecutor.Proxy.Authorization? = nil
    ) throws -> SocketExecutor {
        let port = Int(try #require(peer.address.port))
        let trust: TLSConfiguration.Trust = Secured.isAvailable ? try Secured.trust : .system
        return .with {
            $0.proxy = .init(scheme: .socks5, host: "127.0.0.1", port: port, authorization: authorization)
            $0.tls.trust = trust
            $0.resolver = Resolver { _ throws(ResolverError) in throw .hostNotFound("unexpected lookup") }
        }
    }

    private func request(_ url: String) throws -> PreparedRequest {
        PreparedRequest(target: try TargetURI(url)).patient()
    }

    private static let name = Array("origin.example".utf8)
    private static let accepted: [UInt8] = [5, 0, 0, 1, 0, 0, 0, 0, 0, 0]

    @Test("the proxy receives the name of the host, and the request is that to the origin", .rows("R-51"))
    func plain() async throws {
        for piece in [1, .max] {
            let peer = try Self.proxy([[5, 0], Self.accepted], piece: piece)
            let executor = try Self.executor(through: peer)
            for _ in 0..<2 {
                #expect(try await executor.execute(request("http://origin.example:8080/a")).text == "ok")
            }
            #expect(peer.notes[0] == "\([5, 1, 0])")
            #expect(peer.notes[1] == "\([5, 1, 0, 3, 14] + Self.name + [31, 144] as [UInt8])")
            #expect(peer.notes[2].hasPrefix("GET /a HTTP/1.1\r\nHost: origin.example:8080\r\n"))
            #expect(peer.notes.count == 4 && peer.connections == 1)
        }
    }

    @Test("addresses are sent as addresses, and replies of each address type are read", .rows("R-51"))
    func addresses() async throws {
        for (host, expected) in [
            ("192.0.2.7", [1, 192, 0, 2, 7]),
            ("[2001:db8::1]", [4, 0x20, 1, 0x0D, 0xB8] + [UInt8](repeating: 0, count: 11) + [1]),
        ] {
            for reply: [UInt8] in [
                Self.accepted, [5, 0, 0, 3, 2, 97, 98, 0, 80], [5, 0, 0, 4] + [UInt8](repeating: 0, count: 18),
            ] {
                let peer = try Self.proxy([[5, 0], reply])
                #expect(try await Self.executor(through: peer).execute(request("http://\(host)/")).text == "ok")
                #expect(peer.notes[1] == "\([5, 1, 0] + expected + [0, 80] as [UInt8])")
            }
        }
    }

    @Test("https through the proxy is TLS to the origin", .enabled(if: Secured.isAvailable, Secured.comment))
    func secured() async throws {
        let peer = try Self.proxy(
            [[5, 0], Self.accepted], securedWith: Secured.server(names: ["origin.example"]))
        let response = try await Self.executor(through: peer).execute(request("https://origin.example/"))
        #expect(response.text == "ok" && response.metrics.tls != nil)
        #expect(peer.notes[1].hasSuffix(", 1, 187]"))
    }

    @Test("a username and a password are sent if the proxy selects them, and never printed", .rows("R-74"))
    func credentials() async throws {
        let authorization = SocketExecutor.Proxy.Authorization.basic(username: "user", password: "pä")
        let peer = try Self.proxy([[5, 2], [1, 0], Self.accepted])
        _ = try await Self.executor(through: peer, authorization: authorization).execute(
            request("http://origin.example/"))
        #expect(peer.notes[0] == "\([5, 2, 0, 2])")
        #expect(peer.notes[1] == "[1, 4, 117, 115, 101, 114, 3, 112, 195, 164]")
        let refusing = try Self.proxy([[5, 2], [1, 1]], isServing: false)
        let error = await (try Self.executor(through: refusing, authorization: authorization))
            .failure(of: try request("http://origin.example/"))
        #expect(error?.reason == .proxyRefused && error?.isPermanent == true)
        #expect(error?.debugDescription.contains("pä") == false)
    }

    @Test("a refusal or a violation of the proxy is a typed error, and nothing is sent", .rows("R-51"))
    func refusals() async throws {
        let refused = RequestError.Reason.proxyRefused
        for (replies, reason, detail) in [
            ([[5, 0xFF]], refused, "no acceptable authentication method; set the authorization of the proxy"),
            ([[5, 0], [5, 1, 0, 1, 0, 0, 0, 0, 0, 0]], refused, "general failure"),
            ([[5, 0], [5, 2, 0, 1, 0, 0, 0, 0, 0, 0]], refused, "not allowed by its rules"),
            ([[5, 0], [5, 5, 0, 1, 0, 0, 0, 0, 0, 0]], refused, "connection refused"),
            ([[5, 0], [5, 99, 0, 1, 0]], refused, "reply 99"),
            ([[4, 0]], .protocolViolation, nil), ([Array("HTTP/1.1 400 Bad".utf8)], .protocolViolation, nil),
            ([[5, 2]], .protocolViolation, nil), ([[5, 0], [5, 0, 0, 9, 0, 0]], .protocolViolation, nil),
            ([[5, 0], Self.accepted + [1]], .protocolViolation, nil),
        ] as [([[UInt8]], RequestError.Reason, String?)] {
            let peer = try Self.proxy(replies, isServing: false)
            let error = await (try Self.executor(through: peer)).failure(of: try request("http://origin.example/"))
            #expect(error?.reason == reason, "\(replies)")
            if let detail { #expect(error?.detail == "the proxy \(peer.authority): \(detail)") }
            #expect(error?.description.contains("the proxy \(peer.authority)") == true)
            #expect(error?.mayHaveReachedServer == false && peer.notes.count == replies.count)
        }
    }

    @Test("a proxy that stalls or closes after any byte is subject to the limits of connecting", .rows("R-51", "R-48"))
    func cuts() async throws {
        let whole: [UInt8] = [5, 0] + Self.accepted
        for count in 0..<whole.count {
            for isClosing in [true, false] {
                let replies = [Array(whole.prefix(min(count, 2)))] + (count > 2 ? [Array(whole[2..<count])] : [])
                let peer = try ScriptedPeer { line, _, _ in
                    for reply in replies {
                        guard line.receive() != nil else { return }
                        line.send(reply)
                    }
                    // What the client sends next is read, so that a close does not reset the connection.
                    if count == 2 { _ = line.receive() }
                    if !isClosing { line.waitForEnd() }
                }
                var request = try request("http://origin.example/")
                if !isClosing { request.timeouts.connect = .milliseconds(30) }
                let error = await (try Self.executor(through: peer)).failure(of: request)
                #expect(error?.reason == (isClosing ? .connectionFailed : .timedOut(.connecting)), "\(count)")
                #expect(error?.mayHaveReachedServer == false)
            }
        }
    }

    @Test("credentials and names that SOCKS cannot transfer are errors before anything is sent", .rows("R-1"))
    func invalid() async throws {
        let peer = try Self.proxy([])
        for authorization in [
            SocketExecutor.Proxy.Authorization("Bearer x"), .basic(username: "", password: "x"),
            .basic(username: "x", password: ""), .basic(username: String(repeating: "x", count: 256), password: "x"),
        ] {
            let error = await (try Self.executor(through: peer, authorization: authorization))
                .failure(of: try request("http://origin.example/"))
            #expect(error?.reason == .invalidRequest(.invalidProxy))
        }
        #expect(peer.connections == 0)
    }
}
