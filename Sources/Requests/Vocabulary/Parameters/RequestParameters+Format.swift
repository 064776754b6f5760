extension RequestParameters {
    /// The format of parameters in a query or a form: a choice for each detail that no standard defines.
    ///
    /// ```swift
    /// var format = RequestParameters.Format.standard
    /// format.arrays = .indexed
    /// ```
    public struct Format: Sendable {
        /// A way to name the elements of an array.
        @nonexhaustive
        public enum ArrayStyle: Hashable, Sendable {
            /// The name, repeated for each element: `k=a&k=b`.
            ///
            /// A nested name that ends in `[]` keeps the brackets at its end: `bar[]` in `foo` becomes `foo[bar][]`.
            case repeated
            /// The name with brackets: `k[]=a&k[]=b`.
            case brackets
            /// The name with the index: `k[0]=a&k[1]=b`.
            case indexed
            /// One item with all elements, separated by a text: `k=a,b`.
            ///
            /// An array that contains arrays, sets or nested parameters is written like ``repeated``.
            case joined(by: String)
        }

        /// The text of a boolean.
        @nonexhaustive
        public enum BooleanStyle: Hashable, Sendable {
            /// The words `true` and `false`.
            case words
            /// The digits `1` and `0`.
            case digits
        }

        /// A way to write null values.
        @nonexhaustive
        public enum NullStyle: Hashable, Sendable {
            /// A bare name: `k`.
            case bareName
            /// An empty value: `k=`.
            case emptyValue
            /// No item: the name is omitted.
            case dropped
        }

        /// The text of a date.
        @nonexhaustive
        public enum DateStyle: Sendable {
            /// The date and time in UTC, to the second: `2026-11-20T11:00:00Z` (RFC 3339 §5.6).
            case iso8601
            /// The seconds since 1970, with a fraction if it is not zero.
            case secondsSince1970
            /// The milliseconds since 1970, rounded to a whole number.
            case millisecondsSince1970
            /// The text that a function returns.
            case custom(@Sendable (Date) throws -> String)
        }

        /// The encoding of a space.
        @nonexhaustive
        public enum SpaceStyle: Hashable, Sendable {
            /// The escape `%20`.
            case escaped
            /// The character `+` in forms (WHATWG URL §5.2), and `%20` in queries.
            case plusInForms
        }

        /// The order of names.
        @nonexhaustive
        public enum NameOrder: Hashable, Sendable {
            /// The order of the parameters.
            case given
            /// The order of their UTF-8 bytes, at every level.
            case sorted
        }

        /// The style of array elements: the name is repeated by default.
        public var arrays = ArrayStyle.repeated
        /// The style of booleans: `true` or `false` by default.
        public var booleans = BooleanStyle.words
        /// The style of null values: a bare name by default.
        public var nulls = NullStyle.bareName
        /// The style of dates: ISO 8601 by default.
        public var dates = DateStyle.iso8601
        /// The encoding of spaces: `%20` by default.
        public var spaces = SpaceStyle.escaped
        /// The order of names: by default the order in which the parameters were added.
        public var order = NameOrder.given
        /// The percent-encoding of names and values: ``PercentEncoding/strict`` by default.
        public var escaping = PercentEncoding.strict
        /// The function passed to ``custom(_:)``; nil if the other rules apply.
        package var serialize: (@Sendable (RequestParameters) throws -> String)?

        /// Creates a format with the standard rules, which you can change.
        public init() {}

        /// Creates a format with the standard rules except for null values.
        public init(nulls: NullStyle) {
            self.nulls = nulls
        }

        /// The standard format.
        ///
        /// Names are repeated for arrays, booleans are `true` and `false`, null is a bare name, all bytes except
        /// letters, digits and `* - . _` are encoded, and the order is kept.
        public static let standard = RequestParameters.Format()

        /// The format of AFNetworking: `k[]` for arrays, `1` and `0` for booleans, sorted names, and unchanged
        /// `- . _ ~ / ?`.
        public static var afnetworking: RequestParameters.Format {
            var format = RequestParameters.Format()
            format.arrays = .brackets
            format.booleans = .digits
            format.order = .sorted
            format.escaping = .afnetworking
            return format
        }

        /// The format of Alamofire 5, which is the same as AFNetworking's.
        public static var alamofire: RequestParameters.Format { afnetworking }

        /// The standard format with the unreserved characters of RFC 3986 §2.3 unchanged.
        public static var rfc3986: RequestParameters.Format {
            var format = RequestParameters.Format()
            format.escaping = .rfc3986
            return format
        }

        /// Returns a format that is defined by a function.
        ///
        /// - Parameter serialize: A function that writes the whole text. The text is sent unchanged, valid `%XX`
        ///   included; in a query, bytes that are not allowed there are encoded. An error that the function throws
        ///   becomes the ``RequestError/underlying`` error of the request.
        /// - Returns: The format.
        public static func custom(
            _ serialize: @escaping @Sendable (RequestParameters) throws -> String
        ) -> RequestParameters.Format {
            var format = RequestParameters.Format()
            format.serialize = serialize
            return format
        }
    }
}
