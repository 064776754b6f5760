import Requests

/// Text that forms one `Character` with the delimiter before it, or that compares equal to a delimiter.
enum Marks {
    /// Text that may follow a delimiter: combining marks, joiners, variation selectors, a tag, halves of sequences.
    static let behind = [
        "\u{301}", "\u{200D}", "\u{FE0F}", "\u{20E3}", "\u{E0020}", "\u{1F3FD}", "\u{200D}\u{1F469}", "\u{301}\u{301}",
        "\u{1F1E9}", "\u{94D}", "\u{200C}",
    ]

    /// Scalars that are canonically equivalent to ASCII: K, the semicolon and the grave accent.
    static let doubles = ["\u{212A}", "\u{37E}", "\u{1FEF}"]

    /// Returns `text` with `mark` inserted after every scalar that is one of `delimiters`.
    static func planted(_ mark: String, behind delimiters: String, in text: String) -> String {
        var scalars = String.UnicodeScalarView()
        for scalar in text.unicodeScalars {
            scalars.append(scalar)
            if delimiters.unicodeScalars.contains(scalar) { scalars.append(contentsOf: mark.unicodeScalars) }
        }
        return String(scalars)
    }

    /// Returns whether `text` contains the bytes of `other`.
    static func holds(_ text: String, _ other: String) -> Bool {
        // Searches contiguous memory, because the tests of secrets search long texts.
        let other = Array(other.utf8)
        var text = text
        return text.withUTF8 { bytes in
            guard let first = other.first, bytes.count >= other.count else { return other.isEmpty }
            return (0...bytes.count - other.count).contains { start in
                bytes[start] == first && bytes[start..<start + other.count].elementsEqual(other)
            }
        }
    }

    /// Returns the bytes of `text` as an array, which compares byte by byte.
    static func bytes(_ text: String) -> [UInt8] { Array(text.utf8) }
}
