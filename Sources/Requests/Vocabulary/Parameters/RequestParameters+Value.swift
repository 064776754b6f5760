extension RequestParameters {
    /// The value of a parameter: a scalar, an array, a set or nested parameters.
    ///
    /// You can use literals at every level, `["tags": ["a", "b"], "size": ["width": 3], "note": nil]`, and wrap the
    /// values of variables, `.string(name)`. A ``RequestParameters/Format`` determines how values are written in a
    /// query or form.
    public enum Value: Hashable, Sendable {
        /// No value, which is a bare name by default, and `null` in JSON.
        case null
        /// A boolean.
        case bool(Bool)
        /// An integer.
        case integer(Int)
        /// An integer that is too large for ``integer(_:)``.
        case unsigned(UInt64)
        /// A number, written as Swift prints it; JSON cannot represent NaN and infinity.
        case double(Double)
        /// A decimal number, written with all of its digits; a property list contains the nearest `Double`.
        case decimal(Decimal)
        /// A string.
        case string(String)
        /// A date.
        case date(Date)
        /// Data, written as base64 in a query or form (RFC 4648 §4).
        case data(Data)
        /// An array of values.
        case array([RequestParameters.Value])
        /// Values without an order: scalars are sorted, and the name is repeated without brackets.
        case set([RequestParameters.Value])
        /// Nested names and values.
        case nested(RequestParameters)

        /// Returns one nested name and its value: `foo` with `.item("bar", 1)` is written as `foo[bar]=1`.
        public static func item(_ name: String, _ value: RequestParameters.Value) -> RequestParameters.Value {
            .nested(RequestParameters([(name, value)]))
        }

        /// Returns the members of a dictionary, sorted by the UTF-8 bytes of their names.
        public static func dictionary(_ members: [String: RequestParameters.Value]) -> RequestParameters.Value {
            .nested(RequestParameters(members))
        }

        /// Whether the value contains no other values.
        var isScalar: Bool {
            switch self {
            case .array, .set, .nested: false
            default: true
            }
        }
    }
}

extension RequestParameters.Value: ExpressibleByNilLiteral, ExpressibleByBooleanLiteral, ExpressibleByIntegerLiteral,
    ExpressibleByFloatLiteral, ExpressibleByStringInterpolation, ExpressibleByArrayLiteral,
    ExpressibleByDictionaryLiteral
{
    /// Creates a null value.
    public init(nilLiteral: ()) { self = .null }

    /// Creates a boolean.
    public init(booleanLiteral value: Bool) { self = .bool(value) }

    /// Creates an integer.
    public init(integerLiteral value: Int) { self = .integer(value) }

    /// Creates a number.
    public init(floatLiteral value: Double) { self = .double(value) }

    /// Creates a string.
    public init(stringLiteral value: String) { self = .string(value) }

    /// Creates an array.
    public init(arrayLiteral elements: RequestParameters.Value...) { self = .array(elements) }

    /// Creates nested parameters in the order of the literal.
    public init(dictionaryLiteral elements: (String, RequestParameters.Value)...) {
        self = .nested(RequestParameters(elements))
    }
}

extension RequestParameters.Value: Encodable {
    /// Encodes the value; dates and data follow the strategies of the encoder.
    ///
    /// - Parameter encoder: The encoder to write to.
    /// - Throws: The error of the encoder, such as for NaN in JSON.
    public func encode(to encoder: any Encoder) throws {
        if case .nested(let parameters) = self { return try parameters.encode(to: encoder) }
        var container = encoder.singleValueContainer()
        switch self {
        case .null, .nested: try container.encodeNil()
        case .bool(let value): try container.encode(value)
        case .integer(let value): try container.encode(value)
        case .unsigned(let value): try container.encode(value)
        case .double(let value): try container.encode(value)
        case .decimal(let value): try container.encode(value)
        case .string(let value): try container.encode(value)
        case .date(let value): try container.encode(value)
        case .data(let value): try container.encode(value)
        case .array(let values), .set(let values): try container.encode(values)
        }
    }
}
