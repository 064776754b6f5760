@_spi(Lock) import Requests
import RequestsPOSIX
import RequestsSocket
import RequestsTLS
import RequestsTestServer
import TestSupport
import Testing

/// Peers that send messages of TLS without end, in every state of a connection and over every route.
@Suite(
    "https: floods", .notInstrumented("its cases only take long"), .enabled(if: Secured.isAvailable, Secured.comment),
    .serialized, .timeLimit(.minutes(10)))
struct FloodTests {
    /// The way to the peer that floods.
    enum Route: CaseIterable {
        /// TLS to the origin server, and to a proxy that forwards http.
        case direct, proxy
        /// TLS to the origin server through TLS to a proxy.
        case nested
    }

    private static let helloRequests = Array(
        repeatElement([22, 3, 3, 0, 4, 0, 0, 0, 0] as [UInt8], count: 500).joined())

    /// Returns a peer that runs `script` when its TLS is established; it is the proxy of the routes that have one.
    private static func peer(
        _ route: Route, version: Int = 0x0304,
        _ script: @escaping @Sendable (borrowing ScriptedPeer.Line, ScriptedPeer) -> Void
    ) throws -> ScriptedPeer {
        let origin = try Secured.server(names: ["origin.example"]) { $0.versions = version...version }
        return try ScriptedPeer(securedWith: Secured.server { $0.versions = version...version }) { line, _, peer in
            if route == .nested {
                guard line.receiveRequest() != nil else { return }
                line.send("HTTP/1.1 200 OK\r\n\r\n")
                line.tls.secure(origin)
            }
            script(line, peer)
        }
    }

