/// The charsets that a text body can be written in.
public enum TextCharset: Hashable, Sendable {
    /// UTF-8, which has every character.
    case utf8
    /// ASCII.
    case ascii
    /// ISO-8859-1: the characters up to U+00FF.
    case latin1
    /// UTF-16, big-endian and with a byte order mark (RFC 2781 §3.3).
    case utf16

    /// The name that Content-Type gives it.
    public var name: String {
        switch self {
        case .utf8: "utf-8"
        case .ascii: "us-ascii"
        case .latin1: "iso-8859-1"
        case .utf16: "utf-16"
        }
    }

    /// The bytes of `text`.
    ///
    /// - Throws: `InvalidBody.textNotEncodable` for a character the charset has not; nothing is replaced.
    public func encode(_ text: String) throws(InvalidBody) -> Data {
        switch self {
        case .utf8: Data(text.utf8)
        case .ascii: try narrow(text, below: 0x80)
        case .latin1: try narrow(text, below: 0x100)
        case .utf16: Data([0xFE, 0xFF] + text.utf16.flatMap { [UInt8($0 >> 8), UInt8($0 & 0xFF)] })
        }
    }

    private func narrow(_ text: String, below limit: UInt32) throws(InvalidBody) -> Data {
        var bytes = Data()
        for scalar in text.unicodeScalars {
            guard scalar.value < limit else { throw .textNotEncodable(self) }
            bytes.append(UInt8(truncatingIfNeeded: scalar.value))
        }
        return bytes
    }
}
