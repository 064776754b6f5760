/// Why a request cannot be sent as described; known before anything is sent.
@nonexhaustive
public enum InvalidRequest: Error, Hashable, Sendable {
    /// The base URL, or a URL made from it, has no scheme, no authority, or is otherwise no URL (RFC 3986).
    case malformedURL
    /// The host is empty or holds bytes that no host may hold (RFC 3986 §3.2.2).
    case invalidHost
    /// The port of the URL is 0, which no server can listen on (RFC 6335 §6).
    case invalidPort
    /// The host is not ASCII; give it in its ASCII form (`xn--…`, RFC 5891), which this library does not compute.
    case nonASCIIHost
    /// The path holds a control byte.
    case controlByteInPath
    /// The path holds a `?`; queries are made with ``Request/with(query:)``.
    case queryInPath
    /// The path holds a `#`; fragments are never sent.
    case fragmentInPath
    /// An interpolated value left a segment of the path empty.
    case emptySegment
    /// An interpolated value turned a segment of the path into `.` or `..`.
    case dotSegment
    /// The method is not a token (RFC 9110 §5.6.2).
    case invalidMethod
    /// The method is CONNECT, which asks for a tunnel and no representation (RFC 9110 §9.3.6).
    case unsupportedMethod
    /// A field name is not a token (RFC 9110 §5.6.2).
    case invalidFieldName
    /// A field value holds CR, LF, NUL or another control byte (RFC 9110 §5.5).
    case invalidFieldValue
    /// The name of a cookie is not a token, or its value holds what would not arrive as it is (RFC 6265 §4.2).
    case invalidCookie
    /// The user name of Basic credentials holds a colon, which would be read as its end (RFC 7617 §2).
    case colonInUsername
    /// The method does not take a body: GET, HEAD and TRACE (RFC 9110 §9.3).
    case bodyNotAllowed
    /// The file that was to be the body cannot be read.
    case unreadableFile
    /// The parameters cannot be written; why is told by the error underneath.
    case parametersNotEncoded
    /// The trailers hold a field that must come before the body, or not at all (RFC 9110 §6.5.1).
    case fieldNotAllowedInTrailers
    /// There are trailers and no body that they could follow.
    case trailersWithoutBody
    /// The executor cannot send trailers.
    case trailersNotSupported
    /// The proxy's host is no host, its port no port, or its credentials hold a control byte.
    case invalidProxy
    /// The address of a unix socket is empty, too long or holds NUL.
    case invalidSocketPath
}

extension InvalidRequest: CustomStringConvertible {
    /// What is wrong, in one line.
    public var description: String {
        switch self {
        case .malformedURL: "the URL is malformed"
        case .invalidHost: "the host is empty or holds bytes that no host may hold"
        case .invalidPort: "the port of the URL is 0; a server listens on 1 to 65535"
        case .nonASCIIHost: "the host is not ASCII; give it in its ASCII form (xn--…)"
        case .controlByteInPath: "the path holds a control byte"
        case .queryInPath: "the path holds a “?”; use with(query:) or adding(queryItem:)"
        case .fragmentInPath: "the path holds a “#”; fragments are never sent"
        case .emptySegment: "an interpolated value left a segment of the path empty"
        case .dotSegment: "an interpolated value turned a segment of the path into “.” or “..”"
        case .invalidMethod: "the method is not a token"
        case .unsupportedMethod: "the method CONNECT is not supported"
        case .invalidFieldName: "a field name is not a token"
        case .invalidFieldValue: "a field value holds a control byte"
        case .invalidCookie:
            "a cookie's name is not a token, or its value holds “;”, a control byte or white space at its ends"
        case .colonInUsername: "the user name holds a colon, which Basic credentials cannot say"
        case .bodyNotAllowed: "the method takes no body"
        case .unreadableFile: "the body's file cannot be read"
        case .parametersNotEncoded: "the parameters cannot be written"
        case .fieldNotAllowedInTrailers: "a field may not come after the body"
        case .trailersWithoutBody: "there are trailers, but no body"
        case .trailersNotSupported: "this executor cannot send trailers"
        case .invalidProxy: "the proxy is no host and port, or its credentials hold a control byte"
        case .invalidSocketPath: "the unix socket's path is empty, too long or holds NUL"
        }
    }
}
