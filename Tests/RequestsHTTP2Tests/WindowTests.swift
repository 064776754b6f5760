import Requests
import RequestsHTTP2
import TestCorpora
import TestSupport
import Testing

@Suite("HTTP/2: flow control")
struct WindowTests {
    private static func data(_ frames: [Frame]) -> [Int] {
        frames.compactMap { if case .data(let part) = $0 { part.countedBytes } else { nil } }
    }

    // MARK: What we send

    // The last two rows test CVE-2019-9517.
    @Test("a write is limited by each window, by the size of a frame, and by what is queued", .rows("H-15", "H-27"))
    func writing() {
        // The window of the stream, an addition to that of the connection, and what can be queued.
        let rows: [(stream: UInt32, connection: UInt32, allowed: [Int])] = [
            (0, 0, []), (1, 0, [1]), (16_384, 0, [16_384]), (16_385, 0, [16_384, 1]),
            (1_000_000, 0, [16_384, 16_384, 16_384, 16_383]), (1_000_000, 1_000_000, [16_384, 16_384, 16_384, 16_384]),
        ]
        for row in rows {
            var peer = HTTP2Peer(settings: [(4, row.stream)])
            peer.open(endsStream: false)
            if row.connection > 0 { peer.receive(WireFrame.windowUpdate(0, row.connection)) }
            var allowed: [Int] = []
            while case let count = peer.state.write(peer.slot(1), 500_000), count > 0 { allowed.append(count) }
            #expect(allowed == row.allowed)
            #expect(Self.data(peer.sent()) == row.allowed)
        }
    }

    @Test("a window may become negative, and writing continues when it is positive again", .rows("H-15"))
    func negative() {
        var peer = HTTP2Peer(settings: [(4, 100)])
        peer.open(endsStream: false)
        #expect(peer.state.write(peer.slot(1), 80) == 80)
        peer.receive(WireFrame.settings([(4, 30)]))
        #expect(peer.state.write(peer.slot(1), 10) == 0)
        peer.receive(WireFrame.windowUpdate(1, 50))
        #expect(peer.log == [])
        peer.receive(WireFrame.windowUpdate(1, 1))
        #expect(peer.log == ["1 capacity"])
        #expect(peer.state.write(peer.slot(1), 10) == 1)
        // All that it was given is written, so that it waits for nothing.
        _ = peer.takeLog()
        peer.receive(WireFrame.settings([(4, 40)]))
        #expect(peer.log == [])
        #expect(peer.state.write(peer.slot(1), 11) == 10)
        #expect(peer.state.write(peer.slot(1), 1) == 0)
        peer.receive(WireFrame.settings([(4, 41)]))
        #expect(peer.log == ["1 capacity"])
    }

    @Test("SETTINGS open the windows of all streams", .rows("H-15"))
    func opening() {
        var peer = HTTP2Peer(settings: [(4, 0)])
        for stream: StreamID in [1, 3] {
            peer.open(endsStream: false)
            #expect(peer.state.write(peer.slot(stream), 10) == 0)
        }
        peer.receive(WireFrame.settings([(4, 5)]))
        #expect(peer.log.sorted() == ["1 capacity", "3 capacity"])
        #expect(peer.state.write(peer.slot(1), 10) == 5)
        #expect(peer.state.write(peer.slot(3), 10) == 5)
    }

