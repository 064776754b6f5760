import Requests
import RequestsHTTP2
import TestCorpora
import TestSupport
import Testing

/// The rows of h2spec's client, each with the bytes of its server and what the client must do.
@Suite("h2spec, client")
struct H2SpecTests {
    enum Outcome: Equatable, Sendable {
        /// Only GOAWAY with this code; the connection ends.
        case goAway(HTTP2ErrorCode)
        /// Only RST_STREAM for stream 1 with this code; the connection continues.
        case reset(HTTP2ErrorCode)
        /// Only these frames; the connection continues.
        case accepted([Frame] = [])
    }

    struct Row: Sendable, CustomTestStringConvertible {
        let section: String
        let title: String
        /// What the server sends after SETTINGS, while stream 1 waits for its response.
        let bytes: [UInt8]
        let outcome: Outcome
        /// The expected events of the client, and the length of the body in them, in bytes.
        let log: [String]
        let bodyLength: Int

        init(
            _ section: String, _ title: String, _ bytes: [UInt8], _ outcome: Outcome, _ log: [String] = [],
            bodyLength: Int = 0
        ) {
            (self.section, self.title, self.bytes, self.outcome) = (section, title, bytes, outcome)
            (self.log, self.bodyLength) = (log, bodyLength)
        }

        var testDescription: String { "\(section): \(title)" }
    }

    private static let ok = Block.status("200")
    private static let head = WireFrame.headers(ok, on: 1)
    private static let response = WireFrame.headers(ok, on: 1, ends: true)
    private static let openBlock = WireFrame.headers(ok, on: 1, endsBlock: false)
    private static let priority = WireFrame(2, stream: 1, [0, 0, 0, 0, 1]).bytes
    private static let opaque: [UInt8] = [1, 2, 3, 4, 5, 6, 7, 8]
    private static let ended = ["1 head 200", "1 ended"]

    static let rows: [Row] = framing + streams + messages + control

    private static let framing = [
        Row("1_starting_http2", "Sends a server connection preface", response, .accepted(), ended),
        Row(
            "4_1_frame_format", "Sends a frame with unknown type", WireFrame(0xFF).bytes + response, .accepted(), ended),
        Row(
            "4_1_frame_format", "Sends a frame with undefined flag", WireFrame(6, flags: 0xFE, opaque).bytes + response,
            .accepted([.pingAcknowledgement(opaque)]), ended),
        Row(
            "4_1_frame_format", "Sends a frame with reserved field bit",
            WireFrame(6, stream: 0x8000_0000, opaque).bytes + response, .accepted([.pingAcknowledgement(opaque)]), ended
        ),
        Row(
            "4_2_frame_size", "Sends a DATA frame with 2^14 octets in length",
            head + WireFrame.data([UInt8](repeating: 1, count: 16_384), on: 1, ends: true), .accepted(),
            ["1 head 200", "1 data", "1 ended"], bodyLength: 16_384),
        Row(
            "4_2_frame_size", "Sends a large size DATA frame that exceeds the SETTINGS_MAX_FRAME_SIZE",
            head + WireFrame.data([UInt8](repeating: 1, count: 16_385), on: 1), .goAway(.frameSizeError), ["1 head 200"]
        ),
        Row(
            "4_2_frame_size", "Sends a large size HEADERS frame that exceeds the SETTINGS_MAX_FRAME_SIZE",
            WireFrame.headers([UInt8](repeating: 0x88, count: 16_385), on: 1), .goAway(.frameSizeError)),
        Row(
            "4_3_header_compression_and_decompression", "Sends invalid header block fragment",
            WireFrame.headers([0x40], on: 1), .goAway(.compressionError)),
        Row(
            "5_4_1_connection_error_handling", "Sends an invalid PING frame for connection close",
            WireFrame(6, stream: 3, opaque).bytes, .goAway(.protocolError)),
        Row(
            "5_4_1_connection_error_handling", "Sends an invalid PING frame to receive GOAWAY frame",
            WireFrame(6, stream: 3, opaque).bytes, .goAway(.protocolError)),
        Row(
            "5_5_extending_http2", "Sends an unknown extension frame", WireFrame(0xFA).bytes + response, .accepted(),
            ended),
    ]

