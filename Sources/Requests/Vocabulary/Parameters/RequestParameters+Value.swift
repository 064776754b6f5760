extension RequestParameters {
    /// The value of a parameter: a scalar, an array, a set or nested parameters.
    ///
    /// You can use literals at every level, `["tags": ["a", "b"], "size": ["width": 3], "note": nil]`, and wrap the
    /// values of variables, `.string(name)`. To read a value, match its ``content``. A ``RequestParameters/Format``
    /// determines how values are written in a query or form.
    ///
    /// Values can be nested 512 levels deep and contain 4,194,304 values, where a value that occurs twice counts twice.
    /// A deeper or larger one has no content, and parameters that contain it cannot be written:
    /// ``RequestParameters/ParameterError/tooDeeplyNested`` or ``RequestParameters/ParameterError/tooManyValues``.
    public struct Value: Hashable, Sendable {
        /// The content of a value.
        public enum Content: Hashable, Sendable {
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
        }

        // Releasing nested values takes stack for each level: 100,000 levels would end the process. `JSONValue` has the
        // same limit.
        static let maximumDepth = 512

        // `[v, v]` takes the memory of one array, so a few lines of code can describe more values than can be written.
        static let maximumCount = 1 << 22

        /// The content; ``Content/null`` for a value that is nested too deeply or too large.
        public let content: Content
        /// The number of levels of arrays, sets and nested parameters.
        private let depth: Int
        /// The number of values at all levels, including this one; at most ``maximumCount`` + 1.
        private let count: Int

        private init(_ content: Content) {
            self.content = content
            (depth, count) = (0, 1)
        }

        private init(_ content: Content, containing values: some Sequence<RequestParameters.Value>) {
            depth = (values.lazy.map(\.depth).max() ?? 0) + 1
            count = values.reduce(1) { count, value in
                let sum = count + value.count
                return sum > Self.maximumCount ? Self.maximumCount + 1 : sum
            }
            self.content = depth > Self.maximumDepth || count > Self.maximumCount ? .null : content
        }

        /// The error of a value without content because it is too large or nested too deeply; nil for all others.
        var problem: RequestParameters.ParameterError? {
            depth > Self.maximumDepth ? .tooDeeplyNested : count > Self.maximumCount ? .tooManyValues : nil
        }

        /// No value, which is a bare name by default, and `null` in JSON.
        public static var null: RequestParameters.Value { Self(.null) }
        /// Returns a boolean.
        public static func bool(_ value: Bool) -> RequestParameters.Value { Self(.bool(value)) }
        /// Returns an integer.
        public static func integer(_ value: Int) -> RequestParameters.Value { Self(.integer(value)) }
        /// Returns an integer that is too large for ``integer(_:)``.
        public static func unsigned(_ value: UInt64) -> RequestParameters.Value { Self(.unsigned(value)) }
        /// Returns a number, written as Swift prints it.
        public static func double(_ value: Double) -> RequestParameters.Value { Self(.double(value)) }
        /// Returns a decimal number, written with all of its digits.
        public static func decimal(_ value: Decimal) -> RequestParameters.Value { Self(.decimal(value)) }
        /// Returns a string.
        public static func string(_ value: String) -> RequestParameters.Value { Self(.string(value)) }
        /// Returns a date.
        public static func date(_ value: Date) -> RequestParameters.Value { Self(.date(value)) }
        /// Returns data, written as base64 in a query or form (RFC 4648 §4).
        public static func data(_ value: Data) -> RequestParameters.Value { Self(.data(value)) }

        /// Returns an array of values.
        public static func array(_ values: [RequestParameters.Value]) -> RequestParameters.Value {
            Self(.array(values), containing: values)
        }

        /// Returns values without an order: scalars are sorted, and the name is repeated without brackets.
        public static func set(_ values: [RequestParameters.Value]) -> RequestParameters.Value {
            Self(.set(values), containing: values)
        }

        /// Returns nested names and values.
        public static func nested(_ parameters: RequestParameters) -> RequestParameters.Value {
            Self(.nested(parameters), containing: parameters.lazy.map(\.value))
        }

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
            switch content {
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
    /// - Throws: The error of the encoder, such as for NaN in JSON,
    ///   ``RequestParameters/ParameterError/tooDeeplyNested`` or ``RequestParameters/ParameterError/tooManyValues``.
    public func encode(to encoder: any Encoder) throws {
        if let problem { throw problem }
        if case .nested(let parameters) = content { return try parameters.encode(to: encoder) }
        var container = encoder.singleValueContainer()
        switch content {
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
