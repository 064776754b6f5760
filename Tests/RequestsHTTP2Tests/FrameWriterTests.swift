import RequestsHTTP2
import TestSupport
import Testing

@Suite("Frame writer")
struct FrameWriterTests {
    private static func written(_ write: (inout FrameWriter) -> Void) -> [UInt8] {
        var writer = FrameWriter()
        write(&writer)
        return writer.bytes
    }

    @Test("every frame has the bytes of RFC 9113 §6")
    func bytes() {
        #expect(Self.written { $0.preface() } == Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8))
        #expect(Self.written { $0.data(5, on: 3, endsStream: true) } == [0, 0, 5, 0, 1, 0, 0, 0, 3])
        #expect(Self.written { $0.headers([0x88], on: 1, endsStream: false) } == WireFrame.headers([0x88], on: 1))
        #expect(Self.written { $0.headers([], on: 1, endsStream: true) } == WireFrame.headers([], on: 1, ends: true))
        #expect(Self.written { $0.resetStream(1, .cancel) } == WireFrame.resetStream(1, 8))
        #expect(
            Self.written { $0.settings([(SettingID.enablePush, 0), (SettingID.initialWindowSize, 1 << 18)]) }
                == WireFrame.settings([(2, 0), (4, 1 << 18)]))
        #expect(Self.written { $0.settingsAcknowledgement() } == WireFrame.settingsAcknowledgement)
        #expect(
            Self.written { $0.ping([1, 2, 3, 4, 5, 6, 7, 8], isAcknowledgement: true) }
                == WireFrame.ping(isAcknowledgement: true))
        #expect(
            Self.written { $0.goAway(lastStream: 7, .protocolError, debugText: "x") } == WireFrame.goAway(7, 1, "x"))
        #expect(Self.written { $0.windowUpdate(0, increment: 9) } == WireFrame.windowUpdate(0, 9))
    }

    @Test("a header block of any length is read as it was written", arguments: [0, 1, 16_384, 16_385, 32_768, 100_000])
    func blocks(count: Int) {
        let block = (0..<count).map { UInt8(truncatingIfNeeded: $0) }
        let bytes = WireFrame.settings() + Self.written { $0.headers(block, on: 5, endsStream: true) }
        let reading = FrameReading(bytes)
        #expect(reading.error == nil)
        #expect(reading.frames.dropFirst() == [.headers(stream: 5, endsStream: true)])
        #expect(reading.blocks == [block])
    }

    @Test("removing the bytes keeps nothing of them")
    func removal() {
        var writer = FrameWriter()
        writer.settingsAcknowledgement()
        writer.replaceAll(with: [])
        writer.windowUpdate(1, increment: 2)
        #expect(writer.bytes == WireFrame.windowUpdate(1, 2))
    }
}
