import RequestsPOSIX
import RequestsSocket
import TestSupport
import Testing

@Suite("Draining and warming", .timeLimit(.minutes(10)))
struct DrainTests {
    /// A peer that responds when the test resumes it.
    private static func slowPeer() throws -> ScriptedPeer {
        try ScriptedPeer { line, _, peer in
            while line.receiveRequest() != nil, peer.waitForResume() { line.send(ok) }
        }
    }

    @Test("a drain closes idle connections, refuses new requests, and ends with the running calls")
    func running() async throws {
        let slow = try Self.slowPeer()
        let quick = try ScriptedPeer { line, _, _ in line.respondToAll(ok) }
        let executor = SocketExecutor()
        let copy = executor
        _ = try await executor.execute(try quick.request())
        let request = try slow.request()
        let running = Task { try await executor.execute(request).text }
        await eventually { slow.connections == 1 }
        let isDrained = SharedCounter()
        let drain = Task {
            let result = await executor.drain(until: .now.advanced(by: .seconds(60)))
            isDrained.add()
            return result
        }
        await eventually { executor.connections.open == 1 }
        for executor in [executor, copy] {
            let error = await executor.failure(of: try quick.request())
            #expect(error?.reason == .executorClosed && error?.mayHaveReachedServer == false)
        }
        #expect(isDrained.value == 0)
        slow.resume()
        #expect(try await running.value == "ok")
        #expect(await drain.value)
        #expect(executor.connections == (0, 0))
        #expect(await copy.drain(until: .now))
    }

    @Test("a drain that reaches its deadline returns false and cancels nothing")
    func deadline() async throws {
        let peer = try Self.slowPeer()
        let executor = SocketExecutor()
        let request = try peer.request()
        let running = Task { try await executor.execute(request).text }
        await eventually { peer.connections == 1 }
        #expect(await !executor.drain(until: .now.advanced(by: .milliseconds(20))))
        #expect(await !executor.drain(until: .now.advanced(by: .seconds(-1))))
        let cancelled = Task { await executor.drain(until: .now.advanced(by: .seconds(600))) }
        cancelled.cancel()
        #expect(await !cancelled.value)
        peer.resume()
        #expect(try await running.value == "ok")
    }

