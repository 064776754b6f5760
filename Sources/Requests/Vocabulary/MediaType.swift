/// A media type such as `text/html; charset=utf-8`, or a media range such as `image/*` (RFC 9110 §8.3.1, §12.5.1).
///
/// `==` and hashing ignore the parameters; ``matches(_:)`` compares with wildcards. Names are compared without regard
/// to ASCII case and keep their spelling; parameters keep their order.
public struct MediaType: Sendable {
    /// The part before the slash, such as `text`.
    public var type: TopLevelType

    /// The part after the slash, such as `html`.
    public var subtype: Subtype

    /// The parameters, in order; `parameters["charset"]` is the value of one.
    public var parameters: FieldParameters

    /// Creates a media type from its parts.
    public init(type: TopLevelType, subtype: Subtype, parameters: FieldParameters = [:]) {
        self.type = type
        self.subtype = subtype
        self.parameters = parameters
    }

    /// The media type as a field value, `type/subtype; name=value`, with values quoted if they are not tokens.
    public var rawValue: String {
        let (type, subtype) = (type.rawValue.rawValue, subtype.rawValue.rawValue)
        // By far the most frequent type: a literal saves two concatenations.
        let text = type == "application" && subtype == "json" ? "application/json" : type + "/" + subtype
        if parameters.isEmpty { return text }
        // Appending in place takes linear time; a new text for each parameter would take quadratic time.
        return parameters.reduce(into: text) { text, parameter in
            text += "; \(parameter.name)=\(FieldValueWriter.tokenOrQuoted(parameter.value))"
        }
    }

    /// Returns whether this type or range includes `other`, ignoring parameters: `*/*`, `type/*` or the same type.
    public func matches(_ other: MediaType) -> Bool {
        if type == .any { return true }
        return type == other.type && (subtype == .any || subtype == other.subtype)
    }

    /// Returns whether a decoder that accepts this type can decode `other`.
    ///
    /// These are the types that this type ``matches(_:)``. JSON also includes `text/json`, `text/javascript` and every
    /// subtype that ends in `+json` (RFC 6839 §3.1), and XML every subtype that ends in `+xml` (RFC 7303 §4).
    package func reads(_ other: MediaType) -> Bool {
        if matches(other) { return true }
        if self == .xml { return other.isXML }
        guard self == .json else { return false }
        let subtype = ASCIIFolding.folded(other.subtype.rawValue.rawValue)
        return (other.type == .text && (subtype == "json" || subtype == "javascript"))
            || subtype.utf8.suffix(5).elementsEqual("+json".utf8)
    }

    /// Whether the subtype is `xml` or ends in `+xml` (RFC 7303 §4).
    package var isXML: Bool {
        let subtype = ASCIIFolding.folded(subtype.rawValue.rawValue)
        return subtype == "xml" || subtype.utf8.suffix(4).elementsEqual("+xml".utf8)
    }
}

extension MediaType: Hashable, CustomStringConvertible {
    /// Returns whether type and subtype are equal; the parameters are ignored.
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

extension MediaType: Codable {
    /// Decodes a media type from its text, which ``init(_:)`` reads.
    ///
    /// - Throws: `DecodingError.dataCorrupted` for text that is not a media type.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        let text = try container.decode(String.self)
        guard let type = Self(text) else {
            throw DecodingError.dataCorruptedError(in: container, debugDescription: "malformed media type: “\(text)”")
        }
        self = type
    }

    /// Encodes the ``rawValue``, with the parameters.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(rawValue)
    }
}

extension MediaType: ExpressibleByStringLiteral {
    /// Creates a media type from a literal such as `"text/csv; charset=utf-8"`.
    ///
    /// A malformed literal is a programming error and traps at the line of the literal. For text known only at run
    /// time, use ``init(_:)``, which returns nil for malformed text.
    @_transparent  // so that a debugger and a crash report name the line of the literal
    public init(stringLiteral value: StaticString) {
        guard let type = MediaType(String(describing: value)) else {
            preconditionFailure("malformed media type literal: \(value)")
        }
        self = type
    }
}

// The constants are computed: each access to a stored static checks whether it is initialized.
extension MediaType {
    /// The part of a media type before the slash.
    public struct TopLevelType: Hashable, Sendable, ExpressibleByStringLiteral {
        /// The name with its original spelling.
        public let rawValue: CaseInsensitiveString

        /// Creates a top-level type that keeps the spelling of `rawValue`.
        public init(_ rawValue: String) { self.rawValue = CaseInsensitiveString(rawValue) }

        /// Creates a top-level type that keeps the spelling of the literal.
        public init(stringLiteral value: String) { self.init(value) }

        /// The wildcard `*`, which includes all types.
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
    public struct Subtype: Hashable, Sendable, ExpressibleByStringLiteral {
        /// The name with its original spelling.
        public let rawValue: CaseInsensitiveString

        /// Creates a subtype that keeps the spelling of `rawValue`.
        public init(_ rawValue: String) { self.rawValue = CaseInsensitiveString(rawValue) }

        /// Creates a subtype that keeps the spelling of the literal.
        public init(stringLiteral value: String) { self.init(value) }

        /// The wildcard `*`, which includes all subtypes.
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
