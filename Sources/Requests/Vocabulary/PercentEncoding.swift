/// A percent-encoding, defined by the bytes that it leaves unchanged (RFC 3986 §2.1).
///
/// Every other byte becomes `%XX` with upper-case digits.
public struct PercentEncoding: Hashable, Sendable {
    // One bit for each ASCII byte that stays unchanged: 0 to 63 in `low`, 64 to 127 in `high`.
    private let low: UInt64
    private let high: UInt64

    /// Creates an encoding that leaves the ASCII letters, digits and the characters of `symbols` unchanged.
    ///
    /// - Parameter symbols: ASCII characters; others have no effect.
    public init(allowing symbols: String) {
        var low: UInt64 = 0
        var high: UInt64 = 0
        for byte in ("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz" + symbols).utf8 where byte < 128 {
            if byte < 64 { low |= 1 << UInt64(byte) } else { high |= 1 << UInt64(byte - 64) }
        }
        self.low = low
        self.high = high
    }

    private init(low: UInt64, high: UInt64) {
        self.low = low
        self.high = high
    }

    // Computed from literals: each access to a stored static checks whether it is initialized.

    /// An encoding that leaves letters, digits and `* - . _` unchanged, safe in queries and forms for every server.
    public static var strict: PercentEncoding { PercentEncoding(low: 0x03ff6400_00000000, high: 0x07fffffe_87fffffe) }
    /// An encoding that leaves the unreserved characters of RFC 3986 §2.3 unchanged: letters, digits and `- . _ ~`.
    public static var rfc3986: PercentEncoding { PercentEncoding(low: 0x03ff6000_00000000, high: 0x47fffffe_87fffffe) }
    /// The encoding ``rfc3986``, which leaves slashes unchanged too.
    package static var segments: PercentEncoding {
        PercentEncoding(low: 0x03ffe000_00000000, high: 0x47fffffe_87fffffe)
    }
    /// The encoding of AFNetworking for queries, which leaves letters, digits and `- . _ ~ / ?` unchanged.
    public static var afnetworking: PercentEncoding {
        PercentEncoding(low: 0x83ffe000_00000000, high: 0x47fffffe_87fffffe)
    }
    /// An encoding that leaves the characters of a path unchanged, slashes included (RFC 3986 §3.3).
    package static var path: PercentEncoding { PercentEncoding(low: 0x2fffffd2_00000000, high: 0x47fffffe_87ffffff) }
    /// An encoding that leaves the characters of a query unchanged (RFC 3986 §3.4).
    package static var query: PercentEncoding { PercentEncoding(low: 0xafffffd2_00000000, high: 0x47fffffe_87ffffff) }

    /// Returns the UTF-8 of `text` with every byte encoded that the encoding does not leave unchanged.
    public func encode(_ text: some StringProtocol) -> String {
        var text = String(text)
        return text.withUTF8 { encoded($0, keepingEscapes: false) } ?? text
    }

    /// Returns `text` encoded, with every valid `%XX` in it kept; any other `%` becomes `%25`.
    func encodeKeepingEscapes(_ text: String) -> String {
        var text = text
        return text.withUTF8 { encoded($0, keepingEscapes: true) } ?? text
    }

    /// Returns UTF-8 text encoded, with every valid `%XX` in it kept; any other `%` becomes `%25`.
    func encodeKeepingEscapes(_ text: ArraySlice<UInt8>) -> String {
        text.withUnsafeBufferPointer { encodedText(of: $0, keepingEscapes: true) }
    }

    /// Returns the text of `source` encoded.
    func encodedText(of source: UnsafeBufferPointer<UInt8>, keepingEscapes: Bool) -> String {
        encoded(source, keepingEscapes: keepingEscapes) ?? String(decoding: source, as: UTF8.self)
    }

    /// Returns the text of `source` encoded, or nil if encoding does not change it.
    private func encoded(_ source: UnsafeBufferPointer<UInt8>, keepingEscapes: Bool) -> String? {
        let count = encodedCount(of: source, keepingEscapes: keepingEscapes)
        if count == source.count { return nil }
        return String(unsafeUninitializedCapacity: count) { memory in
            var writer = ByteWriter(memory)
            write(source, keepingEscapes: keepingEscapes, with: &writer)
            return writer.count
        }
    }

    /// Returns the encoded length of `source` in bytes, which equals its own length only if nothing changes.
    ///
    /// - Parameters:
    ///   - source: The bytes.
    ///   - keepingEscapes: Whether every valid `%XX` is kept.
    ///   - spacesAsPlus: Whether a space becomes `+`, as in forms.
    /// - Returns: The number of bytes.
    func encodedCount(
        of source: UnsafeBufferPointer<UInt8>, keepingEscapes: Bool = false, spacesAsPlus: Bool = false
    ) -> Int {
        var count = source.count
        for index in source.indices where !allows(source[index]) {
            if keepingEscapes, Self.isEscape(source, at: index) { continue }
            if !(spacesAsPlus && source[index] == 0x20) { count += 2 }
        }
        return count
    }

