extension RequestError {
    /// The reason why a request cannot be sent as described; it is known before anything is sent.
    @nonexhaustive
    public enum InvalidRequest: Error, Hashable, Sendable {
        /// The base URL, or a URL made from it, has no scheme or no authority, or is not a URL (RFC 3986).
        case malformedURL
        /// The host is empty or contains invalid characters (RFC 3986 §3.2.2).
        case invalidHost
        /// The port of the URL is 0, on which no server can listen (RFC 6335 §6).
        case invalidPort
        /// The host is not ASCII; use its ASCII form (`xn--…`, RFC 5891), which the library does not compute for URLs.
        case nonASCIIHost
        /// The path contains a control character.
        case controlCharacterInPath
        /// The path contains a `?`; use ``Request/with(query:)`` for queries.
        case queryInPath
        /// The path contains a `#`; fragments are never sent.
        case fragmentInPath
        /// An interpolated value leaves a path segment empty.
        case emptySegment
        /// An interpolated value creates a path segment `.` or `..`, or raw text leaves the directory of the literal.
        case dotSegment
        /// A URI reference was changed as text, which changes its meaning; use ``RequestPath/appending(_:)``.
        ///
        /// An API that changes paths in the `String` overload of `request(to:using:)` must also do so in the
        /// ``RequestPath`` overload.
        case changedReference
        /// The method is not a token (RFC 9110 §5.6.2).
        case invalidMethod
        /// The method is CONNECT, which requests a tunnel and not a representation (RFC 9110 §9.3.6).
        case unsupportedMethod
        /// The method is OPTIONS and the path ends in `/*`.
        ///
        /// The target `*`, which means the whole server (RFC 9112 §3.2.4), is not supported.
        case asteriskNotSupported
        /// A field name is not a token (RFC 9110 §5.6.2).
        case invalidFieldName
        /// A field value contains CR, LF, NUL or another control character (RFC 9110 §5.5).
        case invalidFieldValue
        /// A bearer token is empty, or contains a character other than visible ASCII characters (RFC 6749 A.12).
        case invalidBearerToken
        /// The name of a cookie is not a token, or its value contains characters that a cookie cannot have (RFC 6265
        /// §4.2).
        case invalidCookie
        /// The user name of Basic credentials contains a colon, which separates the name from the password (RFC 7617
        /// §2).
        case colonInUsername
        /// The method does not allow a body (RFC 9110 §9.3).
        ///
        /// TRACE never does; GET and HEAD do only with ``Request/allowingBody()``. URLSession cannot send a body with
        /// GET or HEAD.
        case bodyNotAllowed
        /// The request has its own Content-Type beside a multipart form, and it does not name the form's boundary.
        case boundaryNotInContentType
        /// The parameters cannot be encoded; the underlying error is the cause.
        case parametersNotEncoded
        /// The trailers contain a field that is not allowed after the body (RFC 9110 §6.5.1).
        case fieldNotAllowedInTrailers
        /// The request has trailers but no body.
        case trailersWithoutBody
        /// The host is an IPv6 address, which the executor does not support: URLSession on Linux.
        case ipv6AddressNotSupported
        /// The executor is configured with a background session, which cannot perform calls.
        case backgroundSessionNotSupported
        /// The executor, or the HTTP version of the server, does not support trailers.
        case trailersNotSupported
        /// The host, the port or the credentials of the proxy are invalid.
        case invalidProxy
        /// The TLS settings are invalid, or one of their files could not be read.
        case invalidTLSConfiguration
        /// The path of a unix socket is empty, too long or contains NUL.
        case invalidSocketPath
        /// The local address of the executor is not an IP address.
        case invalidLocalAddress
    }
}

extension RequestError.InvalidRequest: CustomStringConvertible {
    /// The problem in one line, with its RFC.
    public var description: String {
        switch self {
        case .malformedURL: "the URL is malformed (RFC 3986)"
        case .invalidHost: "the host is empty or contains invalid characters (RFC 3986 §3.2.2)"
        case .invalidPort: "the port of the URL is 0; a server listens on 1 to 65535 (RFC 6335 §6)"
        case .nonASCIIHost: "the host is not ASCII; use its ASCII form, xn--… (RFC 5891)"
        case .controlCharacterInPath: "the path contains a control character"
        case .queryInPath: "the path contains a “?”; use with(query:) or adding(queryItem:)"
        case .fragmentInPath: "the path contains a “#”; fragments are never sent"
        case .emptySegment: "an interpolated value leaves a path segment empty"
        case .dotSegment: "an interpolated value makes a path segment “.” or “..”"
        case .changedReference:
            "a URI reference was changed as text; implement request(to:using:) with a RequestPath instead of a String"
        case .invalidMethod: "the method is not a token; spaces and separators are not allowed (RFC 9110 §5.6.2)"
        case .unsupportedMethod: "the method CONNECT is not supported (RFC 9110 §9.3.6)"
        case .asteriskNotSupported:
            "OPTIONS * is not supported; for a resource with the name “*”, write %2A (RFC 9112 §3.2.4)"
        case .invalidFieldName: "a field name is not a token; spaces and separators are not allowed (RFC 9110 §5.6.2)"
        case .invalidFieldValue: "a field value contains a control character (RFC 9110 §5.5)"
        case .invalidBearerToken: "a bearer token consists of visible ASCII characters without spaces (RFC 6749 A.12)"
        case .invalidCookie:
            "the cookie name is not a token, or the value contains “;”, a control character or outer white space "
                + "(RFC 6265 §4.2)"
        case .colonInUsername: "the user name contains a colon, which Basic credentials do not allow (RFC 7617 §2)"
        case .bodyNotAllowed: "the method does not allow a body (RFC 9110 §9.3)"
        case .boundaryNotInContentType:
            "the request's own Content-Type does not name the boundary of its multipart form; remove that field"
        case .parametersNotEncoded: "could not encode the parameters"
        case .fieldNotAllowedInTrailers: "a field is not allowed in trailers (RFC 9110 §6.5.1)"
        case .trailersWithoutBody: "trailers require a body"
        case .ipv6AddressNotSupported: "the executor does not support IPv6 addresses"
        case .backgroundSessionNotSupported: "a background session cannot perform calls"
        case .trailersNotSupported: "trailers are not supported"
        case .invalidProxy: "invalid proxy host, port or credentials"
        case .invalidTLSConfiguration: "invalid TLS configuration"
        case .invalidLocalAddress: "the local address of the executor is not an IP address"
        case .invalidSocketPath: "the unix socket path is empty, too long or contains NUL"
        }
    }
}

extension BearerToken {
    /// Returns the error for a request with `token`; nil if the token is valid.
    package static func error(of token: String) -> RequestError? {
        problem(of: token).map { RequestError(.invalidRequest(.invalidBearerToken), detail: $0).beforeSending() }
    }
}
