import RequestsHTTP2
import RequestsMock
import RequestsPOSIX
import RequestsTLS
import RequestsTestServer
import TestSupport
import Testing

@testable import RequestsSocket

extension ScriptedPeer.Line {
    /// Responds to all requests in the version that the server has selected in the handshake, and notes each with its
    /// version.
    fileprivate borrowing func serve(_ peer: ScriptedPeer, _ name: String = "") {
        guard tls.negotiation?.applicationProtocol == "h2" else {
            while let head = receiveRequest() {
                peer.note("\(name)HTTP/1.1 \(head.prefix { $0 != " " })")
                send(ok)
            }
            return
        }
        let script = HTTP2Script(HTTP2Limits())
        while let request = script.request(on: self) {
            peer.note("\(name)HTTP/2 \(request.head.method)")
            script.respond(to: request.slot, on: self)
        }
    }
}

@Suite(
    "HTTP/2: selection in the TLS handshake", .tags(.concurrent), .enabled(if: Secured.isAvailable, Secured.comment),
    .timeLimit(.minutes(10)))
struct HTTP2NegotiationTests {
    /// Returns an executor that prefers HTTP/2.
    static func executor(
        _ change: (inout SocketExecutor.Configuration) -> Void = { _ in }
    ) throws -> SocketExecutor {
        try Secured.executor {
            $0.httpVersion = .http2Preferred
            change(&$0)
        }
    }

    @Test(
        "a server selects the version of HTTP; one that selects none receives HTTP/1.1", .rows("H-30"),
        arguments: [(["h2", "http/1.1"], "HTTP/2"), (["h2"], "HTTP/2"), (["http/1.1"], "HTTP/1.1"), ([], "HTTP/1.1")])
    func selection(protocols: [String], version: String) async throws {
        let peer = try ScriptedPeer(securedWith: Secured.server { $0.applicationProtocols = protocols }) {
            line, _, peer in line.serve(peer)
        }
        let executor = try Self.executor()
        for (index, method) in [HTTPMethod.get, .put].enumerated() {
            let response = try await executor.execute(peer.securedRequest(method))
            #expect(response.text == "ok" && response.metrics.isReusedConnection == (index == 1))
            #expect(response.metrics.httpVersion == (version == "HTTP/2" ? .http2 : .http11))
            let selected = version == "HTTP/2" ? "h2" : protocols.first
            #expect(response.metrics.tls?.applicationProtocol == selected)
        }
        #expect(peer.notes == ["\(version) GET", "\(version) PUT"] && peer.connections == 1)
    }

    @Test("a server that selects another protocol is refused with an error that names it", .rows("H-30", "S-28"))
    func wrongProtocol() async throws {
        let peer = try ScriptedPeer(securedWith: Secured.server { $0.applicationProtocols = ["x"] }) { line, _, peer in
            line.serve(peer)
        }
        let executor = try Self.executor { $0.tls.applicationProtocols = ["h2", "http/1.1", "x"] }
        let error = await executor.failure(of: try peer.securedRequest())
        #expect(error?.reason == .tlsFailed && error?.mayHaveReachedServer == false)
        #expect(error?.detail?.contains("“x”; only h2 and http/1.1 can be used") == true, "\(error?.detail ?? "")")
        // Without a common protocol, the server refuses the handshake.
        let refused = await (try Self.executor()).failure(of: try peer.securedRequest())
        #expect(refused?.reason == .tlsFailed && peer.notes.isEmpty)
    }