    private static let streams = [
        Row(
            "5_1_1_stream_identifiers", "Sends an unexpected stream identifier", WireFrame.headers(ok, on: 2),
            .goAway(.protocolError)),
        Row("5_1_stream_states", "idle: Sends a DATA frame", WireFrame.data([1], on: 3), .goAway(.protocolError)),
        Row("5_1_stream_states", "idle: Sends a RST_STREAM frame", WireFrame.resetStream(3), .goAway(.protocolError)),
        Row(
            "5_1_stream_states", "idle: Sends a WINDOW_UPDATE frame", WireFrame.windowUpdate(3, 1),
            .goAway(.protocolError)),
        Row(
            "5_1_stream_states", "idle: Sends a CONTINUATION frame", WireFrame.continuation(ok, on: 3, endsBlock: true),
            .goAway(.protocolError)),
        Row(
            "5_1_stream_states", "closed: Sends a DATA frame after sending RST_STREAM frame",
            WireFrame.resetStream(1) + WireFrame.data([1], on: 1), .reset(.streamClosed), ["1 reset CANCEL"]),
        Row(
            "5_1_stream_states", "closed: Sends a HEADERS frame after sending RST_STREAM frame",
            WireFrame.resetStream(1) + head, .reset(.streamClosed), ["1 reset CANCEL"]),
        // The frame belongs to no header block, which is the more severe error (RFC 9113 §6.10).
        Row(
            "5_1_stream_states", "closed: Sends a CONTINUATION frame after sending RST_STREAM frame",
            WireFrame.resetStream(1) + WireFrame.continuation(ok, on: 1, endsBlock: true), .goAway(.protocolError),
            ["1 reset CANCEL"]),
        Row(
            "5_1_stream_states", "closed: Sends a DATA frame", response + WireFrame.data([1], on: 1),
            .goAway(.streamClosed), ended),
        Row("5_1_stream_states", "closed: Sends a HEADERS frame", response + head, .goAway(.streamClosed), ended),
        Row(
            "5_1_stream_states", "closed: Sends a CONTINUATION frame",
            response + WireFrame.continuation(ok, on: 1, endsBlock: true), .goAway(.protocolError), ended),
    ]

    private static let messages = [
        Row(
            "6_10_continuation", "Sends multiple CONTINUATION frames preceded by a HEADERS frame",
            WireFrame.headers(Array(ok[..<2]), on: 1, ends: true, endsBlock: false)
                + WireFrame.continuation(Array(ok[2..<4]), on: 1, endsBlock: false)
                + WireFrame.continuation(Array(ok[4...]), on: 1, endsBlock: true), .accepted(), ended),
        Row(
            "6_10_continuation", "Sends a CONTINUATION frame followed by any frame other than CONTINUATION",
            openBlock + WireFrame.continuation([], on: 1, endsBlock: false) + WireFrame.data([1], on: 1),
            .goAway(.protocolError)),
        Row(
            "6_10_continuation", "Sends a CONTINUATION frame with 0x0 stream identifier",
            openBlock + WireFrame.continuation([], on: 0, endsBlock: true), .goAway(.protocolError)),
        Row(
            "6_10_continuation", "Sends a CONTINUATION frame preceded by a HEADERS frame with END_HEADERS flag",
            head + WireFrame.continuation([], on: 1, endsBlock: true), .goAway(.protocolError), ["1 head 200"]),
        Row(
            "6_10_continuation", "Sends a CONTINUATION frame preceded by a CONTINUATION frame with END_HEADERS flag",
            openBlock + WireFrame.continuation([], on: 1, endsBlock: true)
                + WireFrame.continuation([], on: 1, endsBlock: true), .goAway(.protocolError), ["1 head 200"]),
        Row(
            "6_10_continuation", "Sends a CONTINUATION frame preceded by a DATA frame",
            head + WireFrame.data([1], on: 1) + WireFrame.continuation([], on: 1, endsBlock: true),
            .goAway(.protocolError), ["1 head 200", "1 data"], bodyLength: 1),
        Row(
            "6_1_data", "Sends a DATA frame with 0x0 stream identifier", WireFrame.data([1], on: 0),
            .goAway(.protocolError)),
        Row(
            "6_1_data", "Sends a DATA frame with invalid pad length",
            head + WireFrame(0, flags: 8, stream: 1, [6, 1, 2, 3, 4, 5]).bytes, .goAway(.protocolError), ["1 head 200"]),
        Row(
            "6_2_headers", "Sends a HEADERS frame without the END_HEADERS flag, and a PRIORITY frame",
            openBlock + priority, .goAway(.protocolError)),
        Row(
            "6_2_headers", "Sends a HEADERS frame with 0x0 stream identifier", WireFrame.headers(ok, on: 0),
            .goAway(.protocolError)),
        Row(
            "6_2_headers", "Sends a HEADERS frame with invalid pad length",
            WireFrame(1, flags: 0xC, stream: 1, [UInt8(ok.count) + 1] + ok).bytes, .goAway(.protocolError)),
        Row(
            "6_3_priority", "Sends a PRIORITY frame with 0x0 stream identifier",
            WireFrame(2, stream: 0, [0, 0, 0, 0, 1]).bytes, .goAway(.protocolError)),
        Row(
            "6_3_priority", "Sends a PRIORITY frame with a length other than 5 octets",
            WireFrame(2, stream: 1, [0, 0, 0, 1]).bytes, .reset(.frameSizeError), ["1 reset FRAME_SIZE_ERROR"]),
        Row(
            "6_4_rst_stream", "Sends a RST_STREAM frame with 0x0 stream identifier", WireFrame.resetStream(0),
            .goAway(.protocolError)),
        Row(
            "6_4_rst_stream", "Sends a RST_STREAM frame on a idle stream", WireFrame.resetStream(3),
            .goAway(.protocolError)),
        Row(
            "6_4_rst_stream", "Sends a RST_STREAM frame with a length other than 4 octets",
            WireFrame(3, stream: 1, [0, 0, 8]).bytes, .goAway(.frameSizeError)),
    ]

