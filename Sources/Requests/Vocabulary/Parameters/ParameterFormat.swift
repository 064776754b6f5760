/// How parameters are written in a query or a form: the answers to everything no standard decides.
///
/// ```swift
/// var format = ParameterFormat.standard
/// format.arrays = .indexed
/// ```
public struct ParameterFormat: Sendable {
    /// How the elements of an array are named.
    public enum ArrayStyle: Hashable, Sendable {
        /// The name again for each element: `k=a&k=b`.
        ///
        /// A nested name that ends in `[]` keeps these outside: `bar[]` within `foo` is `foo[bar][]`.
        case repeated
        /// The name and brackets: `k[]=a&k[]=b`.
        case brackets
        /// The name and the index: `k[0]=a&k[1]=b`.
        case indexed
        /// One item of all elements: `k=a,b`; an array that holds other than scalars is written like ``repeated``.
        case joined(by: String)
    }

    /// How true and false are written.
    public enum BooleanStyle: Hashable, Sendable {
        /// As `true` and `false`.
        case words
        /// As `1` and `0`.
        case digits
    }

    /// How a missing value is written.
    public enum NullStyle: Hashable, Sendable {
        /// As a bare name: `k`.
        case bareName
        /// As an empty value: `k=`.
        case emptyValue
        /// Not at all.
        case dropped
    }

    /// How a date is written.
    public enum DateStyle: Sendable {
        /// In UTC to the second: `2026-11-20T11:00:00Z` (RFC 3339 §5.6).
        case iso8601
        /// As seconds since 1970, with a fraction where there is one.
        case secondsSince1970
        /// As whole milliseconds since 1970.
        case millisecondsSince1970
        /// As the function says.
        case custom(@Sendable (Date) throws -> String)
    }

    /// How a space is written.
    public enum SpaceStyle: Hashable, Sendable {
        /// As `%20`.
        case escaped
        /// As `+` in forms (WHATWG URL §5.2), and as `%20` in queries.
        case plusInForms
    }

    /// In which order names come.
    public enum NameOrder: Hashable, Sendable {
        /// As they were given.
        case given
        /// By their UTF-8, at every level.
        case sorted
    }

    /// How the elements of an array are named.
    public var arrays = ArrayStyle.repeated
    /// How true and false are written.
    public var booleans = BooleanStyle.words
    /// How a missing value is written.
    public var nulls = NullStyle.bareName
    /// How a date is written.
    public var dates = DateStyle.iso8601
    /// How a space is written.
    public var spaces = SpaceStyle.escaped
    /// In which order names come.
    public var order = NameOrder.given
    /// Which bytes are left as they are.
    public var escaping = PercentEncoding.strict
    /// Writes the whole text in the place of all other rules; nil for those.
    ///
    /// What it gives is sent as it is, valid `%XX` included; in a query other bytes that may not stand there are escaped.
    /// What it throws is the ``RequestError/underlying`` of what preparing the request throws.
    public var serialize: (@Sendable (RequestParameters) throws -> String)?

    /// A format of the standard rules, to be changed.
    public init() {}

    /// Names repeated for arrays, `true` and `false`, bare names for null, everything but `* - . _`, letters and digits
    /// escaped, order as given.
    public static let standard = ParameterFormat()

    /// The rules of AFNetworking: `k[]`, 1 and 0, sorted names, `- . _ ~ / ?` left as they are.
    public static var afnetworking: ParameterFormat {
        var format = ParameterFormat()
        format.arrays = .brackets
        format.booleans = .digits
        format.order = .sorted
        format.escaping = .afnetworking
        return format
    }

    /// The rules of Alamofire 5: as those of AFNetworking.
    public static var alamofire: ParameterFormat { afnetworking }

    /// The standard rules, with the unreserved characters of RFC 3986 §2.3 left as they are.
    public static var rfc3986: ParameterFormat {
        var format = ParameterFormat()
        format.escaping = .rfc3986
        return format
    }

    /// A format that is one's own function.
    public static func custom(
        _ serialize: @escaping @Sendable (RequestParameters) throws -> String
    ) -> ParameterFormat {
        var format = ParameterFormat()
        format.serialize = serialize
        return format
    }
}
