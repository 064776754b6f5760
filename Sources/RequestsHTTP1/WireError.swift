package import Requests

/// The reason why received bytes are not a usable message.
///
/// After an error no further byte of the connection can be trusted: close it, never reuse it.
package enum WireError: Error, Hashable, Sendable {
    /// The bytes violate RFC 9110 or RFC 9112.
    case violation(Violation)

    case tooLarge(limit: WireLimit)

    /// The connection ended before the message was complete (RFC 9112 §8).
    case truncated(Place)

    /// The place in a message at which the connection ended.
    package enum Place: String, CaseIterable, Hashable, Sendable {
        /// Before the first byte, as on a pooled connection that the peer has closed.
        case beforeMessage = "before the first byte"
        /// In the start line or the header section.
        case head = "in the head"
        /// After an interim response (1xx), in or before the head of the final one.
        case afterInterim = "after an interim (1xx) response, before the final one"
        /// Before all bytes declared by Content-Length, or before the last chunk.
        case body = "in the body"
        /// After the last chunk, before the empty line that ends the trailer section.
        case trailers = "in the trailer section"
    }

    /// The status that a server sends before it closes the connection.
    package var statusHint: HTTPStatus {
        switch self {
        case .violation(.unsupportedVersion): 505
        case .violation(.unsupportedTransferCoding): 501
        case .violation, .truncated: 400
        case .tooLarge(.startLine): 414
        case .tooLarge(.chunkExtensions): 413
        case .tooLarge: 431
        }
    }
}

extension WireError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .violation(let violation): violation.rawValue
        case .tooLarge(let limit): "more than \(limit)"
        case .truncated(let place): "the connection ended \(place.rawValue)"
        }
    }
}

/// A rule of RFC 9110 or RFC 9112 that a message violates; the raw value describes the violation in one line.
package enum Violation: String, CaseIterable, Hashable, Sendable {
    case version = "invalid HTTP version in the start line (RFC 9112 §2.3)"
    case unsupportedVersion = "unsupported HTTP version in the start line; expected HTTP/1 (RFC 9110 §2.5)"
    /// A response begins with NUL, the first byte of nearly every HTTP/2 frame.
    case http2 = "the response begins with NUL, as HTTP/2 frames do, and not with a status line (RFC 9112 §4)"
    /// The version is not followed by one SP and three digits, or the reason phrase contains a control character.
    case statusLine = "malformed status line; expected version, status, reason (RFC 9112 §4)"
    case status = "invalid status code; expected 100 to 999 (RFC 9110 §15)"
    case requestLine = "malformed request line; expected method, target, version (RFC 9112 §3)"
    /// The target has none of the four forms, has one that the method does not allow, or has a fragment.
    case requestTarget = "the request target has a form that the method does not allow (RFC 9112 §3.2)"
    case bareCarriageReturn = "a CR is not followed by LF (RFC 9112 §2.2)"
    /// An LF without a preceding CR, where it is not tolerated.
    case bareLineFeed = "a line ends with LF alone (RFC 9112 §2.2)"
    /// A field name is empty or not a token, is followed by white space, or has no colon.
    case fieldName = "a field line does not start with a token and a colon (RFC 9112 §5.1)"
    case fieldValue = "a field value contains a control character (RFC 9110 §5.5)"
    /// White space before the first field, or a folded line where folding is not tolerated.
    case folding = "a field line starts with white space (RFC 9112 §2.2, §5.2)"
    /// Content-Length is empty, signed, not decimal, or above 2^63 - 1.
    case contentLength = "Content-Length is not a decimal number below 2^63 (RFC 9110 §8.6)"
    case conflictingLengths = "the values of Content-Length differ (RFC 9112 §6.3)"
    case lengthWithTransferCoding = "Transfer-Encoding and Content-Length are both present (RFC 9112 §6.3)"
    case transferCodingInHTTP10 = "Transfer-Encoding in a message of HTTP/1.0 (RFC 9112 §6.1)"
    case transferCoding = "Transfer-Encoding must end in chunked, used once (RFC 9112 §6.1)"
    /// Transfer-Encoding contains a coding besides chunked; none is ever requested.
    case unsupportedTransferCoding = "unsupported transfer coding; only chunked is supported (RFC 9112 §6.1)"
    case chunkSize = "a chunk size is not a hexadecimal number below 2^63 (RFC 9112 §7.1)"
    case chunkLine = "a chunk line does not end in CR LF (RFC 9112 §7.1)"
    case chunkEnd = "chunk data is not followed by CR LF (RFC 9112 §7.1)"
    /// 101 without a requested upgrade.
    case unexpectedUpgrade = "unsolicited 101 Switching Protocols (RFC 9110 §15.2.2)"
    case host = "missing or repeated Host (RFC 9112 §3.2)"
    case hostValue = "the value of Host is not a host and an optional port (RFC 9112 §3.2)"
    case trailer = "the field is not allowed in trailers (RFC 9110 §6.5.1)"
}
