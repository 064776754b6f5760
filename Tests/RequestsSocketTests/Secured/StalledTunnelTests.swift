import RequestsPOSIX
import RequestsSocket
import RequestsTLS
import RequestsTestServer
import TestSupport
import Testing

/// Tunnels that stop at any byte which the proxy sends: of its TLS, its replies, and the TLS of the origin server.
@Suite("https: stalled tunnels", .enabled(if: Secured.isAvailable, Secured.comment), .timeLimit(.minutes(10)))
struct StalledTunnelTests {
    typealias Scheme = SocketExecutor.Proxy.Scheme
    static let schemes: [Scheme] = [.http, .https, .socks5]

    /// Returns a proxy that is the origin server at the same time.
    private static func proxy(_ scheme: Scheme) throws -> ScriptedPeer {
        let origin = try Secured.server(names: ["origin.example"])
        return try ScriptedPeer(securedWith: scheme == .https ? Secured.server() : nil) { line, _, peer in
            if scheme == .socks5 {
                for reply: [UInt8] in [[5, 2], [1, 0], [5, 0, 0, 1, 0, 0, 0, 0, 0, 0]] {
                    guard line.receive() != nil else { return }
                    line.send(reply)
                }
            } else {
                guard line.receiveRequest() != nil else { return }
                line.send("HTTP/1.1 200 OK\r\n\r\n")
            }
            line.tls.secure(origin)
            while let request = line.receiveRequest() {
                peer.note(request)
                line.send(ok)
            }
        }
    }

