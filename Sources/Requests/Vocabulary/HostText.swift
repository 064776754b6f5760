/// The spellings of one host.
package enum HostText {
    /// Returns the canonical form of `host`, which is equal for all spellings of one host.
    ///
    /// An IPv6 address is in its canonical form and in brackets, as in ``TargetURI/host``. A name is in lower case and
    /// in ASCII (`xn--…`), without the dot at its end. Other text, such as an IPv4 address, is returned unchanged.
    package static func canonical(_ host: some StringProtocol) -> String {
        var name = String(host)
        if name.containsByte(":") {
            let isBracketed = name.hasBytePrefix("[") && name.hasByteSuffix("]")
            let text = isBracketed ? name.droppingFirstBytes(1).droppingLastBytes(1) : name[...]
            if let address = IPAddressText.canonicalIPv6(text) { return "[\(address)]" }
        }
        if name.utf8.contains(where: { $0 >= 0x80 }) {
            name = name.splitBytes(at: ".", omittingEmptySubsequences: false).map { Punycode.label(String($0)) }
                .joined(separator: ".")
        }
        name = ASCIIFolding.folded(name)
        return name.utf8.count > 1 && name.hasByteSuffix(".") ? String(name.droppingLastBytes(1)) : name
    }
}
