/// A string compared without regard to ASCII case.
///
/// Only the letters A to Z fold, whatever the locale, as header field names do (RFC 9110 §5.1). The spelling is kept.
public struct CaseInsensitiveString: Sendable {
    /// The string as it was given.
    public let rawValue: String

    /// Wraps `rawValue`, keeping its spelling.
    public init(_ rawValue: String) {
        self.rawValue = rawValue
    }
}

extension CaseInsensitiveString: Hashable, Comparable {
    /// Whether both are spelled alike once A to Z are folded.
    public static func == (left: Self, right: Self) -> Bool {
        ASCIIFolding.areEqual(left.rawValue, right.rawValue)
    }

    /// The order of the folded UTF-8 bytes.
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
    /// Wraps the literal, keeping its spelling.
    public init(stringLiteral value: String) {
        self.init(value)
    }

    /// The string as it was given.
    public var description: String { rawValue }
}

/// Case folding of A to Z, and of nothing else.
package enum ASCIIFolding {
    /// The lower-case form of an upper-case ASCII letter; any other byte as it is.
    package static func folded(_ byte: UInt8) -> UInt8 {
        byte &- 0x41 < 26 ? byte | 0x20 : byte
    }

    /// Whether two strings are equal once folded.
    package static func areEqual(_ text: String, _ otherText: String) -> Bool {
        let (left, right) = (text.utf8, otherText.utf8)
        guard left.count == right.count else { return false }
        let isEqual = left.withContiguousStorageIfAvailable { left in
            right.withContiguousStorageIfAvailable { right in areEqual(left, right) }
        }
        return isEqual.flatMap { $0 } ?? left.elementsEqual(right) { folded($0) == folded($1) }
    }

    /// Whether the bytes of two texts are equal once folded.
    static func areEqual(_ text: UnsafeBufferPointer<UInt8>, _ otherText: UnsafeBufferPointer<UInt8>) -> Bool {
        guard text.count == otherText.count else { return false }
        var index = 0
        // Most are spelled alike, which eight bytes at a time tell.
        let (bytes, otherBytes) = (UnsafeRawBufferPointer(text), UnsafeRawBufferPointer(otherText))
        while text.count - index >= 8,
            bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self)
                == otherBytes.loadUnaligned(fromByteOffset: index, as: UInt64.self)
        {
            index += 8
        }
        while index < text.count, folded(text[index]) == folded(otherText[index]) { index += 1 }
        return index == text.count
    }

    /// The string with A to Z folded.
    package static func folded(_ string: String) -> String {
        guard string.utf8.contains(where: { $0 &- 0x41 < 26 }) else { return string }
        return String(decoding: string.utf8.map(folded), as: UTF8.self)
    }

    /// Hashes the folded bytes with the hasher's seed: a peer cannot choose names that collide.
    package static func hash(_ string: String, into hasher: inout Hasher) {
        var string = string
        string.withUTF8 { text in
            let bytes = UnsafeRawBufferPointer(text)
            var index = 0
            while text.count - index >= 8 {
                hasher.combine(folded(bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self)))
                index += 8
            }
            var rest: UInt64 = 0
            while index < text.count {
                rest = rest << 8 | UInt64(folded(text[index]))
                index += 1
            }
            hasher.combine(rest)
            // The length tells apart what zeros at an end would not.
            hasher.combine(text.count)
        }
    }

    /// Eight bytes folded at once.
    private static func folded(_ word: UInt64) -> UInt64 {
        let ones: UInt64 = 0x0101_0101_0101_0101
        let low = word & (0x7F &* ones)
        // The high bit of a byte is set where it is at least A, and where it is more than Z.
        let fromA = low &+ (0x80 - 0x41) &* ones
        let afterZ = low &+ (0x80 - 0x5B) &* ones
        return word | ((fromA & ~afterZ & ~word & (0x80 &* ones)) &>> 2)
    }
}
