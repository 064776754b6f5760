import Requests
import RequestsHTTP2
import TestCorpora
import TestSupport
import Testing

@Suite("HTTP/2: turns of uploads")
struct TurnTests {
    @Test("streams that wait for the connection write one frame each in turn", .rows("H-45"))
    func turns() {
        var peer = HTTP2Peer(settings: [(4, 1_000_000)])
        for _ in 0..<3 { peer.open(endsStream: false) }
        var order: [StreamID] = []
        func write(_ stream: StreamID, _ peer: inout HTTP2Peer) {
            while peer.state.write(peer.slot(stream), 100_000) > 0 { order.append(stream) }
        }
        for stream: StreamID in [1, 3, 5] { write(stream, &peer) }
        #expect(order == [1, 1, 1, 1])
        for _ in 0..<6 {
            _ = peer.sent()
            peer.receive(WireFrame.windowUpdate(0, 16_384))
            let log = peer.takeLog()
            #expect(log.count == 1)
            for stream: StreamID in [1, 3, 5] where log == ["\(stream) capacity"] { write(stream, &peer) }
        }
        // Stream 1 was the first to wait, after as many frames as can be queued.
        #expect(order == [1, 1, 1, 1, 1, 3, 5, 1, 3, 5])
    }

    @Test(
        "where there is room for several frames, a stream that waits does not take the turn of another", .rows("H-45"))
    func sharedRoom() {
        var peer = HTTP2Peer(settings: [(4, 1_000_000)])
        for stream: StreamID in [1, 3, 5] {
            peer.open(endsStream: false)
            while peer.state.write(peer.slot(stream), 100_000) > 0 {}
        }
        var order: [String] = []
        for _ in 0..<3 {
            _ = peer.sent()
            peer.receive(WireFrame.windowUpdate(0, 32_768))
            for event in peer.takeLog() {
                order.append(event)
                guard let stream = event.first?.wholeNumberValue else { continue }
                #expect(peer.state.write(peer.slot(StreamID(stream)), 100_000) == 16_384)
                #expect(peer.state.write(peer.slot(StreamID(stream)), 100_000) == 0)
            }
        }
        #expect(order == [1, 3, 5, 1, 3, 5].map { "\($0) capacity" })
    }

    @Test("a stream leaves the room of others that have their turn and have not written yet", .rows("H-32", "H-45"))
    func reservedRoom() {
        var peer = HTTP2Peer(settings: [(4, 1_000_000)])
        for stream: StreamID in [1, 3, 5] {
            peer.open(endsStream: false)
            while peer.state.write(peer.slot(stream), 100_000) > 0 {}
        }
        _ = peer.sent()
        peer.receive(WireFrame.windowUpdate(0, 49_152))
        #expect(peer.takeLog() == ["1 capacity", "3 capacity", "5 capacity"])
        for stream: StreamID in [1, 3, 5] {
            #expect(peer.state.write(peer.slot(stream), 100_000) == 16_384)
            #expect(peer.state.write(peer.slot(stream), 100_000) == 0)
        }
        // After 10 ms, the room of a stream that does not write is for the others.
        _ = peer.sent()
        peer.receive(WireFrame.windowUpdate(0, 16_384))
        #expect(peer.takeLog() == ["1 capacity"])
        #expect(peer.state.write(peer.slot(3), 100_000) == 0)
        peer.pass(.milliseconds(10))
        peer.expire()
        #expect(peer.takeLog() == ["3 capacity"])
        #expect(peer.state.write(peer.slot(3), 100_000) == 16_384)
    }

    @Test("two uploads whose sources pause share a window of 65,535 bytes, and both end", .rows("H-45"))
    func pausedUploads() {
        var peer = HTTP2Peer(settings: [(4, 1_000_000)])
        var remaining: [StreamID: Int] = [1: 300_000, 3: 300_000]
        for _ in remaining { peer.open(endsStream: false) }
        var canWrite: Set<StreamID> = [1, 3]
        var random = SplitMix64(state: 1)
        var rounds = 0
        while !remaining.isEmpty, rounds < 10_000 {
            rounds += 1
            // One source pauses in each round; a stream that pauses has no bytes at hand, and waits for nothing.
            let stream: StreamID = Bool.random(using: &random) ? 1 : 3
            if canWrite.contains(stream), let count = remaining[stream] {
                let given = min(count, 20_000)
                let allowed = peer.state.write(peer.slot(stream), given, endsStream: given == count)
                if allowed == 0 { canWrite.remove(stream) }
                remaining[stream] = count == allowed ? nil : count - allowed
            }
            let sent = peer.sent().reduce(0) { if case .data(let part) = $1 { $0 + part.countedBytes } else { $0 } }
            if sent > 0 { peer.receive(WireFrame.windowUpdate(0, UInt32(sent))) }
            for event in peer.takeLog() {
                if event.hasSuffix("capacity"), let stream = event.first?.wholeNumberValue {
                    canWrite.insert(StreamID(stream))
                }
            }
        }
        #expect(remaining == [:])
    }

