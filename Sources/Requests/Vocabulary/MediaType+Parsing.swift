extension MediaType {
    /// Creates a media type from a field value such as `Text/HTML; charset="utf-8"` (RFC 9110 §8.3.1).
    ///
    /// White space around the parts is removed, and quoted values are unquoted. Malformed and repeated parameters are
    /// ignored. The result is nil if the type or subtype is missing or not a token, or if they are followed by anything
    /// other than parameters.
    public init?(_ fieldValue: String) {
        var reader = Reader(bytes: Array(fieldValue.utf8))
        reader.skipWhitespace()
        guard let type = reader.token(), reader.skip(UInt8(ascii: "/")), let subtype = reader.token() else {
            return nil
        }
        reader.skipWhitespace()
        guard reader.isAtEnd || reader.isAt(UInt8(ascii: ";")) else { return nil }
        self.init(type: TopLevelType(type), subtype: Subtype(subtype), parameters: reader.parameters())
    }

    /// Returns whether `fieldValue` is this type and subtype, optionally followed by parameters.
    ///
    /// This check does not parse the parameters and is sufficient for most responses.
    func isName(of fieldValue: UnsafeBufferPointer<UInt8>) -> Bool {
        var (type, subtype) = (type.rawValue.rawValue, subtype.rawValue.rawValue)
        let slash = type.utf8.count
        let end = slash + 1 + subtype.utf8.count
        guard fieldValue.count >= end, fieldValue[slash] == UInt8(ascii: "/"),
            fieldValue.count == end || fieldValue[end] == UInt8(ascii: ";")
        else { return false }
        return type.withUTF8 { ASCIIFolding.areEqual($0, UnsafeBufferPointer(rebasing: fieldValue[..<slash])) }
            && subtype.withUTF8 {
                ASCIIFolding.areEqual($0, UnsafeBufferPointer(rebasing: fieldValue[(slash + 1)..<end]))
            }
    }

    /// A parser of the bytes of a Content-Type value.
    private struct Reader {
        let bytes: [UInt8]
        var position = 0

        var isAtEnd: Bool { position >= bytes.count }

        func isAt(_ byte: UInt8) -> Bool {
            position < bytes.count && bytes[position] == byte
        }

        mutating func skip(_ byte: UInt8) -> Bool {
            guard isAt(byte) else { return false }
            position += 1
            return true
        }

        mutating func skipWhitespace() {
            while skip(0x20) || skip(0x09) {}
        }

        mutating func token() -> String? {
            let start = position
            while position < bytes.count, Token.isTokenByte(bytes[position]) { position += 1 }
            return position > start ? String(decoding: bytes[start..<position], as: UTF8.self) : nil
        }

        /// Reads the parameters up to the end, each after a semicolon.
        mutating func parameters() -> FieldParameters {
            var parameters = FieldParameters()
            var names = DistinctNames()
            while skip(UInt8(ascii: ";")) {
                skipWhitespace()
                if let (name, value) = parameter(), names.insert(name) { parameters.add(name: name, value: value) }
                // Skips the remainder of a malformed parameter.
                _ = upToSemicolon()
            }
            return parameters
        }

        /// Reads one parameter, or returns nil if it is malformed.
        private mutating func parameter() -> (name: String, value: String)? {
            guard let name = token(), skip(UInt8(ascii: "=")) else { return nil }
            let value = isAt(UInt8(ascii: "\"")) ? quotedString() : upToSemicolon()
            guard let value, !value.contains(where: Token.isForbiddenInValue) else { return nil }
            return (name, String(decoding: value, as: UTF8.self))
        }

        /// Reads an unquoted value: the bytes before the next semicolon, without white space at their end.
        private mutating func upToSemicolon() -> [UInt8]? {
            let start = position
            position = bytes[start...].firstIndex(of: UInt8(ascii: ";")) ?? bytes.count
            let end = bytes[start..<position].lastIndex { $0 != 0x20 && $0 != 0x09 }
            return end.map { Array(bytes[start...$0]) }
        }

        /// Reads the text between quotation marks without its escapes; the closing mark may be missing.
        private mutating func quotedString() -> [UInt8]? {
            guard skip(UInt8(ascii: "\"")) else { return nil }
            var text: [UInt8] = []
            while position < bytes.count, !skip(UInt8(ascii: "\"")) {
                if bytes[position] == UInt8(ascii: "\\"), position + 1 < bytes.count { position += 1 }
                text.append(bytes[position])
                position += 1
            }
            return text
        }
    }
}
