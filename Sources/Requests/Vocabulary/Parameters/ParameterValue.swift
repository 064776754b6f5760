/// The value of a parameter: a scalar, or values within it.
///
/// Literals work at every level, `["tags": ["a", "b"], "size": ["width": 3], "note": nil]`; what stands in a variable is
/// wrapped, `.string(name)`. How values read in a query or form is said by ``ParameterFormat``.
public enum ParameterValue: Hashable, Sendable {
    /// No value: by default a bare name, and `null` in JSON.
    case null
    /// True or false.
    case bool(Bool)
    /// A whole number.
    case integer(Int)
    /// A whole number too large for ``integer(_:)``.
    case unsigned(UInt64)
    /// A number as Swift prints it; JSON has no NaN and no infinity.
    case double(Double)
    /// Text.
    case string(String)
    /// An instant.
    case date(Date)
    /// Bytes; in a query or form as base64 (RFC 4648 §4).
    case data(Data)
    /// Values in order.
    case array([ParameterValue])
    /// Values whose order means nothing: scalars are sorted, and the name is repeated without brackets.
    case set([ParameterValue])
    /// Names and values.
    case nested(RequestParameters)

    /// One name and its value, nested: `foo` with `.item("bar", 1)` reads `foo[bar]=1`.
    public static func item(_ name: String, _ value: ParameterValue) -> ParameterValue {
        .nested(RequestParameters([(name, value)]))
    }

    /// The members of a dictionary, sorted by the UTF-8 of their names.
    public static func dictionary(_ members: [String: ParameterValue]) -> ParameterValue {
        .nested(RequestParameters(members))
    }

    /// Whether the value holds no others.
    var isScalar: Bool {
        switch self {
        case .array, .set, .nested: false
        default: true
        }
    }
}

extension ParameterValue: ExpressibleByNilLiteral, ExpressibleByBooleanLiteral, ExpressibleByIntegerLiteral,
    ExpressibleByFloatLiteral, ExpressibleByStringInterpolation, ExpressibleByArrayLiteral,
    ExpressibleByDictionaryLiteral
{
    /// No value.
    public init(nilLiteral: ()) { self = .null }

    /// True or false.
    public init(booleanLiteral value: Bool) { self = .bool(value) }

    /// A whole number.
    public init(integerLiteral value: Int) { self = .integer(value) }

    /// A number.
    public init(floatLiteral value: Double) { self = .double(value) }

    /// Text.
    public init(stringLiteral value: String) { self = .string(value) }

    /// Values in order.
    public init(arrayLiteral elements: ParameterValue...) { self = .array(elements) }

    /// Names and values, in the order they are written.
    public init(dictionaryLiteral elements: (String, ParameterValue)...) {
        self = .nested(RequestParameters(elements))
    }
}

extension ParameterValue: Encodable {
    /// Writes the value as a coder knows it; dates and bytes by the encoder's own strategies.
    ///
    /// - Throws: What the encoder throws, such as JSON's for NaN.
    public func encode(to encoder: any Encoder) throws {
        if case .nested(let parameters) = self { return try parameters.encode(to: encoder) }
        var container = encoder.singleValueContainer()
        switch self {
        case .null, .nested: try container.encodeNil()
        case .bool(let value): try container.encode(value)
        case .integer(let value): try container.encode(value)
        case .unsigned(let value): try container.encode(value)
        case .double(let value): try container.encode(value)
        case .string(let value): try container.encode(value)
        case .date(let value): try container.encode(value)
        case .data(let value): try container.encode(value)
        case .array(let values), .set(let values): try container.encode(values)
        }
    }
}
