extension MediaType {
    /// Reads a field value such as `Text/HTML; charset="utf-8"` (RFC 9110 §8.3.1).
    ///
    /// White space around the parts is dropped, quoted values are unquoted, a parameter without `=` is dropped. Nil when
    /// type or subtype is missing or no token.
    public init?(_ fieldValue: String) {
        var reader = Reader(bytes: Array(fieldValue.utf8))
        guard let type = reader.token(), reader.skip(UInt8(ascii: "/")), let subtype = reader.token() else {
            return nil
        }
        let parameters = reader.parameters()
        guard let parameters else { return nil }
        self.init(type: TopLevelType(type), subtype: SubType(subtype), parameters: Parameters(parameters))
    }

    private struct Reader {
        let bytes: [UInt8]
        var position = 0

        mutating func skip(_ byte: UInt8) -> Bool {
            guard position < bytes.count, bytes[position] == byte else { return false }
            position += 1
            return true
        }

        mutating func skipWhitespace() {
            while skip(0x20) || skip(0x09) {}
        }

        mutating func token() -> String? {
            skipWhitespace()
            let start = position
            while position < bytes.count, Token.isTokenByte(bytes[position]) { position += 1 }
            return position > start ? String(decoding: bytes[start..<position], as: UTF8.self) : nil
        }

        mutating func parameters() -> [Parameters.Element]? {
            var elements: [Parameters.Element] = []
            while true {
                skipWhitespace()
                guard position < bytes.count else { return elements }
                guard skip(UInt8(ascii: ";")) else { return nil }
                if let element = parameter() { elements.append(element) }
            }
        }

        private mutating func parameter() -> Parameters.Element? {
            if let name = token(), skip(UInt8(ascii: "=")), let value = quotedString() ?? token() {
                return Parameters.Element(name: name, value: value)
            }
            while position < bytes.count, bytes[position] != UInt8(ascii: ";") { position += 1 }
            return nil
        }

        private mutating func quotedString() -> String? {
            guard skip(UInt8(ascii: "\"")) else { return nil }
            var text: [UInt8] = []
            while position < bytes.count {
                if skip(UInt8(ascii: "\"")) { break }
                if bytes[position] == UInt8(ascii: "\\"), position + 1 < bytes.count { position += 1 }
                text.append(bytes[position])
                position += 1
            }
            return String(decoding: text, as: UTF8.self)
        }
    }
}
