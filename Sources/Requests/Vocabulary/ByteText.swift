// Operations on protocol text by its UTF-8 bytes (decisions 0022 and 0023).
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

    /// The text in double quotes, with a backslash before each quotation mark and backslash.
    package var doubleQuoted: String {
        let escaped = replacingBytes { byte in
            switch byte {
            case UInt8(ascii: "\""): "\\\""
            case UInt8(ascii: "\\"): "\\\\"
            default: nil
            }
        }
        return "\"\(escaped)\""
    }
}

extension String {
    /// Returns whether both texts have the same bytes, comparing eight at a time.
    ///
    /// ``BaseTargets`` compares base URLs with this function for each request.
    package func hasSameBytes(as other: String) -> Bool {
        let (left, right) = (utf8, other.utf8)
        guard left.count == right.count else { return false }
        let isEqual: Bool?? = left.withContiguousStorageIfAvailable { left in
            right.withContiguousStorageIfAvailable { right in Self.areEqual(left, right) }
        }
        if case .some(.some(let isEqual)) = isEqual { return isEqual }
        return left.elementsEqual(right)
    }

    /// Returns whether two buffers of the same length have the same bytes.
    private static func areEqual(_ text: UnsafeBufferPointer<UInt8>, _ other: UnsafeBufferPointer<UInt8>) -> Bool {
        // Copies of a text share its storage: every request of an API has the same base URL.
        if text.baseAddress == other.baseAddress { return true }
        let (bytes, otherBytes) = (UnsafeRawBufferPointer(text), UnsafeRawBufferPointer(other))
        var index = 0
        // Eight bytes at a time; the loads stay within the buffers.
        while text.count - index >= 8 {
            guard
                bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self)
                    == otherBytes.loadUnaligned(fromByteOffset: index, as: UInt64.self)
            else { return false }
            index += 8
        }
        while index < text.count {
            guard text[index] == other[index] else { return false }
            index += 1
        }
        return true
    }

    /// Hashes the bytes, so that equal texts hash alike.
    package func hashBytes(into hasher: inout Hasher) {
        var text = self
        text.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
        // 0xFF is never part of UTF-8; it makes "a", "b" and "ab", "" hash differently.
        hasher.combine(0xFF as UInt8)
    }
}

extension String? {
    /// Returns whether both texts are nil or have the same bytes.
    package func hasSameBytes(as other: String?) -> Bool {
        guard let self, let other else { return self == nil && other == nil }
        return self.hasSameBytes(as: other)
    }

    /// Hashes the bytes, so that equal texts hash alike.
    package func hashBytes(into hasher: inout Hasher) {
        // 0xFE is never part of UTF-8, so nil and the empty text hash differently.
        guard let self else { return hasher.combine(0xFE as UInt8) }
        self.hashBytes(into: &hasher)
    }
}

/// A text that is compared and hashed by its bytes, for sets and dictionaries of protocol text.
package struct ByteText: Hashable, Sendable {
    package let text: String

    /// Creates a key from `text`.
    package init(_ text: String) {
        self.text = text
    }

    /// Returns whether both texts have the same bytes.
    package static func == (left: Self, right: Self) -> Bool {
        left.text.hasSameBytes(as: right.text)
    }

    /// Hashes the bytes, so that equal values hash alike.
    package func hash(into hasher: inout Hasher) {
        text.hashBytes(into: &hasher)
    }
}

extension BidirectionalCollection<UInt8> where SubSequence == Self {
    /// These bytes without the spaces and tabs at both ends, which are optional white space (RFC 9110 §5.6.3).
    package var trimmingBlanks: Self {
        var bytes = self
        while let byte = bytes.first, byte == 0x20 || byte == 0x09 { bytes.removeFirst() }
        while let byte = bytes.last, byte == 0x20 || byte == 0x09 { bytes.removeLast() }
        return bytes
    }
}

extension Substring {
    /// This text without the spaces and tabs at both ends.
    package var trimmingBlanks: Substring { Substring(utf8.trimmingBlanks) }
}
