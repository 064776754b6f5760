/// Reads what the grammars of field values share: tokens, quoted strings, parameters and lists (RFC 9110 §5.6).
package struct FieldValueReader {
    /// The bytes of the value.
    package let bytes: [UInt8]

    /// Where the next read begins.
    package var position = 0

    /// A reader at the beginning of `text`.
    package init(_ text: some StringProtocol) {
        bytes = Array(text.utf8)
    }

    /// Whether everything has been read.
    package var isAtEnd: Bool { position >= bytes.count }

    /// The next byte, nil at the end.
    package var byte: UInt8? { position < bytes.count ? bytes[position] : nil }

    /// Whether the next byte is `character`, which is ASCII.
    package func isAt(_ character: Unicode.Scalar) -> Bool {
        byte.map { UInt32($0) == character.value } ?? false
    }

    /// Steps over `character`, which is ASCII, if it is next.
    package mutating func skip(_ character: Unicode.Scalar) -> Bool {
        guard isAt(character) else { return false }
        position += 1
        return true
    }

    /// Steps over spaces and tabs; gives whether there were any.
    @discardableResult
    package mutating func skipWhitespace() -> Bool {
        let start = position
        while skip(" ") || skip("\t") {}
        return position > start
    }

    /// Steps over white space and empty elements of a list; gives whether a comma was among it, or the end was reached.
    @discardableResult
    package mutating func skipCommas() -> Bool {
        var hasComma = false
        skipWhitespace()
        while skip(",") {
            hasComma = true
            skipWhitespace()
        }
        return hasComma || isAtEnd
    }

    /// The bytes for which `condition` holds, as text; nil when there is none.
    package mutating func text(while condition: (UInt8) -> Bool) -> String? {
        let start = position
        while let byte, condition(byte) { position += 1 }
        return position > start ? String(decoding: bytes[start..<position], as: UTF8.self) : nil
    }

    /// A token (RFC 9110 §5.6.2); nil when none is next.
    package mutating func token() -> String? {
        text(while: Token.isTokenByte)
    }

    /// A number of decimal digits; one too large to count is the largest there is, nil when no digit is next.
    package mutating func number() -> Int? {
        text { $0 &- 0x30 < 10 }.map { Int($0) ?? .max }
    }

    /// A quoted string, its escapes undone (RFC 9110 §5.6.4); nil, and nothing read, when it is malformed or unclosed.
    package mutating func quotedString() -> String? {
        let start = position
        var text: [UInt8] = []
        guard skip("\"") else { return nil }
        while let byte {
            position += 1
            switch byte {
            case UInt8(ascii: "\""): return String(decoding: text, as: UTF8.self)
            case UInt8(ascii: "\\"):
                guard let escaped = self.byte, !Token.isForbiddenInValue(escaped) else { break }
                text.append(escaped)
                position += 1
                continue
            case _ where Token.isForbiddenInValue(byte): break
            default:
                text.append(byte)
                continue
            }
            break
        }
        position = start
        return nil
    }

    /// A token or a quoted string.
    package mutating func value() -> String? {
        isAt("\"") ? quotedString() : token()
    }

    /// The parameters up to a comma or the end, each after a semicolon (RFC 9110 §5.6.6); of a name said twice the
    /// first, malformed ones left out.
    package mutating func parameters() -> FieldParameters {
        var parameters = FieldParameters()
        while true {
            skipWhitespace()
            guard skip(";") else { break }
            skipWhitespace()
            if let name = token() {
                skipWhitespace()
                var value: String? = ""
                if skip("=") {
                    skipWhitespace()
                    value = self.value()
                }
                skipWhitespace()
                let isWhole = isAtEnd || isAt(";") || isAt(",")
                if isWhole, let value, parameters[name] == nil { parameters.append(name, value) }
            }
            skipToSeparator()
        }
        skipToSeparator(isSemicolon: false)
        return parameters
    }

    /// Steps to the next comma, or semicolon, that is in no quoted string.
    private mutating func skipToSeparator(isSemicolon: Bool = true) {
        while let byte, byte != UInt8(ascii: ","), !isSemicolon || byte != UInt8(ascii: ";") {
            if quotedString() == nil { position += 1 }
        }
    }
}

/// Writes the parts of field values.
package enum FieldValueWriter {
    /// `text` as a token if it is one, otherwise as a quoted string (RFC 9110 §5.6.4).
    package static func tokenOrQuoted(_ text: String) -> String {
        Token.isToken(text.utf8) ? text : quoted(text)
    }

    /// `text` as a quoted string (RFC 9110 §5.6.4).
    package static func quoted(_ text: String) -> String {
        let escaped = text.replacingBytes { byte in
            switch byte {
            case UInt8(ascii: "\\"): #"\\"#
            case UInt8(ascii: "\""): #"\""#
            default: nil
            }
        }
        return "\"" + escaped + "\""
    }
}
