extension JSONReader {
    /// Reads a string, number, boolean or `null`.
    mutating func scalar() throws(JSONValue.SyntaxError) -> JSONValue {
        switch byte {
        case UInt8(ascii: "\"")?: .string(try string())
        case UInt8(ascii: "t")?: try literal("true", .bool(true))
        case UInt8(ascii: "f")?: try literal("false", .bool(false))
        case UInt8(ascii: "n")?: try literal("null", .null)
        default: try number()
        }
    }

    private mutating func literal(_ text: String, _ value: JSONValue) throws(JSONValue.SyntaxError) -> JSONValue {
        for expected in text.utf8 {
            guard skip(expected) else { throw unexpected }
        }
        return value
    }

    private mutating func digits() throws(JSONValue.SyntaxError) {
        guard let first = byte, first &- 0x30 < 10 else { throw unexpected }
        while let byte, byte &- 0x30 < 10 { position += 1 }
    }

    private mutating func number() throws(JSONValue.SyntaxError) -> JSONValue {
        let start = position
        _ = skip(UInt8(ascii: "-"))
        if !skip(UInt8(ascii: "0")) { try digits() }
        let wholeEnd = position
        if skip(UInt8(ascii: ".")) { try digits() }
        if skip(UInt8(ascii: "e")) || skip(UInt8(ascii: "E")) {
            if !skip(UInt8(ascii: "+")) { _ = skip(UInt8(ascii: "-")) }
            try digits()
        }
        let text = String(decoding: bytes[start..<position], as: UTF8.self)
        // An integer that does not fit `Int` becomes a `Double` of limited precision.
        if position == wholeEnd, let integer = Int(text) { return .integer(integer) }
        guard let number = Double(text), number.isFinite else {
            throw JSONValue.SyntaxError(problem: .numberOutOfRange, offset: start)
        }
        return .number(number)
    }

    /// Reads a string from its opening to its closing quotation mark.
    mutating func string() throws(JSONValue.SyntaxError) -> String {
        position += 1
        let start = position
        skipCharacters()
        // The decoded bytes of a string with escapes; `take()` keeps the array unique, so appending does not copy it.
        var escaped: [UInt8]?
        while let byte, byte != UInt8(ascii: "\"") {
            guard byte == UInt8(ascii: "\\") else { throw unexpected }
            var text = escaped.take() ?? Array(bytes[start..<position])
            position += 1
            try escape(&text)
            let end = position
            skipCharacters()
            text.append(contentsOf: bytes[end..<position])
            escaped = text
        }
        let end = position
        guard skip(UInt8(ascii: "\"")) else { throw unexpected }
        let string =
            if let escaped { String(validating: escaped, as: UTF8.self) } else {
                String(validating: bytes[start..<end], as: UTF8.self)
            }
        guard let string else { throw error(.invalidString) }
        return string
    }

    /// Skips the characters of a string up to a quotation mark, an escape or a control character.
    private mutating func skipCharacters() {
        while let byte, byte != UInt8(ascii: "\""), byte != UInt8(ascii: "\\"), byte >= 0x20 { position += 1 }
    }

    /// Reads an escape after its backslash and appends the bytes that it represents.
    private mutating func escape(_ text: inout [UInt8]) throws(JSONValue.SyntaxError) {
        guard let byte else { throw unexpected }
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): text.append(byte)
        case UInt8(ascii: "b"): text.append(0x08)
        case UInt8(ascii: "f"): text.append(0x0C)
        case UInt8(ascii: "n"): text.append(0x0A)
        case UInt8(ascii: "r"): text.append(0x0D)
        case UInt8(ascii: "t"): text.append(0x09)
        case UInt8(ascii: "u"):
            position += 1
            text.append(contentsOf: String(try escapedScalar()).utf8)
            return
        default: throw unexpected
        }
        position += 1
    }

    /// Reads the digits after `\u`, and the second escape of a surrogate pair, and returns the scalar.
    private mutating func escapedScalar() throws(JSONValue.SyntaxError) -> Unicode.Scalar {
        let unit = try hexadecimal()
        if let scalar = Unicode.Scalar(unit) { return scalar }
        // 0xD800 to 0xDBFF begin a surrogate pair; 0xDC00 to 0xDFFF only end one.
        guard unit < 0xDC00 else { throw error(.invalidString) }
        guard skip(UInt8(ascii: "\\")), skip(UInt8(ascii: "u")) else {
            throw error(byte == nil ? .truncated : .invalidString)
        }
        let low = try hexadecimal()
        guard low &- 0xDC00 < 0x400, let scalar = Unicode.Scalar(0x1_0000 + (unit - 0xD800) << 10 + (low - 0xDC00))
        else { throw error(.invalidString) }
        return scalar
    }

    /// Reads four hexadecimal digits.
    private mutating func hexadecimal() throws(JSONValue.SyntaxError) -> UInt32 {
        var unit: UInt32 = 0
        for _ in 0..<4 {
            guard let digit = byte.flatMap(Hex.value) else { throw unexpected }
            unit = unit << 4 | UInt32(digit)
            position += 1
        }
        return unit
    }
}
