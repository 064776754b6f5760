@_spi(Lock) import Requests
import RequestsHTTP2
import RequestsMock
import RequestsPOSIX
import RequestsSocket
import RequestsTestServer
import TestSupport
import Testing

@Suite("HTTP/2: many cancelled calls", .tags(.concurrent), .timeLimit(.minutes(5)))
struct HTTP2CancellationTests {
    /// Returns a peer that never responds to GET, and counts the streams that are reset and the PINGs.
    ///
    /// It notes violations of its limits: a stream above `most` that is opened after the acknowledgement of its
    /// SETTINGS, and more than `mostPings` PINGs without a message between them; after 15 s without one, two are
    /// allowed.
    private static func peer(
        announcing most: Int = 100, mostPings: Int = 2, resets: SharedCounter = SharedCounter(),
        pings: SharedCounter = SharedCounter()
    ) throws -> ScriptedPeer {
        var limits = HTTP2Limits()
        limits.announcedStreams = most
        limits.resets = (burst: 100_000, perSecond: 33)
        return try ScriptedPeer(http2: limits) { script, line, _, peer in
            var open: Set<StreamID> = []
            var (heads, countedPings) = (0, 0)
            var lastMessage = Deadline.now
            while let arrival = script.next(on: line) {
                pings.add(script.allPings - countedPings)
                countedPings = script.allPings
                // Before a response, after which they are counted anew.
                if script.pings > mostPings, script.pings > 2 || !lastMessage.advanced(by: .seconds(15)).hasPassed {
                    peer.note("\(script.pings) PINGs")
                }
                switch arrival {
                case .head(let slot, let head):
                    open.insert(slot.stream)
                    heads += 1
                    if let before = script.blocksBeforeAcknowledgement, heads > before, open.count > most {
                        peer.note("\(open.count) streams")
                    }
                    if head.method == .post {
                        open.remove(slot.stream)
                        script.respond(to: slot, on: line)
                        lastMessage = .now
                    }
                case .reset(let slot, let code):
                    open.remove(slot.stream)
                    resets.add()
                    if code != .cancel { peer.note("\(code)") }
                default: break
                }
            }
        }
    }

    /// Performs `count` calls that are cancelled, or whose limit passes, 8 at a time, while others complete.
    private static func run(
        _ count: Int, over executor: SocketExecutor, to peer: ScriptedPeer, byLimit: Bool
    ) async throws {
        let silent = try peer.request().with {
            $0.timeouts.connect = nil
            if byLimit { $0.timeouts.firstByte = .milliseconds(1) }
        }
        let other = try peer.request(.post).patient()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for worker in 0..<8 {
                group.addTask {
                    for _ in 0..<count / 8 {
                        let call = Task { await executor.failure(of: silent)?.reason }
                        if !byLimit {
                            for _ in 0..<worker * 3 { await Task.yield() }
                            call.cancel()
                        }
                        let reason = await call.value
                        #expect(reason == (byLimit ? .timedOut(.firstByte) : .cancelled))
                    }
                }
            }
            group.addTask {
                for _ in 0..<count / 8 {
                    let text = try await executor.execute(other).text
                    #expect(text == "ok")
                }
            }
            try await group.waitForAll()
        }
        #expect(executor.waiters == 0)
    }

    @Test("1,000 cancelled calls open no more streams than the server allows, and send no PING", .rows("H-25"))
    func places() async throws {
        let resets = SharedCounter()
        let peer = try Self.peer(announcing: 4, mostPings: 0, resets: resets)
        let executor = SocketExecutor.http2 { $0.maximumConnectionsPerOrigin = 2 }
        // The settings are known before the burst.
        _ = try await executor.execute(peer.request(.post))
        try await Self.run(1_000, over: executor, to: peer, byLimit: false)
        #expect(peer.notes.isEmpty, "\(peer.notes)")
        // The others were cancelled before they had a stream.
        #expect(resets.value > 100, "\(resets.value)")
    }

    @Test(
        "300 cancelled calls and 300 time-outs send at most two PINGs without a message between them, and fail no other call",
        .rows("H-41"))
    func pings() async throws {
        let pings = SharedCounter()
        let peer = try Self.peer(pings: pings)
        let executor = SocketExecutor.http2()
        for byLimit in [false, true] { try await Self.run(304, over: executor, to: peer, byLimit: byLimit) }
        #expect(peer.notes.isEmpty, "\(peer.notes)")
        #expect(pings.value > 0)
    }

    @Test(
        "2,000 cancelled calls stay within the server's limits of resets, and fail no other call", .rows("H-43"),
        arguments: Secured.isAvailable ? [false, true] : [false])
    func resets(isSecured: Bool) async throws {
        // 1,000 at once and 33 each second, as nghttp2; beyond that, the connection ends with ENHANCE_YOUR_CALM.
        let heads = Heads()
        let service = MockExecutor { request in
            guard request.method == .get else { return .ok("ok") }
            heads.insert(request.target.path)
            try await Task.sleep(for: .seconds(600))
            return .ok()
        }
        try await withTestServer(serving: service, using: .http2, tls: isSecured ? TestServer.TLS() : nil) { server in
            let executor = SocketExecutor.http2 { if isSecured { $0.tls = server.clientTLS } }
            let base = server.baseURL.absoluteString
            let finished = SharedCounter()
            let other = try PreparedRequest(method: .post, url: server.baseURL).patient()
            try await withThrowingTaskGroup(of: Void.self) { group in
                for worker in 0..<8 {
                    group.addTask {
                        for number in 0..<250 {
                            let path = "/\(worker)-\(number)"
                            let silent = PreparedRequest(target: try TargetURI("\(base)\(path)")).patient()
                            let call = Task { await executor.failure(of: silent)?.reason }
                            // Two of three are cancelled when the server has received them, the others at any step.
                            if number % 3 == 0 {
                                for _ in 0..<(worker + 1) * 4 { await Task.yield() }
                            } else {
                                await eventually { heads.contains(path) }
                            }
                            call.cancel()
                            #expect(await call.value == .cancelled)
                        }
                        finished.add()
                    }
                }
                group.addTask {
                    while finished.value < 8 {
                        let text = try await executor.execute(other).text
                        #expect(text == "ok")
                    }
                }
                try await group.waitForAll()
            }
            // More than one connection could carry. One that the server had ended would make the client repeat GETs.
            #expect(heads.count > 1_000 && heads.repeated.isEmpty, "\(heads.repeated)")
            #expect(server.record.acceptedConnections > 1)
        }
    }
}

/// The paths of the requests that a server has received.
private final class Heads: Sendable {
    private let paths = Lock<[String: Int]>([:])

    var count: Int { paths.withLock { $0.count } }
    var repeated: [String] { paths.withLock { $0.filter { $0.value > 1 }.map(\.key) } }
    func insert(_ path: String) { paths.withLock { $0[path, default: 0] += 1 } }
    func contains(_ path: String) -> Bool { paths.withLock { $0[path] != nil } }
}
