/// A status code and its meaning (RFC 9110 §15); an open set, so a code nobody named is a value like any other.
public struct HTTPStatus: RawRepresentable, Hashable, Sendable {
    /// The three digits, 100 to 599 on a well-behaved connection.
    public let rawValue: Int

    /// A status of any code; nothing is checked.
    public init(rawValue: Int) {
        self.rawValue = rawValue
    }

    /// A status of any code; nothing is checked.
    public init(_ code: Int) {
        rawValue = code
    }

    /// The three digits as a number.
    public var code: Int { rawValue }

    /// Whether the code is 1xx: an interim response.
    public var isInformational: Bool { 100..<200 ~= rawValue }

    /// Whether the code is 2xx.
    public var isSuccess: Bool { 200..<300 ~= rawValue }

    /// Whether the code is 3xx, 304 included.
    public var isRedirection: Bool { 300..<400 ~= rawValue }

    /// Whether the code is 4xx.
    public var isClientError: Bool { 400..<500 ~= rawValue }

    /// Whether the code is 5xx.
    public var isServerError: Bool { 500..<600 ~= rawValue }

    /// Whether a response of this status never has a body: 1xx, 204 and 304 (RFC 9112 §6.3).
    public var forbidsBody: Bool { isInformational || rawValue == 204 || rawValue == 304 }

    /// The phrase the registry gives the code, or the name of its class when the code is not registered.
    public var reasonPhrase: String {
        if let phrase = Self.registeredPhrases[rawValue] { return phrase }
        return switch rawValue {
        case 100..<200: "Informational"
        case 200..<300: "Success"
        case 300..<400: "Redirection"
        case 400..<500: "Client Error"
        case 500..<600: "Server Error"
        default: "Unknown"
        }
    }
}

extension HTTPStatus: ExpressibleByIntegerLiteral, Comparable, CustomStringConvertible {
    /// A status of the code written.
    public init(integerLiteral value: Int) {
        rawValue = value
    }

    /// The order of the codes.
    public static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }

    /// The code and its phrase, as in `404 Not Found`.
    public var description: String { "\(rawValue) \(reasonPhrase)" }
}
