extension MediaType {
    /// Reads a field value such as `Text/HTML; charset="utf-8"` (RFC 9110 §8.3.1).
    ///
    /// White space around the parts is dropped, quoted values are unquoted. A parameter that is malformed or repeated
    /// is dropped. Nil when type or subtype is missing or no token, or when something else follows them.
    public init?(_ fieldValue: String) {
        var reader = Reader(bytes: Array(fieldValue.utf8))
        reader.skipWhitespace()
        guard let type = reader.token(), reader.skip(UInt8(ascii: "/")), let subtype = reader.token() else {
            return nil
        }
        reader.skipWhitespace()
        guard reader.isAtEnd || reader.isAt(UInt8(ascii: ";")) else { return nil }
        self.init(type: TopLevelType(type), subtype: SubType(subtype), parameters: Parameters(reader.parameters()))
    }

    /// Whether a field value begins with this type and subtype and has no more or parameters: what is asked of most
    /// responses, without reading the parameters.
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

        /// The parameters up to the end, each after a semicolon.
        mutating func parameters() -> [Parameters.Element] {
            var elements: [Parameters.Element] = []
            var names = DistinctNames()
            while skip(UInt8(ascii: ";")) {
                skipWhitespace()
                if let element = parameter(), names.insert(element.name) { elements.append(element) }
                _ = upToSemicolon()
            }
            return elements
        }

        private mutating func parameter() -> Parameters.Element? {
            guard let name = token(), skip(UInt8(ascii: "=")) else { return nil }
            let value = isAt(UInt8(ascii: "\"")) ? quotedString() : upToSemicolon()
            guard let value, !value.contains(where: Token.isForbiddenInValue) else { return nil }
            return Parameters.Element(name: name, value: String(decoding: value, as: UTF8.self))
        }

        /// An unquoted value: whatever stands before the next semicolon, without white space at its end.
        private mutating func upToSemicolon() -> [UInt8]? {
            let start = position
            position = bytes[start...].firstIndex(of: UInt8(ascii: ";")) ?? bytes.count
            let end = bytes[start..<position].lastIndex { $0 != 0x20 && $0 != 0x09 }
            return end.map { Array(bytes[start...$0]) }
        }

        /// The text between quotation marks, its escapes undone; a missing mark at the end is forgiven.
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
