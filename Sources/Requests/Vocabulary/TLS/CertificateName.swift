/// The name of a server in the one form in which certificates, pins and sessions are compared (RFC 9525 §6).
package struct CertificateName: Hashable, Sendable {
    /// The name in lower case without a trailing dot; or the address in its canonical text, without brackets and zone.
    package let text: String
    /// Whether this is an IP address.
    package let isAddress: Bool

    /// Creates the name of a server; returns nil if `host` is neither a DNS name in ASCII nor an IP address.
    ///
    /// - Parameter host: A DNS name in any case, with or without a trailing dot; or an IPv4 or IPv6 address, the latter
    ///   with or without brackets and zone. A name that ends in a number is not an address, and is refused, as in a
    ///   URL (decision 0004).
    package init?(_ host: String) {
        if IPAddressText.isIPv4(host[...]) {
            text = host
            isAddress = true
            return
        }
        if host.containsByte(":") {
            guard let canonical = IPAddressText.canonicalIPv6(Self.withoutBracketsAndZone(host)[...]) else {
                return nil
            }
            text = canonical
            isAddress = true
            return
        }
        var bytes = Array(host.utf8)
        if bytes.last == UInt8(ascii: ".") { bytes.removeLast() }
        // OpenSSL accepts every certificate for an empty name, and any subdomain for one that begins with a dot.
        let labels = bytes.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard bytes.count <= 253, labels.allSatisfy(Self.isLabel), !IPAddressText.endsInNumber(host[...]) else {
            return nil
        }
        text = String(decoding: bytes.map { (0x41...0x5A).contains($0) ? $0 | 0x20 : $0 }, as: UTF8.self)
        isAddress = false
    }

    /// Returns whether `other` is a name below this one; an address has none.
    func contains(_ other: CertificateName) -> Bool {
        !isAddress && !other.isAddress && other.text.hasByteSuffix("." + text)
    }

    private static func isLabel(_ label: ArraySlice<UInt8>) -> Bool {
        (1...63).contains(label.count)
            && label.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
                    true
                default: false
                }
            }
    }

    private static func withoutBracketsAndZone(_ host: String) -> String {
        var bytes = host.utf8[...]
        if bytes.first == UInt8(ascii: "["), bytes.last == UInt8(ascii: "]") { bytes = bytes.dropFirst().dropLast() }
        return String(decoding: bytes.prefix { $0 != UInt8(ascii: "%") }, as: UTF8.self)
    }
}
