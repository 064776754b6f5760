import Requests
import RequestsPOSIX
import RequestsSocket
import Testing

@Suite("Yield policy of a connection", .timeLimit(.minutes(10)))
struct YieldPolicyTests {
    /// A policy, and exchanges that wait once each.
    private struct Exchanges {
        var policy = YieldPolicy()

        /// Records `count` exchanges, and returns the numbers of those that yield.
        ///
        /// Unless the peer `responds` meanwhile, there is a second wait.
        mutating func record(_ count: Int, responds: Bool = true, nanoseconds: Int64 = 10_000) -> [Int] {
            (1...count).filter { _ in
                defer { policy.endExchange() }
                guard policy.beginWait() else { return false }
                policy.recordYield(nanoseconds: nanoseconds)
                return responds || !policy.beginWait()
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

    @Test("every wait yields while responses arrive meanwhile")
    func withResponses() {
        var exchanges = Exchanges()
        #expect(exchanges.record(1064) == Array(65...1064))
    }

    @Test("a yield of more than 250 µs ends the trials, even if the response has arrived")
    func longYield() {
        var exchanges = Exchanges()
        _ = exchanges.record(64)
        #expect(exchanges.record(100, nanoseconds: 250_000).count == 100)
        #expect(exchanges.record(1, nanoseconds: 250_001) == [1])
        #expect(exchanges.record(64) == [])
        #expect(exchanges.record(1) == [1])
    }

    @Test("the pause is short again only after 64 trials that helped")
    func pauses() {
        for (successes, pause) in [(63, 128), (64, 64)] {
            var exchanges = Exchanges()
            #expect(exchanges.record(64 + successes).count == successes)
            #expect(exchanges.record(1, responds: false) == [1])
            #expect(exchanges.record(pause + 1) == [pause + 1])
        }
    }

    @Test("an exchange without a yield does not count as a success")
    func exchangesWithoutWait() {
        var exchanges = Exchanges()
        for _ in 0..<1000 { exchanges.policy.endExchange() }
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
