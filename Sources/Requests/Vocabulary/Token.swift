/// The bytes that are allowed in tokens and field values (RFC 9110 §5.5, §5.6.2).
package enum Token {
    /// Returns whether `bytes` is a token: one or more of the characters that RFC 9110 §5.6.2 allows.
    package static func isToken(_ bytes: some Sequence<UInt8>) -> Bool {
        var isEmpty = true
        for byte in bytes {
            guard isTokenByte(byte) else { return false }
            isEmpty = false
        }
        return !isEmpty
    }

    /// Returns whether `byte` is allowed in a token.
    package static func isTokenByte(_ byte: UInt8) -> Bool {
        byte < 128 && (byte < 64 ? low : high) & (1 << UInt64(byte & 63)) != 0
    }

    static func isToken(_ text: String) -> Bool {
        text.utf8.withContiguousStorageIfAvailable { isToken($0) } ?? isToken(text.utf8)
    }

    /// Returns whether every byte of `text` is allowed in a field value.
    ///
    /// The other bytes are ASCII, so the result is the same for the value in ISO-8859-1.
    package static func isFieldValue(_ text: String) -> Bool {
        text.utf8.withContiguousStorageIfAvailable { isFieldValue($0) }
            ?? !text.utf8.contains(where: isForbiddenInValue)
    }

    /// Returns whether every byte is allowed in a field value.
    package static func isFieldValue(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
        let words = UnsafeRawBufferPointer(bytes)
        var index = 0
        // Eight bytes at a time: plain if each is from 0x20 to 0x7E. Otherwise they are checked one by one.
        while bytes.count - index >= 8 {
            let word = words.loadUnaligned(fromByteOffset: index, as: UInt64.self)
            let (ones, highBits): (UInt64, UInt64) = (0x0101_0101_0101_0101, 0x8080_8080_8080_8080)
            let isPlain = ((word &- 0x20 &* ones) | (word &+ ones) | word) & highBits == 0
            guard isPlain || !words[index..<index + 8].contains(where: isForbiddenInValue) else { return false }
            index += 8
        }
        return !words[index...].contains(where: isForbiddenInValue)
    }

    /// Returns whether `byte` is not allowed in a field value: a control character other than the tab, DEL included.
    package static func isForbiddenInValue(_ byte: UInt8) -> Bool {
        (byte < 0x20 && byte != 0x09) || byte == 0x7F
    }

    // One bit for each byte below 128. Computed from literals: each access to a stored static checks whether it is
    // initialized.
    /// `! # $ % & ' * + - .` and the digits.
    private static var low: UInt64 { 0x03ff_6cfa_0000_0000 }
    /// The letters and ``^ _ ` | ~``, counted from byte 64.
    private static var high: UInt64 { 0x57ff_ffff_c7ff_fffe }
}
