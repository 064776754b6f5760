/// The bytes that names and values of HTTP may hold (RFC 9110 §5.5, §5.6.2).
package enum Token {
    /// Whether `bytes` is a token: one or more of the characters RFC 9110 §5.6.2 allows.
    package static func isToken(_ bytes: some Sequence<UInt8>) -> Bool {
        var isEmpty = true
        for byte in bytes {
            guard isTokenByte(byte) else { return false }
            isEmpty = false
        }
        return !isEmpty
    }

    /// Whether `byte` may stand in a token.
    package static func isTokenByte(_ byte: UInt8) -> Bool {
        byte < 128 && (byte < 64 ? low : high) & (1 << UInt64(byte & 63)) != 0
    }

    /// Whether `text` is a token.
    static func isToken(_ text: String) -> Bool {
        var text = text
        return text.withUTF8 { isToken($0) }
    }

    /// Whether no byte of `text` is one that may never stand in a field value.
    static func isFieldValue(_ text: String) -> Bool {
        var text = text
        // Without an early end, so that many bytes are looked at in one step.
        return text.withUTF8 { bytes in !bytes.reduce(false) { $0 || isForbiddenInValue($1) } }
    }

    /// Whether `byte` may never stand in a field value: a control other than the horizontal tab, or DEL.
    package static func isForbiddenInValue(_ byte: UInt8) -> Bool {
        (byte < 0x20 && byte != 0x09) || byte == 0x7F
    }

    // One bit for each byte below 128; literals, so that no access has to ask whether they are initialised.
    /// `! # $ % & ' * + - .` and the digits.
    private static var low: UInt64 { 0x03ff_6cfa_0000_0000 }
    /// The letters and ``^ _ ` | ~``, counted from byte 64.
    private static var high: UInt64 { 0x57ff_ffff_c7ff_fffe }
}
