package import Requests

/// A stream of a connection, by its place in the table and its number.
///
/// Functions ignore a slot whose stream has ended, also after another stream has taken its place.
package struct StreamSlot: Hashable, Sendable {
    package let index: Int
    package let stream: StreamID

    package init(index: Int, stream: StreamID) {
        self.index = index
        self.stream = stream
    }
}

/// An event on a connection, for the connection's user.
package enum ConnectionEvent: Sendable {
    /// An interim response (1xx); the final one follows.
    case interim(StreamSlot, HTTPStatus, Header)
    /// The head of the final response or, on a server, of the request that opens the stream.
    case head(StreamSlot, MessageHead)
    /// Bytes of a body, as a range of the received bytes; return them with ``ConnectionState/consumed(_:_:at:)``.
    case data(StreamSlot, Range<Int>)
    case trailers(StreamSlot, Header)
    /// The peer has sent the whole message.
    case ended(StreamSlot)
    /// The stream has ended early, and its slot is invalid.
    case reset(StreamSlot, StreamReset)
    /// The stream can send more, after ``ConnectionState/write(_:_:endsStream:)`` accepted only a part.
    case capacity(StreamSlot)
    /// More streams can be opened than before, namely this many.
    case places(Int)
    /// The connection of this client takes no more streams, though the peer has sent no GOAWAY.
    case draining
    /// The peer accepts no more streams. Those above its last one were reset before this event.
    case goAway(Frame.GoAway)
    /// The peer's SETTINGS have arrived.
    case settled
}

/// The reason why a stream has ended early.
package struct StreamReset: Hashable, Sendable {
    /// The code of the peer's RST_STREAM, or of ours.
    ///
    /// `NO_ERROR` after a whole response stops only the sending (RFC 9113 §8.1).
    package let code: HTTP2ErrorCode
    /// Whether the peer has certainly not acted on the request, so that any request can be sent again.
    package let isUnprocessed: Bool
    /// The peer's violation that made us reset the stream; nil if the peer reset it.
    package let error: HTTP2Error?
}

/// The head of a message, without its pseudo-header fields.
package enum MessageHead: Sendable {
    case response(HTTPStatus, Header)
    case request(RequestHead)

    /// The pseudo-header fields of a request (RFC 9113 §8.3.1), as received, and its fields.
    package struct RequestHead: Sendable {
        package var method: HTTPMethod
        /// The scheme; nil for CONNECT.
        package var scheme: String?
        package var authority: String?
        /// The path and the query; `*` for OPTIONS; nil for CONNECT.
        package var path: String?
        /// The fields; Cookie is one field (RFC 9113 §8.2.3).
        package var header: Header
    }
}
