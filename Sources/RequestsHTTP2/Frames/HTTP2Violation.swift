import Requests

/// A rule of RFC 9113 that a peer violates, or one of our limits that it exceeds; the raw value describes the violation
/// in one line.
package enum HTTP2Violation: String, CaseIterable, Error, Hashable, Sendable {
    // MARK: Frames
    case notHTTP2 = "the peer does not use HTTP/2 (RFC 9113 §3.4)"
    case preface = "the connection does not begin with the HTTP/2 preface (RFC 9113 §3.4)"
    case firstFrame = "the first frame is not SETTINGS (RFC 9113 §3.4)"
    case frameTooLarge = "the payload has more than 16384 bytes (RFC 9113 §4.2)"
    case frameSize = "the length of the payload is invalid for the type (RFC 9113 §4.2)"
    case streamRequired = "the frame names no stream (RFC 9113 §6)"
    case connectionRequired = "the frame names a stream, but concerns the connection (RFC 9113 §6)"
    case padding = "the padding is longer than the payload (RFC 9113 §6.1)"
    case headerBlockInterrupted = "another frame interrupts a header block (RFC 9113 §6.10)"
    case unexpectedContinuation = "no header block precedes the frame (RFC 9113 §6.10)"
    case manyContinuations = "a header block has more than 8 CONTINUATION frames"
    case pushPromise = "push is disabled (RFC 9113 §8.4)"
    case pushSetting = "SETTINGS_ENABLE_PUSH has an invalid value (RFC 9113 §6.5.2)"
    case windowSetting = "SETTINGS_INITIAL_WINDOW_SIZE is above 2^31 - 1 (RFC 9113 §6.5.2)"
    case frameSizeSetting = "SETTINGS_MAX_FRAME_SIZE is not from 2^14 to 2^24 - 1 (RFC 9113 §6.5.2)"
    case windowIncrement = "the increment of a window is 0 (RFC 9113 §6.9)"

    // MARK: Streams and windows
    case idleStream = "the stream was never opened (RFC 9113 §5.1)"
    case streamNumber = "the peer cannot open a stream of this number (RFC 9113 §5.1.1)"
    case endedStream = "the peer had ended the stream (RFC 9113 §5.1)"
    case resetStream = "the peer had reset the stream (RFC 9113 §5.1)"
    case windowExceeded = "the data exceeds the window (RFC 9113 §6.9.1)"
    case windowOverflow = "the window grows above 2^31 - 1 (RFC 9113 §6.9.1)"

    // MARK: Messages
    case compression = "the header block cannot be decoded (RFC 9113 §4.3)"
    case headerBlockTooLarge = "the header block is larger than the limit (RFC 9113 §10.5.1)"
    case headerListTooLarge = "the header list is larger than the limit (RFC 9113 §10.5.1)"
    case pseudoField = "a pseudo-header field is unknown, repeated, misplaced or invalid (RFC 9113 §8.3)"
    case missingPseudoField = "a required pseudo-header field is missing (RFC 9113 §8.3)"
    case fieldName = "a field name is not a token in lower case (RFC 9113 §8.2.1)"
    case fieldValue = "a field value contains a control character, or white space around it (RFC 9113 §8.2.1)"
    case connectionField = "a field is specific to HTTP/1.1 connections (RFC 9113 §8.2.2)"
    case switchingProtocols = "101 Switching Protocols does not exist in HTTP/2 (RFC 9113 §8.6)"
    case endedInterim = "an interim response ends the stream (RFC 9113 §8.1)"
    case manyInterims = "more interim responses than the limit"
    case dataBeforeHead = "data precedes the head of the message (RFC 9113 §8.1)"
    case unendedTrailers = "trailers do not end the stream (RFC 9113 §8.1)"
    case contentLength = "Content-Length is invalid, or its values differ (RFC 9110 §8.6)"
    case bodyLength = "the length of the body differs from Content-Length (RFC 9113 §8.1.1)"
    case unexpectedBody = "the message cannot have a body (RFC 9113 §8.1.1)"

    // MARK: Floods
    case manyAcknowledgements = "more than 1000 acknowledgements wait to be sent"
    case manyEmptyFrames = "more than 1000 frames carry nothing"
    case manyStreamErrors = "more than 100 streams of the peer failed"
    case manyResets = "the peer resets too many streams"
    /// No frame has arrived within 10 seconds of a PING.
    case unacknowledgedPing = "no frame has arrived for 10 seconds, not even the acknowledgement of a PING"

    /// The code of the GOAWAY or RST_STREAM frame that reports the violation.
    package var code: HTTP2ErrorCode {
        switch self {
        case .frameTooLarge, .frameSize: .frameSizeError
        case .windowSetting, .windowExceeded, .windowOverflow: .flowControlError
        case .endedStream, .resetStream: .streamClosed
        case .compression: .compressionError
        case .unacknowledgedPing: .noError
        case .manyContinuations, .headerBlockTooLarge, .manyAcknowledgements, .manyEmptyFrames, .manyStreamErrors,
            .manyResets:
            .enhanceYourCalm
        default: .protocolError
        }
    }
}

/// A violation, and the frame that shows it.
package struct HTTP2Error: Error, Hashable, Sendable {
    package let violation: HTTP2Violation
    /// The type of the frame; nil for a type that RFC 9113 does not define, and for bytes that are not a frame.
    package let frame: FrameType?
    /// The stream of the frame; 0 for a frame that concerns the connection.
    package let stream: StreamID
    package let cause: Cause?

    package enum Cause: Hashable, Sendable {
        /// The first bytes that a peer without HTTP/2 has sent.
        case received([UInt8])
        case compression(HPACKError)
    }

    package init(_ violation: HTTP2Violation, in frame: FrameType?, on stream: StreamID = 0, cause: Cause? = nil) {
        self.violation = violation
        self.frame = frame
        self.stream = stream
        self.cause = cause
    }

    /// The code of the GOAWAY or RST_STREAM frame that reports the error.
    package var code: HTTP2ErrorCode { violation.code }
}

extension HTTP2Error: CustomStringConvertible {
    /// The frame and the rule in one line, such as `PING frame: the length …`.
    package var description: String {
        var place = ""
        if violation != .notHTTP2 && violation != .preface {
            place = frame.map { "\($0) frame" } ?? "unknown frame"
            if stream != 0 { place += " on stream \(stream)" }
            place += ": "
        }
        let detail =
            switch cause {
            case .received(let bytes): ": it sent \(ErrorText.quoted(String(decoding: bytes, as: UTF8.self)))"
            case .compression(let error): ": \(error)"
            case nil: ""
            }
        return place + violation.rawValue + detail
    }
}
