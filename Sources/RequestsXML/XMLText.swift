/// A body as UTF-8 text of only the characters that XML allows, converted from its charset.
struct XMLText {
    /// The text.
    ///
    /// Each line ends with LF (XML 1.0 §2.11), and an XML declaration is replaced by spaces, because it may name
    /// another charset.
    private(set) var bytes: [UInt8]

    /// Converts `data`, for which Content-Type names the charset `charset`.
    ///
    /// A byte order mark takes precedence over `charset`, and `charset` over the declaration (RFC 7303 §3.2).
    ///
    /// - Throws: `XMLValue.SyntaxError`.
    init(_ data: Data, charset: String?) throws(XMLValue.SyntaxError) {
        let body = Array(data)
        let text: [UInt8]?
        if body.starts(with: [0xFE, 0xFF]) || body.starts(with: [0xFF, 0xFE]) {
            text = Self.utf8(utf16: body.dropFirst(2), isBigEndian: body[0] == 0xFE)
        } else if body.starts(with: [0xEF, 0xBB, 0xBF]) {
            text = Self.validated(body.dropFirst(3))
        } else {
            // A malformed declaration is rejected below, when the text is known.
            let declared = try? XMLDeclaration(body).encoding
            text = try Self.decoded(body, as: charset ?? declared ?? "utf-8")
        }
        guard var text else { throw .malformed(line: 1, column: 1) }
        Self.normalizeLineEnds(of: &text)
        bytes = text
        if let position = Self.forbiddenCharacter(in: text) { throw malformed(at: position) }
        do {
            for index in 0..<(try XMLDeclaration(text).length) where text[index] != 0x0A { bytes[index] = 0x20 }
        } catch {
            throw malformed(at: error.position)
        }
    }

    static func isWhitespace(_ byte: UInt8) -> Bool {
        byte == 0x20 || byte == 0x09 || byte == 0x0A || byte == 0x0D
    }

    /// Returns the error of text that is malformed at the byte `position`.
    func malformed(at position: Int) -> XMLValue.SyntaxError {
        let read = bytes.prefix(position)
        let start = read.lastIndex(of: 0x0A).map { $0 + 1 } ?? 0
        // Each code point has exactly one byte that is not a continuation byte.
        let column = read[start...].count { $0 & 0xC0 != 0x80 } + 1
        return .malformed(line: read.count { $0 == 0x0A } + 1, column: column)
    }
}

extension XMLText {
    private enum Charset: CaseIterable {
        case utf8, utf16, utf16LittleEndian, ascii, latin1, windows1252

        var names: [String] {
            switch self {
            case .utf8: ["utf-8", "utf8"]
            // Without a byte order mark, for which the caller checks (RFC 2781 §4.3).
            case .utf16: ["utf-16be", "utf-16"]
            case .utf16LittleEndian: ["utf-16le"]
            case .ascii: ["us-ascii", "ascii"]
            case .latin1: ["iso-8859-1", "latin1"]
            case .windows1252: ["windows-1252"]
            }
        }
    }

    /// Returns `body` as UTF-8; nil if it is not valid in the charset `name`.
    private static func decoded(_ body: [UInt8], as name: String) throws(XMLValue.SyntaxError) -> [UInt8]? {
        let charset = Charset.allCases.first { $0.names.contains { ASCIIFolding.areEqual($0, name) } }
        switch charset {
        case .utf8: return validated(body[...])
        case .utf16: return utf8(utf16: body[...], isBigEndian: true)
        case .utf16LittleEndian: return utf8(utf16: body[...], isBigEndian: false)
        case .ascii: return body.allSatisfy { $0 < 0x80 } ? body : nil
        case .latin1: return body.flatMap { $0 < 0x80 ? [$0] : [0xC0 | $0 >> 6, 0x80 | $0 & 0x3F] }
        case .windows1252: return String(data: Data(body), encoding: .windowsCP1252).map { Array($0.utf8) }
        case nil: throw .unsupportedCharset(name)
        }
    }

    private static func validated(_ bytes: ArraySlice<UInt8>) -> [UInt8]? {
        String(validating: bytes, as: UTF8.self) == nil ? nil : Array(bytes)
    }

    private static func utf8(utf16 bytes: ArraySlice<UInt8>, isBigEndian: Bool) -> [UInt8]? {
        guard bytes.count.isMultiple(of: 2) else { return nil }
        let units = stride(from: bytes.startIndex, to: bytes.endIndex, by: 2).map { index in
            let (first, second) = (UInt16(bytes[index]), UInt16(bytes[index + 1]))
            return isBigEndian ? first << 8 | second : second << 8 | first
        }
        return String(validating: units, as: UTF16.self).map { Array($0.utf8) }
    }

    /// Replaces CR LF, and CR without LF, by LF.
    private static func normalizeLineEnds(of text: inout [UInt8]) {
        guard var end = text.firstIndex(of: 0x0D) else { return }
        for index in end..<text.count {
            if text[index] == 0x0A, index > 0, text[index - 1] == 0x0D { continue }
            // The write position never passes the read position, so the byte before `index` is unchanged.
            text[end] = text[index]
            end += 1
        }
        text.removeSubrange(end...)
        for index in text.indices where text[index] == 0x0D { text[index] = 0x0A }
    }

    /// Returns the position of the first character that XML forbids (XML 1.0 §2.2) in well-formed UTF-8.
    private static func forbiddenCharacter(in text: [UInt8]) -> Int? {
        text.indices.first { index in
            switch text[index] {
            case 0x09, 0x0A, 0x0D: false
            case ..<0x20: true
            // U+FFFE and U+FFFF; UTF-8 has no surrogates.
            case 0xEF: text[index + 1] == 0xBF && text[index + 2] >= 0xBE
            default: false
            }
        }
    }
}