    @Test("http URLs use HTTP/1.1, and over a proxy that forwards them also with prior knowledge", .rows("H-30"))
    func inClear() async throws {
        let peer = try ScriptedPeer { line, _, peer in line.serve(peer) }
        #expect(try await Self.executor().execute(peer.request()).text == "ok")
        let port = Int(try #require(peer.address.port))
        let request = PreparedRequest(target: try TargetURI("http://a.example/")).patient()
        for hasPriorKnowledge in [false, true] {
            let forwarded = try Self.executor {
                $0.proxy = .init(scheme: .http, host: "127.0.0.1", port: port)
                if hasPriorKnowledge { $0.httpVersion = .http2PriorKnowledge }
            }
            #expect(try await forwarded.execute(request).text == "ok")
        }
        #expect(peer.notes == ["HTTP/1.1 GET", "HTTP/1.1 GET", "HTTP/1.1 GET"])
    }

    @Test(
        "a tunnel carries HTTP/2, and its proxy is offered only HTTP/1.1", .rows("H-30"),
        arguments: [SocketExecutor.Proxy.Scheme.http, .https, .socks5])
    func tunnel(scheme: SocketExecutor.Proxy.Scheme) async throws {
        let origin = try Secured.server(names: ["origin.example"]) { $0.applicationProtocols = ["h2", "http/1.1"] }
        let proxy = try Secured.server { $0.applicationProtocols = ["h2", "http/1.1"] }
        let peer = try ScriptedPeer(securedWith: scheme == .https ? proxy : nil) { line, _, peer in
            let selected = line.tls.negotiation?.applicationProtocol
            if scheme == .socks5 {
                guard line.receive() != nil, line.send([5, 0]), line.receive() != nil else { return }
                peer.note("proxy none")
                line.send([5, 0, 0, 1, 0, 0, 0, 0, 0, 0])
            } else {
                guard let head = line.receiveRequest(), head.hasPrefix("CONNECT ") else { return }
                peer.note("proxy \(selected ?? "none")")
                line.send("HTTP/1.1 200 OK\r\n\r\n")
            }
            line.tls.secure(origin)
            line.serve(peer)
        }
        let port = Int(try #require(peer.address.port))
        let trust = try Secured.trust
        let executor = try Self.executor {
            $0.proxy = .init(scheme: scheme, host: "127.0.0.1", port: port)
            $0.proxyTLS.trust = trust
        }
        let request = PreparedRequest(target: try TargetURI("https://origin.example/")).patient()
        for _ in 0..<2 { #expect(try await executor.execute(request).text == "ok") }
        #expect(peer.notes == ["proxy \(scheme == .https ? "http/1.1" : "none")", "HTTP/2 GET", "HTTP/2 GET"])
        #expect(peer.connections == 1)
    }

    @Test(
        "100 calls at once to a new origin share an HTTP/2 connection, or use as many of HTTP/1.1 as allowed at once",
        .rows("H-30"), arguments: [true, false])
    func manyCalls(isHTTP2: Bool) async throws {
        let most = isHTTP2 ? 1 : 16
        let arrived = SharedCounter()
        let service = MockExecutor { _ in
            arrived.add()
            // Each connection carries one exchange of HTTP/1.1, so that no response comes before all are in use.
            while arrived.value < most, !Task.isCancelled { await Task.yield() }
            return .ok("ok")
        }
        try await withTestServer(
            serving: service, using: isHTTP2 ? .http2 : .http1, tls: TestServer.TLS()
        ) { server in
            let executor = try Self.executor { $0.maximumConnectionsPerOrigin = 16 }
            let request = try PreparedRequest(url: server.baseURL).patient()
            let texts = await withTaskGroup(of: String?.self) { group in
                for _ in 0..<100 { group.addTask { try? await executor.execute(request).text } }
                return await group.reduce(into: []) { $0.append($1) }
            }
            #expect(texts.count { $0 == "ok" } == 100)
            #expect(server.record.acceptedConnections == most)
        }
    }

    @Test(
        "a request is sent again with HTTP/1.1 if its server requires that, and later requests use it", .rows("H-21"),
        arguments: [HTTPMethod.get, .post])
    func requiredHTTP1(method: HTTPMethod) async throws {
        let context = try Secured.server { $0.applicationProtocols = ["h2", "http/1.1"] }
        let peer = try ScriptedPeer(securedWith: context) { line, _, peer in
            guard line.tls.negotiation?.applicationProtocol == "h2" else { return line.serve(peer) }
            let script = HTTP2Script(HTTP2Limits())
            while let (slot, head) = script.head(on: line) {
                peer.note("HTTP/2 \(head.method) \(head.path ?? "")")
                guard head.path == "/slow" else {
                    script.reset(slot, .http11Required, on: line)
                    continue
                }
                script.sendHead(200, to: slot, on: line)
                guard peer.waitForResume() else { return }
                script.respond(to: slot, on: line)
            }
        }
        let executor = try Self.executor()
        // Another HTTP/2 connection is in use, and idle later.
        let slow = try await executor.execute(peer.securedRequest(.get, "/slow", delivery: .streamed))
        peer.resume()
        let request = try peer.securedRequest(method, "/a", body: method == .post ? .bytes(Data("x".utf8)) : .none)
        let response = try await executor.execute(request)
        #expect(response.text == "ok" && response.metrics.transmissions == 2 && response.metrics.httpVersion == .http11)
        _ = try await slow.stream?.collect()
        for _ in 0..<2 {
            let later = try await executor.execute(peer.securedRequest())
            #expect(later.metrics.transmissions == 1 && later.metrics.httpVersion == .http11)
        }
        #expect(
            peer.notes == ["HTTP/2 GET /slow", "HTTP/2 \(method) /a", "HTTP/1.1 \(method)"] + [
                "HTTP/1.1 GET", "HTTP/1.1 GET",
            ])
        // The HTTP/2 connection is closed when its last stream is released.
        await eventually { executor.connections.open == 1 }
    }

    /// Returns a peer that selects HTTP/2, notes the first request and calls `react`, and serves HTTP/1.1 otherwise.
    private static func peer(
        reacting react: @escaping @Sendable (HTTP2Script, StreamSlot, borrowing ScriptedPeer.Line) -> Void
    ) throws -> ScriptedPeer {
        let context = try Secured.server { $0.applicationProtocols = ["h2", "http/1.1"] }
        return try ScriptedPeer(securedWith: context) { line, _, peer in
            guard line.tls.negotiation?.applicationProtocol == "h2" else { return line.serve(peer) }
            let script = HTTP2Script(HTTP2Limits())
            guard let request = script.request(on: line) else { return }
            peer.note("HTTP/2 \(request.head.method)")
            react(script, request.slot, line)
        }
    }

    @Test("a request is also sent again with HTTP/1.1 if GOAWAY requires that", .rows("H-21"))
    func requiredHTTP1ByGoAway() async throws {
        let peer = try Self.peer { script, _, line in
            script.send(on: line) { $0.goAway(lastStream: 0, .http11Required) }
            line.waitForEnd()
        }
        let executor = try Self.executor()
        let first = try await executor.execute(peer.securedRequest(.post, body: .bytes(Data("x".utf8))))
        #expect(first.text == "ok" && first.metrics.transmissions == 2 && first.metrics.httpVersion == .http11)
        let second = try await executor.execute(peer.securedRequest())
        #expect(second.metrics.transmissions == 1 && second.metrics.httpVersion == .http11)
        #expect(peer.notes == ["HTTP/2 POST", "HTTP/1.1 POST", "HTTP/1.1 GET"], "\(peer.notes)")
    }

    @Test(
        "a request that GOAWAY with HTTP_1_1_REQUIRED does not exclude is sent again only after a reset with that code",
        .rows("H-21"), arguments: [false, true])
    func requiredHTTP1Gracefully(resets: Bool) async throws {
        let peer = try Self.peer { script, slot, line in
            // The server may still act on all streams.
            script.send(on: line) { $0.goAway(lastStream: .largest, .http11Required) }
            guard resets else { return }
            script.reset(slot, .http11Required, on: line)
            line.waitForEnd()
        }
        let executor = try Self.executor()
        let request = try peer.securedRequest(.post, body: .bytes(Data("x".utf8)))
        if resets {
            #expect(try await executor.execute(request).status == .ok)
            #expect(peer.notes == ["HTTP/2 POST", "HTTP/1.1 POST"])
            return
        }
        let error = await executor.failure(of: request)
        #expect(error?.reason == .connectionLost && error?.mayHaveReachedServer == true, "\(error as Any)")
        #expect(error?.detail?.contains("HTTP_1_1_REQUIRED") == true, "\(error as Any)")
        #expect(peer.notes == ["HTTP/2 POST"])
    }

    @Test("after a server has required HTTP/1.1, new connections offer only HTTP/1.1", .rows("H-21"))
    func offersOnlyHTTP1() async throws {
        // A server that prefers HTTP/2 would select it again.
        let context = try Secured.server { $0.applicationProtocols = ["h2", "http/1.1"] }
        let peer = try ScriptedPeer(securedWith: context) { line, _, peer in
            let selected = line.tls.negotiation?.applicationProtocol ?? "none"
            peer.note(selected)
            if selected == "h2" {
                let script = HTTP2Script(HTTP2Limits())
                while let (slot, _) = script.head(on: line) { script.reset(slot, .http11Required, on: line) }
            } else if line.receiveRequest() != nil {
                line.send("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok")
            }
        }
        let executor = try Self.executor()
        for _ in 0..<3 { #expect(try await executor.execute(peer.securedRequest()).text == "ok") }
        #expect(peer.notes == ["h2", "http/1.1", "http/1.1", "http/1.1"])
    }

    /// The end of the first connection to an origin, for which other calls wait.
    enum FirstConnection: CaseIterable {
        case closed, stalled, cancelled, timedOut
    }

    @Test(
        "calls that wait for the first connection to an origin neither fail nor time out with it", .rows("H-40"),
        arguments: FirstConnection.allCases)
    func firstConnection(end: FirstConnection) async throws {
        let context = try Secured.server { $0.applicationProtocols = ["h2", "http/1.1"] }
        let peer = try ScriptedPeer { line, number, peer in
            if number == 0 {
                peer.note("first")
                if end == .closed { _ = peer.waitForResume() } else { line.waitForEnd() }
                return
            }
            line.tls.secure(context)
            line.serve(peer)
        }
        let executor = try Self.executor { $0.maximumConnectionsPerOrigin = 16 }
        let request = try peer.securedRequest()
        let first = request.with { if end == .timedOut { $0.timeouts.connect = .milliseconds(300) } }
        let failing = Task { await executor.failure(of: first) }
        await eventually { peer.notes == ["first"] }
        let others = (0..<100).map { _ in Task { try await executor.execute(request).text } }
        if end != .timedOut { await eventually { executor.waiters == 100 } }
        switch end {
        case .closed: peer.resume()
        case .cancelled: failing.cancel()
        case .stalled, .timedOut: break
        }
        for other in others { #expect(try await other.value == "ok") }
        if end == .stalled { failing.cancel() }
        let error = await failing.value
        switch end {
        case .closed: #expect(error?.reason == .connectionFailed)
        case .stalled, .cancelled: #expect(error?.isCancellation == true)
        case .timedOut: #expect(error?.reason == .timedOut(.securing))
        }
        #expect(peer.mostConnections <= 16)
        // One of the waiting calls has established the next connection for all. On a busy machine, a few others may
        // have waited for 500 ms and established more. If all had established their own, there would be 17.
        if end == .cancelled { #expect(peer.connections < 10) }
    }

    /// A server to which no connection can be established.
    enum Unreachable: CaseIterable {
        case refusing, silent, stallingHandshakes
    }

    @Test(
        "calls to a server that refuses connections, accepts none, or stalls in the handshake end with their own errors",
        .rows("H-40"), arguments: Unreachable.allCases)
    func unreachable(server: Unreachable) async throws {
        let refuses = server == .refusing
        let phase = server == .silent ? RequestError.Phase.connecting : .securing
        func run(_ port: Int) async throws {
            let executor = try Self.executor { $0.maximumConnectionsPerOrigin = 16 }
            let target = try TargetURI("https://127.0.0.1:\(port)/")
            let waiting = SharedCounter()
            await withTaskGroup(of: Void.self) { group in
                for number in 0...100 {
                    // The others wait for the first call, which has the shortest limit; later ones have shorter limits.
                    let limit =
                        refuses ? Duration.seconds(300) : .milliseconds(number == 0 ? 1 : 1_200 - 10 * number)
                    let request = PreparedRequest(target: target).patient().with { $0.timeouts.connect = limit }
                    group.addTask {
                        let start = Deadline.now
                        let error = await executor.failure(of: request)
                        #expect(error?.mayHaveReachedServer == false)
                        if refuses {
                            #expect(error?.reason == .connectionFailed, "\(error as Any)")
                            #expect(error?.detail?.lowercased().contains("refused") == true, "\(error as Any)")
                        } else {
                            // With a limit of 1 ms, the call may time out in any step.
                            let own = [phase, .connecting, .securing].prefix(number == 0 ? 3 : 1)
                            let isWaiting = error?.reason == .timedOut(.waitingForConnection)
                            #expect(isWaiting || own.contains { error?.reason == .timedOut($0) }, "\(error as Any)")
                            let detail = isWaiting ? "no connection to the server is established" : nil
                            #expect(error?.detail == detail)
                            if isWaiting { waiting.add() }
                            #expect(start.advanced(by: limit).hasPassed)
                            // The limits one after the other would take 70 s.
                            #expect(!start.advanced(by: limit + .seconds(30)).hasPassed)
                        }
                    }
                }
            }
            // At most 16 connections are established at once; the other calls wait.
            #expect(refuses || waiting.value > 16, "\(waiting.value)")
            #expect(executor.waiters == 0 && executor.connections.open == 0)
        }
        switch server {
        case .refusing: try await withRefusingPort(run)
        case .silent: try await withFullBacklogPort(run)
        case .stallingHandshakes:
            let peer = try ScriptedPeer { line, _, _ in line.waitForEnd() }
            try await run(Int(try #require(peer.address.port)))
        }
    }

    @Test("connections can be established in advance to a server that selects HTTP/1.1", .rows("H-30"))
    func warming() async throws {
        let peer = try ScriptedPeer(securedWith: Secured.server()) { line, _, peer in line.serve(peer) }
        let executor = try Self.executor()
        let port = try #require(peer.address.port)
        let url = try #require(URL(string: "https://127.0.0.1:\(port)"))
        for _ in 0..<2 {
            try await executor.connect(to: url, count: 4, timeout: nil)
            #expect(executor.connections == (4, 4))
        }
    }

    @Test("64 origins with HTTP/1.1 are remembered, the ones that were used last", .rows("H-30"))
    func memory() {
        var peers = HTTP1Peers<Int>()
        for origin in 0..<64 { peers.record(origin, .selected) }
        #expect(peers.reason(for: 0) == .selected && peers.count == 64)
        peers.record(64, .required)
        #expect(peers.reason(for: 1) == nil && peers.reason(for: 0) == .selected && peers.count == 64)
        // A requirement remains, whatever a server selects later.
        peers.record(64, .selected)
        peers.forget(64)
        peers.forget(0)
        #expect(peers.reason(for: 64) == .required && peers.reason(for: 0) == nil && peers.count == 63)
    }
}
