import Requests
import RequestsHTTP2
import TestSupport
import Testing

@Suite("Frame reader")
struct FrameReaderTests {
    private static func part(_ stream: UInt32, _ count: Int, ends: Bool = false) -> Frame {
        .data(
            Frame.DataPart(
                stream: stream, range: 0..<0, countedBytes: count, remainingBytes: count,
                isEmptyFrame: count < 2, endsStream: ends))
    }

    private static let opaque: [UInt8] = [1, 2, 3, 4, 5, 6, 7, 8]

    static let frames: [(bytes: [UInt8], frame: Frame)] = [
        (WireFrame.data([7, 8, 9], on: 1), part(1, 3)),
        (WireFrame.data([], on: 1, ends: true), part(1, 0, ends: true)),
        (WireFrame.paddedData([7], padding: 4, on: 3, ends: true), part(3, 6, ends: true)),
        (WireFrame.paddedData([], padding: 0, on: 3), part(3, 1)),
        (WireFrame.data([UInt8](repeating: 5, count: 16_384), on: 1), part(1, 16_384)),
        (WireFrame.headers([0x88], on: 1, ends: true), .headers(stream: 1, endsStream: true)),
        // Padding of two bytes after a priority of five; the reserved bit of the stream is ignored.
        (
            WireFrame(1, flags: 0x2C, stream: 0x8000_0005, [2, 0, 0, 0, 0, 9, 0x88, 0, 0]).bytes,
            .headers(stream: 5, endsStream: false)
        ),
        (
            WireFrame.headers([0x88], on: 1, endsBlock: false) + WireFrame.continuation([], on: 1, endsBlock: false)
                + WireFrame.continuation([0x89, 0x8A], on: 1, endsBlock: true), .headers(stream: 1, endsStream: false)
        ),
        (WireFrame(2, stream: 1, [0, 0, 0, 0, 1]).bytes, .ignored(.priority)),
        (WireFrame(2, stream: 1, [0]).bytes, .streamError(error(.frameSize, .priority, 1))),
        (WireFrame.resetStream(1, 7), .resetStream(1, .refusedStream)),
        (WireFrame.settings(), .settings(ReceivedSettings())),
        (WireFrame.settingsAcknowledgement, .settingsAcknowledgement),
        (WireFrame.ping(), .ping(opaque)),
        (WireFrame.ping(isAcknowledgement: true), .pingAcknowledgement(opaque)),
        (
            WireFrame.goAway(5, 11, "too_many_pings"),
            .goAway(Frame.GoAway(lastStream: 5, code: .enhanceYourCalm, debugData: Array("too_many_pings".utf8)))
        ),
        (WireFrame.windowUpdate(0, 1), .windowUpdate(0, increment: 1)),
        // The reserved bit of the increment is ignored.
        (WireFrame.windowUpdate(1, 0xFFFF_FFFF), .windowUpdate(1, increment: 0x7FFF_FFFF)),
        (WireFrame.windowUpdate(1, 0), .streamError(error(.windowIncrement, .windowUpdate, 1))),
        (WireFrame(0xFA, flags: 0xFF, stream: 9, [1, 2, 3]).bytes, .ignored(nil)),
        (WireFrame(6, flags: 0xFE, opaque).bytes, .ping(opaque)),
    ]

    private static func error(_ violation: HTTP2Violation, _ frame: FrameType?, _ stream: UInt32 = 0) -> HTTP2Error {
        HTTP2Error(violation, in: frame, on: stream)
    }

    @Test("every type of frame is read, wherever its bytes are split", .rows("H-3"), arguments: frames)
    func types(bytes: [UInt8], frame: Frame) {
        let stream = WireFrame.settings() + bytes
        let whole = FrameReading(stream)
        #expect(whole.error == nil)
        #expect(whole.frames.dropFirst() == [frame])
        for pieces in FrameReading.splits(of: stream.count) {
            #expect(FrameReading(stream, in: pieces) == whole, "\(pieces)")
        }
    }

    @Test("content and header blocks are delivered without padding and priority")
    func payloads() {
        let bytes = Self.frames.reduce(WireFrame.settings()) { $0 + $1.bytes }
        let reading = FrameReading(bytes)
        #expect(reading.content == [7, 8, 9, 7] + [UInt8](repeating: 5, count: 16_384))
        #expect(reading.blocks == [[0x88], [0x88], [0x88, 0x89, 0x8A]])
        #expect(reading.frames.count == Self.frames.count + 1)
    }

