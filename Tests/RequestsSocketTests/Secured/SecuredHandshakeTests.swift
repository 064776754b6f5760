@_spi(Lock) import Requests
import RequestsPOSIX
import RequestsSocket
import RequestsTLS
import RequestsTestServer
import Synchronization
import TestCorpora
import TestSupport
import Testing

@Suite("https: handshakes", .enabled(if: Secured.isAvailable, Secured.comment), .timeLimit(.minutes(10)))
struct SecuredHandshakeTests {
    @Test(
        "a handshake that stalls after any byte ends with the connect limit", .rows("S-45", "R-48"),
        .notInstrumented("its cases only take long"),
        arguments: [0x0303, 0x0304])
    func stalled(version: Int) async throws {
        let server = try Secured.server { $0.versions = version...version }
        let executor = try await Secured.loadedExecutor()
        // The server sends fewer bytes in its handshake.
        let counts = Array(0..<1_200)
        let peer = try ScriptedPeer(
            securedWith: server, plan: .init(remaining: { counts[$0 / SecuredCall.allCases.count % counts.count] })
        ) { line, _, _ in line.waitForEnd() }
        var request = try peer.securedRequest()
        request.timeouts.connect = .milliseconds(150)
        // Of a peer that has sent its whole handshake, the response is missing.
        request.timeouts.firstByte = .milliseconds(150)
        let reasons = await failures(of: request, over: executor, count: counts.count * SecuredCall.allCases.count)
        #expect(reasons.count == counts.count * SecuredCall.allCases.count)
        // On a slow machine the limit may pass before the handshake begins.
        let expected: Set<RequestError.Reason?> = [.timedOut(.securing), .timedOut(.firstByte), .timedOut(.connecting)]
        #expect(Set(reasons).isSubset(of: expected), "\(Set(reasons))")
        // A handshake has more than 500 bytes of the server.
        #expect(reasons.count { $0 != .timedOut(.firstByte) } >= 500 * SecuredCall.allCases.count)
        #expect(executor.connections.open == 0)
        peer.stop()
    }

    /// Returns the reasons of `count` calls, of which 64 run at once, in each way to call by turns.
    private func failures(
        of request: PreparedRequest, over executor: SocketExecutor, count: Int
    ) async -> [RequestError.Reason?] {
        await withTaskGroup(of: RequestError.Reason?.self) { group in
            var reasons: [RequestError.Reason?] = []
            for number in 0..<count {
                if number >= 64, let reason = await group.next() { reasons.append(reason) }
                let call = SecuredCall.allCases[number % SecuredCall.allCases.count]
                group.addTask { await call.failure(of: request, over: executor)?.reason }
            }
            for await reason in group { reasons.append(reason) }
            return reasons
        }
    }

    @Test("a connection that is cut in the handshake is a failed connection, and nothing was sent", .rows("S-39"))
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

    @Test("a server that responds late in the handshake is subject to the connect limit", .rows("S-61"))
    func slow() async throws {
        let executor = try await Secured.loadedExecutor()
        let server = try Secured.server()
        let peer = try ScriptedPeer { line, _, peer in
            guard peer.waitForResume() else { return }
            line.tls.secure(server)
            line.respondToAll(ok)
        }
        for call in SecuredCall.allCases {
            var request = try peer.securedRequest()
            request.timeouts.connect = .milliseconds(60)
            let start = Deadline.now
            #expect(await call.failure(of: request, over: executor)?.reason == .timedOut(.securing))
            #expect(start.advanced(by: .milliseconds(59)) <= .now)
        }
        #expect(executor.connections.open == 0)
        // Within the limit, it is only late.
        peer.resume(100)
        #expect(try await executor.execute(peer.securedRequest()).text == "ok")
        peer.stop()
    }

    /// The beginning of a record that never ends in practice: 16 KiB, of which a byte arrives each 5 ms.
    private static func endlessRecord(_ type: UInt8) -> [UInt8] {
        [type, 3, 3, 0x40, 0] + [UInt8](repeating: 0, count: 0x4000)
    }

