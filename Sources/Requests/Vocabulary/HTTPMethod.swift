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

    /// CONNECT (RFC 9110 §9.3.6).
    public static let connect = HTTPMethod("CONNECT")
    /// DELETE (RFC 9110 §9.3.5).
    public static let delete = HTTPMethod("DELETE")
    /// GET (RFC 9110 §9.3.1).
    public static let get = HTTPMethod("GET")
    /// HEAD (RFC 9110 §9.3.2).
    public static let head = HTTPMethod("HEAD")
    /// OPTIONS (RFC 9110 §9.3.7).
    public static let options = HTTPMethod("OPTIONS")
    /// PATCH (RFC 5789).
    public static let patch = HTTPMethod("PATCH")
    /// POST (RFC 9110 §9.3.3).
    public static let post = HTTPMethod("POST")
    /// PUT (RFC 9110 §9.3.4).
    public static let put = HTTPMethod("PUT")
    /// TRACE (RFC 9110 §9.3.8).
    public static let trace = HTTPMethod("TRACE")

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
        Token.isToken(rawValue.utf8)
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
    pattern.rawValue == value
}
