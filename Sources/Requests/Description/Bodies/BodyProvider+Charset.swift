extension BodyProvider {
    /// A charset that a text body can be encoded in.
    @nonexhaustive
    public enum Charset: Hashable, Sendable {
        /// UTF-8, which can represent every character.
        case utf8
        /// ASCII, which has the characters up to U+007F.
        case ascii
        /// ISO-8859-1, which has the characters up to U+00FF.
        case latin1
        /// UTF-16, big-endian with a byte order mark (RFC 2781 §3.3).
        case utf16

        /// The name of the charset in Content-Type.
        package var name: String {
            switch self {
            case .utf8: "utf-8"
            case .ascii: "us-ascii"
            case .latin1: "iso-8859-1"
            case .utf16: "utf-16"
            }
        }

        /// Returns `text` encoded in this charset.
        ///
        /// - Throws: `BodyProvider.BodyError.textNotEncodable` for a character that the charset cannot represent; no
        ///   character is replaced.
        package func encode(_ text: String) throws(BodyProvider.BodyError) -> Data {
            switch self {
            case .utf8: Data(text.utf8)
            case .ascii: try narrow(text, below: 0x80)
            case .latin1: try narrow(text, below: 0x100)
            case .utf16: Data([0xFE, 0xFF] + text.utf16.flatMap { [UInt8($0 >> 8), UInt8($0 & 0xFF)] })
            }
        }

        /// Returns `text` with one byte for each Unicode scalar; each scalar must be below `limit`.
        private func narrow(_ text: String, below limit: UInt32) throws(BodyProvider.BodyError) -> Data {
            var bytes = Data()
            for scalar in text.unicodeScalars {
                guard scalar.value < limit else { throw .textNotEncodable(self) }
                bytes.append(UInt8(truncatingIfNeeded: scalar.value))
            }
            return bytes
        }
    }
}