    /// Returns the encoded length of `text` in bytes.
    func encodedCount(of text: String, spacesAsPlus: Bool = false) -> Int {
        var text = text
        return text.withUTF8 { encodedCount(of: $0, spacesAsPlus: spacesAsPlus) }
    }

    /// Writes `text` encoded; a space is written as `+` if `spacesAsPlus` is true.
    func write(_ text: String, spacesAsPlus: Bool = false, with writer: inout ByteWriter) {
        var text = text
        text.withUTF8 { write($0, spacesAsPlus: spacesAsPlus, with: &writer) }
    }

    /// Writes `source` encoded.
    ///
    /// - Parameters:
    ///   - source: The bytes.
    ///   - keepingEscapes: Whether every valid `%XX` is kept.
    ///   - spacesAsPlus: Whether a space becomes `+`, as in forms.
    ///   - writer: The writer, whose memory must have room for the encoded bytes.
    func write(
        _ source: UnsafeBufferPointer<UInt8>, keepingEscapes: Bool = false, spacesAsPlus: Bool = false,
        with writer: inout ByteWriter
    ) {
        for index in source.indices {
            let byte = source[index]
            if allows(byte) || keepingEscapes && Self.isEscape(source, at: index) {
                writer.write(byte)
            } else if spacesAsPlus, byte == 0x20 {
                writer.write(UInt8(ascii: "+"))
            } else {
                writer.write(UInt8(ascii: "%"))
                writer.write(Hex.digit(byte >> 4))
                writer.write(Hex.digit(byte & 15))
            }
        }
    }

    /// Returns `text` with every valid `%XX` decoded; bytes that are not valid UTF-8 become U+FFFD.
    public static func decode(_ text: some StringProtocol) -> String {
        guard text.utf8.contains(UInt8(ascii: "%")) else { return String(text) }
        let source = Array(text.utf8)
        var bytes: [UInt8] = []
        var index = 0
        while index < source.count {
            if source[index] == UInt8(ascii: "%"), index + 2 < source.count,
                let high = Hex.value(of: source[index + 1]), let low = Hex.value(of: source[index + 2])
            {
                bytes.append(high << 4 | low)
                index += 3
            } else {
                bytes.append(source[index])
                index += 1
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Returns `text` decoded, or unchanged if the result is not UTF-8, so that texts with different bytes remain
    /// different.
    package static func decodeUTF8(_ text: some StringProtocol) -> String {
        let decoded = decode(text)
        return decoded.unicodeScalars.contains("\u{FFFD}") ? String(text) : decoded
    }

    /// Returns whether the encoding leaves `byte` unchanged.
    func allows(_ byte: UInt8) -> Bool {
        // The last factor is 0 for bytes outside ASCII.
        (byte & 64 == 0 ? low : high) &>> UInt64(byte & 63) & UInt64(~byte &>> 7) != 0
    }

    /// Returns whether a valid `%XX` begins at `index`.
    private static func isEscape(_ source: UnsafeBufferPointer<UInt8>, at index: Int) -> Bool {
        source[index] == UInt8(ascii: "%") && index + 2 < source.count && Hex.value(of: source[index + 1]) != nil
            && Hex.value(of: source[index + 2]) != nil
    }
}

/// A writer that appends bytes to memory, which must be large enough for them.
struct ByteWriter {
    private let memory: UnsafeMutableBufferPointer<UInt8>
    /// The number of bytes in the memory.
    private(set) var count: Int

    /// Creates a writer that begins after the first `count` bytes of `memory`.
    init(_ memory: UnsafeMutableBufferPointer<UInt8>, from count: Int = 0) {
        self.memory = memory
        self.count = count
    }

    mutating func write(_ byte: UInt8) {
        memory[count] = byte
        count += 1
    }

    mutating func write(_ bytes: UnsafeBufferPointer<UInt8>) {
        guard let first = bytes.baseAddress, let start = memory.baseAddress else { return }
        (start + count).update(from: first, count: bytes.count)
        count += bytes.count
    }

    mutating func write(_ text: String) {
        var text = text
        text.withUTF8 { write($0) }
    }
}

/// Conversion of hexadecimal digits.
package enum Hex {
    /// Returns the value of a hexadecimal digit of either case, or nil for any other byte.
    package static func value(of byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
        case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
        case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
        default: nil
        }
    }

    /// Returns the upper-case digit of a value from 0 to 15.
    package static func digit(_ value: UInt8) -> UInt8 {
        // The mask keeps the addition from overflowing for a value above 15.
        value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "A") + (value & 15) - 10
    }
}
