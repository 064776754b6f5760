// Operations on protocol text by its UTF-8 bytes (Docs/Decisions/0023-protocol-text-is-bytes.md).
//
// A mark such as U+0301 behind a delimiter makes one `Character` of both, CR LF is one `Character`, and `==` on strings
// takes U+212A for K: so `split`, `replacing`, `hasPrefix` and `==` of the standard library are not for protocol text.

extension StringProtocol {
    /// Whether the bytes of both texts are the same; canonical equivalence does not count.
    package func hasSameBytes(as other: some StringProtocol) -> Bool {
        // The count is known without a look at the bytes, and differs for most texts that are not equal.
        utf8.count == other.utf8.count && utf8.elementsEqual(other.utf8)
    }

    /// Whether the bytes begin with those of `prefix`.
    package func hasBytePrefix(_ prefix: some StringProtocol) -> Bool {
        utf8.starts(with: prefix.utf8)
    }

    /// Whether the bytes end with those of `suffix`.
    package func hasByteSuffix(_ suffix: some StringProtocol) -> Bool {
        utf8.count >= suffix.utf8.count && utf8.suffix(suffix.utf8.count).elementsEqual(suffix.utf8)
    }

    /// Whether any byte is `delimiter`, which must be ASCII.
    package func containsByte(_ delimiter: Unicode.Scalar) -> Bool {
        utf8.contains(UInt8(ascii: delimiter))
    }

    /// The pieces between the bytes that are `delimiter`, which must be ASCII.
    ///
    /// - Parameters:
    ///   - delimiter: The byte that separates the pieces.
    ///   - maxSplits: How many delimiters count; the last piece holds the others.
    ///   - omittingEmptySubsequences: Whether pieces without bytes are left out.
    /// - Returns: The pieces, in order.
    package func splitBytes(
        at delimiter: Unicode.Scalar, maxSplits: Int = .max, omittingEmptySubsequences: Bool = true
    ) -> [SubSequence] {
        let pieces = utf8.split(
            separator: UInt8(ascii: delimiter), maxSplits: maxSplits,
            omittingEmptySubsequences: omittingEmptySubsequences)
        // An ASCII byte is never part of a longer scalar, so that every piece is whole UTF-8.
        return pieces.map { self[$0.startIndex..<$0.endIndex] }
    }

    /// The text without its first `count` bytes, which must be whole scalars; empty when there are fewer.
    package func droppingFirstBytes(_ count: Int) -> SubSequence {
        self[utf8.dropFirst(count).startIndex...]
    }

    /// The text without its last `count` bytes, which must be whole scalars; empty when there are fewer.
    package func droppingLastBytes(_ count: Int) -> SubSequence {
        self[..<utf8.dropLast(count).endIndex]
    }

    /// The text with each byte that `replacement` gives a text for replaced by that text.
    ///
    /// - Parameter replacement: The text for an ASCII byte, or nil to keep it; it must give nil for bytes from 0x80 on.
    /// - Returns: The text, in which other bytes are as they were.
    package func replacingBytes(_ replacement: (UInt8) -> StaticString?) -> String {
        guard utf8.contains(where: { replacement($0) != nil }) else { return String(self) }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(utf8.count + 16)
        for byte in utf8 {
            if let text = replacement(byte) {
                bytes.append(contentsOf: UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
            } else {
                bytes.append(byte)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}

extension String {
    /// Whether the bytes of both texts are the same; eight at a time, which ``BaseTargets`` needs for each request.
    package func hasSameBytes(as other: String) -> Bool {
        OctetText.areEqual(self, other)
    }
}

/// A text whose equality and hash are those of its bytes, for sets and dictionaries of protocol text.
package struct ByteText: Hashable, Sendable {
    /// The text.
    package let text: String

    /// The text as a key.
    package init(_ text: String) {
        self.text = text
    }

    /// Whether the bytes are the same.
    package static func == (left: Self, right: Self) -> Bool {
        OctetText.areEqual(left.text, right.text)
    }

    /// Hashes the bytes.
    package func hash(into hasher: inout Hasher) {
        OctetText.hash(text, into: &hasher)
    }
}
