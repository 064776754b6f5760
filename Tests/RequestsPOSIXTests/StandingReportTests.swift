import Requests
import RequestsPOSIX
import TestSupport
import Testing

@Suite("Standing reports", .timeLimit(.minutes(10)))
struct StandingReportTests {
    let reactor: Reactor

    init() throws {
        reactor = try Reactor()
    }

    /// Returns a pair whose near end has waited once with standing reports, and has read the byte that arrived.
    private func pairWithReports() async throws -> ChannelPair {
        let pair = try ChannelPair(on: reactor)
        try pair.far.writeOnce([1])
        try await pair.near.wait(for: .reading, standing: true)
        #expect(try pair.near.readOnce() == .bytes(1))
        return pair
    }

    @Test("bytes that arrive without a wait are reported", .enabled(if: Reactor.keepsReporting))
    func reportedWithoutWait() async throws {
        let pair = try await pairWithReports()
        var (error, turns) = (WaitError?.some(.timedOut), 1)
        while error == .timedOut {
            try pair.far.writeOnce([2])
            // Eventually the reactor sees the byte before it is read.
            for _ in 0..<turns { await Task.yield() }
            turns += 1
            #expect(try pair.near.readOnce() == .bytes(1))
            // There are no bytes to read, so only a report from before the wait ends it.
            error = await outcome { () throws(WaitError) in
                try await pair.near.wait(for: .reading, by: .now, standing: true)
            }
        }
        #expect(error == nil)
    }

    @Test("ended standing reports report nothing")
    func ended() async throws {
        let pair = try await pairWithReports()
        pair.near.endReports()
        for byte in UInt8(2)..<4 {
            try pair.far.writeOnce([byte])
            #expect(try pair.near.readOnce() == .bytes(1))
        }
        let error = await outcome { () throws(WaitError) in
            try await pair.near.waitUntilReadable(by: .after(.milliseconds(20)))
        }
        #expect(error == .timedOut)
    }

    @Test("a wait after standing reports is ended by the unread bytes")
    func leftUnread() async throws {
        let pair = try await pairWithReports()
        try pair.far.writeOnce([2, 3])
        try await pair.near.wait(for: .reading, standing: true)
        #expect(try pair.near.readOnce(1) == .bytes(1))
        try await pair.near.waitUntilReadable()
        #expect(try pair.near.readOnce() == .bytes(1))
    }

    @Test("the end of the connection is reported", .rows("R-54"))
    func peerGone() async throws {
        var pair: ChannelPair? = try await pairWithReports()
        let near = try #require(pair?.near)
        let waited = Task {
            await outcome { () throws(WaitError) in try await near.wait(for: .reading, standing: true) }
        }
        await eventually { reactor.pendingWaits == 1 }
        pair = nil
        #expect(await waited.value == nil)
        #expect(try near.readOnce() == .end)
    }

    @Test("waits for writing and reading both end")
    func bothDirections() async throws {
        let pair = try await pairWithReports()
        let reader = Task {
            await outcome { () throws(WaitError) in try await pair.near.wait(for: .reading, standing: true) }
        }
        await eventually { reactor.pendingWaits == 1 }
        while case .bytes = try pair.near.writeOnce([UInt8](repeating: 7, count: 65536)) {}
        let writer = Task { await outcome { () throws(WaitError) in try await pair.near.waitUntilWritable() } }
        await eventually { reactor.pendingWaits == 2 }
        while case .bytes = try pair.far.readOnce(65536) {}
        #expect(await writer.value == nil)
        #expect(reactor.pendingWaits == 1)
        try pair.far.writeOnce([1])
        #expect(await reader.value == nil)
    }

    @Test("2,000 waits with and without standing reports end, and no registration remains", .rows("R-49"))
    func manyRounds() async throws {
        try await rounds(2000)
        await eventually { reactor.registrations == 0 }
        #expect(reactor.pendingWaits == 0)
    }

    private func rounds(_ count: Int) async throws {
        let pair = try ChannelPair(on: reactor)
        let peer = Task {
            while case let bytes = try await pair.far.readAll(upTo: 1), !bytes.isEmpty { try pair.far.writeOnce(bytes) }
        }
        for number in 0..<count {
            try pair.near.writeOnce([UInt8(truncatingIfNeeded: number)])
            while try pair.near.readOnce() == .wouldBlock {
                try await pair.near.wait(for: .reading, standing: !(number / 3).isMultiple(of: 3))
            }
        }
        peer.cancel()
        _ = await peer.result
    }
}
