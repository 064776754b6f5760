import Requests
import RequestsHTTP2
import TestCorpora
import TestSupport
import Testing

@Suite("HTTP/2: output")
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
            let pieces = peer.state.output().flatMap { piece in
                switch piece {
                case .frames(let slice): Array(slice)
                case .body(_, let count): [UInt8](repeating: 0, count: count)
                }
            }
            let count = max(0, pieces.count - kept)
            bytes += pieces.prefix(count)
            var events: [ConnectionEvent] = []
            peer.state.written(count, at: peer.now, into: &events)
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

    @Test("a PING is acknowledged after what is being sent, and before all else", .rows("H-27"))
    func beingSent() {
        for written in [0, 1, 9, 5_000] {
            var peer = HTTP2Peer()
            peer.open(endsStream: false)
            _ = peer.sent()
            #expect(peer.state.write(peer.slot(1), 10_000) == 10_000)
            let first = Self.bytes(peer.state.output())
            peer.receive(WireFrame.ping())
            #expect(peer.state.write(peer.slot(1), 5) == 5)
            var events: [ConnectionEvent] = []
            peer.state.written(written, at: peer.now, into: &events)
            let rest = Self.bytes(peer.state.output())
            #expect(rest.starts(with: first.dropFirst(written)), "\(written)")
            let bytes = FrameReader.preface + WireFrame.settings() + first.prefix(written) + rest
            let reading = FrameReading(bytes, as: .server)
            let kinds = reading.frames.dropFirst().map { if case .data(let part) = $0 { part.countedBytes } else { 0 } }
            #expect(reading.error == nil)
            #expect(kinds == [10_000, 0, 5], "\(written)")
            // What was handed out and not sent is not being sent any more.
            peer.state.written(0, at: peer.now, into: &events)
            peer.receive(WireFrame.ping([8, 7, 6, 5, 4, 3, 2, 1]))
            let last = Self.bytes(peer.state.output())
            let acknowledgement = WireFrame.ping([8, 7, 6, 5, 4, 3, 2, 1], isAcknowledgement: true)
            #expect(last.starts(with: acknowledgement) == (written == 0), "\(written)")
        }
    }

    @Test("a PING before the first output is acknowledged after the preface and SETTINGS", .rows("H-27"))
    func early() throws {
        for role in [HTTP2Role.client, .server] {
            for isHandedOut in [false, true] {
                let now = Deadline(nanoseconds: 0)
                var state = ConnectionState(role, at: now)
                var events: [ConnectionEvent] = []
                if isHandedOut {
                    _ = state.output()
                    state.written(0, at: now, into: &events)
                }
                let bytes = (role == .server ? FrameReader.preface : []) + WireFrame.settings() + WireFrame.ping()
                try state.receive(bytes.span, at: now, into: &events)
                let reading = FrameReading(Self.bytes(state.output()), as: role == .client ? .server : .client)
                #expect(reading.error == nil)
                guard case .settings = reading.frames.first else { Issue.record("no SETTINGS"); continue }
                #expect(reading.frames.contains(.pingAcknowledgement([1, 2, 3, 4, 5, 6, 7, 8])))
            }
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

    // CVE-2019-9511.
    @Test("at most 64 small pieces of a body are queued at once", .rows("H-27"))
    func smallPieces() {
        var peer = HTTP2Peer(settings: [(4, 1)])
        peer.open(endsStream: false)
        var pieces = 0
        while pieces < 1_000, peer.state.write(peer.slot(1), 1) == 1 {
            pieces += 1
            peer.receive(WireFrame.windowUpdate(1, 1))
        }
        #expect(pieces == 64)
        _ = peer.sent()
        #expect(peer.log == ["1 capacity"])
        #expect(peer.state.write(peer.slot(1), 1) == 1)
    }

    @Test("the first output begins the connection and the first request", .rows("H-1"))
    func first() {
        var state = ConnectionState(.client, at: Deadline(nanoseconds: 0))
        var fields = OutgoingFields()
        fields.append(":method", "GET")
        let opening = state.open(fields, endsStream: true, at: Deadline(nanoseconds: 0))
        let expected =
            FrameReader.preface + WireFrame.settings([(2, 0), (4, 262_144), (6, 262_144)])
            + WireFrame.windowUpdate(0, (4 << 20) - 65_535) + WireFrame.headers([0x82], on: 1, ends: true)
        #expect(opening == .opened(StreamSlot(index: 0, stream: 1)))
        #expect(state.output() == [.frames(expected[...])])
        #expect(state.outputCount == expected.count)
    }
}
