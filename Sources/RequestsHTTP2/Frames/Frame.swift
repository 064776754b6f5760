/// A complete frame of the peer, or a part of a DATA frame.
///
/// PUSH_PROMISE does not occur, because it is always an error, and CONTINUATION belongs to its header block.
package enum Frame: Hashable, Sendable {
    case data(DataPart)
    /// A complete header block, which is the reader's ``FrameReader/block``.
    case headers(stream: StreamID, endsStream: Bool)
    case resetStream(StreamID, HTTP2ErrorCode)
    case settings(ReceivedSettings)
    case settingsAcknowledgement
    case ping([UInt8])
    case pingAcknowledgement([UInt8])
    case goAway(GoAway)
    /// An increment, at least 1, of the window of a stream or of the connection (0).
    case windowUpdate(StreamID, increment: Int)
    /// A frame whose type is unknown (nil), or PRIORITY, which has no effect.
    case ignored(FrameType?)
    /// A frame that violates a rule in a way that concerns only its stream.
    case streamError(HTTP2Error)

    /// The bytes of a DATA frame that arrived together.
    package struct DataPart: Hashable, Sendable {
        package let stream: StreamID
        /// The content, a range of the received bytes; it can be empty.
        package let range: Range<Int>
        /// The number of bytes of this part that count for flow control, padding included.
        package let countedBytes: Int
        /// The number of bytes of the frame from this part to its end that count for flow control.
        package let remainingBytes: Int
        /// Whether the part is the first one of its frame.
        package let beginsFrame: Bool
        /// Whether the part is the last one of a frame without content.
        package let isEmptyFrame: Bool
        /// Whether the part is the last one of a frame that ends the stream.
        package let endsStream: Bool

        package init(
            stream: StreamID, range: Range<Int>, countedBytes: Int, remainingBytes: Int, beginsFrame: Bool = true,
            isEmptyFrame: Bool, endsStream: Bool
        ) {
            self.stream = stream
            self.range = range
            self.countedBytes = countedBytes
            self.remainingBytes = remainingBytes
            self.beginsFrame = beginsFrame
            self.isEmptyFrame = isEmptyFrame
            self.endsStream = endsStream
        }
    }

    /// The announcement that the peer accepts no more streams (RFC 9113 §6.8).
    package struct GoAway: Hashable, Sendable {
        /// The maximum number of bytes of debug data that are kept.
        static let maximumDebugData = 256

        /// The highest number of a stream that the peer may have processed.
        package let lastStream: StreamID
        package let code: HTTP2ErrorCode
        /// At most 256 bytes of the peer's additional debug data.
        package let debugData: [UInt8]

        package init(lastStream: StreamID, code: HTTP2ErrorCode, debugData: [UInt8] = []) {
            self.lastStream = lastStream
            self.code = code
            self.debugData = debugData
        }

        /// The debug data as text for people, unescaped.
        package var debugText: String { String(decoding: debugData, as: UTF8.self) }
    }
}
