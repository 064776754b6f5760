import Requests
import RequestsHTTP2
import TestCorpora
import TestSupport
import Testing

@Suite("HTTP/2: hostile bytes")
struct HostileBytesTests {
    private static let response =
        WireFrame.headers(Block.status("200", [("content-length", "6")]), on: 1) + WireFrame.data([1, 2, 3], on: 1)
        + WireFrame.paddedData([4, 5, 6], padding: 3, on: 1, ends: true)

    private static let sessions: [[UInt8]] = [
        response + WireFrame.ping() + WireFrame.settings([(1, 0), (3, 7), (4, 100_000)]),
        WireFrame.headers(Block.status("103"), on: 1) + response
            + WireFrame.headers(Block.status("204"), on: 3, ends: true) + WireFrame.goAway(5, 0, "x"),
        WireFrame.headers([0x88, 0x40], on: 1, endsBlock: false)
            + WireFrame.continuation([1, 0x61, 1, 0x62], on: 1, endsBlock: true) + WireFrame.data([9], on: 1)
            + WireFrame.headers(Block.of([("x", "y")]), on: 1, ends: true),
        WireFrame.windowUpdate(0, 70_000) + WireFrame.windowUpdate(5, 70_000) + WireFrame.resetStream(3, 7)
            + WireFrame(2, stream: 1, [0, 0, 0, 0, 1]).bytes + WireFrame.settingsAcknowledgement,
    ]

    private static let requests: [[UInt8]] = [
        WireFrame.headers(Block.request("/", [("cookie", "a=1"), ("cookie", "b=2")]), on: 1, ends: true)
            + WireFrame.headers(Block.request("/x", method: "POST", []), on: 3)
            + WireFrame.data([1, 2], on: 3, ends: true)
            + WireFrame.resetStream(1) + WireFrame.ping(),
        WireFrame.headers([0x82, 0x86, 0x84, 0x41], on: 1, endsBlock: false)
            + WireFrame.continuation([1, 0x61], on: 1, endsBlock: true) + WireFrame.windowUpdate(1, 5)
            + WireFrame.data([1], on: 1) + WireFrame.headers(Block.of([("x", "y")]), on: 1, ends: true),
    ]

    private static let pieces: [[UInt8]] =
        [
            [0], [0xFF], [0, 0, 0], [0xFF, 0xFF, 0xFF], [0x80, 0, 0, 0], [0x7F, 0xFF, 0xFF, 0xFF], Block.status("200"),
        ]
        + (0...10).map { WireFrame($0, flags: 0x2D, stream: UInt32($0 % 4), [0, 0, 0, 0, 1, 0, 0, 0, 0]).bytes }
        + (0...10).map { WireFrame($0, stream: 1).bytes } + [WireFrame.data([], on: 1), WireFrame.settings([(4, 0)])]

    /// What a connection makes of bytes: its events without data, its error, and the memory that waits.
    private struct Outcome: Equatable {
        var log: [String]
        var error: HTTP2Error?
    }

    private static func outcome(_ bytes: [UInt8], as role: HTTP2Role, oneByOne: Bool) -> Outcome {
        var peer = HTTP2Peer(role)
        if role == .client {
            peer.open()
            peer.open(endsStream: false)
            peer.open(isHead: true)
            #expect(peer.state.write(peer.slot(3), 30_000) == 16_384)
        }
        peer.receive(bytes, oneByOne: oneByOne)
        // What is queued is bounded by what arrived: the largest response to a byte is an acknowledgement.
        #expect(peer.state.outputCount <= 18_000 + 17 * bytes.count)
        // The other role can read all of it: `sent` requires that.
        _ = peer.sent()
        if role == .server {
            for slot in peer.slots.values {
                peer.state.respond(to: slot, OutgoingFields(status: 200, .empty))
                _ = peer.state.write(slot, 100_000)
                peer.state.end(slot)
            }
        }
        for stream: StreamID in [1, 3, 5] {
            peer.state.consumed(peer.slot(stream), 1_000_000, at: peer.now)
            peer.state.reset(peer.slot(stream), .cancel, at: peer.now)
        }
        peer.pass(.seconds(60))
        peer.expire()
        _ = peer.sent()
        #expect(peer.state.outputCount == 0)
        return Outcome(log: peer.log.filter { !$0.hasSuffix("data") }, error: peer.error)
    }

    @Test(
        "mutated sessions never trap, have one result however they arrive, and leave readable output", .rows("H-37"),
        arguments: [HTTP2Role.client, .server])
    func mutations(role: HTTP2Role) {
        let corpus = role == .client ? Self.sessions : Self.requests
        var mutator = Mutator(seed: Mutator.seed, corpus: corpus, pieces: Self.pieces)
        for _ in 0..<Mutator.inputs / 5 {
            let bytes = mutator.next()
            let whole = Self.outcome(bytes, as: role, oneByOne: false)
            #expect(whole == Self.outcome(bytes, as: role, oneByOne: true), "\(bytes)")
        }
    }

    @Test("random frames never trap", .rows("H-37"), arguments: [HTTP2Role.client, .server])
    func randomFrames(role: HTTP2Role) {
        var random = SplitMix64(state: Mutator.seed)
        for _ in 0..<Mutator.inputs / 10 {
            var bytes: [UInt8] = []
            for _ in 0..<Int.random(in: 1...6, using: &random) {
                let length = [0, 1, 4, 5, 6, 8, 9, 40].randomElement(using: &random) ?? 0
                let payload = (0..<length).map { _ in UInt8.random(in: 0...255, using: &random) }
                bytes +=
                    WireFrame(
                        UInt8.random(in: 0...11, using: &random), flags: UInt8.random(in: 0...255, using: &random),
                        stream: UInt32.random(in: 0...7, using: &random), payload
                    ).bytes
            }
            let whole = Self.outcome(bytes, as: role, oneByOne: false)
            #expect(whole == Self.outcome(bytes, as: role, oneByOne: true), "\(bytes)")
        }
    }

    @Test("a server that fills every window keeps no more than the windows", .rows("H-37", "H-27"))
    func memory() {
        var limits = HTTP2Limits()
        limits.streamWindow = 65_535
        var peer = HTTP2Peer(limits: limits, settings: [(3, 1_000)])
        for _ in 0..<200 { peer.open() }
        _ = peer.sent()
        for number: StreamID in 0..<200 {
            let stream = 2 * number + 1
            peer.receive(WireFrame.headers(Block.status("200"), on: stream))
            for _ in 0..<5 { peer.receive(WireFrame.data([UInt8](repeating: 1, count: 16_384), on: stream)) }
            _ = peer.sent()
        }
        // The fourth frame exceeds the window, so that its stream fails; from the 101st on, so does the connection.
        #expect(peer.error?.violation == .manyStreamErrors)
        #expect(peer.body.count <= 101 * 65_535)
    }
}
