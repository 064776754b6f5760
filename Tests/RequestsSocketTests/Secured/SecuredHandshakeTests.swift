import RequestsPOSIX
import RequestsSocket
import RequestsTLS
import RequestsTestServer
import Synchronization
import TestSupport
import Testing

@Suite("https: handshakes", .enabled(if: Secured.isAvailable, Secured.comment), .timeLimit(.minutes(5)))
struct SecuredHandshakeTests {
    @Test(
        "a handshake that stalls after any byte ends with the connect limit (S-45, R-29)",
        arguments: [0x0303, 0x0304])
    func stalled(version: Int) async throws {
        let server = try Secured.server { $0.versions = version...version }
        let executor = try await Secured.loadedExecutor()
        // The server sends fewer bytes in its handshake.
        let counts = Array(0..<1_200)
        let peer = try ScriptedPeer(
            securedWith: server, plan: .init(remaining: { counts[$0 % counts.count] })
        ) { line, _, _ in line.waitForEnd() }
        var request = try peer.securedRequest()
        request.timeouts.connect = .milliseconds(150)
        // Of a peer that has sent its whole handshake, the response is missing.
        request.timeouts.firstByte = .milliseconds(150)
        let reasons = await failures(of: request, over: executor, count: counts.count)
        #expect(reasons.count == counts.count)
        let securing = reasons.count { $0 == .timedOut(.securing) }
        // On a slow machine the limit may pass before the handshake begins.
        let expected: Set<RequestError.Reason?> = [.timedOut(.securing), .timedOut(.firstByte), .timedOut(.connecting)]
        #expect(Set(reasons).isSubset(of: expected), "\(Set(reasons))")
        #expect(securing >= 80)
        #expect(executor.connections.open == 0)
        peer.stop()
    }

    /// Returns the reasons of `count` calls, of which 64 run at once and every second one blocks a thread.
    private func failures(
        of request: PreparedRequest, over executor: SocketExecutor, count: Int
    ) async -> [RequestError.Reason?] {
        await withTaskGroup(of: RequestError.Reason?.self) { group in
            var reasons: [RequestError.Reason?] = []
            for number in 0..<count {
                if number >= 64, let reason = await group.next() { reasons.append(reason) }
                let call: SecuredCall = number % 2 == 0 ? .awaited : .blocking
                group.addTask { await call.failure(of: request, over: executor)?.reason }
            }
            for await reason in group { reasons.append(reason) }
            return reasons
        }
    }

    @Test("a connection that is cut in the handshake is a failed connection, and nothing was sent (S-39)")
    func cut() async throws {
        let executor = try await Secured.loadedExecutor()
        let peer = try ScriptedPeer(
            securedWith: Secured.server(), plan: .init(remaining: { $0 * 11 }, ends: true)
        ) { line, _, _ in line.waitForEnd() }
        for _ in 0..<60 {
            let error = await executor.failure(of: try peer.securedRequest(.post, body: .bytes(Data("x".utf8))))
            #expect(error?.reason == .connectionFailed, "\(String(describing: error))")
            #expect(error?.mayHaveReachedServer == false)
        }
        peer.stop()
    }

    @Test("a server that begins its handshake late is subject to the connect limit (S-61)")
    func slow() async throws {
        let executor = try await Secured.loadedExecutor()
        let peer = try ScriptedPeer { line, _, _ in line.waitForEnd() }
        for call in SecuredCall.allCases {
            var request = try peer.securedRequest()
            request.timeouts.connect = .milliseconds(60)
            let start = Deadline.now
            #expect(await call.failure(of: request, over: executor)?.reason == .timedOut(.securing))
            #expect(start.advanced(by: .milliseconds(59)) <= .now)
        }
        #expect(executor.connections.open == 0)
        peer.stop()
    }

    @Test("records that arrive byte by byte do not extend the limits of time (S-46)", arguments: SecuredCall.allCases)
    func dripped(call: SecuredCall) async throws {
        let executor = try await Secured.loadedExecutor()
        // Its handshake never ends, however late the task of the call continues.
        let plan = LineTLS.Plan(remaining: { _ in 600 }, piece: 1)
        let peer = try ScriptedPeer(securedWith: Secured.server(), plan: plan) { line, _, _ in line.waitForEnd() }
        var request = try peer.securedRequest()
        request.timeouts.connect = .milliseconds(200)
        #expect(await call.failure(of: request, over: executor)?.reason == .timedOut(.securing))
        request.timeouts.connect = nil
        request.deadline = .now + .milliseconds(300)
        #expect(await call.failure(of: request, over: executor)?.reason == .timedOut(.total))
        peer.stop()
    }

    @Test("cancelled calls and cut connections leave neither connections nor descriptors (S-47)")
    func storm() async throws {
        let count =
            ProcessInfo.processInfo.environment["REQUESTS_CANCELLATIONS"].flatMap(Int.init).map { $0 / 5 } ?? 200
        let executor = try await Secured.loadedExecutor()
        let server = try Secured.server()
        // A quarter of the connections ends after a random number of bytes.
        let peer = try ScriptedPeer(
            securedWith: server,
            plan: .init(remaining: { $0 % 4 == 0 ? Int.random(in: 0..<3_000) : .max }, ends: true)
        ) { line, _, _ in line.respondToAll(ok) }
        let request = try peer.securedRequest()
        let outcomes = await withTaskGroup(of: RequestError.Reason?.self) { group in
            var outcomes: [RequestError.Reason?: Int] = [:]
            for number in 0..<count {
                if number >= 16, let reason = await group.next() { outcomes[reason, default: 0] += 1 }
                group.addTask {
                    let call = Task { () -> RequestError? in await executor.failure(of: request) }
                    for _ in 0..<Int.random(in: 0..<400) { await Task.yield() }
                    if number % 2 == 0 { call.cancel() }
                    return await call.value?.reason
                }
            }
            for await reason in group { outcomes[reason, default: 0] += 1 }
            return outcomes
        }
        let expected: Set<RequestError.Reason?> = [nil, .cancelled, .connectionFailed, .connectionLost]
        #expect(Set(outcomes.keys).isSubset(of: expected), "\(outcomes)")
        await eventually { executor.connections.open == executor.connections.idle }
        #expect(outcomes.values.reduce(0, +) == count)
        peer.stop()
    }
}
