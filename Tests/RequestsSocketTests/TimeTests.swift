import RequestsPOSIX
import RequestsSocket
import Synchronization
import TestCorpora
import TestSupport
import Testing

@Suite("Time limits and cancellation", .timeLimit(.minutes(10)))
struct TimeTests {
    private static let brief = Duration.milliseconds(30)

    /// Returns the error of a call that fails after at least `brief`.
    private func failure(
        _ executor: SocketExecutor, _ request: PreparedRequest
    ) async -> RequestError? {
        let start = ContinuousClock.now
        let error = await executor.failure(of: request)
        #expect(ContinuousClock.now - start >= Self.brief)
        return error
    }

    @Test("an exchange without a call has the deadline of its request, and no total limit", .rows("R-48"))
    func withoutCall() async throws {
        let peer = try ScriptedPeer { line, _, _ in line.respondToAll(ok) }
        let executor = SocketExecutor()
        let request = try peer.request().with { $0.timeouts.total = .zero }
        #expect(try await executor.execute(request).text == "ok")
        let late = request.with { $0.deadline = .now }
        #expect(await executor.failure(of: late)?.reason == .timedOut(.total))
        // A call turns the same limit into the deadline.
        let api = AnonymousRequestProvider(baseURL: try #require(URL(string: "http://\(peer.authority)")))
        let error = await #expect(throws: RequestError.self) {
            try await executor.perform(api.get(.text, from: "/").with(timeouts: Timeouts(total: .zero)))
        }
        #expect(error?.reason == .timedOut(.total))
    }

    @Test("the connect limit ends a lookup", .rows("R-48"))
    func resolving() async throws {
        let gate = Gate()
        let executor = SocketExecutor.with {
            $0.resolver = Resolver { _ throws(ResolverError) in
                gate.wait()
                return []
            }
        }
        let request = PreparedRequest(target: try TargetURI("http://slow.example/"))
        let error = await failure(executor, request.with { $0.timeouts.connect = Self.brief })
        #expect(error?.reason == .timedOut(.resolving))
        #expect(error?.mayHaveReachedServer == false)
        gate.open()
    }

    @Test("the connect limit ends the wait for a connection of the pool", .rows("R-48"))
    func waitingForConnection() async throws {
        let peer = try ScriptedPeer { line, _, _ in line.waitForEnd() }
        let executor = SocketExecutor.with { $0.maximumConnectionsPerOrigin = 1 }
        let request = try peer.request()
        let first = Task { await executor.failure(of: request) }
        await eventually { executor.connections.open == 1 }
        let error = await failure(executor, request.with { $0.timeouts.connect = Self.brief })
        #expect(error?.reason == .timedOut(.waitingForConnection))
        #expect(error?.mayHaveReachedServer == false)
        first.cancel()
        #expect(await first.value?.reason == .cancelled)
        #expect(executor.connections == (0, 0))
    }

    @Test("the connect limit ends a connection attempt", .rows("R-48"))
    func connecting() async throws {
        let full = try FullListener()
        let address = full.address
        let request = PreparedRequest(target: try TargetURI("http://\(address)/")).with {
            $0.timeouts.connect = Self.brief
        }
        let error = await failure(SocketExecutor(), request)
        #expect(error?.reason == .timedOut(.connecting))
        #expect(error?.mayHaveReachedServer == false)
        withExtendedLifetime(full) {}
    }

    @Test("the limit between bytes ends sending to a peer that does not read", .rows("R-48"))
    func sending() async throws {
        let peer = try ScriptedPeer { line, _, _ in line.waitForStop() }
        let body = RequestBody.bytes(Data(repeating: 1, count: 64 << 20))
        let request = try peer.request(.post, body: body).with { $0.timeouts.betweenBytes = Self.brief }
        #expect(await failure(SocketExecutor(), request)?.reason == .timedOut(.sending))
        peer.stop()
    }

    @Test("the first-byte limit applies to the first byte, and the limit between bytes to later ones", .rows("R-48"))
    func receiving() async throws {
        for (response, phase) in [
            ("", RequestError.Phase.firstByte), ("HTTP/1.1 200", .betweenBytes),
            ("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nab", .betweenBytes),
        ] {
            let peer = try ScriptedPeer { line, _, _ in
                _ = line.receiveRequest()
                line.send(response)
                line.waitForEnd()
            }
            let executor = SocketExecutor()
            let request = try peer.request().with {
                $0.timeouts.firstByte = phase == .firstByte ? Self.brief : nil
                $0.timeouts.betweenBytes = phase == .betweenBytes ? Self.brief : nil
            }
            let error = await failure(executor, request)
            #expect(error?.reason == .timedOut(phase))
            #expect(error?.mayHaveReachedServer == true)
            #expect(executor.connections == (0, 0))
        }
    }

    @Test("a slow response within the limit between bytes ends at the deadline", .rows("R-48"))
    func total() async throws {
        let peer = try ScriptedPeer { line, _, _ in
            _ = line.receiveRequest()
            line.send("HTTP/1.1 200 OK\r\n\r\n")
            while line.send("a") { line.pause() }
        }
        for delivery in [ResponseBody.Delivery.collected(limit: 1 << 20), .streamed] {
            let request = try peer.request(delivery: delivery).with {
                $0.timeouts.betweenBytes = .seconds(30)
                $0.deadline = .now + .milliseconds(100)
            }
            var error = RequestError(.other)
            do throws(RequestError) {
                let response = try await SocketExecutor().execute(request)
                while try await response.stream?.next() != nil {}
            } catch let failure {
                error = failure
            }
            #expect(error.reason == .timedOut(.total))
            #expect(ContinuousClock.now >= request.deadline ?? .now)
        }
    }

