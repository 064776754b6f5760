/// A conversion of untrusted text to a file name.
///
/// The result is a single path component that is not hidden and is short enough for a file system.
/// ``ContentDisposition/safeFilename`` describes which characters are removed.
enum SafeFilename {
    /// The maximum number of UTF-8 bytes in a name.
    ///
    /// Most file systems allow 255, and a resumed download appends `.partial.json`.
    private static let limit = 240

    /// The maximum number of UTF-8 bytes, including the dot, of an extension that is kept in a shortened name.
    private static let extensionLimit = 32

    /// Returns the safe form of `text`, or nil if nothing remains.
    static func make(from text: String) -> String? {
        // By bytes: a slash followed by a combining mark is another Character, but still a slash to the file system.
        let isSeparator: (UInt8) -> Bool = { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "\\") }
        let start = text.utf8.lastIndex(where: isSeparator).map(text.utf8.index(after:)) ?? text.startIndex
        let kept = text.unicodeScalars[start...].filter { !isRemoved($0) }
        let name = withoutFinalWhitespace(String(kept.drop { $0 == "." || cannotBeginName($0) }))
        return name.isEmpty ? nil : shortened(name)
    }

    /// Returns whether a scalar is a control character, a line separator, a noncharacter or a bidirectional control.
    private static func isRemoved(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .lineSeparator, .paragraphSeparator: true
        default: scalar.properties.isBidiControl || scalar.properties.isNoncharacterCodePoint
        }
    }

    /// Returns whether a scalar cannot begin a name: white space, or one that combines with the previous character.
    private static func cannotBeginName(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .nonspacingMark, .enclosingMark, .spacingMark, .format: true
        default: scalar.properties.isWhitespace || scalar.properties.isDefaultIgnorableCodePoint
        }
    }

    /// Returns `name` without white space at its end.
    private static func withoutFinalWhitespace(_ name: String) -> String {
        var scalars = name.unicodeScalars
        while let last = scalars.last, last.properties.isWhitespace { scalars.removeLast() }
        return String(scalars)
    }

    /// Returns `name` shortened to the limit at its end, or before its extension if that is short enough.
    private static func shortened(_ name: String) -> String {
        guard name.utf8.count > limit else { return name }
        let last = name.utf8.lastIndex(of: UInt8(ascii: ".")) ?? name.endIndex
        let dot = name[last...].utf8.count <= extensionLimit ? last : name.endIndex
        let suffix = name[dot...]
        var stem = ""
        var count = suffix.utf8.count
        for character in name[..<dot] {
            count += character.utf8.count
            guard count <= limit else { break }
            stem.append(character)
        }
        // A single Character can be longer than the limit; then whole scalars are kept.
        if stem.isEmpty { stem = firstScalars(of: name[..<dot], limit: limit - suffix.utf8.count) }
        // The name begins with something visible, so trimming the shortened stem leaves that.
        return withoutFinalWhitespace(stem) + suffix
    }

    /// Returns the longest prefix of `text` that has at most `limit` bytes in UTF-8.
    private static func firstScalars(of text: Substring, limit: Int) -> String {
        var scalars = String.UnicodeScalarView()
        var count = 0
        for scalar in text.unicodeScalars {
            count += UTF8.width(scalar)
            guard count <= limit else { break }
            scalars.append(scalar)
        }
        return String(scalars)
    }
}
