import Requests
import RequestsPOSIX
import RequestsSocket
import TestSupport
import Testing

@Suite("Connections of blocking calls", .timeLimit(.minutes(10)))
struct InPlaceConnectingTests {
    /// Returns an executor for which every name has `addresses`, after `pass` has returned.
    private func executor(
        _ addresses: [SocketAddress], connections: Int = 8, pass: @escaping @Sendable () -> Void = {}
    ) -> SocketExecutor {
        .with {
            $0.maximumConnectionsPerOrigin = connections
            $0.attemptDelay = .milliseconds(5)
            $0.resolver = Resolver(keeping: 0) { _ throws(ResolverError) in
                pass()
                return addresses
            }
        }
    }

    private func request(_ peer: ScriptedPeer, connect: Duration? = nil) throws -> PreparedRequest {
        let port = try #require(peer.address.port)
        return PreparedRequest(target: try TargetURI("http://many.example:\(port)/")).with {
            $0.timeouts.connect = connect
        }
    }

    @Test("the thread waits for the lookup and races the addresses", .rows("HT-1", "R-50"))
    func lookup() async throws {
        let peer = try ScriptedPeer { line, _, _ in line.respondToAll(ok) }
        let port = try #require(peer.address.port)
        let unresponsive = try FullListener(
            on: try #require(SocketAddress(ipLiteral: "127.0.0.2", port: port)))
        let executor = executor([.loopbackIPv6(port: port), unresponsive.address, .loopback()])
        let request = try request(peer)
        let response = try await onThread { executor.inPlace(request) }.get()
        #expect(response.text == "ok" && !response.metrics.isReusedConnection)
        #expect(response.metrics.timeToLookup != nil && response.metrics.timeToConnect != nil)
        withExtendedLifetime(unresponsive) {}
    }

    @Test("the connect limit ends the wait for each stage, which the error names", .rows("R-48"))
    func limits() async throws {
        let peer = try ScriptedPeer { line, _, _ in while line.receive() != nil {} }
        let gate = WaitingGate()
        let unresponsive = try FullListener(
            on: try #require(SocketAddress(ipLiteral: "127.0.0.2", port: peer.address.port ?? 0)))
        let late = try request(peer, connect: .milliseconds(30))
        let resolving = executor([.loopback()], pass: { gate.wait() })
        let connecting = executor([unresponsive.address])
        let full = executor([.loopback()], connections: 1)
        let holding = try request(peer)
        let holder = Task { await full.failure(of: holding) }
        await eventually { peer.connections == 1 }
        for (executor, phase) in [
            (resolving, RequestError.Phase.resolving), (connecting, .connecting), (full, .waitingForConnection),
        ] {
            let start = ContinuousClock.now
            let result = try await onThread { executor.inPlace(late) }
            guard case .failure(let error) = result else {
                Issue.record("\(phase): \(String(describing: result))")
                continue
            }
            #expect(error.reason == .timedOut(phase) && !error.mayHaveReachedServer)
            #expect(ContinuousClock.now - start >= .milliseconds(30))
        }
        gate.open()
        holder.cancel()
        #expect(await holder.value?.reason == .cancelled)
        #expect(full.waiters == 0 && connecting.connections == (0, 0))
        withExtendedLifetime(unresponsive) {}
    }

    @Test("lookups and connections fail with the same errors as in a task", .rows("R-50"))
    func errors() async throws {
        let peer = try ScriptedPeer { line, _, _ in line.respondToAll(ok) }
        let unknown = SocketExecutor.with {
            $0.resolver = Resolver { _ throws(ResolverError) in throw .hostNotFound("no such host") }
        }
        let refused = executor([try #require(SocketAddress(ipLiteral: "127.0.0.9", port: 0))])
        let request = try request(peer)
        for (executor, reason) in [(unknown, RequestError.Reason.hostNotFound), (refused, .connectionFailed)] {
            guard case .failure(let error) = try await onThread({ executor.inPlace(request) }) else {
                Issue.record("the call did not fail")
                continue
            }
            let awaited = await executor.failure(of: request)
            #expect(error.reason == reason && awaited?.reason == reason && !error.mayHaveReachedServer)
            #expect(executor.connections == (0, 0))
        }
    }

    @Test("blocked threads share few connections in the order of their arrival", .rows("R-52"))
    func sharing() async throws {
        let peer = try ScriptedPeer { line, _, _ in line.respondToAll(ok) }
        let executor = executor([.loopback()], connections: 2)
        let request = try request(peer)
        let texts = try await withThrowingTaskGroup(of: String?.self) { group in
            for _ in 0..<16 { group.addTask { try await onThread { try? executor.inPlace(request).get().text } } }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(texts == Array(repeating: "ok", count: 16))
        #expect(peer.connections <= 3 && executor.waiters == 0)
    }
}

/// A gate at which a thread waits until it is opened.
private final class WaitingGate: Sendable {
    private let opened = SharedCounter()

    func open() {
        opened.add(1)
    }

    func wait() {
        while opened.value == 0 { DetachedThread.yield() }
    }
}
