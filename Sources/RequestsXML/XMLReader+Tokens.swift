/// A name with its prefix and local part; the prefix is empty if there is no colon.
struct XMLName {
    let text: String
    let prefix: String
    let local: String

    /// Whether an attribute with this name declares a namespace.
    var isDeclaration: Bool { ExactString.areEqual(prefix.utf8.isEmpty ? text : prefix, "xmlns") }
}

extension XMLReader {
    /// Reads a name with at most one colon, which separates prefix and local part (Namespaces in XML 1.0 §4).
    mutating func name() throws -> XMLName {
        let start = position
        var colon: Int?
        while position < bytes.count, Self.isNameByte(bytes[position]) {
            if bytes[position] == UInt8(ascii: ":") {
                guard colon == nil else { throw Malformed() }
                colon = position
            }
            position += 1
        }
        let (local, end) = (colon.map { $0 + 1 } ?? start, position)
        // An error is reported at the beginning of the name.
        position = start
        if let colon, !Self.isName(bytes[start..<colon]) { throw Malformed() }
        guard Self.isName(bytes[local..<end]) else { throw Malformed() }
        position = end
        let text = String(decoding: bytes[start..<end], as: UTF8.self)
        guard let colon else { return XMLName(text: text, prefix: "", local: text) }
        return XMLName(
            text: text, prefix: String(decoding: bytes[start..<colon], as: UTF8.self),
            local: String(decoding: bytes[local..<end], as: UTF8.self))
    }

    private static func isName(_ bytes: ArraySlice<UInt8>) -> Bool {
        XMLCharacters.isName(String(decoding: bytes, as: UTF8.self).unicodeScalars)
    }

    private static func isNameByte(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x3A, 0x41...0x5A, 0x61...0x7A, 0x80...: true
        default: byte == UInt8(ascii: "-") || byte == UInt8(ascii: ".") || byte == UInt8(ascii: "_")
        }
    }

    /// Reads the value of an attribute and normalizes it (XML 1.0 §3.3.3): literal white space becomes spaces.
    mutating func attributeValue() throws -> String {
        guard position < bytes.count, case let quote = bytes[position], quote == 0x22 || quote == 0x27 else {
            throw Malformed()
        }
        position += 1
        var value: [UInt8] = []
        while position < bytes.count, bytes[position] != quote {
            let byte = bytes[position]
            guard byte != UInt8(ascii: "<") else { throw Malformed() }
            position += 1
            if byte == UInt8(ascii: "&") {
                value += String(try reference()).utf8
            } else {
                value.append(isWhitespace(byte) ? 0x20 : byte)
            }
        }
        guard take(quote == 0x22 ? "\"" : "'") else { throw Malformed() }
        return String(decoding: value, as: UTF8.self)
    }

    /// Reads the reference after an ampersand: a character number or one of XML's five names (XML 1.0 §4.1).
    mutating func reference() throws -> Unicode.Scalar {
        if take("#x") { return try character(radix: 16) }
        if take("#") { return try character(radix: 10) }
        if take("amp;") { return "&" }
        if take("lt;") { return "<" }
        if take("gt;") { return ">" }
        if take("quot;") { return "\"" }
        if take("apos;") { return "'" }
        throw Malformed()
    }

    /// Reads a number, with any number of leading zeros, and a semicolon.
    private mutating func character(radix: UInt32) throws -> Unicode.Scalar {
        let start = position
        var number: UInt32 = 0
        while position < bytes.count, let digit = Hex.value(of: bytes[position]), digit < radix {
            // The value is limited at each digit, so a long number cannot overflow.
            number = min(number * radix + UInt32(digit), 0x11_0000)
            position += 1
        }
        guard position > start, let scalar = Unicode.Scalar(number), XMLCharacters.isAllowed(scalar), take(";") else {
            throw Malformed()
        }
        return scalar
    }

    func isWhitespace(_ byte: UInt8) -> Bool { XMLText.isWhitespace(byte) }

    /// Returns whether `mark` is next.
    func at(_ mark: StaticString) -> Bool {
        mark.withUTF8Buffer { bytes[position...].starts(with: $0) }
    }

    /// Skips `mark` if it is next, and returns whether it was.
    mutating func take(_ mark: StaticString) -> Bool {
        guard at(mark) else { return false }
        position += mark.utf8CodeUnitCount
        return true
    }

    /// Skips white space, and returns whether there was any.
    @discardableResult
    mutating func skipWhitespace() -> Bool {
        let start = position
        while position < bytes.count, isWhitespace(bytes[position]) { position += 1 }
        return position > start
    }

    /// Returns the next position of `mark`; nil if there is none.
    func index(of mark: StaticString) -> Int? {
        mark.withUTF8Buffer { mark in
            var start = position
            while let found = bytes[start...].firstIndex(of: mark[0]) {
                if bytes[found...].starts(with: mark) { return found }
                start = found + 1
            }
            return nil
        }
    }
}
