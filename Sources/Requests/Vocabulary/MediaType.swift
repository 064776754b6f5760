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
        let text = type.rawValue.rawValue + "/" + subtype.rawValue.rawValue
        if parameters.isEmpty { return text }
        return parameters.reduce(text) { text, parameter in
            text + "; \(parameter.name)=\(Self.quotedIfNeeded(parameter.value))"
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
        return (other.type == .text && (subtype == "json" || subtype == "javascript")) || subtype.hasSuffix("+json")
    }

    /// Writes a value as a token if it is one, otherwise as a quoted string (RFC 9110 §5.6.4).
    private static func quotedIfNeeded(_ value: String) -> String {
        if Token.isToken(value.utf8) { return value }
        return "\"" + value.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"") + "\""
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
        public static let any = Self("*")
        /// The type `application`.
        public static let application = Self("application")
        /// The type `audio`.
        public static let audio = Self("audio")
        /// The type `example`.
        public static let example = Self("example")
        /// The type `font`.
        public static let font = Self("font")
        /// The type `image`.
        public static let image = Self("image")
        /// The type `message`.
        public static let message = Self("message")
        /// The type `model`.
        public static let model = Self("model")
        /// The type `multipart`.
        public static let multipart = Self("multipart")
        /// The type `text`.
        public static let text = Self("text")
        /// The type `video`.
        public static let video = Self("video")
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
        public static let any = Self("*")
        /// The subtype `css`.
        public static let css = Self("css")
        /// The subtype `form-data`.
        public static let formData = Self("form-data")
        /// The subtype `gif`.
        public static let gif = Self("gif")
        /// The subtype `html`.
        public static let html = Self("html")
        /// The subtype `jpeg`.
        public static let jpeg = Self("jpeg")
        /// The subtype `json`.
        public static let json = Self("json")
        /// The subtype `octet-stream`.
        public static let octetStream = Self("octet-stream")
        /// The subtype `plain`.
        public static let plain = Self("plain")
        /// The subtype `png`.
        public static let png = Self("png")
        /// The subtype `svg+xml`.
        public static let svg = Self("svg+xml")
        /// The subtype `xml`.
        public static let xml = Self("xml")
        /// The subtype `x-www-form-urlencoded`.
        public static let urlEncodedForm = Self("x-www-form-urlencoded")
    }
}
