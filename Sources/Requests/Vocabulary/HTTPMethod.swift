/// The method of a request (RFC 9110 §9), compared byte by byte: `GET` and `get` are different methods.
///
/// You can use any token: `let purge: HTTPMethod = "PURGE"`. If the method is not a token (RFC 9110 §5.6.2),
/// preparing the request fails with ``RequestError/InvalidRequest/invalidMethod``.
public struct HTTPMethod: RawRepresentable, Hashable, Sendable {
    /// The method as it is sent.
    public let rawValue: String

    /// Creates a method that keeps the spelling of `rawValue`; it is validated when the request is prepared.
    public init(rawValue: String) {
        self.rawValue = rawValue
    }

    /// Creates a method that keeps the spelling of `rawValue`; it is validated when the request is prepared.
    public init(_ rawValue: String) {
        self.rawValue = rawValue
    }

    // Computed: each access to a stored static checks whether it is initialized.

    /// CONNECT (RFC 9110 §9.3.6).
    public static var connect: HTTPMethod { HTTPMethod("CONNECT") }
    /// DELETE (RFC 9110 §9.3.5).
    public static var delete: HTTPMethod { HTTPMethod("DELETE") }
    /// GET (RFC 9110 §9.3.1).
    public static var get: HTTPMethod { HTTPMethod("GET") }
    /// HEAD (RFC 9110 §9.3.2).
    public static var head: HTTPMethod { HTTPMethod("HEAD") }
    /// OPTIONS (RFC 9110 §9.3.7).
    public static var options: HTTPMethod { HTTPMethod("OPTIONS") }
    /// PATCH (RFC 5789).
    public static var patch: HTTPMethod { HTTPMethod("PATCH") }
    /// POST (RFC 9110 §9.3.3).
    public static var post: HTTPMethod { HTTPMethod("POST") }
    /// PUT (RFC 9110 §9.3.4).
    public static var put: HTTPMethod { HTTPMethod("PUT") }
    /// TRACE (RFC 9110 §9.3.8).
    public static var trace: HTTPMethod { HTTPMethod("TRACE") }

    /// Whether repeating a request has the same intended effect as sending it once (RFC 9110 §9.2.2).
    ///
    /// The value follows the IANA HTTP Method Registry. It is true for GET, HEAD, OPTIONS, TRACE, PUT, DELETE and
    /// QUERY (RFC 10008), and for nearly all methods of WebDAV and its extensions, such as PROPFIND, REPORT and SEARCH.
    /// It is false for POST, PATCH, CONNECT and LOCK, and for methods that are not registered.
    public var isIdempotent: Bool { registeredProperty != .none }

    /// Whether requests with the method only read (RFC 9110 §9.2.1), according to the IANA HTTP Method Registry; false
    /// for methods that are not registered.
    package var isSafe: Bool { registeredProperty == .safe }

    /// Whether the method is a token (RFC 9110 §5.6.2); other methods cannot be sent.
    package var isValid: Bool {
        Token.isToken(rawValue)
    }
}

extension HTTPMethod {
    /// Returns whether the methods are equal byte by byte.
    public static func == (left: Self, right: Self) -> Bool {
        // Canonical equivalence cannot matter: non-ASCII text equivalent to a token has more bytes than the token.
        left.rawValue.utf8.count == right.rawValue.utf8.count && left.rawValue == right.rawValue
    }
}

extension HTTPMethod: ExpressibleByStringLiteral {
    /// Creates a method that keeps the spelling of the literal.
    public init(stringLiteral value: String) {
        self.init(value)
    }
}

extension HTTPMethod: CustomStringConvertible {
    /// The method as it is sent.
    public var description: String { rawValue }
}

/// Returns whether `value` equals the method, so that a `switch` over strings can use methods as patterns.
public func ~= (pattern: HTTPMethod, value: String) -> Bool {
    pattern == HTTPMethod(value)
}
