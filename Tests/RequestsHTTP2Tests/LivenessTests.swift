import Requests
import RequestsHTTP2
import TestSupport
import Testing

@Suite("HTTP/2: cancellation, time-outs and PING")
struct LivenessTests {
    private static func response(_ stream: StreamID) -> [UInt8] {
        WireFrame.headers(Block.status("204"), on: stream, ends: true)
    }

    private static func pings(_ frames: [Frame]) -> Int {
        frames.count { if case .ping = $0 { true } else { false } }
    }

    // MARK: Cancellation

    @Test("cancelling resets the stream only, and only while it has not ended on both sides", .rows("H-24"))
    func cancelling() {
        var peer = HTTP2Peer()
        for _ in 0..<4 { peer.open(endsStream: false) }
        _ = peer.sent()
        // Stream 1 has no response, 3 a part of it, 5 all of it, and 7 has ended on both sides.
        peer.receive(WireFrame.headers(Block.status("200"), on: 3) + WireFrame.data([1], on: 3))
        peer.receive(Self.response(5) + Self.response(7))
        peer.state.end(peer.slot(7))
        _ = peer.sent()
        for stream: StreamID in [1, 3, 5, 7] { peer.state.reset(peer.slot(stream), .cancel, at: peer.now) }
        #expect(peer.sent() == [1, 3, 5].map { .resetStream($0, .cancel) })
        for stream: StreamID in [1, 3, 5, 7] { peer.state.reset(peer.slot(stream), .cancel, at: peer.now) }
        peer.state.reset(StreamSlot(index: 0, stream: 99), .cancel, at: peer.now)
        #expect(peer.sent() == [])
        // What is under way on the streams is dropped, and their header blocks are decoded.
        _ = peer.takeLog()
        peer.receive(WireFrame.headers(Block.status("200") + [0x40, 1, 0x61, 1, 0x62], on: 1))
        peer.receive(WireFrame.data([1], on: 1, ends: true) + WireFrame.windowUpdate(3, 1) + WireFrame.resetStream(3))
        peer.open()
        peer.receive(WireFrame.headers(Block.status("200") + [0xBE], on: 9, ends: true))
        #expect(peer.log == ["9 head 200", "9 ended"])
        #expect(peer.error == nil)
    }

    @Test("RST_STREAM follows HEADERS, even if nothing was sent before", .rows("H-24"))
    func order() {
        var peer = HTTP2Peer()
        peer.open(endsStream: false)
        #expect(peer.state.write(peer.slot(1), 5) == 5)
        peer.state.reset(peer.slot(1), .cancel, at: peer.now)
        let frames = peer.sent()
        #expect(frames.count == 3)
        #expect(frames.first == .headers(stream: 1, endsStream: false))
        #expect(frames.last == .resetStream(1, .cancel))
    }

    @Test("a cancelled stream keeps its place until the server is known to have read the reset", .rows("H-25"))
    func places() {
        var peer = HTTP2Peer(settings: [(3, 2)], roundTrip: .milliseconds(40))
        peer.open()
        peer.open()
        #expect(peer.open() == .full)
        peer.state.reset(peer.slot(1), .cancel, at: peer.now)
        #expect(peer.open() == .full)
        // A frame on a stream that was opened before the reset shows nothing.
        peer.receive(WireFrame.headers(Block.status("200"), on: 3))
        #expect(peer.open() == .full)
        // A round trip later the place is free.
        #expect(peer.state.deadline == peer.now.advanced(by: .milliseconds(40)))
        peer.pass(.milliseconds(40))
        peer.expire()
        #expect(peer.open() == .opened(peer.slot(5)))
        // So is it when a frame arrives on a stream that was opened later.
        peer.state.reset(peer.slot(3), .cancel, at: peer.now)
        #expect(peer.open() == .full)
        peer.receive(WireFrame.headers(Block.status("200"), on: 5))
        #expect(peer.open() == .full)
        peer.pass(.seconds(1))
        peer.expire()
        peer.open()
        peer.state.reset(peer.slot(5), .cancel, at: peer.now)
        peer.receive(WireFrame.headers(Block.status("200"), on: 7))
        #expect(peer.open() == .full)
    }