    private static let control = [
        Row(
            "6_5_2_defined_settings_parameters",
            "SETTINGS_INITIAL_WINDOW_SIZE (0x4): Sends the value above the maximum flow control window size",
            WireFrame.settings([(4, 0x8000_0000)]), .goAway(.flowControlError)),
        Row(
            "6_5_2_defined_settings_parameters",
            "SETTINGS_MAX_FRAME_SIZE (0x5): Sends the value below the initial value",
            WireFrame.settings([(5, 16_383)]), .goAway(.protocolError)),
        Row(
            "6_5_2_defined_settings_parameters",
            "SETTINGS_MAX_FRAME_SIZE (0x5): Sends the value above the maximum allowed frame size",
            WireFrame.settings([(5, 16_777_216)]), .goAway(.protocolError)),
        Row(
            "6_5_2_defined_settings_parameters", "Sends a SETTINGS frame with unknown identifier",
            WireFrame.settings([(0xFF, 1)]) + response, .accepted([.settingsAcknowledgement]), ended),
        Row(
            "6_5_3_settings_synchronization", "Sends a SETTINGS frame without ACK flag", WireFrame.settings(),
            .accepted([.settingsAcknowledgement])),
        Row(
            "6_5_settings", "Sends a SETTINGS frame with ACK flag and payload",
            WireFrame(4, flags: 1, [0, 3, 0, 0, 0, 1]).bytes, .goAway(.frameSizeError)),
        Row(
            "6_5_settings", "Sends a SETTINGS frame with a stream identifier other than 0x0",
            WireFrame(4, stream: 1, [0, 3, 0, 0, 0, 1]).bytes, .goAway(.protocolError)),
        Row(
            "6_5_settings", "Sends a SETTINGS frame with a length other than a multiple of 6 octets",
            WireFrame(4, [0, 3, 0]).bytes, .goAway(.frameSizeError)),
        Row("6_7_ping", "Sends a PING frame", WireFrame.ping(), .accepted([.pingAcknowledgement(opaque)])),
        Row("6_7_ping", "Sends a PING frame with ACK", WireFrame.ping(isAcknowledgement: true), .accepted()),
        Row(
            "6_7_ping", "Sends a PING frame with a stream identifier field value other than 0x0",
            WireFrame(6, stream: 1, opaque).bytes, .goAway(.protocolError)),
        Row(
            "6_7_ping", "Sends a PING frame with a length field value other than 8", WireFrame(6, [1, 2, 3]).bytes,
            .goAway(.frameSizeError)),
        Row(
            "6_8_goaway", "Sends a GOAWAY frame with a stream identifier other than 0x0",
            WireFrame(7, stream: 1, opaque).bytes, .goAway(.protocolError)),
        Row(
            "6_9_1_the_flow_control_window",
            "Sends multiple WINDOW_UPDATE frames increasing the flow control window to above 2^31-1",
            WireFrame.windowUpdate(0, 0x7FFF_FFFF) + WireFrame.windowUpdate(0, 0x7FFF_FFFF), .goAway(.flowControlError)),
        Row(
            "6_9_1_the_flow_control_window",
            "Sends multiple WINDOW_UPDATE frames increasing the flow control window to above 2^31-1 on a stream",
            WireFrame.windowUpdate(1, 0x7FFF_FFFF) + WireFrame.windowUpdate(1, 0x7FFF_FFFF), .reset(.flowControlError),
            ["1 reset FLOW_CONTROL_ERROR"]),
        Row(
            "6_9_window_update", "Sends a WINDOW_UPDATE frame with a flow control window increment of 0",
            WireFrame.windowUpdate(0, 0), .goAway(.protocolError)),
        // RFC 9113 §6.9 makes it a stream error; h2spec accepts both.
        Row(
            "6_9_window_update", "Sends a WINDOW_UPDATE frame with a flow control window increment of 0 on a stream",
            WireFrame.windowUpdate(1, 0), .reset(.protocolError), ["1 reset PROTOCOL_ERROR"]),
        Row(
            "6_9_window_update", "Sends a WINDOW_UPDATE frame with a length other than 4 octets",
            WireFrame(8, [0, 0, 1]).bytes, .goAway(.frameSizeError)),
    ]

