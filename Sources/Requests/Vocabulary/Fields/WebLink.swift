/// One link of a Link field: where it leads and what it is to the answer (RFC 8288).
public struct WebLink: Sendable {
    /// Where it leads, as it was written: it may be relative to the URL that answered.
    public var reference: String

    /// The parameters, `rel` among them; `title*` and its like as they were written.
    public var parameters: FieldParameters

    /// A link to `reference` that is `relation` to the answer.
    public init(_ reference: String, relation: String) {
        self.reference = reference
        parameters = ["rel": relation]
    }

    private init(reference: String, parameters: FieldParameters) {
        self.reference = reference
        self.parameters = parameters
    }

    /// The links of a field's value (RFC 8288 §3, Appendix B); the list ends at the first link that is malformed.
    ///
    /// An unquoted value is the text up to a semicolon or comma, as in `rel=http://example.com/x`. Of parameters with
    /// the same name the first is kept; malformed ones are left out.
    public static func links(in fieldValue: String) -> [WebLink] {
        var reader = FieldValueReader(fieldValue)
        var links: [WebLink] = []
        while true {
            reader.skipCommas()
            guard reader.skip("<") else { return links }
            let reference = reader.text { $0 != UInt8(ascii: ">") } ?? ""
            guard reader.skip(">") else { return links }
            links.append(WebLink(reference: reference, parameters: reader.parameters(.link)))
        }
    }

    /// What the link is to the answer: relation types in lower case, such as `next`.
    public var relations: [String] {
        ASCIIFolding.folded(parameters["rel"] ?? "").utf8.split { $0 == 0x20 || $0 == 0x09 }.map {
            String(Substring($0))
        }
    }

    /// Whether the link is `relation` to the answer; a link with another anchor is not.
    public func isRelated(as relation: String) -> Bool {
        parameters["anchor"] == nil && relations.contains { ASCIIFolding.areEqual($0, relation) }
    }

    /// The title, from `title*` when it can be read, otherwise from `title`.
    public var title: String? {
        parameters["title*"].flatMap { ExtendedValue($0)?.text } ?? parameters["title"]
    }

    /// Where the link leads when `base` answered; nil when it cannot be asked.
    public func target(relativeTo base: TargetURI) -> TargetURI? {
        try? base.resolving(reference)
    }

    /// The link as a field's value.
    public var fieldValue: String { FieldValueWriter.parameters(parameters, after: "<\(reference)>") }
}

extension WebLink: Hashable {
    /// Whether the references have the same octets and the parameters are the same.
    public static func == (left: Self, right: Self) -> Bool {
        OctetText.areEqual(left.reference, right.reference) && left.parameters == right.parameters
    }

    /// Hashes reference and parameters, so that equal links hash alike.
    public func hash(into hasher: inout Hasher) {
        OctetText.hash(reference, into: &hasher)
        hasher.combine(parameters)
    }
}

/// A value of a parameter whose name ends in `*`: text in a stated encoding and language (RFC 8187, once RFC 5987).
public struct ExtendedValue: Sendable {
    /// The text.
    public var text: String

    /// The language of the text (RFC 5646); empty when none is stated.
    public var language: String

    /// A value of `text` in `language`.
    public init(text: String, language: String = "") {
        self.text = text
        self.language = language
    }

    /// Reads `UTF-8'en'%e2%82%ac%20rates` or the like in ISO-8859-1; nil for any other encoding or what is malformed.
    public init?(_ value: String) {
        let parts = value.utf8.split(separator: UInt8(ascii: "'"), maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count == 3, parts[1].allSatisfy(Self.isLanguageByte), let bytes = Self.bytes(of: parts[2]) else {
            return nil
        }
        language = String(decoding: parts[1], as: UTF8.self)
        switch ASCIIFolding.folded(String(decoding: parts[0], as: UTF8.self)) {
        case "utf-8":
            guard let text = String(validating: bytes, as: UTF8.self) else { return nil }
            self.text = text
        case "iso-8859-1": text = String(String.UnicodeScalarView(bytes.map { Unicode.Scalar($0) }))
        default: return nil
        }
    }

    /// Whether `byte` may be part of a language tag (RFC 5646 §2.1).
    private static func isLanguageByte(_ byte: UInt8) -> Bool {
        ASCIIFolding.folded(byte) &- 0x61 < 26 || byte &- 0x30 < 10 || byte == UInt8(ascii: "-")
    }

    private static func bytes(of text: Substring.UTF8View) -> [UInt8]? {
        var bytes: [UInt8] = []
        var rest = text
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "%") {
                guard let high = rest.popFirst().flatMap(Hex.value), let low = rest.popFirst().flatMap(Hex.value)
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

    /// The value as it is sent: UTF-8, percent-encoded.
    public var fieldValue: String {
        "UTF-8'\(language)'" + PercentEncoding(leaving: "!#$&+-.^_`|~").encode(text)
    }
}

extension ExtendedValue: Hashable {
    /// Whether the texts have the same octets and the languages are the same, ignoring ASCII case.
    public static func == (left: Self, right: Self) -> Bool {
        OctetText.areEqual(left.text, right.text) && ASCIIFolding.areEqual(left.language, right.language)
    }

    /// Hashes the octets of the text and the folded language, so that equal values hash alike.
    public func hash(into hasher: inout Hasher) {
        OctetText.hash(text, into: &hasher)
        ASCIIFolding.hash(language, into: &hasher)
    }
}
