/// Values in the Distinguished Encoding Rules of ASN.1 (X.690 §10).
package enum DER {
    package static func value(_ tag: UInt8, _ content: [UInt8]) -> [UInt8] {
        [tag] + length(content.count) + content
    }

    private static func length(_ count: Int) -> [UInt8] {
        if count < 0x80 { return [UInt8(count)] }
        var bytes: [UInt8] = []
        var remaining = count
        while remaining > 0 {
            bytes.insert(UInt8(remaining & 0xFF), at: 0)
            remaining >>= 8
        }
        return [0x80 | UInt8(bytes.count)] + bytes
    }

    package static func sequence(_ parts: [UInt8]...) -> [UInt8] {
        value(0x30, parts.flatMap(\.self))
    }

    /// Returns a SET of one element.
    package static func set(_ element: [UInt8]) -> [UInt8] { value(0x31, element) }

    /// A BOOLEAN that is true.
    package static var isTrue: [UInt8] { [0x01, 0x01, 0xFF] }

    /// Returns an INTEGER from its bytes, whose first bit is the sign.
    package static func integer(_ bytes: [UInt8]) -> [UInt8] { value(0x02, bytes) }

    /// Returns an OCTET STRING.
    package static func octets(_ bytes: [UInt8]) -> [UInt8] { value(0x04, bytes) }

    /// Returns a BIT STRING of whole bytes.
    package static func bits(_ bytes: [UInt8]) -> [UInt8] { value(0x03, [0] + bytes) }

    /// Returns text as a UTF8String.
    package static func text(_ bytes: [UInt8]) -> [UInt8] { value(0x0C, bytes) }

    /// Returns a time in UTC: a UTCTime before 2050, and a GeneralizedTime from then on (RFC 5280 §4.1.2.5).
    ///
    /// - Parameter text: The time as `YYYYMMDDHHMMSSZ`.
    /// - Returns: The encoded time.
    package static func time(_ text: String) -> [UInt8] {
        let bytes = Array(text.utf8)
        let isShort = bytes.lexicographicallyPrecedes("2050".utf8)
        return isShort ? value(0x17, Array(bytes.dropFirst(2))) : value(0x18, bytes)
    }

    /// Returns an OBJECT IDENTIFIER of at least two numbers.
    package static func identifier(_ numbers: Int...) -> [UInt8] {
        var bytes = [UInt8(numbers[0] * 40 + numbers[1])]
        for number in numbers.dropFirst(2) {
            var groups = [UInt8(number & 0x7F)]
            var remaining = number >> 7
            while remaining > 0 {
                groups.insert(UInt8(remaining & 0x7F) | 0x80, at: 0)
                remaining >>= 7
            }
            bytes += groups
        }
        return value(0x06, bytes)
    }
}