    @Test("waiting calls are notified of each place that becomes free, for whatever reason", .rows("H-25"))
    func placeEvents() {
        var peer = HTTP2Peer(settings: [(3, 2)], roundTrip: .milliseconds(40))
        for _ in 0..<2 { peer.open() }
        #expect(peer.open() == .full)
        peer.receive(Self.response(1))
        #expect(peer.places == [1])
        // The place of stream 3 is held for a round trip.
        peer.state.reset(peer.slot(3), .cancel, at: peer.now)
        peer.pass(.milliseconds(40))
        peer.expire()
        #expect(peer.places == [1, 2])
        // SETTINGS change the number.
        peer.receive(WireFrame.settings([(3, 5)]) + WireFrame.settings([(3, 3)]) + WireFrame.settings([(3, 4)]))
        #expect(peer.places == [1, 2, 4])
        // One that has become free is not lost because a stream is opened before the event.
        peer.receive(WireFrame.settings([(3, 1)]))
        peer.open()
        #expect(peer.open() == .full)
        peer.receive(WireFrame.settings([(3, 2)]))
        #expect(peer.places == [1, 2, 4, 1])
        #expect(peer.drainings == 0)
    }

    @Test("the free places are reported again when a frame ends the doubt about a connection", .rows("H-25", "H-26"))
    func placesAfterDoubt() {
        var peer = HTTP2Peer(settings: [(3, 10)])
        peer.open()
        peer.open()
        _ = peer.sent()
        peer.pass(.seconds(1))
        let start = peer.now
        peer.pass(.seconds(1))
        peer.state.timeOut(peer.slot(1), waitingSince: start, at: peer.now)
        #expect(peer.open() == .full)
        #expect(peer.places == [])
        peer.receive(WireFrame.windowUpdate(0, 1))
        #expect(peer.places == [8])
    }

    @Test("a frame of a stream that was opened later releases the places of those reset before", .rows("H-25"))
    func releasedPlaces() {
        var peer = HTTP2Peer(settings: [(3, 3)])
        for _ in 0..<2 { peer.open() }
        peer.state.reset(peer.slot(1), .cancel, at: peer.now)
        peer.state.reset(peer.slot(3), .cancel, at: peer.now)
        #expect(peer.open() == .opened(StreamSlot(index: 1, stream: 5)))
        #expect(peer.open() == .full)
        // A frame on a stream that was opened before shows nothing; this one shows that both resets were read.
        peer.receive(WireFrame.headers(Block.status("200"), on: 5))
        #expect(peer.places == [2])
        #expect(peer.state.freePlaces == 2)
        #expect(peer.state.deadline == .distantFuture)
    }

    @Test("a client reports once that cancellations have ended its connection", .rows("H-25", "H-43"))
    func drainedByCancellations() {
        var peer = HTTP2Peer(settings: [(3, 10_000)])
        while case .opened(let slot) = peer.open() {
            peer.state.reset(slot, .cancel, at: peer.now)
            _ = peer.sent()
        }
        peer.receive(WireFrame.windowUpdate(0, 1))
        #expect(peer.slots.count == 500)
        #expect(peer.drainings == 1)
    }

    @Test("a reset counts as received after a round trip, from 5 ms to 1 s", .rows("H-25"))
    func resetDelay() {
        let rows: [(roundTrip: Duration?, delay: Duration)] = [
            (.microseconds(10), .milliseconds(5)), (.milliseconds(80), .milliseconds(80)),
            (.seconds(30), .seconds(1)), (nil, .seconds(1)),
        ]
        for row in rows {
            var peer = HTTP2Peer(roundTrip: row.roundTrip)
            peer.open()
            peer.state.reset(peer.slot(1), .cancel, at: peer.now)
            #expect(peer.state.deadline == peer.now.advanced(by: row.delay))
        }
    }

    @Test(
        "1,000 cancellations in a row keep the server's count within its limit, without a PING", .rows("H-25", "H-41"))
    func manyCancellations() {
        var limits = HTTP2Limits()
        limits.concurrentStreams = 10
        limits.resets = (burst: 1_000, perSecond: 33)
        var pair = ConnectionPair(seed: 7, server: limits)
        pair.transfer()
        pair.transfer()
        var cancelled = 0
        while cancelled < 1_000 {
            pair.now = pair.now.advanced(by: .milliseconds(20))
            pair.client.expire(at: pair.now)
            while pair.client.open(at: pair.now) {}
            #expect(pair.client.state.outputCount < 1_000)
            pair.transfer()
            #expect(pair.server.state.streamCount <= 10)
            for stream in pair.client.streams.keys where pair.client.streams[stream]?.isOver == false {
                pair.client.reset(stream, .cancel, at: pair.now)
                cancelled += 1
            }
            if pair.client.state.isDraining { break }
        }
        pair.finish()
        pair.checkEnd()
        #expect(pair.problems == [])
        // The connection leaves before the server takes it for an attacker.
        #expect(pair.client.state.isDraining == true)
        #expect(500..<1_000 ~= cancelled)
    }

