/// Reads what the grammars of field values share: tokens, quoted strings, parameters and lists (RFC 9110 §5.6).
package struct FieldValueReader {
    /// The bytes of the value.
    package let bytes: [UInt8]

    /// Where the next read begins.
    package var position = 0

    /// Where no quoted string begins: an attempt at the first of these bytes reached the last without its end.
    private var unclosed = 0..<0

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

    /// A number of decimal digits; nil, and nothing read, when no digit is next or the number exceeds `Int.max`.
    package mutating func number() -> Int? {
        let start = position
        guard let digits = text(while: { $0 &- 0x30 < 10 }), let number = Int(digits) else {
            position = start
            return nil
        }
        return number
    }

    /// A number of decimal digits; `limit` for any larger number, nil when no digit is next.
    package mutating func number(limitedTo limit: Int) -> Int? {
        text { $0 &- 0x30 < 10 }.map { min(Int($0) ?? limit, limit) }
    }

    /// A quoted string without its escapes (RFC 9110 §5.6.4); nil, and nothing read, when it is malformed or unclosed.
    package mutating func quotedString() -> String? {
        let start = position
        // A quotation mark inside an unclosed string was an escaped one; reading on from it reaches the same end.
        guard !unclosed.contains(start), skip("\"") else { return nil }
        var text: [UInt8] = []
        while let byte, !Token.isForbiddenInValue(byte) {
            position += 1
            if byte == UInt8(ascii: "\"") { return String(decoding: text, as: UTF8.self) }
            if byte != UInt8(ascii: "\\") {
                text.append(byte)
                continue
            }
            guard let escaped = self.byte, !Token.isForbiddenInValue(escaped) else { break }
            text.append(escaped)
            position += 1
        }
        unclosed = start..<position
        position = start
        return nil
    }

    /// A token or a quoted string.
    package mutating func value() -> String? {
        isAt("\"") ? quotedString() : token()
    }

    /// How the parameters of a field are written.
    package enum ParameterStyle {
        /// Values are tokens or quoted strings, and a comma has no meaning (RFC 9110 §5.6.6).
        case single
        /// As in Link: a comma ends the parameters, an unquoted value is any text (RFC 8288 Appendix B.3).
        case link
    }

    /// The parameters up to the end, or in a Link up to a comma, each after a semicolon.
    ///
    /// Of parameters with the same name the first is kept; malformed ones are left out.
    package mutating func parameters(_ style: ParameterStyle) -> FieldParameters {
        var parameters = FieldParameters()
        var names = DistinctNames()
        while true {
            skipWhitespace()
            guard skip(";") else { break }
            skipWhitespace()
            if let (name, value) = parameter(style), names.insert(name) { parameters.append(name, value) }
            skipToSeparator(style)
        }
        if style == .link { skipToSeparator(style, isSemicolon: false) }
        return parameters
    }

    /// A parameter that ends where a separator or the end is next; nil when it is malformed.
    private mutating func parameter(_ style: ParameterStyle) -> (name: String, value: String)? {
        guard let name = token() else { return nil }
        skipWhitespace()
        var value: String? = ""
        if skip("=") {
            skipWhitespace()
            value = style == .link && !isAt("\"") ? linkValue() : self.value()
            skipWhitespace()
        }
        guard let value, isAtEnd || isAt(";") || style == .link && isAt(",") else { return nil }
        return (name, value)
    }

    /// The text up to a semicolon, comma or the end, without white space at its end; nil when it holds a control byte.
    private mutating func linkValue() -> String? {
        let start = position
        while let byte, byte != UInt8(ascii: ";"), byte != UInt8(ascii: ",") { position += 1 }
        var end = position
        while end > start, bytes[end - 1] == 0x20 || bytes[end - 1] == 0x09 { end -= 1 }
        let value = bytes[start..<end]
        return value.contains(where: Token.isForbiddenInValue) ? nil : String(decoding: value, as: UTF8.self)
    }

    /// Skips to the next semicolon, and in a Link to a comma, that is not inside a quoted string.
    private mutating func skipToSeparator(_ style: ParameterStyle, isSemicolon: Bool = true) {
        while let byte {
            if isSemicolon && byte == UInt8(ascii: ";") || style == .link && byte == UInt8(ascii: ",") { return }
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
        var bytes: [UInt8] = [UInt8(ascii: "\"")]
        bytes.reserveCapacity(text.utf8.count + 2)
        // By octets: a quotation mark is one whatever combining mark follows it.
        for byte in text.utf8 {
            if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") { bytes.append(UInt8(ascii: "\\")) }
            bytes.append(byte)
        }
        bytes.append(UInt8(ascii: "\""))
        return String(decoding: bytes, as: UTF8.self)
    }

    /// The parameters of a field, each after a semicolon; the value of a name that ends in `*` is written as it is.
    static func parameters(_ parameters: FieldParameters, after text: String) -> String {
        parameters.reduce(into: text) { text, parameter in
            let isExtended = parameter.name.utf8.last == UInt8(ascii: "*")
            text += "; \(parameter.name)=" + (isExtended ? parameter.value : quoted(parameter.value))
        }
    }
}
