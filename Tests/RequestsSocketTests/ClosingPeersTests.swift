import RequestsHTTP1
import RequestsPOSIX
import RequestsSocket
import Synchronization
import TestCorpora
import TestSupport
import Testing

@Suite("Peers that close their connections", .timeLimit(.minutes(10)))
struct ClosingPeersTests {
    private typealias Peers = ClosingPeers<Int>

    @Test(
        "in any order of events the memory equals a list of all events, and is bounded", .rows("R-42"),
        .notInstrumented("one thread compares values with a model"), arguments: 0..<8)
    func model(seed: UInt64) {
        var random = SplitMix64(state: seed)
        var peers = Peers()
        // All closings since the last reuse, by origin; nothing is forgotten.
        var closings: [Int: [Int64]] = [:]
        var now: Int64 = 0
        var known = 0
        for _ in 0..<4_000 {
            let origin = Int.random(in: 0..<40, using: &random)
            switch Int.random(in: 0..<10, using: &random) {
            case 0..<6:
                peers.recordClosing(by: origin, at: Deadline(nanoseconds: now))
                // A closing after the memory has ended counts as the first one.
                if let last = closings[origin]?.last, last + Peers.memory <= now { closings[origin] = [] }
                closings[origin, default: []].append(now)
            case 6:
                peers.recordReuse(by: origin)
                closings[origin] = nil
            default: now += Int64.random(in: 0...(Peers.memory / 8), using: &random)
            }
            for origin in 0..<40 {
                let times = closings[origin] ?? []
                let expected = times.count >= 2 && now < (times.last ?? 0) + Peers.memory
                #expect(peers.contains(origin, at: Deadline(nanoseconds: now)) == expected)
                known += expected ? 1 : 0
            }
            #expect(peers.count <= 40)
        }
        #expect(known > 1_000)
    }

    @Test("at most 64 peers are remembered, those whose closings are the most recent", .rows("R-42"))
    func bound() {
        var peers = Peers()
        for origin in 0..<1_000 {
            for _ in 0..<2 { peers.recordClosing(by: origin, at: Deadline(nanoseconds: Int64(origin))) }
        }
        #expect(peers.count == 64)
        #expect(!peers.contains(935, at: Deadline(nanoseconds: 1_000)))
        #expect((936..<1_000).allSatisfy { peers.contains($0, at: Deadline(nanoseconds: 1_000)) })
    }

    @Test(
        "an announced time is used with a margin of up to 1 s", .rows("R-47", "R-53"),
        arguments: [
            (-1, 0), (0, 0), (1, 500_000_000), (2, 1_000_000_000), (5, 4_000_000_000),
            (Int.max, 999_999_999_000_000_000),
        ] as [(Int, Int64)])
    func margin(seconds: Int, expected: Int64) {
        #expect(KeepAlive.usableNanoseconds(ofSeconds: seconds) == expected)
    }

    @Test(
        "a peer that closes after each response gets no second POST on a connection until one is reused", .rows("R-42"))
    func posts() async throws {
        let keeps = Mutex(false)
        let peer = try ScriptedPeer { line, _, peer in
            while line.receiveRequest() != nil {
                line.send(ok)
                if !keeps.withLock({ $0 }) {
                    line.socket.shutDown(.both)
                    return peer.note("closed")
                }
            }
        }
        let executor = SocketExecutor()
        for round in 1...3 {
            _ = try await executor.execute(try peer.request())
            await eventually { peer.notes.count == round }
        }
        // The third idle connection has not been checked, so only the memory prevents that it is used.
        keeps.withLock { $0 = true }
        for _ in 0..<2 {
            let post = try await executor.execute(try peer.request(.post))
            #expect(post.metrics.isReusedConnection == false)
        }
        #expect(executor.connections.open <= 3)
        let get = try await executor.execute(try peer.request())
        #expect(get.metrics.isReusedConnection == true)
        #expect(try await executor.execute(try peer.request(.post)).metrics.isReusedConnection == true)
    }
}
