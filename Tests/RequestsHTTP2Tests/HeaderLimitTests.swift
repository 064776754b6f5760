import Requests
import RequestsHTTP2
import TestSupport
import Testing

@Suite("HTTP/2: limits of header lists")
struct HeaderLimitTests {
    private static var limits: HTTP2Limits {
        var limits = HTTP2Limits()
        limits.headBytes = 1_000
        return limits
    }

    @Test("a list above the limit fails its stream only, and the table stays in step", .rows("H-8"))
    func stream() {
        for oneByOne in [false, true] {
            var peer = HTTP2Peer(limits: Self.limits)
            peer.open()
            peer.open()
            _ = peer.sent()
            // The last field is added to the table, to which the next block refers.
            let large = Block.status("200", [("a", String(repeating: "b", count: 1_000))]) + [0x40, 1, 0x63, 1, 0x64]
            peer.receive(WireFrame.headers(large, on: 1), oneByOne: oneByOne)
            #expect(peer.takeLog() == ["1 reset PROTOCOL_ERROR"])
            #expect(peer.sent() == [.resetStream(1, .protocolError)])
            peer.receive(WireFrame.headers(Block.status("200") + [0xBE], on: 3, ends: true))
            #expect(peer.log == ["3 head 200", "3 ended"])
            #expect(peer.error == nil)
        }
    }

    @Test("the limit counts names, values and 32 bytes for each field", .rows("H-8"))
    func size() {
        // `:status: 200` counts 42 bytes, and the field 33 and its value.
        for (count, isAllowed) in [(925, true), (926, false)] {
            var peer = HTTP2Peer(limits: Self.limits)
            peer.open()
            let value = String(repeating: "b", count: count)
            peer.receive(WireFrame.headers(Block.status("200", [("a", value)]), on: 1, ends: true))
            #expect(peer.log.first == (isAllowed ? "1 head 200" : "1 reset PROTOCOL_ERROR"))
        }
    }

    @Test("a block of more than twice the limit ends the connection", .rows("H-8"))
    func connection() {
        var peer = HTTP2Peer(limits: Self.limits)
        peer.open()
        let value = String(repeating: "b", count: 5_000)
        peer.receive(WireFrame.headers(Block.status("200", [("a", value)]), on: 1, ends: true))
        #expect(peer.error?.violation == .headerBlockTooLarge)
        #expect(peer.error?.code == .enhanceYourCalm)
    }

    @Test("interim responses count together", .rows("H-8", "H-12"))
    func interims() {
        var peer = HTTP2Peer(limits: Self.limits)
        peer.open()
        let interim = WireFrame.headers(Block.status("103", [("a", String(repeating: "b", count: 399))]), on: 1)
        peer.receive(interim + interim)
        #expect(peer.log == ["1 interim 103", "1 interim 103"])
        peer.receive(interim)
        #expect(peer.log.last == "1 reset PROTOCOL_ERROR")
    }

    @Test("a request above the limit of the peer is not sent", .rows("H-8"))
    func sending() {
        // The four pseudo-header fields count 42 + 44 + 51 + 38 bytes.
        var peer = HTTP2Peer(settings: [(6, 174)])
        #expect(peer.open() == .headTooLarge(limit: 174))
        #expect(peer.sent() == [])
        peer.receive(WireFrame.settings([(6, 175)]))
        guard case .opened(let slot) = peer.open() else { Issue.record("not opened"); return }
        #expect(slot.stream == 1)
    }

    @Test("the encoder respects the table sizes of the peer from the next block on", .rows("H-7"))
    func tableSizes() {
        var peer = HTTP2Peer()
        peer.receive(WireFrame.settings([(1, 0), (1, 100), (1, 4_096)]))
        peer.open(header: [("x-a", "b")])
        peer.open(header: [("x-a", "b")])
        let output = peer.state.output().compactMap { if case .frames(let slice) = $0 { Array(slice) } else { nil } }
        // Two updates, to 0 and to 4,096, precede the first field (RFC 7541 §4.2).
        let bytes = output.flatMap { $0 }.dropFirst(WireFrame.settingsAcknowledgement.count + 9)
        #expect(Array(bytes.prefix(4)) == [0x20, 0x3F, 0xE1, 0x1F])
    }
}
