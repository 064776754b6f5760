@_spi(Lock) import Requests
import RequestsHTTP2
import RequestsPOSIX
import RequestsSocket
import TestSupport
import Testing

extension SocketExecutor {
    /// Returns the text of the response, or the error as text; blocks the calling thread.
    fileprivate func textInPlace(_ request: PreparedRequest) -> String? {
        do throws(RequestError) {
            return try executeAndWait(request).text
        } catch {
            return "\(error)"
        }
    }

    /// Returns the text of a streamed response, whose head a blocking call returns.
    fileprivate func streamedTextInPlace(_ request: PreparedRequest) async -> String? {
        do throws(RequestError) {
            let response = try inPlace(request.with { $0.delivery = .streamed }).get()
            guard case .stream(let stream) = response.body else { return nil }
            return String(decoding: try await stream.collect(limit: 100), as: UTF8.self)
        } catch {
            return "\(error)"
        }
    }

    fileprivate func text(_ request: PreparedRequest) async -> String? {
        do throws(RequestError) {
            return try await execute(request).text
        } catch {
            return "\(error)"
        }
    }
}

// All but the storm run in separate processes: beside other tests, a check of the pool can come after a limit has
// passed.
@Suite("Blocked threads and pool limits", .timeLimit(.minutes(10)))
struct StalledThreadTests {
    @Test(
        "awaited and blocking calls of one task group complete with few connections", .rows("R-52", "HT-1"),
        arguments: [nil, 1, 2, 16], [1, 3])
    func storm(threads: Int?, connections: Int) async throws {
        let peer = try ScriptedPeer { line, _, _ in
            while line.receiveRequest() != nil {
                line.pause()
                line.send(ok)
            }
        }
        let executor = SocketExecutor.with { $0.maximumConnectionsPerOrigin = connections }
        // Other tests can occupy all threads of the pool for longer than 10 s, the default limit.
        let request = try peer.request().with { $0.timeouts.connect = .seconds(100) }
        func calls() async -> [String?] {
            await withTaskGroup(of: String?.self) { group in
                for number in 0..<32 {
                    group.addTask {
                        // Alternating, so that an awaited call or a stream has the connection when the threads are
                        // blocked.
                        switch number % 4 {
                        case 1: await executor.streamedTextInPlace(request)
                        case 3: executor.textInPlace(request)
                        default: await executor.text(request)
                        }
                    }
                }
                return await group.reduce(into: []) { $0.append($1) }
            }
        }
        let results: [String?]
        if let threads {
            results = try await withThreads(threads) { threads in
                await withTaskExecutorPreference(threads) { await calls() }
            }
        } else {
            results = await calls()
        }
        #expect(results.count == 32 && results.allSatisfy { $0 == "ok" }, "\(results)")
        #expect((1...connections + 1).contains(peer.mostConnections), "\(peer.mostConnections)")
        #expect(executor.waiters == 0)
        #expect(executor.connections.open <= connections)
    }

    /// Performs `request` on a thread that runs no task, and expects that it does not exceed the limit of one
    /// connection, even if the server is slow.
    private static func waitingThread(
        performing request: PreparedRequest, over executor: SocketExecutor
    ) async -> Task<String?, any Error> {
        let call = Task { try await onThread { executor.textInPlace(request) } }
        await eventually { executor.waiters == 1 }
        let end = Deadline.after(.milliseconds(600))
        await eventually { end.hasPassed }
        #expect(executor.connections.open == 1 && executor.waiters == 1)
        return call
    }