    @Test("a window above 2^31 - 1 is an error of what it belongs to", .rows("H-15"))
    func overflow() {
        let rows: [(bytes: [UInt8], error: HTTP2Violation?, sent: Frame?)] = [
            (WireFrame.windowUpdate(0, 0x7FFF_FFFF - 65_535), nil, nil),
            (WireFrame.windowUpdate(0, 0x7FFF_FFFF - 65_534), .windowOverflow, nil),
            (WireFrame.windowUpdate(1, 0x7FFF_FFFF - 65_535), nil, nil),
            (WireFrame.windowUpdate(1, 0x7FFF_FFFF - 65_534), nil, .resetStream(1, .flowControlError)),
            (
                WireFrame.windowUpdate(1, 0x7FFF_FFFF - 65_535) + WireFrame.settings([(4, 65_536)]), .windowOverflow,
                nil
            ),
        ]
        for row in rows {
            var peer = HTTP2Peer()
            peer.open(endsStream: false)
            _ = peer.sent()
            peer.receive(row.bytes)
            #expect(peer.error?.violation == row.error)
            if row.error == nil { #expect(peer.sent() == (row.sent.map { [$0] } ?? [])) }
        }
    }

    // MARK: What we receive

    /// The increments of the WINDOW_UPDATE frames of a stream, or of the connection (0).
    private static func increments(_ frames: [Frame], of stream: StreamID) -> [Int] {
        frames.compactMap { frame in
            if case .windowUpdate(stream, let increment) = frame { increment } else { nil }
        }
    }

    private static var small: HTTP2Limits {
        var limits = HTTP2Limits()
        (limits.streamWindow, limits.connectionWindow) = (65_535, 65_535)
        return limits
    }

    private static func head(_ stream: StreamID) -> [UInt8] {
        WireFrame.headers(Block.status("200"), on: stream)
    }

    private static func body(_ count: Int, on stream: StreamID) -> [UInt8] {
        WireFrame.data([UInt8](repeating: 1, count: count), on: stream)
    }

    @Test("data above the window of a stream fails the stream", .rows("H-15"))
    func exceeded() {
        for oneByOne in [false, true] {
            var peer = HTTP2Peer(limits: Self.small)
            peer.open()
            _ = peer.sent()
            peer.receive(Self.head(1) + (0..<4).flatMap { _ in Self.body(16_383, on: 1) })
            peer.receive(Self.body(4, on: 1), oneByOne: oneByOne)
            #expect(peer.log == ["1 head 200", "1 data", "1 reset FLOW_CONTROL_ERROR"])
            #expect(peer.body.count == 65_532)
            #expect(peer.error == nil)
        }
        var peer = HTTP2Peer(limits: Self.small)
        peer.open()
        peer.receive(Self.head(1) + (0..<4).flatMap { _ in Self.body(16_383, on: 1) } + Self.body(3, on: 1))
        #expect(peer.log == ["1 head 200", "1 data"])
    }

    @Test("the connection's credit is returned on receipt, the stream's when the consumer takes", .rows("H-15"))
    func credit() {
        var peer = HTTP2Peer(limits: Self.small)
        peer.open()
        _ = peer.sent()
        peer.receive(Self.head(1) + Self.body(16_384, on: 1) + Self.body(16_384, on: 1))
        #expect(peer.sent() == [.windowUpdate(0, increment: 32_768)])
        peer.state.consumed(peer.slot(1), 32_766, at: peer.now)
        #expect(peer.sent() == [])
        peer.state.consumed(peer.slot(1), 1, at: peer.now)
        #expect(peer.sent() == [.windowUpdate(1, increment: 32_767)])
        // Bytes that were never received cannot be returned.
        peer.state.consumed(peer.slot(1), .max, at: peer.now)
        #expect(peer.sent() == [])
        // A stream whose message has ended needs no credit.
        peer.receive(WireFrame.data([1], on: 1, ends: true))
        peer.state.consumed(peer.slot(1), 40_000, at: peer.now)
        #expect(peer.sent() == [])
    }

    @Test("padding, and data of streams that have ended or were reset, is returned at once", .rows("H-16"))
    func drops() {
        var peer = HTTP2Peer(limits: Self.small)
        for _ in 0..<3 { peer.open() }
        peer.receive(Self.head(1) + Self.head(3) + Self.head(5))
        _ = peer.sent()
        var (received, returned) = (0, 0)
        func receive(_ frame: [UInt8], _ peer: inout HTTP2Peer) -> [Frame] {
            peer.receive(frame)
            received += frame.count - 9
            let frames = peer.sent()
            returned += Self.increments(frames, of: 0).reduce(0, +)
            // Less than half of the window may wait for an update.
            #expect(received - returned == 65_535 - peer.state.receiveCredit)
            #expect(received - returned < 32_767)
            return frames
        }
        // 129 frames of one byte, one byte for the length of the padding and 254 of padding.
        let padded = (0..<129).flatMap { _ in receive(WireFrame.paddedData([1], padding: 254, on: 1), &peer) }
        #expect(Self.increments(padded, of: 1) == [129 * 255])
        peer.state.reset(peer.slot(3), .cancel, at: peer.now)
        for _ in 0..<4 { _ = receive(Self.body(10_000, on: 3), &peer) }
        // The peer resets stream 5, and sends on it all the same.
        peer.receive(WireFrame.resetStream(5))
        for _ in 0..<4 { _ = receive(Self.body(10_000, on: 5), &peer) }
        #expect(received == 129 * 256 + 80_000)
        #expect(peer.error == nil)
    }

    @Test(
        "streams that ended or were cancelled release their share of the limit for all windows", .rows("H-16"),
        arguments: [false, true])
    func returnedParts(isCancelled: Bool) {
        // 300 windows of 256 KiB exceed 64 MiB, the limit for all streams together.
        var peer = HTTP2Peer(settings: [(3, 1_000)])
        for number in 0..<300 {
            peer.open()
            let stream = StreamID(2 * number + 1)
            if isCancelled {
                peer.state.reset(peer.slot(stream), .cancel, at: peer.now)
            } else {
                peer.receive(WireFrame.headers(Block.status("204"), on: stream, ends: true))
            }
        }
        peer.open()
        peer.receive(Self.head(601))
        _ = peer.sent()
        #expect(peer.state.widen(peer.slot(601), upTo: .max, at: peer.now) == nil)
        #expect(Self.increments(peer.sent(), of: 601) == [786_432])
    }

    @Test("after 10,000 random cancellations the windows of both sides are whole", .rows("H-16"))
    func cancellations() {
        var limits = HTTP2Limits()
        limits.resets = (burst: 1_000_000, perSecond: 1_000)
        (limits.streamWindow, limits.connectionWindow) = (65_535, 65_535)
        var cancelled = 0
        var seed: UInt64 = 1
        while cancelled < 10_000 {
            seed += 1
            var pair = ConnectionPair(seed: seed, client: limits, server: limits)
            // Fewer than those after which a connection takes no more streams.
            for _ in 0..<450 {
                if pair.client.open(at: pair.now) { cancelled += 1 }
                guard let stream = pair.client.streams.keys.max() else { continue }
                pair.client.write(stream, Int.random(in: 0...4_000, using: &pair.random))
                pair.transfer()
                pair.server.respond(stream)
                pair.server.respond(stream)
                pair.server.respond(stream)
                pair.server.write(stream, Int.random(in: 0...4_000, using: &pair.random))
                pair.transfer(Int.random(in: 0...6_000, using: &pair.random))
                pair.client.reset(stream, .cancel, at: pair.now)
                pair.now = pair.now.advanced(by: .milliseconds(1))
            }
            pair.finish()
            pair.checkEnd()
            pair.checkCredit()
            #expect(pair.problems == [], "seed \(seed)")
            if !pair.problems.isEmpty { return }
        }
    }

    // MARK: Sizes

    @Test("a collected body widens the window of its stream, up to its declared length, its limit and 1 MiB")
    func widening() {
        let rows: [(limit: Int, length: Int?, increment: [Int])] = [
            (0, nil, []), (262_144, nil, []), (262_145, nil, [1]), (1 << 20, nil, [786_432]), (.max, nil, [786_432]),
            (-1, nil, []), (.max, 262_145, [1]), (.max, 100, []), (262_145, 1 << 20, [1]), (.max, .max, [786_432]),
        ]
        for row in rows {
            var peer = HTTP2Peer()
            peer.open()
            let length = row.length.map { [("content-length", "\($0)")] } ?? []
            peer.receive(WireFrame.headers(Block.status("200", length), on: 1))
            _ = peer.sent()
            #expect(peer.state.widen(peer.slot(1), upTo: row.limit, at: peer.now) == row.length)
            #expect(Self.increments(peer.sent(), of: 1) == row.increment)
        }
    }

    @Test("a collected body begins with the window to which an earlier one has grown", .rows("H-50"))
    func widensAgain() {
        let rows: [(length: Int?, limit: Int, increment: Int)] = [
            (64 << 20, .max, 3_932_160), (3_000_000, .max, 2_737_856), (64 << 20, 2_000_000, 1_737_856),
            (nil, .max, 786_432),
        ]
        for row in rows {
            var peer = HTTP2Peer(roundTrip: .milliseconds(100))
            peer.open()
            peer.receive(Self.head(1))
            for _ in 0..<200 {
                peer.receive(Self.body(16_384, on: 1))
                peer.state.consumed(peer.slot(1), 16_384, at: peer.now)
            }
            peer.open()
            let length = row.length.map { [("content-length", "\($0)")] } ?? []
            peer.receive(WireFrame.headers(Block.status("200", length), on: 3))
            _ = peer.sent()
            #expect(peer.state.widen(peer.slot(3), upTo: row.limit, at: peer.now) == row.length)
            #expect(Self.increments(peer.sent(), of: 3) == [row.increment], "\(row)")
        }
    }

    @Test("a window grows where two updates are less than two round trips apart, and not below 1 ms")
    func growth() {
        let rows: [(roundTrip: Duration?, pause: Duration, sizes: [Int])] = [
            (.milliseconds(100), .milliseconds(50), [131_072, 393_216, 786_432, 1_572_864]),
            (.milliseconds(100), .milliseconds(250), [131_072, 131_072, 131_072, 131_072]),
            (.microseconds(900), .microseconds(10), [131_072, 131_072, 131_072, 131_072]),
        ]
        for row in rows {
            var peer = HTTP2Peer(roundTrip: row.roundTrip)
            peer.open()
            peer.receive(Self.head(1))
            _ = peer.sent()
            var sizes: [Int] = []
            var size = 262_144
            for _ in row.sizes {
                peer.pass(row.pause)
                // Half of the window arrives and is consumed.
                var count = size / 2
                while count > 0 {
                    let length = min(count, 16_384)
                    peer.receive(Self.body(length, on: 1))
                    peer.state.consumed(peer.slot(1), length, at: peer.now)
                    count -= length
                }
                let increment = Self.increments(peer.sent(), of: 1).reduce(0, +)
                sizes.append(increment)
                size += increment - size / 2
            }
            #expect(sizes == row.sizes, "\(row)")
        }
    }

    @Test("one stream grows to 16 MiB, and all streams together to 64 MiB")
    func largestWindows() {
        var peer = HTTP2Peer(settings: [(3, 1_000)], roundTrip: .milliseconds(500))
        var granted = 0
        for number in 0..<6 {
            peer.open()
            let stream = StreamID(2 * number + 1)
            peer.receive(Self.head(stream))
            granted += 262_144
            let frame = Self.body(16_384, on: stream)
            // More than enough data for all doublings: each update is as large as half of the window.
            for _ in 0..<1_100 {
                peer.receive(frame)
                peer.state.consumed(peer.slot(stream), 16_384, at: peer.now)
                granted -= 16_384
                granted += Self.increments(peer.sent(), of: stream).reduce(0, +)
            }
            #expect(peer.error == nil)
            #expect(granted <= 64 << 20)
        }
        // The window of the connection has grown with the largest one.
        #expect(peer.state.receiveCredit > 8 << 20)
        // At least half of each window is available.
        #expect(granted >= 32 << 20)
    }
}
