package import Requests

/// Where the body of a message ends (RFC 9112 §6.3).
package enum BodyFraming: Hashable, Sendable {
    /// There is none, not even an empty one: the message ends with its head.
    case none
    /// After so many bytes.
    case counted(bytes: Int)
    /// With the last chunk and the trailer section.
    case chunked
    /// When the server closes the connection.
    case untilClose
}

/// Where the body of a response ends (RFC 9112 §6.3, in its order; CONNECT is never sent).
///
/// Transfer-Encoding with Content-Length, in HTTP/1.0, or with a coding other than chunked is refused; Content-Length
/// that is no number, or several numbers, even where there is no body.
package func framing(
    of line: StatusLine, _ header: Header, answering method: HTTPMethod
) throws(WireError) -> BodyFraming {
    try FramingFields(header).framing(of: line, answering: method)
}

/// Where the body of a request ends (RFC 9112 §6.3, in its order): never with the connection.
package func framing(of line: RequestLine, _ header: Header) throws(WireError) -> BodyFraming {
    try FramingFields(header).framing(of: line)
}

/// Whether a connection persists after a message of `version` and `header` (RFC 9112 §9.3).
///
/// Not with `Connection: close`, not after a body that ends with the connection; in HTTP/1.0 only with
/// `Connection: keep-alive`.
package func persists(after version: HTTPVersion, _ header: Header, _ framing: BodyFraming) -> Bool {
    FramingFields(header).persists(after: version, framing)
}
