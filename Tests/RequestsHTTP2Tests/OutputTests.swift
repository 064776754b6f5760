import Requests
import RequestsHTTP2
import TestCorpora
import TestSupport
import Testing

@Suite("Output of a connection of HTTP/2")
struct OutputTests {
    @Test("frames stay whole and in their order if the output never becomes empty", .rows("H-27"))
    func neverEmpty() {
        var random = SplitMix64(state: Mutator.seed)
        var peer = HTTP2Peer(settings: [(4, 0x7FFF_FFFF)])
        peer.open(endsStream: false)
        _ = peer.sent()
        var bytes = FrameReader.preface + WireFrame.settings()
        var expected: [Int] = []
        /// Sends all but a few bytes.
        func send(_ peer: inout HTTP2Peer, keeping kept: Int) {
            let pieces = peer.state.output.flatMap { piece in
                switch piece {
                case .frames(let slice): Array(slice)
                case .body(_, let count): [UInt8](repeating: 0, count: count)
                }
            }
            let count = max(0, pieces.count - kept)
            bytes += pieces.prefix(count)
            var events: [ConnectionEvent] = []
            peer.state.written(count, into: &events)
        }
        // Frame headers and PINGs of more than 200 KiB, so that memory is released several times.
        for number in 0..<8_000 {
            let length = Int.random(in: 1...3, using: &random)
            #expect(peer.state.write(peer.slot(1), length) == length)
            expected.append(length)
            if number.isMultiple(of: 3) { peer.receive(WireFrame.ping()) }
            if number.isMultiple(of: 5) { send(&peer, keeping: Int.random(in: 1...40, using: &random)) }
        }
        send(&peer, keeping: 0)
        let reading = FrameReading(bytes, as: .server)
        #expect(reading.error == nil)
        let lengths = reading.frames.compactMap { if case .data(let part) = $0 { part.countedBytes } else { nil } }
        let pings = reading.frames.count { if case .pingAcknowledgement = $0 { true } else { false } }
        #expect(lengths == expected)
        #expect(pings == 2_667)
        #expect(peer.state.outputCount == 0)
    }

    @Test("the first output begins the connection and the first request")
    func first() {
        var state = ConnectionState(.client, at: Deadline(nanoseconds: 0))
        var fields = OutgoingFields()
        fields.append(":method", "GET")
        let opening = state.open(fields, endsStream: true, at: Deadline(nanoseconds: 0))
        let expected =
            FrameReader.preface + WireFrame.settings([(2, 0), (4, 262_144), (6, 262_144)])
            + WireFrame.windowUpdate(0, (4 << 20) - 65_535) + WireFrame.headers([0x82], on: 1, ends: true)
        #expect(opening == .opened(StreamSlot(index: 0, stream: 1)))
        #expect(state.output == [.frames(expected[...])])
        #expect(state.outputCount == expected.count)
    }
}