    @Test(
        "a frame of the server has the result that RFC 9113 requires, wherever its bytes are split", .rows("H-3"),
        arguments: rows)
    func frames(row: Row) {
        let whole = [0..<row.bytes.count]
        for pieces in [whole] + FrameReading.splits(of: row.bytes.count) {
            var peer = HTTP2Peer()
            peer.open()
            _ = peer.sent()
            for piece in pieces { peer.receive(Array(row.bytes[piece])) }
            let frames = peer.sent()
            #expect(peer.log == row.log, "\(pieces)")
            #expect(peer.body.count == row.bodyLength)
            switch row.outcome {
            case .goAway(let code):
                #expect(peer.error?.code == code)
                let debugData = Array("\(peer.error, default: "")".utf8)
                #expect(frames == [.goAway(Frame.GoAway(lastStream: 0, code: code, debugData: debugData))])
                guard case .draining = peer.open() else { Issue.record("the connection continues"); continue }
            case .reset(let code):
                #expect(frames == [.resetStream(1, code)])
                expectResponse(3, from: &peer)
            case .accepted(let expected):
                #expect(frames == expected)
                if !row.log.contains("1 ended") { expectResponse(1, from: &peer) }
                expectResponse(3, from: &peer)
            }
        }
    }

    /// Expects that the connection delivers a response on `stream`; opens the stream if necessary.
    private func expectResponse(_ stream: StreamID, from peer: inout HTTP2Peer) {
        if peer.slots[stream] == nil { peer.open() }
        peer.receive(WireFrame.headers(Block.status("204"), on: stream, ends: true))
        #expect(peer.log.suffix(2) == ["\(stream) head 204", "\(stream) ended"])
        #expect(peer.error == nil)
        #expect(peer.state.streamCount == 0)
    }

    @Test(
        "the table contains every row of h2spec", .rows("H-3"),
        .enabled(if: Corpora.arePresent, "the folder of corpora is missing"))
    func complete() throws {
        let expected = try #require(Corpora.table("h2spec-client.txt"))
        #expect(expected.count == 56)
        #expect(Set(expected.map { Array($0.prefix(2)) }) == Set(Self.rows.map { [$0.section, $0.title] }))
        #expect(Self.rows.count == 56)
    }
}