    /// Returns a relay to `proxy` that passes `limit` bytes of it on, and then none; it notes their number then.
    private static func relay(to proxy: ScriptedPeer, limit: Int) throws -> ScriptedPeer {
        let target = proxy.address
        return try ScriptedPeer { line, _, peer in
            guard let far = try? Socket(for: target), (try? far.startConnecting(to: target)) != nil,
                (try? far.waitInPlace(for: .writing)) != nil
            else { return }
            var passed = 0
            let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: 64 << 10, alignment: 1)
            defer {
                memory.deallocate()
                if passed < limit { peer.note("\(passed)") }
            }
            if limit == 0 { peer.note("0") }
            while true {
                do {
                    while case .bytes(let count) = try line.socket.receive(into: memory) {
                        try send(memory.prefix(count), to: far)
                    }
                    if line.socket.liveness() == .closed { return }
                    while passed < limit {
                        let space = UnsafeMutableRawBufferPointer(rebasing: memory.prefix(limit - passed))
                        guard case .bytes(let count) = try far.receive(into: space) else { break }
                        try send(memory.prefix(count), to: line.socket)
                        passed += count
                        if passed == limit { peer.note("\(passed)") }
                    }
                    try line.socket.waitInPlace(
                        for: .reading, by: .after(.milliseconds(1)), orUntil: line.stopSignal.signal)
                } catch WaitError.timedOut {
                    continue
                } catch {
                    return
                }
            }
        }
    }

    private static func send(_ bytes: Slice<UnsafeMutableRawBufferPointer>, to socket: borrowing Socket) throws {
        var remainder = UnsafeRawBufferPointer(rebasing: bytes)
        while !remainder.isEmpty {
            switch try socket.send(remainder) {
            case .bytes(let count): remainder = UnsafeRawBufferPointer(rebasing: remainder.dropFirst(count))
            default: try socket.waitInPlace(for: .writing)
            }
        }
    }

    private static func executor(through peer: ScriptedPeer, _ scheme: Scheme) throws -> SocketExecutor {
        let port = Int(try #require(peer.address.port))
        let trust = try Secured.trust
        return try Secured.executor {
            $0.proxy = .init(
                scheme: scheme, host: "127.0.0.1", port: port, authorization: .basic(username: "u", password: "p"))
            $0.proxyTLS.trust = trust
        }
    }

    private static func request() throws -> PreparedRequest {
        PreparedRequest(target: try TargetURI("https://origin.example/")).patient()
    }

    /// Returns the numbers of bytes after which a tunnel is stopped.
    private static func limits(_ scheme: Scheme, through proxy: ScriptedPeer) async throws -> [Int] {
        let relay = try relay(to: proxy, limit: .max)
        do {
            let executor = try executor(through: relay, scheme)
            #expect(try await executor.execute(request()).text == "ok")
        }
        await eventually { !relay.notes.isEmpty }
        let whole = try #require(relay.notes.first.flatMap { Int($0) })
        // The replies are short, and the records of TLS need not be cut at each byte once more (S-45).
        return (0..<whole).filter { $0 < 30 || $0 % 41 == 0 }
    }

    @Test(
        "a call that is cancelled at any byte of a tunnel fails as cancelled, and leaves no connection",
        .rows("S-47", "R-51"),
        arguments: schemes)
    func cancelled(scheme: Scheme) async throws {
        let proxy = try Self.proxy(scheme)
        let request = try Self.request()
        let limits = try await Self.limits(scheme, through: proxy)
        #expect(limits.count > 50)
        let served = proxy.notes.count
        for limit in limits {
            let relay = try Self.relay(to: proxy, limit: limit)
            let executor = try Self.executor(through: relay, scheme)
            let call = Task { await executor.failure(of: request) }
            await eventually { !relay.notes.isEmpty }
            call.cancel()
            let error = await call.value
            #expect(error?.reason == .cancelled, "\(limit) \(String(describing: error))")
            // The first reply of each proxy is longer.
            if limit < 2 { #expect(error?.mayHaveReachedServer == false) }
            if proxy.notes.count > served { #expect(error?.mayHaveReachedServer == true) }
            await eventually { executor.connections.open == 0 }
            relay.stop()
            if proxy.notes.count > served { break }
        }
        proxy.stop()
    }

    @Test(
        "a tunnel that stalls at any byte ends with the connect limit, and nothing was sent",
        .rows("S-45", "R-48", "R-51"),
        arguments: schemes)
    func stalled(scheme: Scheme) async throws {
        let proxy = try Self.proxy(scheme)
        let limits = try await Self.limits(scheme, through: proxy)
        let served = proxy.notes.count
        let reasons = try await withThrowingTaskGroup(of: (RequestError.Reason?, Bool).self) { group in
            var reasons: [(RequestError.Reason?, Bool)] = []
            for (number, limit) in limits.enumerated() {
                if number >= 16, let reason = try await group.next() { reasons.append(reason) }
                group.addTask {
                    let relay = try Self.relay(to: proxy, limit: limit)
                    let executor = try Self.executor(through: relay, scheme)
                    try await executor.reloadTLS(timeout: nil)
                    var request = try Self.request()
                    request.timeouts.connect = .milliseconds(150)
                    // Of a tunnel that is complete, the response is missing.
                    request.timeouts.firstByte = .milliseconds(150)
                    let call = SecuredCall.allCases[number % SecuredCall.allCases.count]
                    let error = await call.failure(of: request, over: executor)
                    relay.stop()
                    return (error?.reason, error?.mayHaveReachedServer == true)
                }
            }
            for try await reason in group { reasons.append(reason) }
            return reasons
        }
        #expect(reasons.count == limits.count)
        for (reason, mayHaveReachedServer) in reasons {
            if mayHaveReachedServer { #expect(reason == .timedOut(.firstByte)) }
            let expected: Set<RequestError.Reason?> = [
                .timedOut(.securing), .timedOut(.connecting), .timedOut(.firstByte),
            ]
            #expect(expected.contains(reason), "\(String(describing: reason))")
        }
        #expect(reasons.count { !$0.1 } > 40)
        #expect(proxy.notes.count - served <= reasons.count { $0.1 })
        proxy.stop()
    }
}
