import Requests
import RequestsPOSIX
import RequestsSocket
import Synchronization
import TestSupport
import Testing

/// How much is tried; more behind environment variables.
private enum Effort {
    static let cancellations = number("REQUESTS_CANCELLATIONS") ?? 600
    static let seconds = number("REQUESTS_STRESS_SECONDS") ?? 1

    private static func number(_ name: String) -> Int? {
        ProcessInfo.processInfo.environment[name].flatMap(Int.init)
    }
}

/// A peer that answers in pieces with what it was asked, and the calls that are made of it.
private struct Bench: Sendable {
    let peer: ScriptedPeer
    let folder = TemporaryDirectory()
    let executor: SocketExecutor

    /// With few connections, so that calls wait for them, too.
    init(connections: Int) throws {
        try folder.write([UInt8](repeating: 97, count: 70_000), to: "body")
        peer = try ScriptedPeer { line, _, _ in Self.serve(line) }
        executor = .with {
            $0.connectionsPerOrigin = connections
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

    /// Reads a request's body: counted, or chunks whose end is the only place where one is empty.
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

    /// One of the sorts of calls there are, and what must come of it.
    func call(_ id: String, _ sort: Int) async throws {
        let path = "/\(id)"
        var request = try peer.request(.get, path)
        switch sort % 6 {
        case 1: request = try peer.request(.put, path, body: .file(path: folder.path(of: "body")))
        case 2: request = try peer.request(.post, path, body: stream(["a", "bc"]))
        case 3:
            request = try peer.request(.put, path, body: .bytes(Data("abc".utf8)))
            request.continueWait = .seconds(300)
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

    /// Whether nobody waits and nothing is open but what is idle.
    var isQuiet: Bool { executor.waiters == 0 && executor.connections.open == executor.connections.idle }
}

@Suite("Stress", .timeLimit(.minutes(30)))
struct StressTests {
    @Test(
        "cancelled at any time, a call gives its bytes to nobody else; sockets and waits go back to none (R-44, R-49, R-67, R-68)"
    )
    func cancelling() async {
        await #expect(processExitsWith: .success) {
            let reactor = try Reactor.shared()
            let before = openSockets()
            let counts = (registrations: reactor.registrations, waits: reactor.pendingWaits)
            do {
                let bench = try Bench(connections: 5)
                let ended = Counter()
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for worker in 0..<8 {
                        group.addTask {
                            for round in 0..<Effort.cancellations / 8 {
                                let call = Task { try await bench.call("\(worker)-\(round)", worker + round) }
                                for _ in 0..<Int.random(in: 0..<40) { await Task.yield() }
                                if round % 8 != 0 { call.cancel() }
                                let failure = await call.failure
                                #expect(failure == nil || (failure as? RequestError)?.isCancellation == true)
                                if failure == nil { ended.add(1) }
                            }
                        }
                    }
                    try await group.waitForAll()
                }
                print("\(Effort.cancellations) calls, \(ended.value) of them came to their end")
                #expect(ended.value >= Effort.cancellations / 8)
                await eventually { bench.isQuiet }
            }
            await eventually { openSockets() <= before }
            await eventually { reactor.pendingWaits == counts.waits && reactor.registrations == counts.registrations }
        }
    }

    @Test("64 tasks share one executor, and leave nothing behind (R-49, R-52, R-53, R-68)")
    func sharing() async {
        await #expect(processExitsWith: .success) {
            let reactor = try Reactor.shared()
            let before = openSockets()
            let counts = (registrations: reactor.registrations, waits: reactor.pendingWaits)
            do {
                let bench = try Bench(connections: 16)
                let calls = Counter()
                let end = Deadline.after(.seconds(Effort.seconds))
                await withTaskGroup(of: Void.self) { group in
                    for worker in 0..<64 {
                        group.addTask {
                            var round = 0
                            repeat {
                                await #expect(throws: Never.self) {
                                    try await bench.call("\(worker)-\(round)", worker + round)
                                }
                                calls.add(1)
                                round += 1
                            } while !end.hasPassed
                        }
                    }
                }
                print("\(calls.value) calls by 64 tasks in \(Effort.seconds) s")
                #expect(calls.value >= 64)
                #expect(bench.isQuiet)
            }
            await eventually { openSockets() <= before }
            await eventually { reactor.pendingWaits == counts.waits && reactor.registrations == counts.registrations }
        }
    }
}