    @Test("2,000 cancellations against a limit of 1,000 and 33 a second fail no other call", .rows("H-43"))
    func resetLimit() {
        var limits = HTTP2Limits()
        limits.resets = (burst: 1_000, perSecond: 33)
        var connections = 0
        var cancelled = 0
        while cancelled < 2_000 {
            connections += 1
            var pair = ConnectionPair(seed: UInt64(connections), server: limits)
            _ = pair.client.open(at: pair.now)
            while cancelled < 2_000, pair.client.open(at: pair.now), let stream = pair.client.streams.keys.max() {
                pair.client.reset(stream, .cancel, at: pair.now)
                cancelled += 1
                pair.transfer()
                pair.now = pair.now.advanced(by: .milliseconds(10))
                pair.client.expire(at: pair.now)
            }
            // The other call, stream 1, ends as if nothing had happened.
            pair.finish()
            pair.checkEnd()
            #expect(pair.problems == [])
            #expect(pair.client.streams[1]?.hasReceivedEnd == true)
        }
        #expect(connections > 1)
    }

    // CVE-2023-44487.
    @Test("a server ends a connection whose client resets too many streams", .rows("H-27", "H-43"))
    func rapidReset() {
        var limits = HTTP2Limits()
        limits.resets = (burst: 10, perSecond: 1)
        var peer = HTTP2Peer(.server, limits: limits)
        for number: StreamID in 0..<10 {
            peer.receive(WireFrame.headers(Block.request(), on: 2 * number + 1))
            peer.receive(WireFrame.resetStream(2 * number + 1))
            #expect((peer.error != nil) == (number == 9))
        }
        #expect(peer.error?.violation == .manyResets)
        #expect(peer.error?.code == .enhanceYourCalm)
    }

    // MARK: Time-outs

    @Test("a time-out on a connection that receives frames concerns its stream only", .rows("H-26"))
    func timeOut() {
        var peer = HTTP2Peer()
        peer.open()
        peer.open()
        let start = peer.now
        _ = peer.sent()
        peer.pass(.seconds(3))
        peer.receive(WireFrame.headers(Block.status("200"), on: 3))
        peer.pass(.seconds(3))
        peer.state.timeOut(peer.slot(1), waitingSince: start, at: peer.now)
        #expect(peer.sent() == [.resetStream(1, .cancel)])
        #expect(peer.state.isInDoubt == false)
        guard case .opened = peer.open() else { Issue.record("the connection takes no streams"); return }
    }

    @Test("a time-out without any frame puts the connection in doubt, until a frame arrives", .rows("H-26"))
    func doubt() {
        var peer = HTTP2Peer()
        for _ in 0..<3 { peer.open() }
        _ = peer.sent()
        peer.pass(.seconds(1))
        let start = peer.now
        peer.pass(.seconds(5))
        peer.state.timeOut(peer.slot(1), waitingSince: start, at: peer.now)
        #expect(Self.pings(peer.sent()) == 1)
        #expect(peer.state.isInDoubt == true)
        #expect(peer.open() == .full)
        // A second time-out sends no second PING.
        peer.pass(.seconds(1))
        peer.state.timeOut(peer.slot(3), waitingSince: start, at: peer.now)
        #expect(Self.pings(peer.sent()) == 0)
        #expect(peer.state.isDraining == false)
        peer.receive(WireFrame.windowUpdate(0, 1))
        #expect(peer.state.isInDoubt == false)
        guard case .opened = peer.open() else { Issue.record("the connection takes no streams"); return }
        // Any frame is sufficient: the connection is not lost without the acknowledgement.
        peer.pass(.seconds(20))
        peer.expire()
        #expect(peer.error == nil)
    }

