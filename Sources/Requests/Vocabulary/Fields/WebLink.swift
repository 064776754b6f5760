/// A link of a Link field: a target and its relation to the response (RFC 8288).
public struct WebLink: Sendable {
    /// The target as written, which may be relative to the URL of the response.
    public var reference: String

    /// The parameters, including `rel`; extended ones such as `title*` are not decoded.
    public var parameters: FieldParameters

    /// Creates a link to `reference` with the relation type `relation`.
    public init(_ reference: String, relation: String) {
        self.reference = reference
        parameters = ["rel": relation]
    }

    private init(reference: String, parameters: FieldParameters) {
        self.reference = reference
        self.parameters = parameters
    }

    /// Returns the links of a field value, up to the first malformed one (RFC 8288 §3, Appendix B).
    ///
    /// An unquoted parameter value is the text up to a semicolon or comma, as in `rel=http://example.com/x`. If
    /// parameters have the same name, the first is kept; malformed ones are ignored.
    ///
    /// - Parameter fieldValue: The value of the field.
    /// - Returns: The links, in order.
    package static func links(in fieldValue: String) -> [WebLink] {
        var reader = FieldValueReader(fieldValue)
        var links: [WebLink] = []
        while true {
            reader.skipCommas()
            guard reader.skip("<") else { return links }
            // An empty reference is valid: it refers to the resource itself (RFC 3986 §4.4).
            let reference = reader.text { $0 != UInt8(ascii: ">") } ?? ""
            guard reader.skip(">") else { return links }
            links.append(WebLink(reference: reference, parameters: reader.parameters(.link)))
        }
    }

    /// The relation types in lower case, such as `next`.
    public var relations: [String] {
        ASCIIFolding.folded(parameters["rel"] ?? "").utf8.split { $0 == 0x20 || $0 == 0x09 }.map {
            String(Substring($0))
        }
    }

    /// Returns whether the link has the relation type `relation`; false if it has an anchor, because its context is
    /// then another resource.
    public func hasRelation(_ relation: String) -> Bool {
        parameters["anchor"] == nil && relations.contains { ASCIIFolding.areEqual($0, relation) }
    }

    /// The title: `title*` if it is valid, otherwise `title`, or nil if there is none.
    public var title: String? {
        parameters["title*"].flatMap { FieldParameters.ExtendedValue($0)?.text } ?? parameters["title"]
    }

    /// Returns the target of a link that a response from `base` contains; nil if it is not a valid URI.
    public func target(relativeTo base: TargetURI) -> TargetURI? {
        try? base.resolving(reference)
    }

    /// The link as a field value.
    public var fieldValue: String { FieldValueWriter.parameters(parameters, after: "<\(reference)>") }
}

extension WebLink: Hashable {
    /// Returns whether the references, compared octet by octet, and the parameters are equal.
    public static func == (left: Self, right: Self) -> Bool {
        left.reference.hasSameBytes(as: right.reference) && left.parameters == right.parameters
    }

    /// Hashes the reference and the parameters, so that equal links hash alike.
    public func hash(into hasher: inout Hasher) {
        reference.hashBytes(into: &hasher)
        hasher.combine(parameters)
    }
}

extension FieldParameters {
    /// The value of a parameter whose name ends in `*`: text with a charset and a language (RFC 8187).
    package struct ExtendedValue: Sendable {
        package var text: String

        /// The language tag of the text, or an empty string if there is none (RFC 5646).
        package var language: String

        /// Creates a value of `text` with a language tag, which may be empty.
        package init(text: String, language: String = "") {
            self.text = text
            self.language = language
        }

        /// Creates a value from text such as `UTF-8'en'%e2%82%ac%20rates`.
        ///
        /// - Parameter value: The text, with the charset UTF-8 or ISO-8859-1. The result is nil for other charsets and
        ///   for malformed text.
        package init?(_ value: String) {
            let parts = value.utf8.split(separator: UInt8(ascii: "'"), maxSplits: 2, omittingEmptySubsequences: false)
            guard parts.count == 3, parts[1].allSatisfy(Self.isLanguageByte), let bytes = Self.bytes(of: parts[2])
            else { return nil }
            language = String(decoding: parts[1], as: UTF8.self)
            switch ASCIIFolding.folded(String(decoding: parts[0], as: UTF8.self)) {
            case "utf-8":
                guard let text = String(validating: bytes, as: UTF8.self) else { return nil }
                self.text = text
            case "iso-8859-1": text = String(String.UnicodeScalarView(bytes.map { Unicode.Scalar($0) }))
            default: return nil
            }
        }

        /// Returns whether `byte` is allowed in a language tag (RFC 5646 §2.1).
        private static func isLanguageByte(_ byte: UInt8) -> Bool {
            // The subtraction wraps, so each comparison checks both bounds.
            ASCIIFolding.folded(byte) &- 0x61 < 26 || byte &- 0x30 < 10 || byte == UInt8(ascii: "-")
        }

        /// Returns the percent-decoded bytes of `text`, or nil if it is malformed (RFC 8187 §3.2.1).
        private static func bytes(of text: Substring.UTF8View) -> [UInt8]? {
            var bytes: [UInt8] = []
            var remainder = text
            while let byte = remainder.popFirst() {
                if byte == UInt8(ascii: "%") {
                    guard let high = remainder.popFirst().flatMap(Hex.value),
                        let low = remainder.popFirst().flatMap(Hex.value)
                    else { return nil }
                    bytes.append(high << 4 | low)
                } else if Token.isTokenByte(byte), byte != UInt8(ascii: "*") {
                    bytes.append(byte)
                } else {
                    return nil
                }
            }
            return bytes
        }

        /// The value as it is sent, in UTF-8 and percent-encoded.
        package var fieldValue: String {
            "UTF-8'\(language)'" + PercentEncoding(allowing: "!#$&+-.^_`|~").encode(text)
        }
    }
}

extension FieldParameters.ExtendedValue: Hashable {
    /// Returns whether the texts, compared octet by octet, and the languages, ignoring ASCII case, are equal.
    public static func == (left: Self, right: Self) -> Bool {
        left.text.hasSameBytes(as: right.text) && ASCIIFolding.areEqual(left.language, right.language)
    }

    /// Hashes the octets of the text and the folded language, so that equal values hash alike.
    public func hash(into hasher: inout Hasher) {
        text.hashBytes(into: &hasher)
        ASCIIFolding.hash(language, into: &hasher)
    }
}
