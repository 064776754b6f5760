/// How the server puts one response on the wire: its framing, its pace, and what goes wrong.
///
/// The response itself comes from the executor that is served; this is all that an executor cannot say.
public struct Behavior: Sendable {
    /// How the end of the body is told.
    public var framing: Framing

    /// What goes wrong, if anything.
    public var fault: Fault?

    /// How fast bytes are sent; nil for as fast as they go.
    public var pace: Pace?

    /// Statuses of the interim responses (1xx) before the response.
    public var interim: [HTTPStatus]

    /// Whether a client that asks before it sends its body is told to go on, with 100 (Continue).
    public var sendsContinue: Bool

    /// A behavior of the parts given.
    public init(
        framing: Framing = .automatic, fault: Fault? = nil, pace: Pace? = nil, interim: [HTTPStatus] = [],
        sendsContinue: Bool = true
    ) {
        self.framing = framing
        self.fault = fault
        self.pace = pace
        self.interim = interim
        self.sendsContinue = sendsContinue
    }

    /// A correct response, sent at once.
    public static let standard = Behavior()

    /// A response with which `fault` happens.
    public static func failing(_ fault: Fault?) -> Behavior { Behavior(fault: fault) }

    /// How the end of a body is told (RFC 9112 §6).
    public enum Framing: Hashable, Sendable {
        /// By Content-Length when the length is known and there are no trailers, else in chunks; to a client of
        /// HTTP/1.0 by closing.
        case automatic
        /// In chunks of these sizes, the last one repeated; sizes below 1 count as 1.
        case chunked(sizes: [Int])
        /// By closing the connection; trailers are lost.
        case untilClose
    }

    /// How fast bytes are sent.
    public struct Pace: Hashable, Sendable {
        /// The number of bytes sent at a time; values below 1 count as 1.
        public var bytes: Int
        /// The pause after each.
        public var interval: Duration

        /// `bytes` at a time, `interval` between them.
        public static func drip(_ bytes: Int, every interval: Duration) -> Pace {
            Pace(bytes: max(1, bytes), interval: interval)
        }
    }
}

/// An adverse thing that the server does instead of, during or after one response.
///
/// Counts of body bytes leave chunk framing out. The connection is closed afterwards unless the case says otherwise.
public enum Fault: Hashable, Sendable {
    /// The request is read to its end and the connection closed.
    case closeBeforeHead
    /// The request is read to its end and the connection reset.
    case resetBeforeHead
    /// The request is read to its end, and nothing more happens until the client leaves or the server ends.
    case stallBeforeHead
    /// The head ends after so many bytes.
    case truncateHead(atByte: Int)
    /// The body ends after so many bytes, at its full length before what would mark its end.
    case truncateBody(atByte: Int)
    /// The connection is reset after so many bytes of the body.
    case resetBody(atByte: Int)
    /// After so many bytes of the body nothing more happens until the client leaves or the server ends.
    case stallBody(atByte: Int)
    /// These bytes are sent instead of a response.
    case raw([UInt8])
    /// These bytes are sent instead of a response, and the connection stays open until the client leaves.
    case rawWithoutClosing([UInt8])
    /// The response is correct, and these bytes, which nobody asked for, follow it; the connection stays open.
    case extraBytes([UInt8])
    /// The response is correct and does not say that the connection will be closed.
    case closeAfterResponse

    /// Bytes that are no response.
    public static let garbage = Fault.raw(Array("garbage, and not a status line\r\n\r\n".utf8))

    /// The byte of the body at which something happens.
    var bodyByte: Int? {
        switch self {
        case .truncateBody(let byte), .resetBody(let byte), .stallBody(let byte): max(0, byte)
        default: nil
        }
    }
}
