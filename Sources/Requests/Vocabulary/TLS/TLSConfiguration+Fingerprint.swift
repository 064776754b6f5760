extension TLSConfiguration {
    /// A SHA-256 fingerprint of a public key or a certificate.
    public struct Fingerprint: Hashable, Sendable {
        /// The 32 bytes.
        public let bytes: [UInt8]

        /// Creates a fingerprint from its bytes; nil unless there are 32.
        public init?(bytes: [UInt8]) {
            guard bytes.count == 32 else { return nil }
            self.bytes = bytes
        }

        /// Creates a fingerprint from text; nil if the text is something else.
        ///
        /// - Parameter text: 64 hexadecimal digits in any case, which colons may separate, as OpenSSL prints them; or
        ///   44 characters of base64, with or without `sha256/` before them, as in RFC 7469.
        public init?(_ text: String) {
            let digits = text.utf8.filter { $0 != UInt8(ascii: ":") }
            if digits.count == 64, digits.allSatisfy({ Self.value(of: $0) != nil }) {
                let values = digits.compactMap(Self.value)
                self.init(bytes: stride(from: 0, to: 64, by: 2).map { values[$0] << 4 | values[$0 + 1] })
                return
            }
            let encoded = text.hasBytePrefix("sha256/") ? text.utf8.dropFirst(7) : text.utf8[...]
            guard encoded.count == 44, let decoded = Data(base64Encoded: Data(encoded)) else { return nil }
            self.init(bytes: Array(decoded))
        }

        private static func value(of digit: UInt8) -> UInt8? {
            switch digit {
            case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
            case UInt8(ascii: "A")...UInt8(ascii: "F"): digit - UInt8(ascii: "A") + 10
            case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
            default: nil
            }
        }
    }
}

extension TLSConfiguration.Fingerprint: CustomStringConvertible {
    /// The fingerprint as in RFC 7469: `sha256/` and base64.
    public var description: String { "sha256/\(Data(bytes).base64EncodedString())" }
}
