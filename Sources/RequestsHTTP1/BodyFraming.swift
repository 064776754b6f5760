package import Requests

/// The framing of a message, which determines the end of its body (RFC 9112 §6.3).
package enum BodyFraming: Hashable, Sendable {
    /// There is no body, not even an empty one: the message ends with its head.
    case none
    /// The body ends after the given number of bytes.
    case counted(bytes: Int)
    /// The body ends with the last chunk and the trailer section.
    case chunked
    case untilClose
}

/// Returns the framing of a response, by the rules of RFC 9112 §6.3 in their order.
///
/// - Throws: A violation for Transfer-Encoding together with Content-Length, in HTTP/1.0, or with a coding other than
///   chunked. A violation for an invalid or conflicting Content-Length, also in a final response without a body.
package func framing(
    of line: StatusLine, _ header: Header, answering method: HTTPMethod
) throws(WireError) -> BodyFraming {
    try FramingFields(header).framing(of: line, respondsToHead: method == .head, respondsToConnect: method == .connect)
}

/// Returns the framing of a request, which never ends with the connection (RFC 9112 §6.3, in its order).
package func framing(of line: RequestLine, _ header: Header) throws(WireError) -> BodyFraming {
    try FramingFields(header).framing(of: line)
}

/// Returns whether a connection persists after a message of `version` with `header` (RFC 9112 §9.3).
///
/// It does not after `Connection: close` or after a body that ends with the connection; in HTTP/1.0 it does only after
/// `Connection: keep-alive`.
package func persists(after version: HTTPVersion, _ header: Header, _ framing: BodyFraming) -> Bool {
    FramingFields(header).persists(after: version, framing)
}
