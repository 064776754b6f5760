/// A string that is compared without regard to ASCII case and keeps its spelling.
///
/// Only the letters A to Z are folded, in every locale, as in header field names (RFC 9110 §5.1).
public struct CaseInsensitiveString: Sendable {
    /// The string with its original spelling.
    public let rawValue: String

    /// Creates a case-insensitive string that keeps the spelling of `rawValue`.
    public init(_ rawValue: String) {
        self.rawValue = rawValue
    }
}

extension CaseInsensitiveString: Hashable, Comparable {
    /// Returns whether the strings are equal, ignoring ASCII case.
    public static func == (left: Self, right: Self) -> Bool {
        ASCIIFolding.areEqual(left.rawValue, right.rawValue)
    }

    /// Returns whether the folded UTF-8 bytes of `left` precede those of `right`.
    public static func < (left: Self, right: Self) -> Bool {
        left.rawValue.utf8.lazy.map(ASCIIFolding.folded).lexicographicallyPrecedes(
            right.rawValue.utf8.lazy.map(ASCIIFolding.folded))
    }

    /// Hashes the folded bytes, so that equal values hash alike.
    public func hash(into hasher: inout Hasher) {
        ASCIIFolding.hash(rawValue, into: &hasher)
    }
}

extension CaseInsensitiveString: ExpressibleByStringLiteral, CustomStringConvertible {
    /// Creates a case-insensitive string that keeps the spelling of the literal.
    public init(stringLiteral value: String) {
        self.init(value)
    }

    /// The string with its original spelling.
    public var description: String { rawValue }
}

/// Case folding of the letters A to Z only.
package enum ASCIIFolding {
    /// Returns the lower-case form of an upper-case ASCII letter, and any other byte unchanged.
    package static func folded(_ byte: UInt8) -> UInt8 {
        // 0x41 is A; bit 0x20 separates the cases in ASCII.
        byte &- 0x41 < 26 ? byte | 0x20 : byte
    }

    /// Returns whether two strings are equal, ignoring ASCII case.
    @inline(__always)  // most names differ in length, for which a call would take longer than the comparison
    package static func areEqual(_ text: String, _ otherText: String) -> Bool {
        text.utf8.count == otherText.utf8.count && areEqualOfSameLength(text, otherText)
    }

    private static func areEqualOfSameLength(_ text: String, _ otherText: String) -> Bool {
        let (left, right) = (text.utf8, otherText.utf8)
        let isEqual = left.withContiguousStorageIfAvailable { left in
            right.withContiguousStorageIfAvailable { right in areEqual(left, right) }
        }
        return isEqual.flatMap { $0 } ?? left.elementsEqual(right) { folded($0) == folded($1) }
    }

    /// Returns whether the bytes of two texts are equal, ignoring ASCII case.
    package static func areEqual(_ text: UnsafeBufferPointer<UInt8>, _ otherText: UnsafeBufferPointer<UInt8>) -> Bool {
        guard text.count == otherText.count else { return false }
        let (bytes, otherBytes) = (UnsafeRawBufferPointer(text), UnsafeRawBufferPointer(otherText))
        let last = text.count - 8
        guard last >= 0 else {
            if text.count >= 4 { return folded(shortWord(of: bytes)) == folded(shortWord(of: otherBytes)) }
            return text.elementsEqual(otherText) { folded($0) == folded($1) }
        }
        var index = 0
        while true {
            let word = bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self)
            let otherWord = otherBytes.loadUnaligned(fromByteOffset: index, as: UInt64.self)
            // Most texts have the same spelling, so the words are folded only if they differ.
            guard word == otherWord || folded(word) == folded(otherWord) else { return false }
            if index == last { return true }
            // The last word may overlap the previous one.
            index = min(index + 8, last)
        }
    }

    /// Returns the string with the letters A to Z in lower case.
    package static func folded(_ string: String) -> String {
        guard string.utf8.contains(where: { $0 &- 0x41 < 26 }) else { return string }
        return String(decoding: string.utf8.map(folded), as: UTF8.self)
    }

    /// Hashes the folded bytes.
    ///
    /// The hasher is seeded for each process, so a peer cannot choose names that collide (decision 0022).
    package static func hash(_ string: String, into hasher: inout Hasher) {
        var string = string
        string.withUTF8 { text in
            let bytes = UnsafeRawBufferPointer(text)
            var index = 0
            while text.count - index >= 8 {
                hasher.combine(folded(bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self)))
                index += 8
            }
            var remainder: UInt64 = 0
            while index < text.count {
                remainder = remainder << 8 | UInt64(folded(text[index]))
                index += 1
            }
            hasher.combine(remainder)
            // The length separates texts that differ only in NUL bytes, which `remainder` cannot show.
            hasher.combine(text.count)
        }
    }

    /// Returns the four to eight bytes of a text as one word: its first and its last four bytes, which may overlap.
    static func shortWord(of bytes: UnsafeRawBufferPointer) -> UInt64 {
        let last = bytes.loadUnaligned(fromByteOffset: bytes.count - 4, as: UInt32.self)
        return UInt64(bytes.loadUnaligned(as: UInt32.self)) << 32 | UInt64(last)
    }

    /// Returns the eight bytes of `word`, each folded.
    private static func folded(_ word: UInt64) -> UInt64 {
        let ones: UInt64 = 0x0101_0101_0101_0101
        let low = word & (0x7F &* ones)
        // The high bit of each byte is set in `fromA` from A (0x41) on and in `afterZ` above Z (0x5A).
        // `low` has 7 bits in each byte, so no sum carries into the next.
        let fromA = low &+ (0x80 - 0x41) &* ones
        let afterZ = low &+ (0x80 - 0x5B) &* ones
        // `~word` excludes bytes outside ASCII; 0x80 shifted by 2 is 0x20, the bit of lower case.
        return word | ((fromA & ~afterZ & ~word & (0x80 &* ones)) &>> 2)
    }
}
