import Requests
import RequestsPOSIX
import RequestsSocket
import Synchronization
import TestCorpora
import TestSupport
import Testing

/// The number of repetitions, which environment variables set.
private enum Repetitions {
    static let cancellations = number("REQUESTS_CANCELLATIONS") ?? 600
    static let seconds = number("REQUESTS_STRESS_SECONDS") ?? 1

    private static func number(_ name: String) -> Int? {
        ProcessInfo.processInfo.environment[name].flatMap(Int.init)
    }
}

/// A peer that responds in pieces with the path of the request, and an executor with calls to it.
private struct StressFixture: Sendable {
    let peer: ScriptedPeer
    let folder = TemporaryDirectory()
    let executor: SocketExecutor

    /// Creates a fixture with few connections, so that calls also wait for a connection.
    init(connections: Int) throws {
        try folder.write([UInt8](repeating: 97, count: 70_000), to: "body")
        peer = try ScriptedPeer { line, _, _ in Self.serve(line) }
        executor = .with {
            $0.maximumConnectionsPerOrigin = connections
            $0.attemptDelay = .milliseconds(1)
            $0.resolver = Resolver(keeping: 0) { _ throws(ResolverError) in
                DetachedThread.yield()
                return [.loopbackIPv6(), .loopback()]
            }
        }
    }

    private static func serve(_ line: borrowing ScriptedPeer.Line) {
        var unread: [UInt8] = []
        while let head = head(line, &unread) {
            let path = head.split(separator: " ")[1]
            if head.contains("Expect:") { line.send("HTTP/1.1 100 Continue\r\n\r\n") }
            guard drop(line, head, &unread) else { return }
            line.send("HTTP/1.1 200 OK\r\nContent-")
            DetachedThread.yield()
            line.send("Length: \(path.utf8.count)\r\n\r\n\(path.prefix(3))")
            DetachedThread.yield()
            line.send("\(path.dropFirst(3))")
        }
    }

    private static func head(_ line: borrowing ScriptedPeer.Line, _ unread: inout [UInt8]) -> String? {
        while true {
            if let end = unread.prefix(1_000).firstRange(of: Array("\r\n\r\n".utf8))?.upperBound {
                defer { unread.removeFirst(end) }
                return String(decoding: unread[..<end], as: UTF8.self)
            }
            guard let more = line.receive() else { return nil }
            unread += more
        }
    }

    /// Reads the body of a request, by its length or up to the last chunk.
    private static func drop(_ line: borrowing ScriptedPeer.Line, _ head: String, _ unread: inout [UInt8]) -> Bool {
        let end = Array("\r\n0\r\n\r\n".utf8)
        let field = head.split(separator: "\r\n").first { $0.hasPrefix("Content-Length: ") }
        let length = field.flatMap { Int($0.dropFirst(16)) } ?? 0
        let isChunked = head.contains("chunked")
        while isChunked ? unread.suffix(end.count) != end[...] : unread.count < length {
            guard let more = line.receive() else { return false }
            unread += more
        }
        unread.removeFirst(isChunked ? unread.count : length)
        return true
    }

    /// Performs one of six kinds of calls, and checks its result.
    func call(_ id: String, _ kind: Int) async throws {
        let path = "/\(id)"
        var request = try peer.request(.get, path)
        switch kind % 6 {
        case 1: request = try peer.request(.put, path, body: .file(path: folder.path(of: "body")))
        case 2: request = try peer.request(.post, path, body: stream(["a", "bc"]))
        case 3:
            request = try peer.request(.put, path, body: .bytes(Data("abc".utf8)))
            request.continueTimeout = .seconds(300)
        case 4: request.delivery = .streamed
        case 5:
            let port = peer.address.port ?? 0
            request = PreparedRequest(target: try TargetURI("http://host-\(id).example:\(port)\(path)"))
        default: break
        }
        request.timeouts.connect = nil
        let response = try await executor.execute(request)
        let streamed = try await response.stream?.collect()
        #expect((response.text ?? streamed.map { String(decoding: $0, as: UTF8.self) }) == path)
    }

    /// Whether no call waits and all open connections are idle.
    var isQuiet: Bool { executor.waiters == 0 && executor.connections.open == executor.connections.idle }
}