    @Test("DATA is reported as it arrives, with the size of the remainder of its frame")
    func parts() throws {
        let bytes = WireFrame.settings() + WireFrame.paddedData([1, 2, 3], padding: 2, on: 1, ends: true)
        var reader = FrameReader(.client)
        var parts: [Frame.DataPart] = []
        for byte in bytes {
            var position = 0
            if case .data(let part) = try reader.next(in: [byte].span, at: &position) { parts.append(part) }
        }
        #expect(parts.map(\.remainingBytes) == [6, 5, 4, 3, 2, 1])
        #expect(parts.map(\.countedBytes) == [1, 1, 1, 1, 1, 1])
        #expect(parts.map(\.range.count) == [0, 1, 1, 1, 0, 0])
        #expect(parts.map(\.endsStream) == [false, false, false, false, false, true])
    }

    static let violations: [(bytes: [UInt8], error: HTTP2Error)] = [
        (WireFrame(0, stream: 1, length: 16_385).bytes, error(.frameTooLarge, .data, 1)),
        (WireFrame(1, stream: 1, length: 16_385).bytes, error(.frameTooLarge, .headers, 1)),
        (WireFrame(0xFA, length: 0xFF_FFFF).bytes, error(.frameTooLarge, nil)),
        (WireFrame(0, [1]).bytes, error(.streamRequired, .data)),
        (WireFrame(1, flags: 4, [0x88]).bytes, error(.streamRequired, .headers)),
        (WireFrame(2, [0, 0, 0, 0, 1]).bytes, error(.streamRequired, .priority)),
        (WireFrame.resetStream(0), error(.streamRequired, .resetStream)),
        (WireFrame(9, flags: 4).bytes, error(.streamRequired, .continuation)),
        (WireFrame(4, stream: 1).bytes, error(.connectionRequired, .settings, 1)),
        (WireFrame(6, stream: 1, opaque).bytes, error(.connectionRequired, .ping, 1)),
        (WireFrame(7, stream: 1, opaque).bytes, error(.connectionRequired, .goAway, 1)),
        (WireFrame(3, stream: 1, [0, 0, 0]).bytes, error(.frameSize, .resetStream, 1)),
        (WireFrame(3, stream: 1, [0, 0, 0, 0, 8]).bytes, error(.frameSize, .resetStream, 1)),
        (WireFrame(4, [0, 1, 0]).bytes, error(.frameSize, .settings)),
        (WireFrame(4, flags: 1, [0, 1, 0, 0, 0, 0]).bytes, error(.frameSize, .settings)),
        (WireFrame(6, [1]).bytes, error(.frameSize, .ping)),
        (WireFrame(6, opaque + [9]).bytes, error(.frameSize, .ping)),
        (WireFrame(7, [0, 0, 0, 0, 0, 0, 0]).bytes, error(.frameSize, .goAway)),
        (WireFrame(8, [0, 0, 1]).bytes, error(.frameSize, .windowUpdate)),
        (WireFrame(0, flags: 8, stream: 1).bytes, error(.frameSize, .data, 1)),
        (WireFrame(1, flags: 0x24, stream: 1, [0, 0, 0, 0]).bytes, error(.frameSize, .headers, 1)),
        (WireFrame(0, flags: 8, stream: 1, [1]).bytes, error(.padding, .data, 1)),
        (WireFrame(0, flags: 8, stream: 1, [3, 0, 0]).bytes, error(.padding, .data, 1)),
        (WireFrame(1, flags: 0xC, stream: 1, [3, 0, 0]).bytes, error(.padding, .headers, 1)),
        (WireFrame(1, flags: 0x2C, stream: 1, [1, 0, 0, 0, 0, 0]).bytes, error(.padding, .headers, 1)),
        (
            WireFrame.headers([0x88], on: 1, endsBlock: false) + WireFrame(2, stream: 1, [0, 0, 0, 0, 1]).bytes,
            error(.headerBlockInterrupted, .priority, 1)
        ),
        (
            WireFrame.headers([0x88], on: 1, endsBlock: false) + WireFrame.continuation([], on: 3, endsBlock: true),
            error(.headerBlockInterrupted, .continuation, 3)
        ),
        (WireFrame.headers([], on: 1, endsBlock: false) + WireFrame(0xFA).bytes, error(.headerBlockInterrupted, nil)),
        (WireFrame.continuation([], on: 1, endsBlock: true), error(.unexpectedContinuation, .continuation, 1)),
        (
            WireFrame.headers([], on: 1) + WireFrame.continuation([], on: 1, endsBlock: true),
            error(.unexpectedContinuation, .continuation, 1)
        ),
        (
            WireFrame.headers([], on: 1, endsBlock: false)
                + (0..<9).flatMap { _ in WireFrame.continuation([0x88], on: 1, endsBlock: false) },
            error(.manyContinuations, .continuation, 1)
        ),
        (WireFrame(5, flags: 4, stream: 1, [0, 0, 0, 2]).bytes, error(.pushPromise, .pushPromise, 1)),
        (WireFrame.settings([(2, 1)]), error(.pushSetting, .settings)),
        (WireFrame.settings([(2, 2)]), error(.pushSetting, .settings)),
        (WireFrame.settings([(4, 0x8000_0000)]), error(.windowSetting, .settings)),
        (WireFrame.settings([(5, 16_383)]), error(.frameSizeSetting, .settings)),
        (WireFrame.settings([(5, 16_777_216)]), error(.frameSizeSetting, .settings)),
        (WireFrame.windowUpdate(0, 0), error(.windowIncrement, .windowUpdate)),
    ]

