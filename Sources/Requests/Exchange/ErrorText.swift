/// Parts of error messages that have the same form everywhere.
package enum ErrorText {
    /// The maximum number of characters that a message quotes from a peer.
    package static let peerTextLimit = 80

    /// Returns `count` with its unit: `1 byte`, `2 bytes`.
    package static func bytes(_ count: Int) -> String {
        count == 1 ? "1 byte" : "\(count) bytes"
    }

    /// Returns the detail for a body whose Content-Length exceeds the limit.
    package static func announced(_ length: Int) -> String {
        "Content-Length announces \(bytes(length)), more than the limit"
    }

    /// Returns a duration, limited to 292 years, in milliseconds with one decimal place.
    package static func milliseconds(_ duration: Duration) -> String {
        let (seconds, attoseconds) = duration.components
        let tenths = max(0, min(seconds, 9_000_000_000)) * 10_000 + attoseconds / 100_000_000_000_000
        return "\(tenths / 10).\(tenths % 10) ms"
    }

    /// Returns `text` in quotation marks, with control characters escaped so that the message stays on one line.
    ///
    /// - Parameters:
    ///   - text: The text. It must not contain secrets.
    ///   - limit: The maximum number of Unicode scalars shown; the remainder is replaced by “…”.
    /// - Returns: The quoted text.
    package static func quoted(_ text: String, limit: Int = .max) -> String {
        var shown = String.UnicodeScalarView()
        for (index, scalar) in text.unicodeScalars.enumerated() {
            guard index < limit else {
                shown.append("…")
                break
            }
            switch scalar.properties.generalCategory {
            case .control, .lineSeparator, .paragraphSeparator:
                shown.append(contentsOf: scalar.escaped(asASCII: true).unicodeScalars)
            default: shown.append(scalar)
            }
        }
        return "“\(String(shown))”"
    }

    /// Returns a URL or URI reference in quotation marks, with its secrets redacted.
    package static func quoted(url text: String) -> String {
        quoted(Redaction.standard.redacted(reference: text), limit: peerTextLimit)
    }

    /// Returns the forbidden byte of a field value and its position, as text; nil if the value has none.
    ///
    /// The value is not shown, because it may be a secret.
    static func invalidByte(in value: String) -> String? {
        guard let (offset, byte) = value.utf8.enumerated().first(where: { Token.isForbiddenInValue($1) }) else {
            return nil
        }
        let digits = String(byte, radix: 16, uppercase: true)
        return "byte 0x\(byte < 16 ? "0" : "")\(digits) at offset \(offset)"
    }

    /// Returns `name` in quotation marks.
    ///
    /// A “:” and the text after it, which may be a secret value, are left out.
    static func quoted(_ name: Field.Name) -> String {
        let parts = name.rawValue.splitBytes(at: ":", maxSplits: 1, omittingEmptySubsequences: false)
        return quoted(String(parts[0]) + (parts.count > 1 ? ":…" : ""), limit: peerTextLimit)
    }
}
