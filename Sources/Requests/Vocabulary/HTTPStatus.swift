/// A status code of a response (RFC 9110 §15); codes without a constant are valid values.
public struct HTTPStatus: RawRepresentable, Hashable, Sendable {
    /// The code, a number of three digits: 100 to 599 in a valid response.
    public let rawValue: Int

    /// Creates a status of any code, without a range check.
    public init(rawValue: Int) {
        self.rawValue = rawValue
    }

    /// Creates a status of any code, without a range check.
    public init(_ code: Int) {
        rawValue = code
    }

    /// The code as a number, the same as ``rawValue``.
    public var code: Int { rawValue }

    /// Whether the code is 1xx, which only interim responses have.
    public var isInformational: Bool { 100..<200 ~= rawValue }

    /// Whether the code is 2xx.
    public var isSuccess: Bool { 200..<300 ~= rawValue }

    /// Whether the code is 3xx, 304 included.
    public var isRedirection: Bool { 300..<400 ~= rawValue }

    /// Whether the code is 4xx.
    public var isClientError: Bool { 400..<500 ~= rawValue }

    /// Whether the code is 5xx.
    public var isServerError: Bool { 500..<600 ~= rawValue }

    /// Whether a response with this status never has a body, which is true for 1xx, 204 and 304 (RFC 9112 §6.3).
    package var forbidsBody: Bool { isInformational || rawValue == 204 || rawValue == 304 }

    /// The reason phrase that the IANA registry lists for the code, or the name of its class if it is not registered.
    public var reasonPhrase: String {
        // The phrase of most responses needs no lookup.
        if rawValue == 200 { return "OK" }
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
    /// Creates a status with the code of the literal.
    public init(integerLiteral value: Int) {
        rawValue = value
    }

    /// Returns whether the code of `left` is less than the code of `right`.
    public static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }

    /// The code and the reason phrase, such as `404 Not Found`.
    public var description: String { "\(rawValue) \(reasonPhrase)" }
}
