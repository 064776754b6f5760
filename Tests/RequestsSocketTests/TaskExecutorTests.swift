import CRequestsPOSIX
import Requests
import RequestsMock
import RequestsPOSIX
import RequestsSocket
import RequestsTestServer
import TestSupport
import Testing

@Suite("Task executor", .timeLimit(.minutes(10)))
struct TaskExecutorTests {
    private let echo = MockExecutor { .ok($0.target.path) }

    private func request(_ server: TestServer, _ path: String) throws -> PreparedRequest {
        try PreparedRequest(url: server.baseURL.appending(path: path))
    }

    @Test("a task runs on one thread before and after it waits for responses")
    func oneThread() async throws {
        try await withTestServer(serving: echo) { server in
            let (tasks, executor) = (SocketTaskExecutor(), SocketExecutor())
            let request = try request(server, "a")
            let threads = try await withTaskExecutorPreference(tasks) {
                var threads: Set<UInt> = [currentThread()]
                for _ in 0..<20 {
                    let text = try await executor.execute(request).text
                    #expect(text == "/a")
                    threads.insert(currentThread())
                }
                return threads
            }
            #expect(threads.count == 1)
            #expect(server.record.acceptedConnections == 1)
        }
    }

    @Test("many tasks share the thread, and each receives its own response", .rows("R-52"))
    func many() async throws {
        try await withTestServer(serving: echo) { server in
            let executor = SocketExecutor.with { $0.maximumConnectionsPerOrigin = 20 }
            let requests = try (0..<200).map { try request(server, "\($0)") }
            let texts = try await withTaskExecutorPreference(SocketTaskExecutor()) {
                try await withThrowingTaskGroup(of: (Int, String?).self) { group in
                    for (index, request) in requests.enumerated() {
                        group.addTask { (index, try await executor.execute(request).text) }
                    }
                    return try await group.reduce(into: [:]) { $0[$1.0] = $1.1 }
                }
            }
            #expect(texts == Dictionary(uniqueKeysWithValues: (0..<200).map { ($0, "/\($0)") }))
        }
    }

    @Test("a connection of such a task serves tasks of other executors and blocked threads, and the reverse")
    func sharedConnection() async throws {
        try await withTestServer(serving: echo) { server in
            let (tasks, executor) = (SocketTaskExecutor(), SocketExecutor())
            let request = try request(server, "a")
            for _ in 0..<3 {
                let inside = try await withTaskExecutorPreference(tasks) { try await executor.execute(request) }
                let outside = try await executor.execute(request)
                let blocking = try await onThread { Result { try executor.executeAndWait(request) } }.get()
                #expect([inside.text, outside.text, blocking.text] == ["/a", "/a", "/a"])
            }
            #expect(server.record.acceptedConnections == 1)
            // The first connection now belongs to the reactor of the process.
            let other = SocketExecutor()
            _ = try await other.execute(request)
            let inside = try await withTaskExecutorPreference(tasks) { try await other.execute(request) }
            #expect(inside.metrics.isReusedConnection)
        }
    }

    @Test("a task that never waits does not delay the responses and time limits of others", .rows("R-48"))
    func fairness() async throws {
        let silent = try ScriptedPeer { line, _, _ in while line.receive() != nil {} }
        try await withTestServer(serving: echo) { server in
            let executor = SocketExecutor()
            var late = try silent.request()
            late.timeouts.firstByte = .milliseconds(20)
            let (good, bad) = (try request(server, "a"), late)
            try await withTaskExecutorPreference(SocketTaskExecutor()) {
                try await withThrowingTaskGroup(of: Void.self) { group throws in
                    group.addTask { while !Task.isCancelled { await Task.yield() } }
                    for _ in 0..<10 {
                        let text = try await executor.execute(good).text
                        #expect(text == "/a")
                    }
                    #expect(await executor.failure(of: bad)?.reason == .timedOut(.firstByte))
                    group.cancelAll()
                }
            }
        }
    }

    @Test("a task is cancelled while it waits on its thread", .rows("R-44"))
    func cancellation() async throws {
        let silent = try ScriptedPeer { line, _, _ in while line.receive() != nil {} }
        let (tasks, executor) = (SocketTaskExecutor(), SocketExecutor())
        let request = try silent.request()
        let reactor = try #require(await withTaskExecutorPreference(tasks) { SocketTaskExecutor.currentReactor })
        let call = Task(executorPreference: tasks) { await executor.failure(of: request) }
        await eventually { reactor.pendingWaits == 1 }
        call.cancel()
        #expect(await call.value?.reason == .cancelled)
        #expect(reactor.pendingWaits == 0)
    }

    @Test("a blocking call in such a task needs nothing of its thread, which it blocks", .rows("HT-1", "R-50"))
    func blocking() async throws {
        let peer = try ScriptedPeer { line, number, _ in
            _ = line.receiveRequest()
            line.send(ok)
            // The first connection closes when it is used again, so that the call establishes another one.
            if number == 0 { _ = line.receiveRequest() } else { line.respondToAll(ok) }
        }
        let port = try #require(peer.address.port)
        let unresponsive = try FullListener(on: try #require(SocketAddress(ipLiteral: "127.0.0.2", port: port)))
        let executor = SocketExecutor.with {
            $0.attemptDelay = .milliseconds(5)
            $0.resolver = Resolver(keeping: 0) { _ throws(ResolverError) in [unresponsive.address, .loopback()] }
        }
        let request = PreparedRequest(target: try TargetURI("http://many.example:\(port)/")).with {
            $0.timeouts.connect = nil
        }
        let texts = await withTaskExecutorPreference(SocketTaskExecutor()) {
            (0..<3).map { _ in try? executor.inPlace(request).get().text }
        }
        #expect(texts == ["ok", "ok", "ok"])
        #expect(peer.connections == 2)
    }

    @Test("the thread ends with its executor and its connections")
    func lifetime() async throws {
        try await withTestServer(serving: echo) { server in
            let request = try request(server, "a")
            weak var reactor: Reactor?
            do {
                let executor = SocketExecutor()
                reactor = try await withTaskExecutorPreference(SocketTaskExecutor()) {
                    _ = try await executor.execute(request)
                    return SocketTaskExecutor.currentReactor
                }
                // The idle connection still needs it.
                #expect(reactor != nil)
                #expect(try await executor.execute(request).metrics.isReusedConnection)
            }
            await eventually { reactor == nil }
        }
    }

    @Test("tasks of other executors have no such thread")
    func others() async {
        #expect(SocketTaskExecutor.currentReactor == nil)
        let inside = await withTaskExecutorPreference(SocketTaskExecutor.shared) { SocketTaskExecutor.currentReactor }
        let nested = await withTaskExecutorPreference(SocketTaskExecutor.shared) {
            await withTaskExecutorPreference(globalConcurrentExecutor) { SocketTaskExecutor.currentReactor }
        }
        #expect(inside != nil)
        #expect(nested == nil)
    }

    private func currentThread() -> UInt { UInt(pthread_self()) }
}
