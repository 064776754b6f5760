import Requests
import RequestsHTTP2
import TestSupport
import Testing

@Suite("HTTP/2: end of a connection")
struct GoAwayTests {
    private static func response(_ stream: StreamID) -> [UInt8] {
        WireFrame.headers(Block.status("204"), on: stream, ends: true)
    }

    private static func peer(_ streams: Int) -> HTTP2Peer {
        var peer = HTTP2Peer()
        for _ in 0..<streams { peer.open() }
        _ = peer.sent()
        return peer
    }

    static let rows: [(bytes: [UInt8], log: [String])] = [
        (
            WireFrame.goAway(3) + response(1) + response(3),
            [
                "5 reset REFUSED_STREAM unprocessed", "GOAWAY 3 NO_ERROR", "1 head 204", "1 ended", "3 head 204",
                "3 ended",
            ]
        ),
        (
            WireFrame.goAway(0),
            [1, 3, 5].map { "\($0) reset REFUSED_STREAM unprocessed" } + ["GOAWAY 0 NO_ERROR"]
        ),
        // The graceful pair (RFC 9113 §6.8).
        (
            WireFrame.goAway(0x7FFF_FFFF) + response(1) + WireFrame.goAway(3) + response(3),
            [
                "GOAWAY 2147483647 NO_ERROR", "1 head 204", "1 ended", "5 reset REFUSED_STREAM unprocessed",
                "GOAWAY 3 NO_ERROR", "3 head 204", "3 ended",
            ]
        ),
        // A second one with a larger number changes nothing that the first has ended.
        (
            WireFrame.goAway(1) + WireFrame.goAway(5) + response(1),
            [
                "3 reset REFUSED_STREAM unprocessed", "5 reset REFUSED_STREAM unprocessed", "GOAWAY 1 NO_ERROR",
                "GOAWAY 5 NO_ERROR", "1 head 204", "1 ended",
            ]
        ),
        (
            WireFrame.goAway(1, 11, "too_many_pings") + response(1),
            [
                "3 reset REFUSED_STREAM unprocessed", "5 reset REFUSED_STREAM unprocessed",
                "GOAWAY 1 ENHANCE_YOUR_CALM", "1 head 204", "1 ended",
            ]
        ),
    ]

    @Test(
        "streams above the last one are unprocessed, the others finish, and no stream is opened", .rows("H-20"),
        arguments: rows)
    func receiving(bytes: [UInt8], log: [String]) {
        for oneByOne in [false, true] {
            var peer = Self.peer(3)
            peer.receive(bytes, oneByOne: oneByOne)
            #expect(peer.log == log)
            #expect(peer.open() == .draining)
            #expect(peer.state.isDraining == true)
            #expect(peer.state.streamCount == 0)
            #expect(peer.error == nil)
            // An unprocessed stream is reset neither.
            #expect(peer.sent() == [])
        }
    }

    @Test("frames of an unprocessed stream that arrive later are dropped", .rows("H-20"))
    func lateFrames() {
        var peer = Self.peer(2)
        peer.receive(WireFrame.goAway(1) + Self.response(3))
        peer.receive(Self.response(1))
        #expect(peer.log.suffix(2) == ["1 head 204", "1 ended"])
        #expect(peer.error == nil)
        #expect(peer.sent() == [])
    }

    @Test("a server may reset each unprocessed stream after GOAWAY", .rows("H-20"))
    func lateResets() {
        var peer = HTTP2Peer(settings: [(3, 10_000)])
        for _ in 0..<3_000 { peer.open() }
        _ = peer.sent()
        peer.receive(WireFrame.goAway(0))
        for number: StreamID in 0..<3_000 { peer.receive(WireFrame.resetStream(2 * number + 1, 7)) }
        #expect(peer.error == nil)
        #expect(peer.sent() == [])
    }

    @Test("a stream above the last one that has a response was processed", .rows("H-20"))
    func contradiction() {
        var peer = Self.peer(2)
        peer.receive(WireFrame.headers(Block.status("200"), on: 3) + WireFrame.goAway(1))
        #expect(peer.log == ["3 head 200", "3 reset REFUSED_STREAM", "GOAWAY 1 NO_ERROR"])
    }

    @Test("a client that drains announces it once, and its streams finish", .rows("H-20"))
    func draining() {
        var peer = Self.peer(1)
        peer.state.drain()
        peer.state.drain()
        #expect(peer.sent() == [.goAway(Frame.GoAway(lastStream: 0, code: .noError))])
        #expect(peer.open() == .draining)
        peer.receive(Self.response(1))
        #expect(peer.log == ["1 head 204", "1 ended"])
    }

    @Test("a client that cancellations have drained announces it all the same", .rows("H-20", "H-43"))
    func drainingLater() {
        var peer = HTTP2Peer(settings: [(3, 10_000)])
        while case .opened(let slot) = peer.open() {
            peer.state.reset(slot, .cancel, at: peer.now)
            _ = peer.sent()
        }
        peer.state.drain()
        peer.state.drain()
        #expect(peer.sent() == [.goAway(Frame.GoAway(lastStream: 0, code: .noError))])
    }

