/// Makes the name of a file out of text that a peer chose.
///
/// The result is one path component that is visible, and short enough for a file system; see
/// ``ContentDisposition/safeFilename`` for what is removed.
enum SafeFilename {
    /// The number of UTF-8 bytes a name may have: most file systems allow 255, and a resumed download appends
    /// `.partial.json` to it.
    private static let limit = 240

    /// A longer suffix after the last dot is not kept when the name is shortened.
    private static let extensionLimit = 32

    /// The safe form of `text`; nil when nothing that names a file remains.
    static func make(from text: String) -> String? {
        // By octets: a combining mark behind a slash makes another Character, but the file system still sees the slash.
        let isSeparator: (UInt8) -> Bool = { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "\\") }
        let start = text.utf8.lastIndex(where: isSeparator).map(text.utf8.index(after:)) ?? text.startIndex
        let kept = text.unicodeScalars[start...].filter { !isRemoved($0) }
        var name = kept.drop { $0 == "." || isInvisible($0) }
        while let last = name.last, last.properties.isWhitespace { name.removeLast() }
        return name.isEmpty ? nil : shortened(String(name))
    }

    /// Whether a scalar is a control, a line separator, or reverses the direction of the text around it.
    private static func isRemoved(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .lineSeparator, .paragraphSeparator: true
        default: scalar.properties.isBidiControl || scalar.properties.isNoncharacterCodePoint
        }
    }

    /// Whether a scalar cannot begin a name: white space, or one that joins what stands before it, such as a mark.
    private static func isInvisible(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .nonspacingMark, .enclosingMark, .spacingMark, .format: true
        default: scalar.properties.isWhitespace || scalar.properties.isDefaultIgnorableCodePoint
        }
    }

    /// `name` within the limit: its end is cut off, before the extension if there is a usual one.
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
        // One Character may be longer than the limit: then scalars are counted.
        if stem.isEmpty { stem = firstScalars(of: name[..<dot], limit: limit - suffix.utf8.count) }
        return stem + suffix
    }

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
