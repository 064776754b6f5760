/// Comparison and hashing of text by its UTF-8 octets (decision 0022).
///
/// `String` compares by canonical equivalence: `é` as one scalar equals `é` as two. RFC 9110 compares octets, so the
/// values of fields, parameters and cookies use these functions.
package enum OctetText {
    /// Returns whether both texts have the same octets.
    package static func areEqual(_ text: String, _ otherText: String) -> Bool {
        let (left, right) = (text.utf8, otherText.utf8)
        guard left.count == right.count else { return false }
        let isEqual = left.withContiguousStorageIfAvailable { left in
            right.withContiguousStorageIfAvailable { right in areEqual(left, right) }
        }
        return isEqual.flatMap { $0 } ?? left.elementsEqual(right)
    }

    /// Returns whether both texts are nil or have the same octets.
    package static func areEqual(_ text: String?, _ otherText: String?) -> Bool {
        guard let text, let otherText else { return text == nil && otherText == nil }
        return areEqual(text, otherText)
    }

    /// Returns whether two buffers of the same length have the same bytes.
    private static func areEqual(_ text: UnsafeBufferPointer<UInt8>, _ other: UnsafeBufferPointer<UInt8>) -> Bool {
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

    /// Hashes the octets, so that equal texts hash alike.
    package static func hash(_ text: String?, into hasher: inout Hasher) {
        // 0xFE is never part of UTF-8, so nil and the empty text hash differently.
        guard var text else { return hasher.combine(0xFE as UInt8) }
        text.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
        // 0xFF is never part of UTF-8, so that "a", "b" and "ab", "" hash differently.
        hasher.combine(0xFF as UInt8)
    }
}
