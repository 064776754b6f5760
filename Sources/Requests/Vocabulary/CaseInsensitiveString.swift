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

    /// Returns whether `left` precedes `right` when their folded UTF-8 bytes are compared.
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
    package static func areEqual(_ text: String, _ otherText: String) -> Bool {
        text.utf8.count == otherText.utf8.count
            && text.utf8.elementsEqual(otherText.utf8) { folded($0) == folded($1) }
    }

    /// Returns whether the bytes of two texts are equal, ignoring ASCII case.
    package static func areEqual(_ text: UnsafeBufferPointer<UInt8>, _ otherText: UnsafeBufferPointer<UInt8>) -> Bool {
        text.count == otherText.count && text.elementsEqual(otherText) { folded($0) == folded($1) }
    }

    /// Returns the string with the letters A to Z in lower case.
    package static func folded(_ string: String) -> String {
        guard string.utf8.contains(where: { $0 &- 0x41 < 26 }) else { return string }
        return String(decoding: string.utf8.map(folded), as: UTF8.self)
    }

    /// Hashes the folded bytes.
    ///
    /// The hasher is seeded for each process, so a peer cannot choose names with colliding hashes (decision 0022).
    package static func hash(_ string: String, into hasher: inout Hasher) {
        for byte in string.utf8 { hasher.combine(folded(byte)) }
        // 0xFF is never part of UTF-8; it makes "a", "b" and "ab", "" hash differently.
        hasher.combine(0xFF as UInt8)
    }
}
