package import Requests

/// Why bytes are not a message that may be used.
///
/// After any of these the connection says nothing more that can be trusted: it is closed, never reused.
package enum WireError: Error, Hashable, Sendable {
    /// The bytes break a rule of RFC 9110 or RFC 9112.
    case violation(Violation)

    /// The bytes may be well-formed, but go beyond what the reader was told to take.
    case tooLarge(limit: WireLimit)

    /// The connection ended before the message did (RFC 9112 §8).
    case truncated(Place)

    /// Where a connection ended too early.
    package enum Place: String, Hashable, Sendable {
        /// Not one byte had come: a pooled connection that the peer had closed looks like this.
        case beforeMessage = "before the first byte"
        /// In the start-line or the field section.
        case head = "inside the head"
        /// Before all the bytes that Content-Length announced, or before the last chunk.
        case body = "inside the body"
        /// After the last chunk, before the empty line that ends the trailer section.
        case trailers = "inside the trailer section"
    }

    /// The status a server answers with before it closes the connection.
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
    /// One line that says what was wrong.
    package var description: String {
        switch self {
        case .violation(let violation): violation.rawValue
        case .tooLarge(let limit): "more than \(limit)"
        case .truncated(let place): "the connection ended \(place.rawValue)"
        }
    }
}

/// A rule of RFC 9110 or RFC 9112 that a message broke; the raw value says which in one line.
package enum Violation: String, Hashable, Sendable {
    /// Not `HTTP/DIGIT.DIGIT`, in capitals.
    case version = "the start-line does not name a version such as HTTP/1.1 (RFC 9112 §2.3)"
    /// A major version other than 1.
    case unsupportedVersion = "the major version of HTTP is not 1 (RFC 9110 §2.5)"
    /// Not one SP and three digits after the version, or a control in the reason phrase.
    case statusLine = "the status-line is not version, SP, three digits, SP, reason (RFC 9112 §4)"
    /// A status code below 100.
    case status = "the status code is below 100 (RFC 9110 §15)"
    /// Not method, SP, target, SP, version.
    case requestLine = "the request-line is not method, SP, target, SP, version (RFC 9112 §3)"
    /// A target of none of the four forms, of one that belongs to another method, or with a fragment.
    case requestTarget = "the request target is not of a form that the method may have (RFC 9112 §3.2)"
    /// CR that LF does not follow.
    case bareCarriageReturn = "a CR is not followed by LF (RFC 9112 §2.2)"
    /// LF that CR does not precede, where that is not tolerated.
    case bareLineFeed = "a line ends with LF alone (RFC 9112 §2.2)"
    /// A name that is empty or no token, white space before the colon, or no colon.
    case fieldName = "a field line does not start with a token and a colon (RFC 9112 §5.1)"
    /// NUL or another control in a field value.
    case fieldValue = "a field value has a control byte (RFC 9110 §5.5)"
    /// White space before the first field, or a folded line where folding is refused.
    case folding = "a field line starts with white space (RFC 9112 §2.2, §5.2)"
    /// Content-Length is empty, signed, not decimal, or beyond 2^63 - 1.
    case contentLength = "Content-Length is not a decimal number below 2^63 (RFC 9110 §8.6)"
    /// Several Content-Length that are not the same.
    case conflictingLengths = "the values of Content-Length differ (RFC 9112 §6.3)"
    /// Transfer-Encoding and Content-Length together.
    case lengthWithTransferCoding = "Transfer-Encoding and Content-Length are both present (RFC 9112 §6.3)"
    /// Transfer-Encoding in a message of HTTP/1.0.
    case transferCodingInHTTP10 = "Transfer-Encoding in a message of HTTP/1.0 (RFC 9112 §6.1)"
    /// Transfer-Encoding that is empty, does not end in chunked, or has it twice.
    case transferCoding = "Transfer-Encoding is not chunked, once and last (RFC 9112 §6.1)"
    /// A coding before chunked that nobody asked for.
    case unsupportedTransferCoding = "Transfer-Encoding has a coding other than chunked (RFC 9112 §6.1)"
    /// A chunk size that is not 1*HEXDIG, or is beyond 2^63 - 1.
    case chunkSize = "a chunk size is not a hexadecimal number below 2^63 (RFC 9112 §7.1)"
    /// A chunk line with a control byte, or one that does not end in CR LF.
    case chunkLine = "a chunk's line does not end in CR LF (RFC 9112 §7.1)"
    /// Chunk data that CR LF does not follow.
    case chunkEnd = "a chunk's data is not followed by CR LF (RFC 9112 §7.1)"
    /// 101 where no upgrade was asked for.
    case unexpectedUpgrade = "101 Switching Protocols was not asked for (RFC 9110 §15.2.2)"
    /// A request of HTTP/1.1 without Host, or any request with several.
    case host = "the request has no Host, or several (RFC 9112 §3.2)"
    /// A Host that is neither empty nor a host with an optional port.
    case hostValue = "the value of Host is not a host and an optional port (RFC 9112 §3.2)"
    /// A trailer field that may not be one.
    case trailer = "the field may not stand in a trailer section (RFC 9110 §6.5.1)"
}
