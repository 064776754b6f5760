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
        return text.withUTF8 { encoded($0, keepingEscapes: false) } ?? text
    }

    /// `text` encoded, with the valid `%XX` it already holds kept; a `%` that begins none becomes `%25`.
    func encodeKeepingEscapes(_ text: String) -> String {
        var text = text
        return text.withUTF8 { encoded($0, keepingEscapes: true) } ?? text
    }

    /// UTF-8 text encoded, with the valid `%XX` it already holds kept; a `%` that begins none becomes `%25`.
    func encodeKeepingEscapes(_ text: ArraySlice<UInt8>) -> String {
        text.withUnsafeBufferPointer { encodedText(of: $0, keepingEscapes: true) }
    }

    /// The text of `source` encoded.
    func encodedText(of source: UnsafeBufferPointer<UInt8>, keepingEscapes: Bool) -> String {
        encoded(source, keepingEscapes: keepingEscapes) ?? String(decoding: source, as: UTF8.self)
    }

    /// The text of `source` encoded; nil when it is that already.
    private func encoded(_ source: UnsafeBufferPointer<UInt8>, keepingEscapes: Bool) -> String? {
        let count = encodedCount(of: source, keepingEscapes: keepingEscapes)
        if count == source.count { return nil }
        return String(unsafeUninitializedCapacity: count) { memory in
            var pen = BytePen(memory)
            write(source, keepingEscapes: keepingEscapes, with: &pen)
            return pen.count
        }
    }

    /// How many bytes `source` has once encoded; as many as before exactly when nothing changes.
    func encodedCount(
        of source: UnsafeBufferPointer<UInt8>, keepingEscapes: Bool = false, spacesAsPlus: Bool = false
    ) -> Int {
        var count = source.count
        for index in source.indices where !leaves(source[index]) {
            if keepingEscapes, Self.isEscape(source, at: index) { continue }
            if !(spacesAsPlus && source[index] == 0x20) { count += 2 }
        }
        return count
    }

    /// How many bytes `text` has once encoded.
    func encodedCount(of text: String, spacesAsPlus: Bool = false) -> Int {
        var text = text
        return text.withUTF8 { encodedCount(of: $0, spacesAsPlus: spacesAsPlus) }
    }

    /// Writes `text` encoded.
    func write(_ text: String, spacesAsPlus: Bool = false, with pen: inout BytePen) {
        var text = text
        text.withUTF8 { write($0, spacesAsPlus: spacesAsPlus, with: &pen) }
    }

    /// Writes `source` encoded.
    func write(
        _ source: UnsafeBufferPointer<UInt8>, keepingEscapes: Bool = false, spacesAsPlus: Bool = false,
        with pen: inout BytePen
    ) {
        for index in source.indices {
            let byte = source[index]
            if leaves(byte) || keepingEscapes && Self.isEscape(source, at: index) {
                pen.write(byte)
            } else if spacesAsPlus, byte == 0x20 {
                pen.write(UInt8(ascii: "+"))
            } else {
                pen.write(UInt8(ascii: "%"))
                pen.write(Hex.digit(byte >> 4))
                pen.write(Hex.digit(byte & 15))
            }
        }
    }

    /// `text` with every valid `%XX` decoded; bytes that are no UTF-8 become U+FFFD.
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

    private func leaves(_ byte: UInt8) -> Bool {
        (byte & 64 == 0 ? low : high) &>> UInt64(byte & 63) & UInt64(~byte &>> 7) != 0
    }

    private static func isEscape(_ source: UnsafeBufferPointer<UInt8>, at index: Int) -> Bool {
        source[index] == UInt8(ascii: "%") && index + 2 < source.count && Hex.value(of: source[index + 1]) != nil
            && Hex.value(of: source[index + 2]) != nil
    }
}

/// Writes bytes one behind the other into memory that has been made large enough for them.
struct BytePen {
    private let memory: UnsafeMutableBufferPointer<UInt8>
    private(set) var count: Int

    init(_ memory: UnsafeMutableBufferPointer<UInt8>, from count: Int = 0) {
        self.memory = memory
        self.count = count
    }

    @inline(__always)
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
