/// The intended presentation of a body and its file name (RFC 6266).
public struct ContentDisposition: Sendable {
    /// The type in lower case: `inline`, `attachment`, `form-data` or another.
    public var type: String

    /// The parameters as they are sent, including `filename` and `filename*`.
    public var parameters: FieldParameters

    /// Creates a disposition; `type` is converted to lower case.
    public init(_ type: String, parameters: FieldParameters = [:]) {
        self.type = ASCIIFolding.folded(type)
        self.parameters = parameters
    }

    /// Returns an attachment with a file name.
    ///
    /// - Parameter filename: The file name, which may be any text. Unless it is printable ASCII without `%`, it is sent
    ///   as `filename*` (RFC 8187) and, for older recipients, as `filename` with `_` in place of all other characters.
    /// - Returns: The disposition.
    public static func attachment(filename: String) -> ContentDisposition {
        var disposition = ContentDisposition("attachment")
        let isPlain = filename.utf8.allSatisfy { $0 >= 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "%") }
        let plain = filename.unicodeScalars.map { scalar in
            scalar.isASCII && scalar.value >= 0x20 && scalar.value != 0x7F && scalar != "%" ? String(scalar) : "_"
        }
        disposition.parameters["filename"] = plain.joined()
        if !isPlain { disposition.parameters["filename*"] = FieldParameters.ExtendedValue(text: filename).fieldValue }
        return disposition
    }

    /// Creates a disposition from a field value, or nil if the value has no type.
    ///
    /// The field is not a list: a comma outside a quoted string makes a parameter malformed, and malformed parameters
    /// are ignored. `attachment; filename=foo,bar.html` is an attachment without a name.
    public init?(fieldValue: String) {
        var reader = FieldValueReader(fieldValue)
        reader.skipWhitespace()
        guard let type = reader.token() else { return nil }
        reader.skipWhitespace()
        guard reader.isAtEnd || reader.isAt(";") else { return nil }
        self.init(type, parameters: reader.parameters(.single))
    }

    /// The file name as it was sent: `filename*` if it is valid, otherwise `filename`.
    ///
    /// The name is untrusted. To create a file, use ``safeFilename``.
    public var filename: String? {
        parameters["filename*"].flatMap { FieldParameters.ExtendedValue($0)?.text } ?? parameters["filename"]
    }

    /// The last path component of ``filename``, made safe as a file name, or nil if nothing remains.
    ///
    /// - Everything up to the last `/` or `\` is removed, even if a combining mark follows it.
    /// - NUL, other control characters, line separators, noncharacters and bidirectional controls are removed;
    ///   `evil\u{202E}gpj.exe` would be displayed as `evilexe.jpg`.
    /// - Dots, white space, combining marks and joiners at the beginning and white space at the end are removed, so
    ///   that a server can neither create a hidden file nor name the directory or its parent.
    /// - A name of more than 240 bytes in UTF-8 is shortened before its extension: most file systems allow 255 bytes.
    ///
    /// The name may be one that a system reserves, and a file of that name may exist.
    public var safeFilename: String? {
        filename.flatMap(SafeFilename.make)
    }

    /// The disposition as a field value.
    public var fieldValue: String { FieldValueWriter.parameters(parameters, after: type) }
}

extension ContentDisposition: Hashable {
    /// Returns whether the types, ignoring ASCII case, and the parameters are equal.
    public static func == (left: Self, right: Self) -> Bool {
        ASCIIFolding.areEqual(left.type, right.type) && left.parameters == right.parameters
    }

    /// Hashes the folded type and the parameters, so that equal dispositions hash alike.
    public func hash(into hasher: inout Hasher) {
        ASCIIFolding.hash(type, into: &hasher)
        hasher.combine(parameters)
    }
}
