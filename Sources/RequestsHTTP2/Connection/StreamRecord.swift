import Requests

/// One stream while it is in the table of its connection (RFC 9113 §5.1).
///
/// Its state is the progress of both sides in sending. A stream leaves the table when both have ended, or when either
/// resets it. The table contains the states of RFC 9113, and the meaning of the peer's frames in each:
///
/// | state               | sending      | receiving  | HEADERS        | DATA         | RST_STREAM | WINDOW_UPDATE |
/// |---------------------|--------------|------------|----------------|--------------|------------|---------------|
/// | idle                | not opened   | not opened | opens it (1)   | error (2)    | error (2)  | error (2)     |
/// | open, half-closed   | any          | `head`     | head, interim  | stream error | ends it    | window        |
/// | (local)             | any          | `body`     | trailers       | body         | ends it    | window        |
/// | half-closed(remote) | not `ended`  | `ended`    | stream error   | stream error | ends it    | window        |
/// | closed by both      | not in table | `ended`    | error (2)      | error (2)    | ignored    | ignored       |
/// | reset by the peer   | not in table |            | stream error   | stream error | ignored    | ignored       |
/// | reset by us         | not in table |            | decoded (3)    | counted (3)  | ignored    | ignored       |
///
/// 1. If a client sends it to a server; otherwise, and for a number that the client has skipped, it is a connection
///    error.
/// 2. A connection error: PROTOCOL_ERROR for an idle stream, STREAM_CLOSED for a closed one.
/// 3. The fields are dropped after the table of the decoder has learned them, and the bytes are returned to the window
///    of the connection. The same applies to a stream that GOAWAY has excluded, or whose end is forgotten
///    (``ClosedStreams``).
///
/// PRIORITY is ignored in all states.
struct StreamRecord: Sendable {
    /// The progress of one side in sending its message.
    enum Progress: Sendable {
        /// The final head has not been sent.
        case head
        case body
        case ended
    }

    let id: StreamID
    var sending = Progress.head
    var receiving = Progress.head
    /// The number of bytes that may be sent; negative if the peer's SETTINGS have lowered it (RFC 9113 §6.9.2).
    var sendWindow: Int
    var receiveWindow: ReceiveWindow
    var length = BodyLength()
    var interims = 0
    var interimBytes = 0
    /// Whether `write` has accepted only a part of the available bytes.
    var wantsCapacity = false
    /// Whether the stream has its turn in the queue for the window of the connection.
    var isQueued = false
    /// Whether the stream was notified of its turn and has not written yet.
    var isGranted = false
    /// Whether room for a frame of the stream is reserved.
    var reservesRoom = false
    /// The position in the output at which its first HEADERS begins.
    var start = 0

    /// Whether the peer has begun its message, which shows that it has acted on the request.
    var hasResponse: Bool { receiving != .head || interims > 0 }
}

/// The check of a body against its Content-Length (RFC 9113 §8.1.1).
struct BodyLength: Sendable {
    /// Whether the message cannot have a body, as a response to HEAD.
    var isForbidden = false
    var expected: Int?
    private var received = 0

    /// Counts bytes of the body, and returns the violation if there are too many.
    mutating func add(_ count: Int) -> HTTP2Violation? {
        guard count > 0 else { return nil }
        if isForbidden { return .unexpectedBody }
        received += count
        return received > expected ?? .max ? .bodyLength : nil
    }

    /// The violation if the body ends now; nil if its length is right.
    var violationAtEnd: HTTP2Violation? {
        isForbidden || expected == nil || expected == received ? nil : .bodyLength
    }
}
