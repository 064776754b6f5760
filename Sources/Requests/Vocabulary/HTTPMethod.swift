/// The method of a request (RFC 9110 §9), compared byte for byte: `GET` and `get` are different methods.
///
/// Any token may be used (`let purge: HTTPMethod = "PURGE"`). A method that is not a token (RFC 9110 §5.6.2) makes
/// preparing the request throw a typed error.
public struct HTTPMethod: RawRepresentable, Hashable, Sendable {
    /// The method as it goes out on the wire.
    public let rawValue: String

    /// A method spelled as given; it is validated when the request is prepared.
    public init(rawValue: String) {
        self.rawValue = rawValue
    }

    /// A method spelled as given; it is validated when the request is prepared.
    public init(_ rawValue: String) {
        self.rawValue = rawValue
    }

    // Computed, because a stored one asks at every use whether it has been made.

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

    /// Whether repeating the request has the same intended effect as sending it once (RFC 9110 §9.2.2).
    ///
    /// True for GET, HEAD, OPTIONS, TRACE, PUT and DELETE; false for every other method.
    public var isIdempotent: Bool {
        switch rawValue {
        case "GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE": true
        default: false
        }
    }

    /// Whether the method is a token (RFC 9110 §5.6.2), and so may be sent.
    public var isValid: Bool {
        Token.isToken(rawValue)
    }
}

extension HTTPMethod {
    /// Whether both methods are spelled alike, byte for byte.
    public static func == (left: Self, right: Self) -> Bool {
        // Text outside ASCII that is canonically equivalent to a token has more bytes than the token.
        left.rawValue.utf8.count == right.rawValue.utf8.count && left.rawValue == right.rawValue
    }
}

extension HTTPMethod: ExpressibleByStringLiteral {
    /// A method spelled as the literal.
    public init(stringLiteral value: String) {
        self.init(value)
    }
}

extension HTTPMethod: CustomStringConvertible {
    /// The method as it goes out on the wire.
    public var description: String { rawValue }
}

/// Whether `value` is spelled like `pattern`, so that a `switch` over strings can name methods.
public func ~= (pattern: HTTPMethod, value: String) -> Bool {
    pattern == HTTPMethod(value)
}
