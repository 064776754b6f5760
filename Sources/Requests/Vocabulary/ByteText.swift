// Operations on protocol text by its UTF-8 bytes (decision 0023).
//
// A delimiter followed by a combining mark such as U+0301 is one `Character`, CR LF is one `Character`, and `==` on
// strings treats U+212A as K. Do not use `split`, `replacing`, `hasPrefix` or `==` of `String` on protocol text.

extension StringProtocol {
    /// Returns whether both texts have the same bytes; canonically equivalent texts can differ.
    package func hasSameBytes(as other: some StringProtocol) -> Bool {
        // A native string stores its count, and most unequal texts differ in it.
        utf8.count == other.utf8.count && utf8.elementsEqual(other.utf8)
    }

    /// Returns whether the text begins with the bytes of `prefix`.
    package func hasBytePrefix(_ prefix: some StringProtocol) -> Bool {
        utf8.starts(with: prefix.utf8)
    }

    /// Returns whether the text ends with the bytes of `suffix`.
    package func hasByteSuffix(_ suffix: some StringProtocol) -> Bool {
        utf8.count >= suffix.utf8.count && utf8.suffix(suffix.utf8.count).elementsEqual(suffix.utf8)
    }

    /// Returns whether the text contains the byte `delimiter`, which must be ASCII.
    package func containsByte(_ delimiter: Unicode.Scalar) -> Bool {
        utf8.contains(UInt8(ascii: delimiter))
    }

    /// Returns the pieces of the text between the bytes equal to `delimiter`.
    ///
    /// - Parameters:
    ///   - delimiter: The byte that separates the pieces, an ASCII scalar.
    ///   - maxSplits: The maximum number of splits; the last piece contains the remaining delimiters.
    ///   - omittingEmptySubsequences: Whether empty pieces are omitted.
    /// - Returns: The pieces, in order.
    package func splitBytes(
        at delimiter: Unicode.Scalar, maxSplits: Int = .max, omittingEmptySubsequences: Bool = true
    ) -> [SubSequence] {
        let pieces = utf8.split(
            separator: UInt8(ascii: delimiter), maxSplits: maxSplits,
            omittingEmptySubsequences: omittingEmptySubsequences)
        // An ASCII byte is never part of a longer scalar, so every piece is valid UTF-8.
        return pieces.map { self[$0.startIndex..<$0.endIndex] }
    }

    /// Returns the text without its first `count` bytes, which must be whole scalars; empty if the text is shorter.
    package func droppingFirstBytes(_ count: Int) -> SubSequence {
        self[utf8.dropFirst(count).startIndex...]
    }

    /// Returns the text without its last `count` bytes, which must be whole scalars; empty if the text is shorter.
    package func droppingLastBytes(_ count: Int) -> SubSequence {
        self[..<utf8.dropLast(count).endIndex]
    }

    /// Returns the text with each byte replaced by the result of `replacement`.
    ///
    /// - Parameter replacement: A function that returns the replacement of an ASCII byte, or nil to keep the byte. It
    ///   must return nil for bytes of 0x80 and above.
    /// - Returns: The text with all other bytes unchanged.
    package func replacingBytes(_ replacement: (UInt8) -> StaticString?) -> String {
        guard utf8.contains(where: { replacement($0) != nil }) else { return String(self) }
        var bytes: [UInt8] = []
        // Replacements are longer than one byte; 16 extra bytes hold a few without a second allocation.
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
    /// Returns whether both texts have the same bytes, comparing eight at a time.
    ///
    /// ``BaseTargets`` compares base URLs with this function for each request.
    package func hasSameBytes(as other: String) -> Bool {
        OctetText.areEqual(self, other)
    }
}

/// A text that is compared and hashed by its bytes, for sets and dictionaries of protocol text.
package struct ByteText: Hashable, Sendable {
    /// The text.
    package let text: String

    /// Creates a key from `text`.
    package init(_ text: String) {
        self.text = text
    }

    /// Returns whether both texts have the same bytes.
    package static func == (left: Self, right: Self) -> Bool {
        OctetText.areEqual(left.text, right.text)
    }

    /// Hashes the bytes, so that equal values hash alike.
    package func hash(into hasher: inout Hasher) {
        OctetText.hash(text, into: &hasher)
    }
}