/// The storms, in tasks that prefer an executor or none.
private enum Storm {
    /// Cancels calls at random times, and checks what remains of them.
    static func cancelling(preferring executor: SocketTaskExecutor? = nil, seed: RandomSeed) async throws {
        let reactor = try await waitingReactor(of: executor)
        let before = openSockets()
        let counts = (registrations: reactor.registrations, waits: reactor.pendingWaits)
        do {
            let fixture = try StressFixture(connections: 5)
            let ended = SharedCounter()
            try await withThrowingTaskGroup(of: Void.self) { group in
                for worker in 0..<8 {
                    group.addTask {
                        var numbers = seed.numbers(for: worker)
                        for round in 0..<Repetitions.cancellations / 8 {
                            let call = Task(executorPreference: executor) {
                                try await fixture.call("\(worker)-\(round)", worker + round)
                            }
                            for _ in 0..<Int.random(in: 0..<40, using: &numbers) { await Task.yield() }
                            if round % 8 != 0 { call.cancel() }
                            let failure = await call.failure
                            #expect(failure == nil || (failure as? RequestError)?.isCancellation == true)
                            if failure == nil { ended.add(1) }
                        }
                    }
                }
                try await group.waitForAll()
            }
            print("\(Repetitions.cancellations) calls, of which \(ended.value) completed")
            #expect(ended.value >= Repetitions.cancellations / 8)
            await eventually { fixture.isQuiet }
        }
        await eventually { openSockets() <= before }
        await eventually { reactor.pendingWaits == counts.waits && reactor.registrations == counts.registrations }
    }

    /// Performs calls in 64 tasks, and checks what remains of them.
    static func sharing(preferring executor: SocketTaskExecutor? = nil) async throws {
        let reactor = try await waitingReactor(of: executor)
        let before = openSockets()
        let counts = (registrations: reactor.registrations, waits: reactor.pendingWaits)
        do {
            let fixture = try StressFixture(connections: 16)
            let calls = SharedCounter()
            let end = Deadline.after(.seconds(Repetitions.seconds))
            await withTaskGroup(of: Void.self) { group in
                for worker in 0..<64 {
                    group.addTask(executorPreference: executor) {
                        var round = 0
                        repeat {
                            await #expect(throws: Never.self) {
                                try await fixture.call("\(worker)-\(round)", worker + round)
                            }
                            calls.add(1)
                            round += 1
                        } while !end.hasPassed
                    }
                }
            }
            print("\(calls.value) calls by 64 tasks in \(Repetitions.seconds) s")
            #expect(calls.value >= 64)
            #expect(fixture.isQuiet)
        }
        await eventually { openSockets() <= before }
        await eventually { reactor.pendingWaits == counts.waits && reactor.registrations == counts.registrations }
    }

    /// Returns the reactor on which tasks that prefer `executor` wait.
    private static func waitingReactor(of executor: SocketTaskExecutor?) async throws -> Reactor {
        try await withTaskExecutorPreference(executor) {
            if let current = SocketTaskExecutor.currentReactor { return current }
            return try Reactor.shared()
        }
    }
}

@Suite("Stress", .timeLimit(.minutes(30)))
struct StressTests {
    @Test(
        "calls cancelled at any time do not affect others, and release sockets and waits",
        .rows("R-44", "R-49", "R-67", "R-68")
    )
    func cancelling() async {
        let seed = RandomSeed()
        let result = await #expect(processExitsWith: .success, observing: [\.standardOutputContent]) {
            [seed = seed as RandomSeed] in
            try await Storm.cancelling(seed: seed)
        }
        Self.printOutput(of: result)
    }

    @Test(
        "cancelled calls of a SocketTaskExecutor affect no others, and release sockets and waits",
        .rows("R-44", "R-49", "R-67", "R-68")
    )
    func cancellingOnReactor() async {
        let seed = RandomSeed()
        let result = await #expect(processExitsWith: .success, observing: [\.standardOutputContent]) {
            [seed = seed as RandomSeed] in
            try await Storm.cancelling(preferring: .shared, seed: seed)
        }
        Self.printOutput(of: result)
    }

    /// Prints the counts of a run.
    private static func printOutput(of result: ExitTest.Result?) {
        print(String(decoding: result?.standardOutputContent ?? [], as: UTF8.self))
    }

    @Test("64 tasks share one executor, and no socket or wait remains", .rows("R-49", "R-52", "R-53", "R-68"))
    func sharing() async {
        await #expect(processExitsWith: .success) { try await Storm.sharing() }
    }

    @Test(
        "64 tasks of a SocketTaskExecutor share one executor, and no socket or wait remains",
        .rows("R-49", "R-52", "R-53", "R-68"))
    func sharingOnReactor() async {
        await #expect(processExitsWith: .success) { try await Storm.sharing(preferring: .shared) }
    }
}
