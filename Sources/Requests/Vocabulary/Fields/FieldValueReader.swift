/// A parser for the common grammar of field values: tokens, quoted strings, parameters and lists (RFC 9110 §5.6).
package struct FieldValueReader {
    /// The bytes of the value.
    package let bytes: [UInt8]

    /// The position of the next byte to read.
    package var position = 0

    /// The bytes of a quoted string that is not closed; no quoted string begins inside them.
    ///
    /// Without this, many unclosed quotation marks would take quadratic time.
    private var unclosed = 0..<0

    /// Creates a parser at the beginning of `text`.
    package init(_ text: some StringProtocol) {
        bytes = Array(text.utf8)
    }

    /// Whether all bytes have been read.
    package var isAtEnd: Bool { position >= bytes.count }

    /// The next byte, or nil at the end.
    package var byte: UInt8? { position < bytes.count ? bytes[position] : nil }

    /// Returns whether the next byte is `character`, which must be ASCII.
    package func isAt(_ character: Unicode.Scalar) -> Bool {
        byte.map { UInt32($0) == character.value } ?? false
    }

    /// Skips `character`, which must be ASCII, if it is the next byte, and returns whether it was.
    package mutating func skip(_ character: Unicode.Scalar) -> Bool {
        guard isAt(character) else { return false }
        position += 1
        return true
    }

    /// Skips spaces and tabs, and returns whether there were any.
    @discardableResult
    package mutating func skipWhitespace() -> Bool {
        let start = position
        while skip(" ") || skip("\t") {}
        return position > start
    }

    /// Skips white space and empty elements of a list, and returns whether there was a comma or the end.
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

    /// Reads the bytes that satisfy `condition` and returns them as text, or nil if there are none.
    package mutating func text(while condition: (UInt8) -> Bool) -> String? {
        let start = position
        while let byte, condition(byte) { position += 1 }
        return position > start ? String(decoding: bytes[start..<position], as: UTF8.self) : nil
    }

    /// Reads a token, or returns nil if there is none (RFC 9110 §5.6.2).
    package mutating func token() -> String? {
        text(while: Token.isTokenByte)
    }

    /// Reads a decimal number; returns nil without reading anything if there is none or it exceeds `Int.max`.
    package mutating func number() -> Int? {
        let start = position
        guard let digits = text(while: { $0 &- 0x30 < 10 }), let number = Int(digits) else {
            position = start
            return nil
        }
        return number
    }

    /// Reads a decimal number and returns it, or `limit` if it is larger; returns nil if there is none.
    package mutating func number(limitedTo limit: Int) -> Int? {
        text { $0 &- 0x30 < 10 }.map { min(Int($0) ?? limit, limit) }
    }

    /// Reads a quoted string and returns it without escapes (RFC 9110 §5.6.4).
    ///
    /// - Returns: The text, or nil, without reading anything, if there is none or it is malformed or unclosed.
    package mutating func quotedString() -> String? {
        let start = position
        // A quotation mark inside an unclosed string is an escaped one; a string from there would not be closed either.
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

    /// Reads a token or a quoted string, or returns nil if there is none.
    package mutating func value() -> String? {
        isAt("\"") ? quotedString() : token()
    }

    /// The grammar of a field's parameters.
    package enum ParameterStyle {
        /// Values are tokens or quoted strings, and a comma is not a separator (RFC 9110 §5.6.6).
        case single
        /// The grammar of Link: a comma ends the parameters, and an unquoted value is any text (RFC 8288 Appendix B.3).
        case link
    }

    /// Reads the parameters, each after a semicolon, up to the end or, in a Link, up to a comma.
    ///
    /// If parameters have the same name, the first is kept. Malformed parameters are ignored.
    ///
    /// - Parameter style: The grammar of the parameters.
    /// - Returns: The parameters, in order.
    package mutating func parameters(_ style: ParameterStyle) -> FieldParameters {
        var parameters = FieldParameters()
        var names = DistinctNames()
        while true {
            skipWhitespace()
            guard skip(";") else { break }
            skipWhitespace()
            if let (name, value) = parameter(style), names.insert(name) { parameters.add(name: name, value: value) }
            skipToSeparator(style)
        }
        if style == .link { skipToSeparator(style, isSemicolon: false) }
        return parameters
    }

    /// Reads a parameter up to a separator or the end, or returns nil if it is malformed.
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

    /// Reads the text up to a semicolon, comma or the end, without trailing white space.
    ///
    /// - Returns: The text, or nil if it contains a control character.
    private mutating func linkValue() -> String? {
        let start = position
        while let byte, byte != UInt8(ascii: ";"), byte != UInt8(ascii: ",") { position += 1 }
        var end = position
        while end > start, bytes[end - 1] == 0x20 || bytes[end - 1] == 0x09 { end -= 1 }
        let value = bytes[start..<end]
        return value.contains(where: Token.isForbiddenInValue) ? nil : String(decoding: value, as: UTF8.self)
    }

    /// Skips to the next separator outside quoted strings, or to the end.
    ///
    /// - Parameters:
    ///   - style: The grammar of the parameters; in a Link, a comma is a separator.
    ///   - isSemicolon: Whether a semicolon is a separator.
    private mutating func skipToSeparator(_ style: ParameterStyle, isSemicolon: Bool = true) {
        while let byte {
            if isSemicolon && byte == UInt8(ascii: ";") || style == .link && byte == UInt8(ascii: ",") { return }
            if quotedString() == nil { position += 1 }
        }
    }
}

/// Functions that write the parts of field values.
package enum FieldValueWriter {
    /// Returns `text` unchanged if it is a token, and as a quoted string otherwise (RFC 9110 §5.6.4).
    package static func tokenOrQuoted(_ text: String) -> String {
        Token.isToken(text.utf8) ? text : quoted(text)
    }

    /// Returns `text` as a quoted string (RFC 9110 §5.6.4).
    package static func quoted(_ text: String) -> String {
        var bytes: [UInt8] = [UInt8(ascii: "\"")]
        bytes.reserveCapacity(text.utf8.count + 2)
        // By bytes: a quotation mark must be escaped even if a combining mark follows it (decision 0023).
        for byte in text.utf8 {
            if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") { bytes.append(UInt8(ascii: "\\")) }
            bytes.append(byte)
        }
        bytes.append(UInt8(ascii: "\""))
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Returns `text` followed by parameters, each after a semicolon.
    ///
    /// - Parameters:
    ///   - parameters: The parameters. Values are quoted unless the name ends in `*` (RFC 8187).
    ///   - text: The text before the parameters.
    /// - Returns: The field value.
    static func parameters(_ parameters: FieldParameters, after text: String) -> String {
        parameters.reduce(into: text) { text, parameter in
            let isExtended = parameter.name.utf8.last == UInt8(ascii: "*")
            text += "; \(parameter.name)=" + (isExtended ? parameter.value : quoted(parameter.value))
        }
    }
}
