import Requests

/// Text of a peer or a caller, as part of one log line.
///
/// A log line must not be split, and must not change the text around it or the terminal. So these are replaced by
/// escapes such as `\u{1B}`: controls, line and paragraph separators, format characters such as bidirectional controls,
/// unassigned and private characters, and marks that would combine with a character of ASCII before them. A backslash
/// is doubled, so that escapes are unambiguous.
enum LogText {
    /// Returns `text` on one line.
    ///
    /// - Parameters:
    ///   - text: The text, without secrets.
    ///   - limit: The maximum number of bytes of `text` that are used; the number of all bytes follows a longer one.
    /// - Returns: The escaped text.
    static func escaped(_ text: String, limit: Int = .max) -> String {
        let count = text.utf8.count
        guard count > limit || !text.utf8.allSatisfy(isPlain) else { return text }
        var escaped = String.UnicodeScalarView()
        var (used, followsASCII) = (0, true)
        for scalar in text.unicodeScalars {
            used += UTF8.width(scalar)
            guard used <= limit else { break }
            append(scalar, to: &escaped, followsASCII)
            // The last scalar of an escape is ASCII too.
            followsASCII = escaped.last?.isASCII ?? true
        }
        let result = String(escaped)
        return count > limit ? "\(result)… (\(ErrorText.bytes(count)))" : result
    }

    private static func isPlain(_ byte: UInt8) -> Bool {
        byte >= 0x20 && byte < 0x7F && byte != UInt8(ascii: "\\")
    }

    private static func append(
        _ scalar: Unicode.Scalar, to text: inout String.UnicodeScalarView, _ followsASCII: Bool
    ) {
        if scalar == "\\" { return text.append(contentsOf: "\\\\".unicodeScalars) }
        if scalar.isASCII ? isPlain(UInt8(scalar.value)) : isPrinted(scalar, followsASCII) {
            return text.append(scalar)
        }
        switch scalar {
        case "\t": text.append(contentsOf: "\\t".unicodeScalars)
        case "\r": text.append(contentsOf: "\\r".unicodeScalars)
        case "\n": text.append(contentsOf: "\\n".unicodeScalars)
        default:
            let digits = String(scalar.value, radix: 16, uppercase: true)
            text.append(contentsOf: "\\u{\(digits)}".unicodeScalars)
        }
    }

    private static func isPrinted(_ scalar: Unicode.Scalar, _ followsASCII: Bool) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .format, .surrogate, .privateUse, .unassigned, .lineSeparator, .paragraphSeparator: false
        case .nonspacingMark, .spacingMark, .enclosingMark: !followsASCII
        default: true
        }
    }
}