    @Test("a stream that was notified and is reset delays no other", .rows("H-45", "H-24"))
    func abandonedTurn() {
        var peer = HTTP2Peer(settings: [(4, 1_000_000)])
        for stream: StreamID in [1, 3, 5] {
            peer.open(endsStream: false)
            while peer.state.write(peer.slot(stream), 100_000) > 0 {}
        }
        _ = peer.sent()
        peer.receive(WireFrame.windowUpdate(0, 10_000))
        #expect(peer.takeLog() == ["1 capacity"])
        peer.state.reset(peer.slot(1), .cancel, at: peer.now)
        _ = peer.sent()
        #expect(peer.takeLog() == ["3 capacity"])
        #expect(peer.state.write(peer.slot(3), 100_000) == 10_000)
    }

    @Test("a stream that has its turn and stays silent delays the others only once", .rows("H-45"))
    func silentTurn() {
        var peer = HTTP2Peer(settings: [(4, 1_000_000)])
        for stream: StreamID in [1, 3, 5] {
            peer.open(endsStream: false)
            while peer.state.write(peer.slot(stream), 100_000) > 0 {}
        }
        _ = peer.sent()
        peer.receive(WireFrame.windowUpdate(0, 10_000))
        #expect(peer.takeLog() == ["1 capacity"])
        let deadline = peer.now.advanced(by: .milliseconds(10))
        #expect(peer.state.deadline == deadline)
        peer.pass(.milliseconds(9))
        peer.expire()
        #expect(peer.takeLog() == [])
        peer.pass(.milliseconds(1))
        peer.expire()
        #expect(peer.takeLog() == ["3 capacity"])
        #expect(peer.state.write(peer.slot(3), 9_000) == 9_000)
        // What is left is for stream 5, although stream 1 still has its turn.
        _ = peer.sent()
        #expect(peer.takeLog() == ["5 capacity"])
        #expect(peer.state.write(peer.slot(5), 400) == 400)
        #expect(peer.state.deadline == .distantFuture)
        #expect(peer.state.write(peer.slot(1), 10_000) == 600)
        // Turns continue with room for one frame each.
        for stream: StreamID in [3, 5, 1] {
            #expect(peer.state.write(peer.slot(stream), 10_000) == 0)
            _ = peer.sent()
        }
        peer.receive(WireFrame.windowUpdate(0, 16_384))
        #expect(peer.takeLog() == ["3 capacity"])
    }

    @Test("a stream that writes late does not end the reservation of another stream", .rows("H-45"))
    func lateTurn() {
        var peer = HTTP2Peer(settings: [(4, 1_000_000)])
        for stream: StreamID in [1, 3, 5] {
            peer.open(endsStream: false)
            while peer.state.write(peer.slot(stream), 100_000) > 0 {}
        }
        _ = peer.sent()
        peer.receive(WireFrame.windowUpdate(0, 16_384))
        #expect(peer.takeLog() == ["1 capacity"])
        peer.pass(.milliseconds(10))
        peer.expire()
        #expect(peer.takeLog() == ["3 capacity"])
        #expect(peer.state.write(peer.slot(1), 10) == 10)
        // The remaining room is still reserved for stream 3.
        _ = peer.sent()
        #expect(peer.takeLog() == [])
        #expect(peer.state.write(peer.slot(3), 100_000) == 16_374)
    }

    @Test("if SETTINGS close the window of a stream, its turn passes to the next one", .rows("H-45"))
    func closedTurn() {
        var peer = HTTP2Peer(settings: [(4, 100_000)])
        peer.open(endsStream: false)
        while peer.state.write(peer.slot(1), 100_000) > 0 {}
        peer.receive(WireFrame.settings([(4, 200_000)]))
        peer.open(endsStream: false)
        #expect(peer.state.write(peer.slot(3), 100_000) == 0)
        _ = peer.sent()
        peer.receive(WireFrame.windowUpdate(0, 10_000))
        #expect(peer.takeLog() == ["1 capacity"])
        // Stream 1 has sent 65,535 bytes; stream 3 none.
        peer.receive(WireFrame.settings([(4, 65_000)]))
        #expect(peer.takeLog() == ["3 capacity"])
        #expect(peer.state.write(peer.slot(3), 2_000) == 2_000)
        peer.receive(WireFrame.settings([(4, 70_000)]))
        #expect(peer.takeLog() == ["1 capacity"])
        #expect(peer.state.write(peer.slot(1), 100_000) == 4_465)
    }
}