    private static func executor(_ route: Route, to peer: ScriptedPeer) async throws -> SocketExecutor {
        let port = Int(try #require(peer.address.port))
        let trust = try Secured.trust
        return try await Secured.loadedExecutor {
            if route == .direct { return }
            $0.proxy = .init(scheme: .https, host: "127.0.0.1", port: port)
            $0.proxyTLS.trust = trust
        }
    }

    private static func request(_ route: Route, to peer: ScriptedPeer) throws -> PreparedRequest {
        switch route {
        case .direct: try peer.securedRequest()
        case .proxy: PreparedRequest(target: try TargetURI("http://origin.example/")).patient()
        case .nested: PreparedRequest(target: try TargetURI("https://origin.example/")).patient()
        }
    }

    /// Sends key updates without end, among them a byte of data, so that the connection itself is not ended.
    private static func flood(_ line: borrowing ScriptedPeer.Line) {
        repeat {
            for _ in 0..<20 { line.tls.updateKeys() }
        } while line.send("x")
    }

    /// Calls `body` while another task sleeps for 10 ms, and expects that it resumed before `body` returned.
    private func watching<Value>(_ body: () async throws -> Value) async throws -> Value {
        let hasResumed = Lock(false)
        let watcher = Task {
            try await Task.sleep(for: .milliseconds(10))
            hasResumed.withLock { $0 = true }
        }
        let value = try await body()
        #expect(hasResumed.withLock { $0 })
        try await watcher.value
        return value
    }

    @Test(
        "endless HelloRequests fail the handshake, and nothing was sent", .rows("S-31", "S-44"),
        arguments: Route.allCases, SecuredCall.allCases)
    func handshake(route: Route, call: SecuredCall) async throws {
        let peer = try ScriptedPeer(securedWith: route == .nested ? Secured.server() : nil) { line, _, _ in
            if route == .nested {
                guard line.receiveRequest() != nil else { return }
                line.send("HTTP/1.1 200 OK\r\n\r\n")
            }
            guard line.receive() != nil else { return }
            while line.send(Self.helloRequests) {}
        }
        let executor = try await Self.executor(route, to: peer)
        var request = try Self.request(route, to: peer)
        request.timeouts.connect = .seconds(300)
        let error = await call.failure(of: request, over: executor)
        #expect(error?.reason == .tlsFailed, "\(String(describing: error))")
        #expect(error?.detail?.contains("512 records") == true)
        #expect(error?.mayHaveReachedServer == false)
        #expect(executor.connections.open == 0)
        peer.stop()
    }

    @Test("the port of a test server that floods fails calls of every kind", .rows("S-31", "S-44"))
    func port() async throws {
        try await withTLSFloodPort(.handshake) { port in
            let executor = try await Secured.loadedExecutor()
            let target = try TargetURI("https://127.0.0.1:\(port.number)/")
            let request = PreparedRequest(target: target).patient()
            let errors = await withTaskGroup(of: RequestError?.self) { group in
                for number in 0..<12 {
                    let call = SecuredCall.allCases[number % SecuredCall.allCases.count]
                    group.addTask { await call.failure(of: request, over: executor) }
                }
                return await group.reduce(into: []) { $0.append($1) }
            }
            #expect(errors.count == 12 && errors.allSatisfy { $0?.reason == .tlsFailed })
            #expect(executor.connections.open == 0)
            // Beyond the 256 KiB that a handshake reads, the kernel may hold what was never read.
            #expect(port.sentBytes < 12 * 2 << 20, "\(port.sentBytes)")
        }
    }

    /// Messages without data on an established connection.
    enum Message: CaseIterable {
        case keyUpdate, helloRequest
        var version: Int { self == .keyUpdate ? 0x0304 : 0x0303 }
    }

    @Test(
        "messages without data end a connection: before the head, in a body and during an upload",
        .rows("S-31", "S-32", "S-44", "R-44"), arguments: Route.allCases, Message.allCases)
    func withoutData(route: Route, message: Message) async throws {
        for call in SecuredCall.allCases { try await withoutData(route, message, call) }
    }

    private func withoutData(_ route: Route, _ message: Message, _ call: SecuredCall) async throws {
        for start in ["", "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nab", "upload"] {
            let peer = try Self.peer(route, version: message.version) { line, _ in
                if start != "upload" {
                    guard line.receiveRequest() != nil else { return }
                    if !start.isEmpty { line.send(start) }
                }
                for _ in 0..<100 {
                    if message == .keyUpdate { line.tls.updateKeys() } else { line.tls.requestRenegotiation() }
                }
                line.waitForStop()
            }
            let executor = try await Self.executor(route, to: peer)
            var request = try Self.request(route, to: peer)
            if start == "upload" {
                request.method = .put
                request.body = .bytes(Data(count: 32 << 20))
            }
            let error = await call.failure(of: request, over: executor)
            #expect(error?.reason == .tlsFailed, "\(start) \(String(describing: error))")
            #expect(error?.detail?.contains("without data") == true)
            #expect(executor.connections.open == 0)
            peer.stop()
        }
    }

    @Test("key updates of a proxy without data end the connection through it", .rows("S-44"))
    func belowTunnel() async throws {
        let peer = try Self.peer(.nested) { line, _ in
            guard line.receiveRequest() != nil else { return }
            for _ in 0..<100 { line.tls.updateKeys(below: true) }
            // Sends the updates.
            line.send("HTTP/1.1 200 OK\r\nX: ")
            line.waitForStop()
        }
        let executor = try await Self.executor(.nested, to: peer)
        let error = await executor.failure(of: try Self.request(.nested, to: peer))
        #expect(error?.reason == .tlsFailed && error?.detail?.contains("without data") == true, "\(error as Any)")
        #expect(executor.connections.open == 0)
        peer.stop()
    }

    @Test(
        "the limit and the cancellation of a call end it during a flood, while other tasks run",
        .rows("S-44", "S-46", "R-48", "R-67"), arguments: Route.allCases, SecuredCall.allCases)
    func limits(route: Route, call: SecuredCall) async throws {
        for start in ["HTTP/1.1 200 OK\r\nX: ", "HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n"] {
            let peer = try Self.peer(route) { line, peer in
                guard line.receiveRequest() != nil else { return }
                line.send(start)
                peer.note("begun")
                Self.flood(line)
            }
            let executor = try await Self.executor(route, to: peer)
            var request = try Self.request(route, to: peer)
            request.deadline = .now + .seconds(1)
            let late = try await watching { [request] in await call.failure(of: request, over: executor) }
            #expect(late?.reason == .timedOut(.total), "\(start) \(String(describing: late))")

            guard call == .awaited else { continue }
            let unlimited = try Self.request(route, to: peer)
            let count = peer.notes.count
            let task = Task { await call.failure(of: unlimited, over: executor) }
            await eventually { peer.notes.count > count }
            // This sleep ends during the flood.
            try await Task.sleep(for: .milliseconds(20))
            task.cancel()
            let cancelled = await task.value
            #expect(cancelled?.reason == .cancelled, "\(start) \(String(describing: cancelled))")
            await eventually { executor.connections.open == 0 }
            peer.stop()
        }
    }

    @Test(
        "a limit that passes during a flood ends the call before the peer can send much more", .rows("S-44", "R-48"),
        arguments: SecuredCall.allCases)
    func promptness(call: SecuredCall) async throws {
        try await withTLSFloodPort(.response) { port in
            let executor = try await Secured.loadedExecutor()
            var request = PreparedRequest(target: try TargetURI("https://127.0.0.1:\(port.number)/")).patient()
            let limit = ContinuousClock.now + .milliseconds(500)
            request.deadline = limit
            // Each byte that the call reads makes space for one that the peer sends; later ones do not count.
            let watcher = Task {
                try await Task.sleep(until: limit)
                return port.sentBytes
            }
            let error = await call.failure(of: request, over: executor)
            let sentAtEnd = port.sentBytes
            let sentAtLimit = try await watcher.value
            #expect(error?.reason == .timedOut(.total), "\(String(describing: error))")
            #expect(sentAtLimit > 16 << 10)
            #expect(sentAtEnd - sentAtLimit < 1 << 20, "\(sentAtEnd - sentAtLimit)")
        }
    }

    @Test("an idle connection with a flood of messages is replaced", .rows("S-33", "S-44"), arguments: Route.allCases)
    func idle(route: Route) async throws {
        let peer = try Self.peer(route) { line, peer in
            guard line.receiveRequest() != nil else { return }
            line.send(ok)
            guard peer.connections == 1 else { return line.respondToAll(ok) }
            for _ in 0..<100 { line.tls.updateKeys() }
            peer.note("flooded")
            line.waitForStop()
        }
        let executor = try await Self.executor(route, to: peer)
        let request = try Self.request(route, to: peer)
        for count in 1...2 {
            let response = try await executor.execute(request)
            #expect(response.text == "ok")
            #expect(response.metrics.transmissions == 1 && peer.connections == count)
            await eventually { !peer.notes.isEmpty }
        }
        peer.stop()
    }
}
