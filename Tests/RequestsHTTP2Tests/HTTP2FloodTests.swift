import Requests
import RequestsHTTP2
import TestSupport
import Testing

@Suite("HTTP/2: floods")
struct HTTP2FloodTests {
    /// A frame that a hostile server repeats, and the number that is tolerated.
    struct Flood: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let frame: @Sendable (Int) -> [UInt8]
        let tolerated: Int
        let violation: HTTP2Violation

        init(
            _ name: String, tolerated: Int, _ violation: HTTP2Violation, _ frame: @escaping @Sendable (Int) -> [UInt8]
        ) {
            testDescription = name
            (self.tolerated, self.violation, self.frame) = (tolerated, violation, frame)
        }
    }

    static let floods = [
        Flood("PING (CVE-2019-9512)", tolerated: 1_000, .manyAcknowledgements) { _ in WireFrame.ping() },
        Flood("SETTINGS (CVE-2019-9515)", tolerated: 1_000, .manyAcknowledgements) { _ in WireFrame.settings([(3, 100)])
        },
        Flood("acknowledgements", tolerated: 1_000, .manyEmptyFrames) { _ in WireFrame.ping(isAcknowledgement: true) },
        Flood("acknowledgements of SETTINGS", tolerated: 1_001, .manyEmptyFrames) { _ in
            WireFrame.settingsAcknowledgement
        },
        Flood("empty DATA (CVE-2019-9518)", tolerated: 1_000, .manyEmptyFrames) { _ in WireFrame.data([], on: 1) },
        Flood("padding (CVE-2019-9518)", tolerated: 1_000, .manyEmptyFrames) { _ in
            WireFrame.paddedData([], padding: 3, on: 1)
        },
        Flood("PRIORITY (CVE-2019-9513)", tolerated: 1_000, .manyEmptyFrames) { _ in
            WireFrame(2, stream: 7, [0, 0, 0, 0, 1]).bytes
        },
        Flood("unknown frames", tolerated: 1_000, .manyEmptyFrames) { _ in WireFrame(0xBB).bytes },
        Flood("small windows (CVE-2019-9511)", tolerated: 1_000, .manyEmptyFrames) { _ in WireFrame.windowUpdate(0, 1)
        },
        Flood("windows of a stream (CVE-2019-9511)", tolerated: 1_000, .manyEmptyFrames) { _ in
            WireFrame.windowUpdate(1, 1)
        },
        Flood("GOAWAY", tolerated: 1_000, .manyEmptyFrames) { _ in WireFrame.goAway(0x7FFF_FFFF) },
        // Four may be under way to stream 5, which was reset by us.
        Flood("resets of an ended stream", tolerated: 1_004, .manyEmptyFrames) { _ in WireFrame.resetStream(3) },
        Flood("empty DATA of a stream that was reset", tolerated: 1_000, .manyEmptyFrames) { _ in
            WireFrame.data([], on: 5)
        },
        Flood("heads after a reset (CVE-2019-9514)", tolerated: 100, .manyStreamErrors) { _ in
            WireFrame.headers(Block.status("200"), on: 3)
        },
        Flood("malformed responses (CVE-2019-9514)", tolerated: 100, .manyStreamErrors) { number in
            WireFrame.headers(Block.status("xyz"), on: StreamID(2 * number + 7))
        },
        Flood("empty fields (CVE-2019-9516)", tolerated: 100, .manyStreamErrors) { number in
            WireFrame.headers(Block.status("200", [("", ""), ("", "")]), on: StreamID(2 * number + 7))
        },
    ]

    @Test("a flood ends the connection with ENHANCE_YOUR_CALM, in bounded memory", .rows("H-27"), arguments: floods)
    func ends(flood: Flood) {
        var peer = HTTP2Peer(settings: [(3, 10_000)])
        for _ in 0..<3 { peer.open() }
        // Stream 1 has a body, 3 was reset by the server, and 5 by us; the malformed responses have streams, too.
        peer.receive(WireFrame.headers(Block.status("200"), on: 1) + WireFrame.resetStream(3))
        peer.state.reset(peer.slot(5), .cancel, at: peer.now)
        for _ in 0...100 { peer.open() }
        _ = peer.sent()
        for number in 0..<flood.tolerated { peer.receive(flood.frame(number)) }
        #expect(peer.error == nil)
        #expect(peer.state.outputCount <= 64 * 1024)
        peer.receive(flood.frame(flood.tolerated))
        #expect(peer.error?.violation == flood.violation)
        #expect(peer.error?.code == .enhanceYourCalm)
        guard case .goAway(let goAway) = peer.sent().last else { Issue.record("no GOAWAY"); return }
        #expect(goAway.code == .enhanceYourCalm)
    }

    // CVE-2024-27316, CVE-2024-28182, CVE-2024-30255, CVE-2024-27983 and CVE-2023-45288; empty frames: CVE-2019-9518.
    @Test("CONTINUATION frames, however small, end the connection at the ninth", .rows("H-27"))
    func continuations() {
        for fragment in [[], [0x88], [UInt8](repeating: 0x88, count: 16_384)] as [[UInt8]] {
            var peer = HTTP2Peer()
            peer.open()
            peer.receive(WireFrame.headers([], on: 1, endsBlock: false))
            for _ in 0..<8 { peer.receive(WireFrame.continuation(fragment, on: 1, endsBlock: false)) }
            #expect(peer.error == nil)
            peer.receive(WireFrame.continuation(fragment, on: 1, endsBlock: false))
            #expect(peer.error?.violation == .manyContinuations)
            #expect(peer.error?.code == .enhanceYourCalm)
        }
    }

    @Test("a download with empty frames between full ones is not a flood", .rows("H-27"))
    func download() {
        var peer = HTTP2Peer()
        peer.open()
        peer.receive(WireFrame.headers(Block.status("200"), on: 1))
        for _ in 0..<3_000 { peer.receive(WireFrame.data([], on: 1) + WireFrame.data([1], on: 1)) }
        #expect(peer.error == nil)
    }

    @Test("two window updates for each piece of an upload are not a flood", .rows("H-27"))
    func upload() {
        var peer = HTTP2Peer()
        peer.open(endsStream: false)
        for _ in 0..<3_000 {
            #expect(peer.state.write(peer.slot(1), 2) == 2)
            _ = peer.sent()
            peer.receive(WireFrame.windowUpdate(1, 2) + WireFrame.windowUpdate(0, 2))
        }
        #expect(peer.error == nil)
    }

    @Test("acknowledgements that were sent no longer count", .rows("H-27"))
    func sentAcknowledgements() {
        var peer = HTTP2Peer()
        for _ in 0..<3_000 {
            peer.receive(WireFrame.ping() + WireFrame.settings())
            _ = peer.sent()
        }
        #expect(peer.error == nil)
    }

    // MadeYouReset, CVE-2025-8671.
    @Test("requests that make a server reset their streams end the connection", .rows("H-27"))
    func madeResets() {
        var peer = HTTP2Peer(.server)
        var number: StreamID = 0
        func request(_ peer: inout HTTP2Peer) {
            let stream = 2 * number + 1
            peer.receive(WireFrame.headers(Block.request(), on: stream, ends: true) + WireFrame.windowUpdate(stream, 0))
            number += 1
            _ = peer.sent()
        }
        while number < 100 { request(&peer) }
        #expect(peer.error == nil)
        request(&peer)
        #expect(peer.error?.violation == .manyStreamErrors)
        #expect(peer.error?.code == .enhanceYourCalm)
    }

    // MadeYouReset, CVE-2025-8671.
    @Test("streams that a server had to reset count as those that its client has reset", .rows("H-27", "H-43"))
    func countedResets() {
        var limits = HTTP2Limits()
        limits.resets = (burst: 10, perSecond: 1)
        var peer = HTTP2Peer(.server, limits: limits)
        var response = OutgoingFields()
        response.append(":status", "204")
        for number: StreamID in 0..<20 {
            // Complete responses between them restore only the other count.
            peer.receive(WireFrame.headers(Block.request(), on: 4 * number + 1, ends: true))
            peer.state.respond(to: peer.slot(4 * number + 1), response, endsStream: true)
            peer.receive(WireFrame.headers(Block.request(), on: 4 * number + 3, ends: true))
            peer.receive(WireFrame.windowUpdate(4 * number + 3, 0))
            _ = peer.sent()
            #expect((peer.error != nil) == (number >= 9))
        }
        #expect(peer.error?.violation == .manyResets)
    }

    // CVE-2019-9514.
    @Test("streams above the limit, or after the end was announced, are refused within a budget", .rows("H-27"))
    func refusals() {
        for isDraining in [false, true] {
            var limits = HTTP2Limits()
            limits.concurrentStreams = 1
            var peer = HTTP2Peer(.server, limits: limits)
            peer.receive(WireFrame.headers(Block.request(), on: 1, ends: true))
            if isDraining { peer.state.drain() }
            for number: StreamID in 1..<1_000 {
                peer.receive(WireFrame.headers(Block.request(), on: 2 * number + 1, ends: true))
            }
            #expect(peer.error == nil)
            #expect(peer.state.outputCount < 20_000)
            peer.receive(WireFrame.headers(Block.request(), on: 2_001, ends: true))
            #expect(peer.error?.violation == .manyResets)
        }
    }

    @Test("complete responses restore the number of streams that may fail", .rows("H-27"))
    func restoredErrors() {
        var peer = HTTP2Peer()
        for number: StreamID in 0..<400 {
            peer.open()
            let status = number.isMultiple(of: 2) ? "xyz" : "204"
            peer.receive(WireFrame.headers(Block.status(status), on: 2 * number + 1, ends: true))
            _ = peer.sent()
        }
        #expect(peer.error == nil)
        #expect(peer.log.count == 600)
    }

    @Test("streams that we cancel never count as errors of the peer", .rows("H-27"))
    func ownCancellations() {
        var peer = HTTP2Peer(settings: [(3, 10_000)])
        for _ in 0..<400 {
            guard case .opened(let slot) = peer.open() else { Issue.record("full"); return }
            peer.state.reset(slot, .cancel, at: peer.now)
            _ = peer.sent()
            peer.receive(WireFrame.headers(Block.status("xyz"), on: slot.stream, ends: true))
        }
        #expect(peer.error == nil)
    }

    @Test("frames under way to cancelled streams are not a flood", .rows("H-27", "H-24"))
    func cancelledDownloads() {
        var peer = HTTP2Peer()
        for stream: StreamID in [1, 3, 5] {
            peer.open()
            peer.receive(WireFrame.headers(Block.status("200"), on: stream))
            peer.state.reset(peer.slot(stream), .cancel, at: peer.now)
            // 16 MiB in frames of 4 KiB.
            let frame = WireFrame.data([UInt8](repeating: 1, count: 4_096), on: stream)
            for _ in 0..<4_096 { peer.receive(frame) }
            _ = peer.sent()
        }
        #expect(peer.error == nil)
    }

    @Test("heads on a stream that was reset are a flood, beyond those that may be under way", .rows("H-27"))
    func lateHeads() {
        var peer = HTTP2Peer(settings: [(3, 10_000)])
        // Each cancelled stream has an interim head, the head and trailers under way.
        for number: StreamID in 0..<400 {
            peer.open()
            let stream = 2 * number + 1
            peer.state.reset(peer.slot(stream), .cancel, at: peer.now)
            _ = peer.sent()
            let block = Block.status("103")
            for _ in 0..<3 { peer.receive(WireFrame.headers(block, on: stream)) }
        }
        #expect(peer.error == nil)
        // 400 more would be allowed for RST_STREAM, and 1,000 are in the budget.
        for _ in 0..<1_400 { peer.receive(WireFrame.headers(Block.status("103"), on: 1)) }
        #expect(peer.error == nil)
        peer.receive(WireFrame.headers(Block.status("103"), on: 1))
        #expect(peer.error?.violation == .manyEmptyFrames)
    }

    @Test("a frame of a stream that the server has reset is one error, however it arrives", .rows("H-27"))
    func partsAfterReset() {
        let content = [UInt8](repeating: 1, count: 500)
        for frame in [WireFrame.data(content, on: 1), WireFrame.paddedData([], padding: 200, on: 1)] {
            var peer = HTTP2Peer()
            peer.open()
            _ = peer.sent()
            peer.receive(WireFrame.resetStream(1))
            peer.receive(frame, oneByOne: true)
            #expect(peer.sent() == [.resetStream(1, .streamClosed)])
            #expect(peer.error == nil)
        }
    }

    @Test("a PING is acknowledged ahead of data, and SETTINGS in their order", .rows("H-27"))
    func urgency() {
        var peer = HTTP2Peer(settings: [(4, 1_000_000)])
        peer.open(endsStream: false)
        _ = peer.sent()
        #expect(peer.state.write(peer.slot(1), 10_000) == 10_000)
        #expect(peer.state.write(peer.slot(1), 20_000) == 16_384)
        peer.receive(WireFrame.settings() + WireFrame.ping())
        let kinds = peer.sent().map { frame in
            switch frame {
            case .data: "DATA"
            case .pingAcknowledgement: "PING"
            case .settingsAcknowledgement: "SETTINGS"
            default: "\(frame)"
            }
        }
        #expect(kinds == ["PING", "DATA", "DATA", "SETTINGS"])
    }

    @Test("a PING does not interrupt a frame that was written in part", .rows("H-27"))
    func begunFrame() {
        for written in [1, 8, 9, 10, 100, 10_008, 10_009] {
            var peer = HTTP2Peer()
            peer.open(endsStream: false)
            _ = peer.sent()
            #expect(peer.state.write(peer.slot(1), 10_000) == 10_000)
            #expect(peer.state.write(peer.slot(1), 5) == 5)
            var bytes = Self.bytes(peer.state.output())
            var events: [ConnectionEvent] = []
            bytes.removeLast(bytes.count - written)
            peer.state.written(written, at: peer.now, into: &events)
            peer.receive(WireFrame.ping())
            bytes += Self.bytes(peer.state.output())
            #expect(peer.state.outputCount == bytes.count - written)
            let reading = FrameReading(FrameReader.preface + WireFrame.settings() + bytes, as: .server)
            let kinds = reading.frames.dropFirst().map { if case .data(let part) = $0 { part.countedBytes } else { 0 } }
            #expect(kinds == [10_000, 0, 5], "\(written)")
            #expect(reading.error == nil)
        }
    }

    private static func bytes(_ output: [OutputPiece]) -> [UInt8] {
        output.flatMap { piece in
            switch piece {
            case .frames(let slice): Array(slice)
            case .body(_, let count): [UInt8](repeating: 0, count: count)
            }
        }
    }
}
