extension ResponseDecoder where Response == String {
    /// A decoder that returns the body as text in the charset of its Content-Type, or in UTF-8 without one.
    ///
    /// The charsets are UTF-8, US-ASCII, ISO-8859-1 and UTF-16 (big-endian without a byte order mark, RFC 2781 §4.3),
    /// and others if the program links Foundation, such as Windows-1252 and Shift_JIS. Any other charset, and a body
    /// that is ill-formed in its charset, fail with ``RequestError/Reason/decodingFailed``; to replace ill-formed
    /// sequences instead, use ``lossyText``. A response that cannot have a body (204 or 304) fails with
    /// ``RequestError/Reason/unexpectedNoContent``.
    public static var text: ResponseDecoder {
        ResponseDecoder { head, data in
            if head.status.forbidsBody { throw RequestError(.unexpectedNoContent) }
            return try ResponseCharset(of: head).text(of: data)
        }
    }

    /// A decoder that returns the body as text like `text`, with each ill-formed sequence replaced by U+FFFD.
    ///
    /// Only UTF-8, US-ASCII and UTF-16 can be repaired; in other charsets an ill-formed body fails as with `text`.
    public static var lossyText: ResponseDecoder {
        ResponseDecoder { head, data in
            if head.status.forbidsBody { throw RequestError(.unexpectedNoContent) }
            return try ResponseCharset(of: head).lossyText(of: data)
        }
    }
}

/// The charset that the Content-Type of a response names.
private enum ResponseCharset {
    case utf8
    case ascii
    case utf16(isBigEndian: Bool?)
    /// A charset that Foundation decodes, with the name that the response uses.
    case other(String.Encoding, name: String)

    /// Creates the charset of the body that `head` describes; UTF-8 if the charset parameter is missing.
    init(of head: ResponseHead) throws(RequestError) {
        guard let name = head.contentType?.parameters["charset"] else {
            self = .utf8
            return
        }
        switch ASCIIFolding.folded(name) {
        case "utf-8", "utf8": self = .utf8
        case "us-ascii", "ascii": self = .ascii
        case "utf-16": self = .utf16(isBigEndian: nil)
        case "utf-16be": self = .utf16(isBigEndian: true)
        case "utf-16le": self = .utf16(isBigEndian: false)
        case let folded:
            guard let encoding = Self.encodings[ByteText(folded)] else {
                throw RequestError(.decodingFailed, detail: "unsupported charset \(ErrorText.quoted(name)); use .data")
            }
            self = .other(encoding, name: name)
        }
    }

    /// The encodings of Foundation, by their folded names (IANA character sets).
    ///
    /// “macintosh” is not among them, because Foundation on Linux decodes it as another charset.
    private static let encodings: [ByteText: String.Encoding] = {
        let names: KeyValuePairs<String, String.Encoding> = [
            "iso-8859-1": .isoLatin1, "latin1": .isoLatin1, "iso-8859-2": .isoLatin2, "windows-1250": .windowsCP1250,
            "windows-1251": .windowsCP1251, "windows-1252": .windowsCP1252, "windows-1253": .windowsCP1253,
            "windows-1254": .windowsCP1254, "shift_jis": .shiftJIS, "euc-jp": .japaneseEUC,
            "iso-2022-jp": .iso2022JP, "utf-32": .utf32, "utf-32be": .utf32BigEndian,
            "utf-32le": .utf32LittleEndian,
        ]
        return Dictionary(names.map { (ByteText($0.key), $0.value) }) { first, _ in first }
    }()

    /// Returns the text of `data`.
    ///
    /// - Throws: ``RequestError`` with the reason ``RequestError/Reason/decodingFailed`` if the bytes are ill-formed.
    func text(of data: Data) throws(RequestError) -> String {
        switch self {
        case .utf8:
            if let text = String(validating: data, as: UTF8.self) { return text }
            throw Self.illFormed("UTF-8", at: Self.validPrefix(of: data))
        case .ascii:
            guard let position = data.firstIndex(where: { $0 >= 0x80 }) else {
                return String(decoding: data, as: UTF8.self)
            }
            throw Self.illFormed("US-ASCII", at: position - data.startIndex)
        case .utf16(let isBigEndian):
            guard data.count.isMultiple(of: 2) else { throw Self.illFormed("UTF-16", at: data.count - 1) }
            if let text = String(validating: Self.units(of: data, isBigEndian), as: UTF16.self) { return text }
            throw RequestError(.decodingFailed, detail: "the body is ill-formed UTF-16")
        case .other(let encoding, let name):
            // Foundation ignores the bytes of an incomplete last unit of UTF-32.
            let isWhole = !Self.isUTF32(encoding) || data.count.isMultiple(of: 4)
            if isWhole, let text = String(data: data, encoding: encoding) { return text }
            // Without Foundation, and for some charsets with it, the function supports fewer encodings.
            let isSupported = data.isEmpty || "a".data(using: encoding) != nil
            throw RequestError(
                .decodingFailed,
                detail: isSupported
                    ? "the body is ill-formed \(ErrorText.quoted(name))"
                    : "the charset \(ErrorText.quoted(name)) is not supported here; import Foundation, or use .data")
        }
    }

    private static func isUTF32(_ encoding: String.Encoding) -> Bool {
        [.utf32, .utf32BigEndian, .utf32LittleEndian].contains(encoding)
    }

    /// Returns the text of `data` with ill-formed sequences replaced by U+FFFD, where the charset allows it.
    func lossyText(of data: Data) throws(RequestError) -> String {
        switch self {
        case .utf8: return String(decoding: data, as: UTF8.self)
        case .ascii:
            let scalars = data.lazy.map { $0 < 0x80 ? Unicode.Scalar($0) : "\u{FFFD}" }
            return String(String.UnicodeScalarView(scalars))
        case .utf16(let isBigEndian):
            let text = String(decoding: Self.units(of: data, isBigEndian), as: UTF16.self)
            return data.count.isMultiple(of: 2) ? text : text + "\u{FFFD}"
        case .other: return try text(of: data)
        }
    }

    /// Returns the 16-bit units of `data` without its byte order mark, which determines their order; big-endian by
    /// default.
    private static func units(of data: Data, _ isBigEndian: Bool?) -> [UInt16] {
        let bytes = Array(data)
        var (start, isBig) = (0, isBigEndian ?? true)
        if isBigEndian == nil, bytes.count >= 2 {
            switch (bytes[0], bytes[1]) {
            case (0xFE, 0xFF): start = 2
            case (0xFF, 0xFE): (start, isBig) = (2, false)
            default: break
            }
        }
        return stride(from: start, to: bytes.count - 1, by: 2).map { index in
            let (high, low) = isBig ? (bytes[index], bytes[index + 1]) : (bytes[index + 1], bytes[index])
            return UInt16(high) << 8 | UInt16(low)
        }
    }

    /// Returns the number of bytes before the first ill-formed UTF-8 sequence.
    private static func validPrefix(of data: Data) -> Int {
        var parser = Unicode.UTF8.ForwardParser()
        var bytes = data.makeIterator()
        var count = 0
        while case .valid(let scalar) = parser.parseScalar(from: &bytes) { count += scalar.count }
        return count
    }

    private static func illFormed(_ charset: String, at position: Int) -> RequestError {
        RequestError(
            .decodingFailed, detail: "the body is ill-formed \(charset) at byte \(position); use .lossyText or .data")
    }
}