    @Test(
        "a frame that violates a rule ends the connection, wherever its bytes are split", .rows("H-3", "H-29"),
        arguments: violations)
    func errors(bytes: [UInt8], error: HTTP2Error) {
        let stream = WireFrame.settings() + bytes
        #expect(FrameReading(stream).error == error)
        for pieces in FrameReading.splits(of: stream.count) {
            #expect(FrameReading(stream, in: pieces).error == error, "\(pieces)")
        }
    }

    static let beginnings: [(text: String, received: String)] = [
        ("HTTP/1.1 400 Bad Request\r\n\r\n", "HTTP/1.1 "), ("HTTP/1.0 200 OK\r\n\r\n", "HTTP/1.0 "),
        ("SSH-2.0-OpenSSH_9.2\r\n", "SSH-2.0-O"), ("220 mail.example ESMTP\r\n", "220 mail."),
    ]

    @Test("a peer without HTTP/2 is named with its first bytes", .rows("H-2"), arguments: beginnings)
    func otherProtocols(text: String, received: String) {
        let bytes = Array(text.utf8)
        let error = HTTP2Error(.notHTTP2, in: nil, cause: .received(Array(received.utf8)))
        #expect(FrameReading(bytes).error == error)
        for pieces in FrameReading.splits(of: bytes.count) {
            #expect(FrameReading(bytes, in: pieces).error == error, "\(pieces)")
        }
        #expect(error.code == .protocolError)
        #expect("\(error)" == "the peer does not use HTTP/2 (RFC 9113 §3.4): it sent “\(received)”")
    }

    @Test("a peer whose first frame is not SETTINGS is an error", .rows("H-2"))
    func firstFrame() {
        #expect(FrameReading(WireFrame.ping()).error == Self.error(.firstFrame, .ping))
        #expect(FrameReading(WireFrame.settingsAcknowledgement).error == Self.error(.firstFrame, .settings))
        #expect(FrameReading(WireFrame.goAway(0)).error == Self.error(.firstFrame, .goAway))
    }

    @Test("a server requires the client's preface", .rows("H-2"))
    func preface() {
        let bytes = FrameReader.preface + WireFrame.settings([(2, 1), (3, 7)])
        let whole = FrameReading(bytes, as: .server)
        #expect(whole.frames.count == 1)
        for pieces in FrameReading.splits(of: bytes.count) {
            #expect(FrameReading(bytes, as: .server, in: pieces) == whole)
        }
        for position in FrameReader.preface.indices {
            var changed = bytes
            changed[position] ^= 1
            #expect(FrameReading(changed, as: .server).error == Self.error(.preface, nil))
        }
    }

    @Test("settings keep the last value, and the table sizes that matter")
    func settings() {
        let bytes = WireFrame.settings([
            (1, 0), (1, 100), (1, 4_096), (3, 1), (3, 0), (4, 0), (5, 16_384), (6, 7), (0x7F, 9),
        ])
        guard case .settings(let settings) = FrameReading(bytes).frames.first else {
            Issue.record("no SETTINGS")
            return
        }
        #expect(settings.headerTableSizes == [0, 4_096])
        #expect(settings.maximumConcurrentStreams == 0)
        #expect(settings.initialWindowSize == 0)
        #expect(settings.maximumFrameSize == 16_384)
        #expect(settings.maximumHeaderListSize == 7)
    }

    @Test("an error names the frame, the stream and the rule")
    func description() {
        let error = Self.error(.frameSize, .ping)
        #expect("\(error)" == "PING frame: the length of the payload is invalid for the type (RFC 9113 §4.2)")
        #expect("\(Self.error(.padding, .data, 7))".hasPrefix("DATA frame on stream 7: the padding is longer"))
        #expect("\(Self.error(.frameTooLarge, nil))".hasPrefix("unknown frame: the payload has more than 16384"))
    }
}
