import Requests
import RequestsPOSIX
import RequestsSocket
import Testing

@Suite("Yield policy of a connection", .timeLimit(.minutes(10)))
struct YieldPolicyTests {
    /// A policy, and exchanges that wait once each.
    private struct Exchanges {
        var policy = YieldPolicy()
        private var now: Int64 = 0

        /// Records `count` exchanges, with times in nanoseconds, and returns the numbers of those that yield.
        ///
        /// Unless the peer `responds` meanwhile, there is a second wait.
        mutating func record(
            _ count: Int, responds: Bool = true, yield: Int64 = 1000, wait: Int64 = 20_000, spacing: Int64 = 0
        ) -> [Int] {
            (1...count).filter { _ in
                now += spacing
                defer { policy.endExchange(at: now) }
                guard policy.beginWait(at: now) else {
                    now += wait
                    return false
                }
                now += yield
                policy.recordYield(nanoseconds: yield)
                if responds { return true }
                let isYielding = policy.beginWait(at: now)
                now += wait
                return !isYielding
            }
        }
    }

    @Test("a trial follows 64 waits, and each pause doubles up to 4,096 waits while nothing arrives")
    func withoutResponse() {
        var exchanges = Exchanges()
        var pauses: [Int] = []
        for _ in 0..<9 {
            let yields = exchanges.record((64 << min(pauses.count, 6)) + 1, responds: false)
            #expect(yields.count == 1)
            pauses.append((yields.last ?? 0) - 1)
        }
        #expect(pauses == [64, 128, 256, 512, 1024, 2048, 4096, 4096, 4096])
    }

    @Test("waits yield while responses arrive meanwhile, except for one each millisecond")
    func withResponses() {
        var exchanges = Exchanges()
        let yields = exchanges.record(1064, yield: 10_000, spacing: 10_000)
        #expect(Set(65...1064).subtracting(yields).sorted() == Array(stride(from: 115, through: 1064, by: 51)))
        #expect(yields.first == 65)
    }

    @Test(
        "exchanges that take longer than with a wait end the trials, unless there are few",
        arguments: [(1, 1), (5, 2), (9, 3)])
    func longYields(successes: Int, yields: Int) {
        var exchanges = Exchanges()
        #expect(exchanges.record(64 + successes).count == successes)
        #expect(exchanges.record(yields, yield: 20_010).count == yields)
        #expect(exchanges.record(128) == [])
        #expect(exchanges.record(1, yield: 20_000) == [1])
        #expect(exchanges.record(1) == [1])
    }

    @Test("a yield of more than 250 µs ends the trials at once, whatever waits take and others have saved")
    func veryLongYield() {
        var exchanges = Exchanges()
        #expect(exchanges.record(64 + 80, wait: 2_000_000).count == 80)
        #expect(exchanges.record(1, yield: 250_000, wait: 2_000_000) == [1])
        #expect(exchanges.record(1, yield: 250_001, wait: 2_000_000) == [1])
        #expect(exchanges.record(128) == [])
    }

    @Test("the pause is short again only after 60 trials that helped")
    func pauses() {
        for (successes, pause) in [(59, 128), (60, 64)] {
            var exchanges = Exchanges()
            #expect(exchanges.record(64 + successes).count == successes)
            #expect(exchanges.record(1, responds: false) == [1])
            #expect(exchanges.record(pause + 1) == [pause + 1])
        }
    }

    @Test("an exchange without a yield does not count as a success")
    func exchangesWithoutWait() {
        var exchanges = Exchanges()
        for _ in 0..<1000 { exchanges.policy.endExchange(at: 0) }
        #expect(exchanges.record(65, responds: false) == [65])
        #expect(exchanges.record(129) == [129])
    }
}

@Suite("Yields of the socket executor", .timeLimit(.minutes(10)))
struct YieldTests {
    @Test(
        "a call that is alone receives once more, without a wait, only in the trials",
        .enabled(if: DetachedThread.yieldsBeforeSuspending, "yields are used on Linux only"))
    func trials() async throws {
        let peer = try ScriptedPeer { line, _, peer in
            while line.receiveRequest() != nil, peer.waitForResume() {
                line.send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
            }
        }
        let faults = TransferFaults()
        let executor = SocketExecutor.with { $0.faults = faults }
        let request = try peer.request()
        var transfers: [Int] = []
        for _ in 1...200 {
            let (waits, before) = (faults.waits, faults.transfers)
            async let response = executor.execute(request)
            // The response is sent only when the call waits for it, so that no trial helps.
            await eventually { faults.waits > waits }
            peer.resume()
            #expect(try await response.status == .ok)
            transfers.append(faults.transfers - before)
        }
        #expect(peer.connections == 1)
        // An exchange makes three transfers: it sends, and receives before and after its wait; a trial receives once
        // more. If connecting has waited, the first response may arrive without a further wait.
        let trials = transfers.indices.dropFirst().filter { transfers[$0] == 4 }
        let first = try #require(trials.first)
        #expect((64...65).contains(first) && trials == [first, first + 129], "\(transfers)")
        #expect(transfers.dropFirst().count { $0 == 3 } == 197, "\(transfers)")
    }
}
