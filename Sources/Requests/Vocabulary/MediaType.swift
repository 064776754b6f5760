/// A media type such as `text/html; charset=utf-8`, or a media range such as `image/*` (RFC 9110 §8.3.1, §12.5.1).
///
/// `==` and hashing ignore the parameters; ``matches(_:)`` compares with wildcards. Names compare without regard to
/// ASCII case and keep their spelling; parameters keep their order.
public struct MediaType: Sendable {
    /// The part before the slash, such as `text`.
    public var type: TopLevelType

    /// The part after the slash, such as `html`.
    public var subtype: SubType

    /// The parameters, in order.
    public var parameters: Parameters

    /// A media type of the parts given.
    public init(type: TopLevelType, subtype: SubType, parameters: Parameters = [:]) {
        self.type = type
        self.subtype = subtype
        self.parameters = parameters
    }

    /// The media type as a field value: `type/subtype; name=value`, values quoted where they are no token.
    public var rawValue: String {
        let (type, subtype) = (type.rawValue.rawValue, subtype.rawValue.rawValue)
        // By far the most frequent type, of whose text nothing then has to be put together.
        let text = type == "application" && subtype == "json" ? "application/json" : type + "/" + subtype
        if parameters.isEmpty { return text }
        return parameters.reduce(text) { text, parameter in
            text + "; \(parameter.name)=\(FieldValueWriter.tokenOrQuoted(parameter.value))"
        }
    }

    /// The value of the parameter called `name`, compared without regard to ASCII case.
    public func parameter(_ name: String) -> String? {
        parameters.first { ASCIIFolding.areEqual($0.name, name) }?.value
    }

    /// Whether `other` is within this type or range: `*/*`, `type/*` or the same type; parameters are ignored.
    public func matches(_ other: MediaType) -> Bool {
        if type == .any { return true }
        return type == other.type && (subtype == .any || subtype == other.subtype)
    }

    /// Whether a decoder that asks for this type reads `other`: what ``matches(_:)`` says, and for JSON `text/json`,
    /// `text/javascript` and every subtype that ends in `+json` (RFC 6839 §3.1).
    package func reads(_ other: MediaType) -> Bool {
        if matches(other) { return true }
        guard self == .json else { return false }
        let subtype = ASCIIFolding.folded(other.subtype.rawValue.rawValue)
        return (other.type == .text && (subtype == "json" || subtype == "javascript")) || subtype.hasByteSuffix("+json")
    }
}

extension MediaType: Hashable, CustomStringConvertible {
    /// Whether type and subtype are the same; the parameters do not count.
    public static func == (left: Self, right: Self) -> Bool {
        left.type == right.type && left.subtype == right.subtype
    }

    /// Hashes type and subtype, so that equal values hash alike.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(type)
        hasher.combine(subtype)
    }

    /// The media type as a field value.
    public var description: String { rawValue }
}

// Their constants are computed, because a stored one asks at every use whether it has been made.
extension MediaType {
    /// The part of a media type before the slash.
    public struct TopLevelType: Hashable, Sendable, ExpressibleByStringLiteral {
        /// The name as it was spelled.
        public let rawValue: CaseInsensitiveString

        /// A top-level type spelled as given.
        public init(_ rawValue: String) { self.rawValue = CaseInsensitiveString(rawValue) }

        /// A top-level type spelled as the literal.
        public init(stringLiteral value: String) { self.init(value) }

        /// Any type: `*`.
        public static var any: Self { Self("*") }
        /// The type `application`.
        public static var application: Self { Self("application") }
        /// The type `audio`.
        public static var audio: Self { Self("audio") }
        /// The type `example`.
        public static var example: Self { Self("example") }
        /// The type `font`.
        public static var font: Self { Self("font") }
        /// The type `image`.
        public static var image: Self { Self("image") }
        /// The type `message`.
        public static var message: Self { Self("message") }
        /// The type `model`.
        public static var model: Self { Self("model") }
        /// The type `multipart`.
        public static var multipart: Self { Self("multipart") }
        /// The type `text`.
        public static var text: Self { Self("text") }
        /// The type `video`.
        public static var video: Self { Self("video") }
    }

    /// The part of a media type after the slash.
    public struct SubType: Hashable, Sendable, ExpressibleByStringLiteral {
        /// The name as it was spelled.
        public let rawValue: CaseInsensitiveString

        /// A subtype spelled as given.
        public init(_ rawValue: String) { self.rawValue = CaseInsensitiveString(rawValue) }

        /// A subtype spelled as the literal.
        public init(stringLiteral value: String) { self.init(value) }

        /// Any subtype: `*`.
        public static var any: Self { Self("*") }
        /// The subtype `css`.
        public static var css: Self { Self("css") }
        /// The subtype `form-data`.
        public static var formData: Self { Self("form-data") }
        /// The subtype `gif`.
        public static var gif: Self { Self("gif") }
        /// The subtype `html`.
        public static var html: Self { Self("html") }
        /// The subtype `jpeg`.
        public static var jpeg: Self { Self("jpeg") }
        /// The subtype `json`.
        public static var json: Self { Self("json") }
        /// The subtype `octet-stream`.
        public static var octetStream: Self { Self("octet-stream") }
        /// The subtype `plain`.
        public static var plain: Self { Self("plain") }
        /// The subtype `png`.
        public static var png: Self { Self("png") }
        /// The subtype `svg+xml`.
        public static var svg: Self { Self("svg+xml") }
        /// The subtype `xml`.
        public static var xml: Self { Self("xml") }
        /// The subtype `x-www-form-urlencoded`.
        public static var urlEncodedForm: Self { Self("x-www-form-urlencoded") }
    }
}
