/// A body as UTF-8 text of nothing but characters that XML allows, whatever charset it came in.
struct XMLText {
    /// The text; a declaration at its beginning is blanked out, because it may name another charset.
    let data: Data

    /// Reads `data`; `charset` is what Content-Type says, which a byte order mark overrules, and which overrules the
    /// declaration (RFC 7303 §3.2).
    ///
    /// - Throws: `InvalidXML`.
    init(_ data: Data, charset: String?) throws(InvalidXML) {
        let text: String?
        if data.starts(with: [0xFE, 0xFF]) || data.starts(with: [0xFF, 0xFE]) {
            text = String(data: data, encoding: .utf16)
        } else {
            let isMarked = data.starts(with: [0xEF, 0xBB, 0xBF])
            let body = Data(isMarked ? data.dropFirst(3) : data)
            let name = isMarked ? "utf-8" : charset ?? Self.declaredCharset(body) ?? "utf-8"
            guard let encoding = Self.encodings[name.lowercased()] else { throw .unsupportedCharset(name) }
            text = encoding == .utf8 ? String(validating: body, as: UTF8.self) : String(data: body, encoding: encoding)
        }
        guard let text else { throw .malformed(line: 1, column: 1) }
        var utf8 = Data(text.utf8)
        if utf8.starts(with: [0xEF, 0xBB, 0xBF]) { utf8 = Data(utf8.dropFirst(3)) }
        for index in utf8.indices.prefix(Self.declarationLength(utf8)) where utf8[index] != 0x0A { utf8[index] = 0x20 }
        self.data = utf8
        if let wrong = text.unicodeScalars.firstIndex(where: { !XMLCharacters.isAllowed($0) }) {
            throw malformed(at: text.utf8.distance(from: text.utf8.startIndex, to: wrong))
        }
    }

    private static let encodings: [String: String.Encoding] = [
        "utf-8": .utf8, "utf8": .utf8, "utf-16": .utf16, "utf-16le": .utf16LittleEndian,
        "utf-16be": .utf16BigEndian, "us-ascii": .ascii, "ascii": .ascii, "iso-8859-1": .isoLatin1,
        "latin1": .isoLatin1, "windows-1252": .windowsCP1252,
    ]

    /// The length of the XML declaration at the beginning; 0 when there is none.
    private static func declarationLength(_ data: Data) -> Int {
        guard data.starts(with: "<?xml".utf8), let byte = data.dropFirst(5).first, isWhitespace(byte) else { return 0 }
        return data.firstRange(of: Data("?>".utf8))?.upperBound ?? 0
    }

    private static func declaredCharset(_ data: Data) -> String? {
        let declaration = String(decoding: data.prefix(declarationLength(data)), as: UTF8.self)
        return declaration.firstMatch(of: /\sencoding\s*=\s*["']([^"']*)["']/).map { String($0.1) }
    }

    static func isWhitespace(_ byte: UInt8) -> Bool {
        byte == 0x20 || byte == 0x09 || byte == 0x0A || byte == 0x0D
    }

    /// The error that says the text makes no sense from the byte at `position` on.
    func malformed(at position: Int) -> InvalidXML {
        let read = data.prefix(position)
        let start = read.lastIndex(of: 0x0A).map { $0 + 1 } ?? 0
        let column = String(decoding: read[start...], as: UTF8.self).count + 1
        return .malformed(line: read.count { $0 == 0x0A } + 1, column: column)
    }
}