    @Test("a server serves the later streams of a client that has sent GOAWAY", .rows("H-20"))
    func goAwayOfClient() {
        var peer = HTTP2Peer(.server)
        peer.receive(WireFrame.goAway(0) + WireFrame.headers(Block.request("/1"), on: 1, ends: true))
        #expect(peer.log == ["GOAWAY 0 NO_ERROR", "1 GET /1", "1 ended"])
        #expect(peer.sent() == [])
    }

    static let resets: [(code: UInt32, before: [UInt8], isUnprocessed: Bool)] = [
        (7, [], true), (13, [], true), (0, [], false), (1, [], false), (2, [], false), (8, [], false), (11, [], false),
        (255, [], false),
        // A server that has responded has acted, whatever it says.
        (7, WireFrame.headers(Block.status("200"), on: 1), false),
        (7, WireFrame.headers(Block.status("103"), on: 1), false),
    ]

    @Test("only two codes say that a request was not processed", .rows("H-21"), arguments: resets)
    func refusals(code: UInt32, before: [UInt8], isUnprocessed: Bool) {
        var peer = Self.peer(1)
        peer.receive(before)
        _ = peer.takeLog()
        peer.receive(WireFrame.resetStream(1, code))
        let name = HTTP2ErrorCode(rawValue: code)
        #expect(peer.log == ["1 reset \(name)\(isUnprocessed ? " unprocessed" : "")"])
        #expect(peer.sent() == [])
        // After ENHANCE_YOUR_CALM, the server may refuse every stream.
        let next = peer.open()
        if case .opened = next { #expect(name != .enhanceYourCalm) } else { #expect(name == .enhanceYourCalm) }
    }

    @Test("NO_ERROR after a whole response stops the sending", .rows("H-21"))
    func stopping() {
        var peer = HTTP2Peer()
        peer.open(endsStream: false)
        peer.receive(WireFrame.headers(Block.status("413"), on: 1, ends: true))
        #expect(peer.state.write(peer.slot(1), 10) == 10)
        peer.receive(WireFrame.resetStream(1, 0))
        #expect(peer.log == ["1 head 413", "1 ended", "1 reset NO_ERROR"])
        #expect(peer.state.write(peer.slot(1), 10) == 0)
        peer.state.end(peer.slot(1))
        #expect(peer.state.streamCount == 0)
    }

    @Test("before its head is sent, a stream is known not to have reached the server", .rows("H-21"))
    func unsentHead() {
        var peer = HTTP2Peer()
        peer.open()
        #expect(peer.state.hasSentHead(of: peer.slot(1)) == false)
        _ = peer.sent()
        #expect(peer.state.hasSentHead(of: peer.slot(1)) == true)
        peer.open()
        #expect(peer.state.hasSentHead(of: peer.slot(3)) == false)
        var events: [ConnectionEvent] = []
        peer.state.written(1, at: peer.now, into: &events)
        #expect(peer.state.hasSentHead(of: peer.slot(3)) == true)
    }

    @Test("after the last stream number the connection takes no more streams", .rows("H-28"))
    func lastNumbers() {
        var peer = HTTP2Peer(firstStream: 0x7FFF_FFFD)
        peer.open()
        peer.open()
        #expect(peer.slots.keys.sorted() == [0x7FFF_FFFD, 0x7FFF_FFFF])
        #expect(peer.open() == .draining)
        peer.receive(Self.response(0x7FFF_FFFF) + Self.response(0x7FFF_FFFD))
        #expect(peer.log.count == 4 && peer.error == nil && peer.state.streamCount == 0)
    }

    @Test("PUSH_PROMISE ends the connection", .rows("H-29"))
    func push() {
        var peer = Self.peer(1)
        peer.receive(WireFrame(5, flags: 4, stream: 1, [0, 0, 0, 2] + Block.request()).bytes)
        #expect(peer.error?.violation == .pushPromise)
        guard case .goAway(let goAway) = peer.sent().last else { Issue.record("no GOAWAY"); return }
        #expect(goAway.code == .protocolError)
    }

    @Test("after an error nothing is read, opened, written or reset")
    func failed() {
        var peer = Self.peer(1)
        peer.receive(WireFrame.windowUpdate(0, 0))
        let error = peer.error
        _ = peer.sent()
        peer.receive(Self.response(1))
        peer.state.reset(peer.slot(1), .cancel, at: peer.now)
        peer.state.consumed(peer.slot(1), 1_000_000, at: peer.now)
        peer.state.drain()
        peer.expire()
        #expect(peer.open() == .draining)
        #expect(peer.log == [] && peer.sent() == [])
        #expect(peer.error == error && error != nil)
    }
}