    @Test("calls that wait for a connection, and redirects of running calls, continue during a drain")
    func continuing() async throws {
        let peer = try ScriptedPeer { line, _, peer in
            while let request = line.receiveRequest(), peer.waitForResume() {
                let isFirst = request.hasPrefix("GET /first ")
                line.send(isFirst ? "HTTP/1.1 302 Found\r\nLocation: /next\r\nContent-Length: 0\r\n\r\n" : ok)
            }
        }
        let executor = SocketExecutor.with { $0.maximumConnectionsPerOrigin = 1 }
        let api = AnonymousRequestProvider(baseURL: try #require(URL(string: "http://\(peer.authority)")))
        let redirected = Task {
            try await executor.perform(api.get(.data, from: "/first").with(timeouts: Timeouts(connect: nil)))
        }
        await eventually { peer.connections == 1 }
        let waiting = try peer.request().patient()
        let queued = Task { try await executor.execute(waiting).text }
        await eventually { executor.waiters == 1 }
        let drain = Task { await executor.drain(until: .now.advanced(by: .seconds(60))) }
        await eventually { executor.isDraining }
        peer.resume(3)
        #expect(try await redirected.value == Data("ok".utf8))
        #expect(try await queued.value == "ok")
        #expect(await drain.value)
    }

    @Test("a drain waits for a streamed body until it is read or released", arguments: [true, false])
    func streamed(isRead: Bool) async throws {
        let peer = try ScriptedPeer { line, _, peer in
            guard line.receiveRequest() != nil else { return }
            line.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\no")
            if peer.waitForResume() { line.send("k") }
            line.waitForEnd()
        }
        let executor = SocketExecutor()
        var response: RawResponse? = try await executor.execute(try peer.request(delivery: .streamed))
        let drain = Task { await executor.drain(until: .now.advanced(by: .seconds(60))) }
        await eventually { executor.isDraining }
        #expect(executor.connections.open == 1)
        peer.resume()
        if isRead { #expect(try await response?.stream?.collect() == Data("ok".utf8)) } else { response = nil }
        #expect(await drain.value)
    }

    @Test("an executor without connections is drained at once")
    func unused() async throws {
        let executor = SocketExecutor()
        #expect(await executor.drain(until: .now))
        let error = await executor.failure(of: PreparedRequest(target: try TargetURI("http://127.0.0.1:1/")))
        #expect(error?.reason == .executorClosed)
        await #expect(throws: RequestError.self) { try await executor.connect(to: URL("http://127.0.0.1:1")) }
    }

    @Test("random calls during a drain end with a response or with the reason, and no connection remains")
    func random() async throws {
        let peer = try ScriptedPeer { line, _, _ in line.respondToAll(ok) }
        for round in 0..<40 {
            let executor = SocketExecutor.with { $0.maximumConnectionsPerOrigin = 1 + round % 4 }
            // Under load, 16 calls one after the other may take longer than the default limits.
            let request = try peer.request().patient()
            let outcomes = await withTaskGroup(of: RequestError.Reason?.self) { group in
                for _ in 0..<16 { group.addTask { await executor.failure(of: request)?.reason } }
                group.addTask {
                    for _ in 0..<round { await Task.yield() }
                    return await executor.drain(until: .now.advanced(by: .seconds(60))) ? nil : .other
                }
                return await group.reduce(into: []) { $0.append($1) }
            }
            #expect(outcomes.allSatisfy { $0 == nil || $0 == .executorClosed }, "\(outcomes)")
            #expect(await executor.drain(until: .now.advanced(by: .seconds(60))))
            #expect(executor.connections == (0, 0) && executor.waiters == 0)
        }
    }

    @Test(
        "connections that are established in advance are idle, and are used",
        arguments: [(0, 0), (-3, 0), (1, 1), (4, 4), (100, 8)])
    func warming(count: Int, expected: Int) async throws {
        let peer = try ScriptedPeer { line, _, _ in line.respondToAll(ok) }
        let executor = SocketExecutor()
        let url = try #require(URL(string: "http://\(peer.authority)/ignored"))
        for _ in 0..<2 {
            try await executor.connect(to: url, count: count)
            #expect(executor.connections == (expected, expected))
        }
        await eventually { peer.connections == expected }
        let response = try await executor.execute(try peer.request())
        #expect(response.metrics.isReusedConnection == (expected > 0))
        #expect(peer.connections == max(expected, 1))
    }

    @Test("warming up does not extend the time that the server keeps an idle connection")
    func warmingOfIdleConnections() async throws {
        let peer = try ScriptedPeer { line, _, _ in
            line.respondToAll("HTTP/1.1 200 OK\r\nKeep-Alive: timeout=1000\r\nContent-Length: 2\r\n\r\nok")
        }
        let url = try #require(URL(string: "http://\(peer.authority)"))
        var configuration = SocketExecutor.Configuration()
        configuration.idleTimeout = .seconds(3_600)
        let executor = SocketExecutor(configuration: configuration)
        _ = try await executor.execute(try peer.request())
        let limit = try #require(executor.idleLimit)
        #expect(limit < .after(.seconds(1_000)))
        // A connection that counted as newly idle would have a later limit.
        try await executor.connect(to: url)
        #expect(executor.idleLimit == limit && peer.connections == 1)
    }

    @Test("warming up does not wait for connections that the limits do not allow, or that calls use")
    func warmingAtTheLimits() async throws {
        let peer = try Self.slowPeer()
        let url = try #require(URL(string: "http://\(peer.authority)"))
        let executor = SocketExecutor.with { $0.maximumConnections = 3 }
        let request = try peer.request()
        let running = Task { try await executor.execute(request).text }
        await eventually { peer.connections == 1 }
        try await executor.connect(to: url, count: 8, timeout: nil)
        #expect(executor.connections == (3, 2))
        try await executor.connect(to: url, count: 8, timeout: nil)
        #expect(executor.connections == (3, 2))
        peer.resume()
        #expect(try await running.value == "ok")
    }

    @Test("connections that cannot be established in advance are an error")
    func warmingFails() async throws {
        let closed = try Socket.bound(to: .loopback())
        let port = try #require(try closed.localAddress().port)
        let executor = SocketExecutor()
        for (text, reason) in [
            ("http://127.0.0.1:\(port)", RequestError.Reason.connectionFailed),
            ("ftp://a.example", .unsupportedScheme),
            ("relative", .invalidRequest(.malformedURL)),
        ] {
            let url = try #require(URL(string: text))
            let error = await #expect(throws: RequestError.self) { try await executor.connect(to: url, count: 3) }
            #expect(error?.reason == reason && error?.mayHaveReachedServer == false, "\(error as Any)")
        }
        #expect(executor.connections == (0, 0))
    }
}