    @Test(
        "bytes of a record that arrive one by one extend no limit: of the handshake, the head and the body",
        .rows("S-46"),
        arguments: SecuredCall.allCases)
    func dripped(call: SecuredCall) async throws {
        let executor = try await Secured.loadedExecutor()
        let handshake = try ScriptedPeer { line, _, _ in line.drip(Self.endlessRecord(22)) }
        var request = try handshake.securedRequest()
        request.timeouts.connect = .milliseconds(200)
        #expect(await call.failure(of: request, over: executor)?.reason == .timedOut(.securing))
        request = request.patient()
        request.deadline = .now + .milliseconds(300)
        #expect(await call.failure(of: request, over: executor)?.reason == .timedOut(.total))
        handshake.stop()
        for (head, limit) in [
            ("", RequestError.Phase.firstByte), ("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nab", .betweenBytes),
        ] {
            let peer = try ScriptedPeer(securedWith: Secured.server()) { line, _, _ in
                guard line.receiveRequest() != nil else { return }
                line.send(head)
                line.drip(Self.endlessRecord(23))
            }
            var request = try peer.securedRequest()
            if limit == .firstByte { request.timeouts.firstByte = .milliseconds(200) }
            if limit == .betweenBytes { request.timeouts.betweenBytes = .milliseconds(200) }
            let error = await call.failure(of: request, over: executor)
            #expect(error?.reason == .timedOut(limit), "\(String(describing: error))")
            peer.stop()
        }
    }

    /// The calls in progress, any of which can be cancelled.
    private final class RunningCalls: Sendable {
        private let calls = Lock<[Int: Task<RequestError?, Never>]>([:])
        private let numbers: Lock<SplitMix64>

        init(_ seed: RandomSeed) { numbers = Lock(seed.numbers()) }

        func set(_ call: Task<RequestError?, Never>?, number: Int) { calls.withLock { $0[number] = call } }

        /// Cancels one of the calls, once in four times.
        func perhapsCancelOne() {
            let draw = numbers.withLock { $0.next() }
            guard draw % 4 == 0 else { return }
            let call = calls.withLock { calls in
                let running = calls.keys.sorted()
                return running.isEmpty ? nil : calls[running[Int(draw >> 32) % running.count]]
            }
            call?.cancel()
        }
    }

    @Test("cancelled calls and cut connections leave no connection in use", .rows("S-47"))
    func storm() async throws {
        let count =
            ProcessInfo.processInfo.environment["REQUESTS_CANCELLATIONS"].flatMap(Int.init).map { $0 / 2 } ?? 200
        let cuts = SharedCounter()
        let seed = RandomSeed()
        let running = RunningCalls(seed)
        // A handshake with its exchange has about 1,700 bytes of the server, in at least four sends. Half of the
        // connections end after some of them. At a quarter of the sends, any call is cancelled, whatever its state is.
        let peer = try ScriptedPeer(
            securedWith: Secured.server(),
            plan: .init(
                remaining: { connection in
                    var numbers = seed.numbers(for: connection)
                    return connection % 2 == 0 ? Int.random(in: 0..<1_700, using: &numbers) : .max
                }, ends: true, onEnd: { cuts.add() }, onSend: { running.perhapsCancelOne() })
        ) { line, _, _ in line.respondToAll(ok) }
        let reusing = try await Secured.loadedExecutor()
        let connecting = try await Secured.loadedExecutor { $0.maximumIdleConnectionsPerOrigin = 0 }
        let request = try peer.securedRequest()
        let outcomes = await withTaskGroup(of: RequestError.Reason?.self) { group in
            var outcomes: [RequestError.Reason?: Int] = [:]
            for number in 0..<count {
                if number >= 16, let reason = await group.next() { outcomes[reason, default: 0] += 1 }
                group.addTask {
                    let executor = number % 4 == 0 ? reusing : connecting
                    let call = Task { await executor.failure(of: request) }
                    running.set(call, number: number)
                    let error = await call.value
                    running.set(nil, number: number)
                    return error?.reason
                }
            }
            for await reason in group { outcomes[reason, default: 0] += 1 }
            return outcomes
        }
        let expected: Set<RequestError.Reason?> = [nil, .cancelled, .connectionFailed, .connectionLost]
        #expect(Set(outcomes.keys).isSubset(of: expected), "\(outcomes)")
        #expect(outcomes.values.reduce(0, +) == count)
        await eventually { reusing.connections.open == reusing.connections.idle }
        await eventually { connecting.connections.open == 0 }
        // Otherwise there was no storm.
        #expect(cuts.value >= count / 10, "\(cuts.value) cuts of \(peer.connections) connections")
        #expect(outcomes[.cancelled, default: 0] >= count / 5, "\(outcomes)")
        peer.stop()
    }
}
