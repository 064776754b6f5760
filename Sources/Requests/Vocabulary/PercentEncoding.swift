/// Which bytes percent-encoding leaves as they are (RFC 3986 §2.1); every other byte becomes `%XX`, in upper case.
public struct PercentEncoding: Hashable, Sendable {
    private let low: UInt64
    private let high: UInt64

    /// An encoding that leaves the ASCII letters and digits and the ASCII characters of `symbols` as they are.
    ///
    /// Characters of `symbols` outside ASCII have no effect.
    public init(leaving symbols: String) {
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

    // One bit for each byte that is left; literals, so that no access has to ask whether they are initialised.

    /// Leaves letters, digits and `* - . _`: safe in queries and forms for every server.
    public static var strict: PercentEncoding { PercentEncoding(low: 0x03ff6400_00000000, high: 0x07fffffe_87fffffe) }
    /// Leaves the unreserved characters of RFC 3986 §2.3: letters, digits and `- . _ ~`.
    public static var rfc3986: PercentEncoding { PercentEncoding(low: 0x03ff6000_00000000, high: 0x47fffffe_87fffffe) }
    /// Leaves what AFNetworking leaves in a query: letters, digits and `- . _ ~ / ?`.
    public static var afnetworking: PercentEncoding {
        PercentEncoding(low: 0x83ffe000_00000000, high: 0x47fffffe_87fffffe)
    }
    /// Leaves what may stand in a path, slashes included (RFC 3986 §3.3).
    package static var path: PercentEncoding { PercentEncoding(low: 0x2fffffd2_00000000, high: 0x47fffffe_87ffffff) }
    /// Leaves what may stand in a query (RFC 3986 §3.4).
    package static var query: PercentEncoding { PercentEncoding(low: 0xafffffd2_00000000, high: 0x47fffffe_87ffffff) }

    /// `text` as UTF-8 with every byte that is not left alone encoded.
    public func encode(_ text: some StringProtocol) -> String {
        var text = String(text)
        return text.withUTF8 { source in
            leavesAll(source) ? nil : encoded(source, keepingEscapes: false)
        } ?? text
    }

    /// `text` encoded, with the valid `%XX` it already holds kept; a `%` that begins none becomes `%25`.
    func encodeKeepingEscapes(_ text: some StringProtocol) -> String {
        var text = String(text)
        return text.withUTF8 { source in
            leavesAll(source) ? nil : encoded(source, keepingEscapes: true)
        } ?? text
    }

    /// UTF-8 text encoded, with the valid `%XX` it already holds kept; a `%` that begins none becomes `%25`.
    func encodeKeepingEscapes(_ text: ArraySlice<UInt8>) -> String {
        text.withUnsafeBufferPointer { source in
            leavesAll(source)
                ? String(decoding: source, as: UTF8.self) : encoded(source, keepingEscapes: true)
        }
    }

    private func encoded(_ source: UnsafeBufferPointer<UInt8>, keepingEscapes: Bool) -> String {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(source.count * 2)
        append(source, keepingEscapes: keepingEscapes, to: &bytes)
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Appends `text` encoded to `bytes`.
    func append(
        _ text: String, keepingEscapes: Bool = false, spacesAsPlus: Bool = false, to bytes: inout [UInt8]
    ) {
        var text = text
        text.withUTF8 { append($0, keepingEscapes: keepingEscapes, spacesAsPlus: spacesAsPlus, to: &bytes) }
    }

    private func append(
        _ source: UnsafeBufferPointer<UInt8>, keepingEscapes: Bool, spacesAsPlus: Bool = false,
        to bytes: inout [UInt8]
    ) {
        // Runs that are left alone are copied as a whole.
        var runStart = 0
        for index in source.indices where !leaves(source[index]) {
            let byte = source[index]
            if keepingEscapes, byte == UInt8(ascii: "%"), Self.isEscape(source[index...].prefix(3)) { continue }
            bytes.append(contentsOf: source[runStart..<index])
            runStart = index + 1
            if spacesAsPlus, byte == 0x20 { bytes.append(UInt8(ascii: "+")) } else { Self.append(byte, to: &bytes) }
        }
        bytes.append(contentsOf: source[runStart...])
    }

    /// `text` with every valid `%XX` decoded; bytes that are no UTF-8 become U+FFFD.
    public static func decode(_ text: some StringProtocol) -> String {
        guard text.utf8.contains(UInt8(ascii: "%")) else { return String(text) }
        let source = Array(text.utf8)
        var bytes: [UInt8] = []
        var index = 0
        while index < source.count {
            if source[index] == UInt8(ascii: "%"), isEscape(source[index...]),
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

    private func leaves(_ byte: UInt8) -> Bool {
        byte < 128 && (byte < 64 ? low : high) &>> UInt64(byte & 63) & 1 != 0
    }

    private func leavesAll(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
        for byte in bytes where !leaves(byte) { return false }
        return true
    }

    private static func isEscape(_ bytes: some RandomAccessCollection<UInt8>) -> Bool {
        bytes.count >= 3 && bytes.dropFirst().prefix(2).allSatisfy { Hex.value(of: $0) != nil }
    }

    private static func append(_ byte: UInt8, to bytes: inout [UInt8]) {
        bytes.append(UInt8(ascii: "%"))
        bytes.append(Hex.digit(byte >> 4))
        bytes.append(Hex.digit(byte & 15))
    }
}

/// Hexadecimal digits.
package enum Hex {
    /// The value of a hexadecimal digit of either case, or nil.
    package static func value(of byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
        case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
        case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
        default: nil
        }
    }

    /// The upper-case digit of a value of 0 to 15.
    package static func digit(_ value: UInt8) -> UInt8 {
        value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "A") + (value & 15) - 10
    }
}
