extension TestServer {
    /// A fault that the server injects instead of, during or after one response.
    ///
    /// Counts of body bytes do not include chunk framing. The connection is closed afterwards unless the case says
    /// otherwise.
    ///
    /// In HTTP/2, a connection is closed or reset with all its streams, without GOAWAY, and bytes that replace or
    /// follow a response are sent between frames.
    @nonexhaustive
    public enum Fault: Hashable, Sendable {
        /// The request is read to its end, and the connection is closed.
        case closeBeforeHead
        /// The request is read to its end, and the connection is reset.
        case resetBeforeHead
        /// The request is read to its end, and nothing is sent until the client closes the connection or the server
        /// stops.
        case stallBeforeHead
        /// The head ends after this number of bytes; in HTTP/2, of its frames.
        case truncateHead(atByte: Int)
        /// The body ends after this number of bytes; at its full length, before its end is marked.
        case truncateBody(atByte: Int)
        /// The connection is reset after this number of body bytes.
        case resetBody(atByte: Int)
        /// The stream is reset with this code (RFC 9113 §7): when the head of the request has arrived, or after this
        /// number of bytes of the response's body. In HTTP/1.1 the connection is reset.
        case resetStream(code: UInt32, atByte: Int? = nil)
        /// After this number of body bytes, nothing is sent until the client closes the connection or the server
        /// stops.
        case stallBody(atByte: Int)
        /// These bytes are sent instead of a response.
        case raw([UInt8])
        /// These bytes are sent instead of a response, and the connection stays open for further requests.
        case rawWithoutClosing([UInt8])
        /// A correct response is followed by these unsolicited bytes; the connection stays open.
        case unsolicitedBytes([UInt8])
        /// A correct response is sent, but does not announce that the connection will be closed.
        case unannouncedClose

        /// Bytes that are not a response.
        public static let garbage = Fault.raw(Array("garbage, and not a status line\r\n\r\n".utf8))

        /// The number of body bytes after which the fault happens; nil if it does not happen inside the body.
        var bodyByte: Int? {
            switch self {
            case .truncateBody(let byte), .resetBody(let byte), .stallBody(let byte): max(0, byte)
            case .resetStream(_, let byte): byte.map { max(0, $0) }
            default: nil
            }
        }
    }
}