    @Test("a blocked thread opens a connection if the call with the last one cannot run", .rows("R-52"))
    func held() async {
        await #expect(processExitsWith: .success) {
            let peer = try ScriptedPeer { line, number, peer in
                while line.receiveRequest() != nil {
                    if number == 0 {
                        peer.note("held")
                        _ = peer.waitForResume()
                    }
                    line.send(ok)
                }
            }
            let executor = SocketExecutor.with { $0.maximumConnectionsPerOrigin = 1 }
            let request = try peer.request()
            try await withThreads(1) { threads in
                let held = Task(executorPreference: threads) { await executor.text(request) }
                await eventually { peer.notes == ["held"] }
                let plain = await Self.waitingThread(performing: request, over: executor)
                let blocked = Task(executorPreference: threads) { executor.textInPlace(request) }
                #expect(await blocked.value == "ok")
                #expect(executor.connections.open == 1 && executor.waiters == 1)
                peer.resume(2)
                #expect(await held.value == "ok")
                let text = try await plain.value
                #expect(text == "ok")
            }
            #expect(peer.connections == 2)
            #expect(executor.connections == (1, 1))
        }
    }

    @Test(
        "a blocked thread opens a connection if calls that cannot run have all places on a shared one",
        .rows("H-31", "R-52"))
    func places() async {
        await #expect(processExitsWith: .success) {
            var limits = HTTP2Limits()
            limits.concurrentStreams = 1
            let peer = try ScriptedPeer(http2: limits) { script, line, number, peer in
                while let request = script.request(on: line) {
                    if number == 0, request.head.path == "/held" {
                        peer.note("held")
                        _ = peer.waitForResume()
                    }
                    script.respond(to: request.slot, on: line)
                }
            }
            let executor = SocketExecutor.http2 { $0.maximumConnectionsPerOrigin = 1 }
            // After the first response, the number of places is known.
            let request = try peer.request()
            #expect(await executor.text(request) == "ok")
            let slow = try peer.request(.get, "/held")
            try await withThreads(1) { threads in
                let held = Task(executorPreference: threads) { await executor.text(slow) }
                await eventually { peer.notes == ["held"] }
                let plain = await Self.waitingThread(performing: request, over: executor)
                let blocked = Task(executorPreference: threads) { executor.textInPlace(request) }
                #expect(await blocked.value == "ok")
                peer.resume()
                #expect(await held.value == "ok")
                let text = try await plain.value
                #expect(text == "ok")
            }
            #expect(peer.connections == 2)
            #expect(executor.connections.open == 1)
        }
    }

    @Test("a blocked thread opens a connection if a call cannot take the one that it was granted", .rows("R-52"))
    func untaken() async {
        await #expect(processExitsWith: .success) {
            let peer = try ScriptedPeer { line, _, peer in
                while line.receiveRequest() != nil {
                    peer.note("request")
                    _ = peer.waitForResume()
                    line.send(ok)
                }
            }
            let executor = SocketExecutor.with { $0.maximumConnectionsPerOrigin = 1 }
            let request = try peer.request()
            // The first call has a separate thread, because other tests can occupy all threads of the pool.
            try await withThreads(1) { others in
                try await withThreads(1) { threads in
                    let first = Task(executorPreference: others) { await executor.text(request) }
                    await eventually { peer.notes.count == 1 }
                    let late = Task(executorPreference: threads) { await executor.text(request) }
                    await eventually { executor.waiters == 1 }
                    let blocked = Task(executorPreference: threads) { executor.textInPlace(request) }
                    await eventually { executor.waiters == 2 }
                    peer.resume(3)
                    #expect(await first.value == "ok")
                    #expect(await blocked.value == "ok")
                    #expect(await late.value == "ok")
                }
            }
            #expect(peer.connections == 2)
            #expect(executor.connections == (1, 1))
        }
    }

    @Test("a blocked thread opens a connection if one to another origin cannot be used", .rows("R-52"))
    func total() async {
        await #expect(processExitsWith: .success) {
            let peers = try (0..<2).map { _ in
                try ScriptedPeer { line, _, peer in
                    while line.receiveRequest() != nil {
                        peer.note("request")
                        _ = peer.waitForResume()
                        line.send(ok)
                    }
                }
            }
            let executor = SocketExecutor.with { $0.maximumConnections = 1 }
            let requests = try peers.map { try $0.request() }
            try await withThreads(1) { threads in
                let held = Task(executorPreference: threads) { await executor.text(requests[0]) }
                await eventually { peers[0].notes.count == 1 }
                let blocked = Task(executorPreference: threads) { executor.textInPlace(requests[1]) }
                await eventually { executor.waiters == 1 }
                for peer in peers { peer.resume() }
                #expect(await blocked.value == "ok")
                #expect(await held.value == "ok")
            }
            #expect(executor.connections.open == 1)
        }
    }

    @Test(
        "a connection that is not established, because no thread can run its call, does not block others", .rows("R-52")
    )
    func unresolved() async {
        await #expect(processExitsWith: .success) {
            let peer = try ScriptedPeer { line, _, _ in line.respondToAll(ok) }
            let lookup = Lock<(@Sendable () -> Void)?>(nil)
            let executor = SocketExecutor.with {
                $0.maximumConnections = 1
                $0.resolver = Resolver(keeping: 0) { _ throws(ResolverError) in
                    lookup.withLock { $0 }?()
                    return [.loopback()]
                }
            }
            let request = try peer.request()
            // Other tests may occupy the machine for longer than the default of 10 s.
            let named = PreparedRequest(target: try TargetURI("http://name.example:\(peer.address.port ?? 0)/")).with {
                $0.timeouts.connect = .seconds(100)
            }
            try await withThreads(1) { threads in
                let blocked = AsyncStream.makeStream(of: Task<String?, Never>.self)
                lookup.withLock { lookup in
                    lookup = {
                        // This call occupies the only thread before the call that waits for the address resumes.
                        blocked.continuation.yield(Task(executorPreference: threads) { executor.textInPlace(request) })
                        blocked.continuation.finish()
                    }
                }
                let held = Task(executorPreference: threads) { await executor.text(named) }
                for await call in blocked.stream { #expect(await call.value == "ok") }
                #expect(await held.value == "ok")
            }
            #expect(peer.connections == 2)
            #expect(executor.connections.open == 1)
        }
    }

    @Test("an upload that suspends, so that another call blocks its thread, does not block that call", .rows("R-52"))
    func yielding() async {
        await #expect(processExitsWith: .success) {
            let peer = try ScriptedPeer { line, number, _ in
                if number == 0 {
                    _ = line.receiveRequest(bodyLength: 64)
                    line.send(ok)
                }
                line.respondToAll(ok)
            }
            let executor = SocketExecutor.with { $0.maximumConnectionsPerOrigin = 1 }
            let request = try peer.request()
            try await withThreads(1) { threads in
                let blocked = AsyncStream.makeStream(of: Task<String?, Never>.self)
                let body = RequestBody.stream(length: 64, isReplayable: false) {
                    SingleBytes(count: 64) { index in
                        // The new task runs when the upload suspends, after it has sent for long enough.
                        guard index == 8 else { return }
                        blocked.continuation.yield(Task(executorPreference: threads) { executor.textInPlace(request) })
                        blocked.continuation.finish()
                    }
                }
                let upload = try peer.request(.put, body: body)
                let uploading = Task(executorPreference: threads) { await executor.text(upload) }
                for await call in blocked.stream { #expect(await call.value == "ok") }
                #expect(await uploading.value == "ok")
            }
            // The upload still used the first connection when the second was opened.
            #expect(peer.connections == 2)
            #expect(executor.connections == (1, 1))
        }
    }
}

/// A body in parts of one byte, which the socket accepts at once.
private struct SingleBytes: RequestBody.Source {
    let count: Int
    let willSend: @Sendable (Int) -> Void
    private var index = 0

    init(count: Int, willSend: @escaping @Sendable (Int) -> Void) {
        self.count = count
        self.willSend = willSend
    }

    mutating func next() async throws -> Data? {
        guard index < count else { return nil }
        willSend(index)
        index += 1
        return Data("x".utf8)
    }
}
