/// How a body is meant to be presented, and under which name it would be kept (RFC 6266).
public struct ContentDisposition: Hashable, Sendable {
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
    public init?(fieldValue: String) {
        var reader = FieldValueReader(fieldValue)
        reader.skipWhitespace()
        guard let type = reader.token() else { return nil }
        reader.skipWhitespace()
        guard reader.isAtEnd || reader.isAt(";") else { return nil }
        self.init(type, parameters: reader.parameters())
    }

    /// The name as the sender gave it: `filename*` when it can be read, otherwise `filename`.
    ///
    /// It is data of others: use ``safeFilename`` to make a file of that name.
    public var filename: String? {
        parameters["filename*"].flatMap { ExtendedValue($0)?.text } ?? parameters["filename"]
    }

    /// The last component of ``filename`` without controls; nil when nothing is left or it is `.` or `..`.
    public var safeFilename: String? {
        let last = filename?.split(omittingEmptySubsequences: false) { $0 == "/" || $0 == "\\" }.last ?? ""
        let visible = last.unicodeScalars.filter { $0.properties.generalCategory != .control }
        let name = String(String.UnicodeScalarView(visible)).trimmingPrefix(while: \.isWhitespace)
        let isName = name.contains { $0 != "." && !$0.isWhitespace }
        return isName ? String(name) : nil
    }

    /// The disposition as a field's value.
    public var fieldValue: String {
        parameters.reduce(type) { text, parameter in
            let isExtended = parameter.name.hasSuffix("*")
            return text + "; \(parameter.name)="
                + (isExtended ? parameter.value : FieldValueWriter.quoted(parameter.value))
        }
    }
}