    @Test("10 seconds after a PING was queued the connection is lost, even if it was not written", .rows("H-26"))
    func loss() {
        for isWritten in [true, false] {
            var peer = HTTP2Peer()
            peer.open()
            peer.open()
            _ = peer.sent()
            peer.pass(.seconds(1))
            let start = peer.now
            peer.pass(.seconds(5))
            peer.state.timeOut(peer.slot(1), waitingSince: start, at: peer.now)
            if isWritten { _ = peer.sent() }
            let deadline = peer.now.advanced(by: .seconds(10))
            // The place of the stream that was reset is free before.
            peer.pass(.seconds(1))
            peer.expire()
            #expect(peer.state.deadline == deadline)
            peer.pass(.milliseconds(8_999))
            peer.expire()
            #expect(peer.error == nil)
            peer.pass(.milliseconds(1))
            peer.expire()
            #expect(peer.error?.violation == .unacknowledgedPing)
            #expect(peer.state.deadline == .distantFuture)
        }
    }

    @Test("a PING that the peer could take for a flood is not sent: the connection drains", .rows("H-26", "H-41"))
    func forbiddenPing() {
        var peer = HTTP2Peer(settings: [(3, 1_000)])
        var sent = 0
        for number: StreamID in 0..<3 {
            peer.open()
            peer.pass(.seconds(1))
            let start = peer.now
            peer.pass(.seconds(1))
            peer.state.timeOut(peer.slot(2 * number + 1), waitingSince: start, at: peer.now)
            sent += Self.pings(peer.sent())
            // The peer acknowledges each PING, and sends neither HEADERS nor DATA.
            peer.receive(WireFrame.ping([0, 0, 0, 0, 0, 0, 0, UInt8(number) + 1], isAcknowledgement: true))
        }
        #expect(sent == 2)
        #expect(peer.open() == .draining)
        #expect(peer.drainings == 1)
        #expect(peer.error == nil)
    }

    @Test("a PING that was under way when a message arrived counts as sent after it", .rows("H-41"))
    func pingBesideMessage() {
        var peer = HTTP2Peer(settings: [(3, 1_000)])
        var sent = 0
        for number: UInt8 in 1...3 {
            guard case .opened(let silent) = peer.open(), case .opened(let other) = peer.open() else { break }
            peer.pass(.seconds(1))
            let start = peer.now
            peer.pass(.seconds(1))
            peer.state.timeOut(silent, waitingSince: start, at: peer.now)
            sent += Self.pings(peer.sent())
            if number == 1 { peer.receive(Self.response(other.stream)) }
            peer.receive(WireFrame.ping([0, 0, 0, 0, 0, 0, 0, number], isAcknowledgement: true))
        }
        #expect(sent == 2)
    }

    @Test("300 cancellations and 300 time-outs send at most two PINGs between messages", .rows("H-41"))
    func strictPeer() {
        var peer = HTTP2Peer(settings: [(3, 10_000)])
        var strikes = 0
        for number in 0..<600 {
            guard case .opened(let slot) = peer.open() else { break }
            peer.pass(.seconds(1))
            let start = peer.now
            peer.pass(.seconds(1))
            if number.isMultiple(of: 2) {
                peer.state.reset(slot, .cancel, at: peer.now)
            } else {
                peer.state.timeOut(slot, waitingSince: start, at: peer.now)
            }
            for frame in peer.sent() {
                guard case .ping(let opaque) = frame else { continue }
                strikes += 1
                peer.receive(WireFrame.ping(opaque, isAcknowledgement: true))
            }
            #expect(strikes <= 2)
            // Every third exchange has a response.
            if number % 3 == 0, case .opened(let slot) = peer.open() {
                peer.receive(Self.response(slot.stream))
                strikes = 0
            }
        }
        #expect(peer.error == nil)
        #expect(peer.slots.count > 700)
    }

    @Test("a request after 15 seconds of silence has a PING, one before has none", .rows("H-41"))
    func silence() {
        var peer = HTTP2Peer()
        peer.pass(.milliseconds(14_999))
        peer.open()
        #expect(Self.pings(peer.sent()) == 0)
        peer.receive(Self.response(1))
        // An idle connection sends nothing.
        peer.pass(.seconds(600))
        peer.expire()
        #expect(peer.sent() == [])
        peer.open()
        #expect(Self.pings(peer.sent()) == 1)
    }
}
