/// How a body is meant to be presented, and under which name it would be kept (RFC 6266).
public struct ContentDisposition: Sendable {
    /// `inline`, `attachment`, `form-data` or another type, in lower case.
    public var type: String

    /// The parameters as they are sent, `filename` and `filename*` among them.
    public var parameters: FieldParameters

    /// A disposition of `type` and `parameters`.
    public init(_ type: String, parameters: FieldParameters = [:]) {
        self.type = ASCIIFolding.folded(type)
        self.parameters = parameters
    }

    /// An attachment to be kept as `filename`, which any text may be.
    ///
    /// A name outside ASCII is sent twice: as `filename*` (RFC 8187), and for older recipients as `filename` with `_` in
    /// the place of what it cannot hold.
    public static func attachment(filename: String) -> ContentDisposition {
        var disposition = ContentDisposition("attachment")
        let isPlain = filename.utf8.allSatisfy { $0 >= 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "%") }
        let plain = filename.unicodeScalars.map { scalar in
            scalar.isASCII && scalar.value >= 0x20 && scalar.value != 0x7F && scalar != "%" ? String(scalar) : "_"
        }
        disposition.parameters["filename"] = plain.joined()
        if !isPlain { disposition.parameters["filename*"] = ExtendedValue(text: filename).fieldValue }
        return disposition
    }

    /// Reads a field's value; nil when it has no type.
    ///
    /// The field is not a list: a comma outside a quoted string makes the parameter malformed, and a malformed parameter
    /// is left out. `attachment; filename=foo,bar.html` is an attachment without a name.
    public init?(fieldValue: String) {
        var reader = FieldValueReader(fieldValue)
        reader.skipWhitespace()
        guard let type = reader.token() else { return nil }
        reader.skipWhitespace()
        guard reader.isAtEnd || reader.isAt(";") else { return nil }
        self.init(type, parameters: reader.parameters(.single))
    }

    /// The name as the sender gave it: `filename*` when it can be read, otherwise `filename`.
    ///
    /// It is data of others: use ``safeFilename`` to make a file of that name.
    public var filename: String? {
        parameters["filename*"].flatMap { ExtendedValue($0)?.text } ?? parameters["filename"]
    }

    /// The last component of ``filename`` in a form that is safe as the name of a file; nil when nothing remains.
    ///
    /// - Everything up to the last `/` or `\` is removed, whatever follows that octet.
    /// - NUL, other controls, line separators, noncharacters and the marks that reverse the direction of text
    ///   (`evil\u{202E}gpj.exe` is shown as `evilexe.jpg`) are removed.
    /// - Dots, white space, combining marks and joiners at the beginning are removed, and white space at the end: a peer
    ///   can neither hide a file nor name the folder or its parent.
    /// - A name of more than 240 bytes of UTF-8 is cut before its extension, because most file systems allow 255 bytes.
    ///
    /// It is not checked against names that some systems reserve, nor whether such a file exists.
    public var safeFilename: String? {
        filename.flatMap(SafeFilename.make)
    }

    /// The disposition as a field's value.
    public var fieldValue: String { FieldValueWriter.parameters(parameters, after: type) }
}

extension ContentDisposition: Hashable {
    /// Whether the types are the same, ignoring ASCII case, and the parameters.
    public static func == (left: Self, right: Self) -> Bool {
        ASCIIFolding.areEqual(left.type, right.type) && left.parameters == right.parameters
    }

    /// Hashes type and parameters, so that equal dispositions hash alike.
    public func hash(into hasher: inout Hasher) {
        ASCIIFolding.hash(type, into: &hasher)
        hasher.combine(parameters)
    }
}