    @Test("cancellation ends a call in every phase, and closes its connection", .rows("R-44", "R-67"))
    func cancelling() async throws {
        let scripts: [@Sendable (borrowing ScriptedPeer.Line) -> Void] = [
            { $0.waitForStop() },
            { line in
                _ = line.receiveRequest()
                line.waitForStop()
            },
            { line in
                _ = line.receiveRequest()
                line.send("HTTP/1.1 200 OK\r\nContent-")
                line.waitForStop()
            },
            { line in
                _ = line.receiveRequest()
                line.send("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nab")
                line.waitForStop()
            },
        ]
        for (index, script) in scripts.enumerated() {
            let peer = try ScriptedPeer { line, _, _ in script(line) }
            let executor = SocketExecutor()
            let body: RequestBody = index == 0 ? .bytes(Data(repeating: 1, count: 64 << 20)) : .none
            let request = try peer.request(index == 0 ? .post : .get, body: body).patient()
            let reactor = try Reactor.shared()
            let call = Task { await executor.failure(of: request) }
            await eventually { peer.connections == 1 && reactor.pendingWaits > 0 }
            for _ in 0..<100 { await Task.yield() }
            call.cancel()
            #expect(await call.value?.reason == .cancelled)
            #expect(executor.connections == (0, 0))
            peer.stop()
        }
    }

    @Test(
        "a file upload that never waits checks for cancellation every MiB", .rows("R-67"),
        arguments: FileSending.allCases)
    func cancelledInFile(sending: FileSending) async throws {
        let folder = TemporaryDirectory()
        try folder.write([UInt8](repeating: 97, count: 32 << 20), to: "body")
        let peer = try ScriptedPeer { line, _, _ in while line.receive(1 << 20) != nil {} }
        let sent = SharedCounter()
        let executor = SocketExecutor.with { $0.fileSending = sending }
        let request = try peer.request(.put, body: .file(path: folder.path(of: "body"))).with {
            $0.progressHandler = {
                withUnsafeCurrentTask { $0?.cancel() }
                sent.add($0.bytesSent - sent.value)
            }
        }
        #expect(await Task { await executor.failure(of: request) }.value?.reason == .cancelled)
        #expect(sent.value < 4 << 20)
        #expect(executor.connections == (0, 0))
    }

    @Test(
        "a streamed upload that never waits checks for cancellation every 32 chunks", .rows("R-67"),
        arguments: [1 << 20, nil])
    func cancelledInStream(length: Int?) async throws {
        let peer = try ScriptedPeer { line, _, _ in while line.receive(1 << 20) != nil {} }
        let chunks = SharedCounter()
        let executor = SocketExecutor()
        let body = RequestBody.stream(length: length, isReplayable: true) { CountedChunks(count: chunks) }
        let request = try peer.request(.put, body: body).with {
            // The source has a task of its own.
            $0.progressHandler = { _ in withUnsafeCurrentTask { $0?.cancel() } }
        }
        #expect(await Task { await executor.failure(of: request) }.value?.reason == .cancelled)
        #expect(chunks.value < 100)
        #expect(executor.connections == (0, 0))
    }

    @Test("a call that is cancelled at any time never affects the response of another", .rows("R-44", "R-67", "R-68"))
    func randomCancels() async throws {
        let peer = try ScriptedPeer { line, _, _ in
            while let request = line.receiveRequest() {
                let id = request.split(separator: " ")[1]
                line.send("HTTP/1.1 200 OK\r\nContent-Length: \(id.utf8.count)\r\n\r\n")
                line.send(String(id))
            }
        }
        let executor = SocketExecutor.with { $0.maximumConnectionsPerOrigin = 8 }
        let seed = RandomSeed()
        let outcomes = try await withThrowingTaskGroup(of: (completed: Int, cancelled: Int).self) { group in
            for worker in 0..<16 {
                group.addTask {
                    var outcomes = (completed: 0, cancelled: 0)
                    var numbers = seed.numbers(for: worker)
                    for round in 0..<100 {
                        let request = try peer.request(.get, "/\(worker)-\(round)")
                        let call = Task { try await executor.execute(request).text }
                        for _ in 0..<Int.random(in: 0..<12, using: &numbers) { await Task.yield() }
                        if round % 3 != 0 { call.cancel() }
                        do {
                            #expect(try await call.value == "/\(worker)-\(round)")
                            outcomes.completed += 1
                        } catch {
                            #expect((error as? RequestError)?.isCancellation == true)
                            outcomes.cancelled += 1
                        }
                    }
                    return outcomes
                }
            }
            return try await group.reduce(into: (0, 0)) { $0 = ($0.0 + $1.completed, $0.1 + $1.cancelled) }
        }
        #expect(outcomes.0 + outcomes.1 == 1600)
        #expect(outcomes.0 >= 500)
        #expect(executor.waiters == 0)
        #expect(executor.connections.open == executor.connections.idle)
    }
}

/// A source of 1,024 chunks of 1 KiB that counts them.
private struct CountedChunks: RequestBody.Source {
    let count: SharedCounter

    mutating func next() async throws -> Data? {
        count.add(1) <= 1_024 ? Data(repeating: 97, count: 1 << 10) : nil
    }
}
