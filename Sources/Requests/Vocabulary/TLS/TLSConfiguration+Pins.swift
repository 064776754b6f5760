extension TLSConfiguration {
    /// The fingerprints for one host and its subdomains; the verified certificate chain must contain at least one of
    /// them.
    ///
    /// Hosts are compared by labels: a pin for `example.com` applies to `example.com` and `api.example.com`, not to
    /// `evilexample.com`. If several pins apply, only those with the longest host name are used. Connections to other
    /// hosts are verified as usual. A chain without any of the fingerprints is refused before anything is sent.
    ///
    /// Pin at least two keys, one of which is not in use yet: otherwise the app cannot connect any more when the server
    /// replaces its key.
    public struct Pin: Sendable {
        /// The name of the host, in any case, or its IP address in any form.
        public let host: String

        /// Whether the pin also applies to every subdomain of ``host``.
        public let includesSubdomains: Bool

        /// The fingerprints of public keys: SHA-256 of the SubjectPublicKeyInfo (RFC 7469 §2.4).
        public let publicKeys: [Fingerprint]

        /// The fingerprints of certificates: SHA-256 of the DER.
        public let certificates: [Fingerprint]

        /// Creates a pin for a host; the chain must contain one of its fingerprints.
        ///
        /// - Parameters:
        ///   - host: The name of the host in ASCII, or its IP address; an IPv6 address with or without brackets, and in
        ///     any zone. Any other text, such as a wildcard or a URL, is an error before anything is sent, and so is a
        ///     host that does not include the `serverName` of the configuration, if that is set.
        ///   - includesSubdomains: Whether the pin also applies to subdomains. An IP address has none.
        ///   - publicKeys: Fingerprints of public keys, of the server or of an issuer in its verified chain.
        ///   - certificates: Fingerprints of certificates of that chain. A pin without any fingerprint is an error
        ///     before anything is sent.
        /// - Returns: The pin.
        public static func host(
            _ host: String, includesSubdomains: Bool = true, publicKeys: [Fingerprint] = [],
            certificates: [Fingerprint] = []
        ) -> Pin {
            Pin(
                host: host, includesSubdomains: includesSubdomains, publicKeys: publicKeys,
                certificates: certificates)
        }
    }
}

extension TLSConfiguration.Pin {
    /// Returns whether the pin applies to the server `name`: the pin's host, or a name below it.
    func applies(to name: CertificateName) -> Bool {
        guard let pinned = CertificateName(host) else { return false }
        return pinned == name || includesSubdomains && pinned.contains(name)
    }
}

extension [TLSConfiguration.Pin] {
    /// Returns the pins that apply to `host`; empty if there are none.
    ///
    /// - Parameter host: A host name or an IP address, in any form that ``CertificateName`` accepts.
    /// - Returns: All pins with the longest name that applies.
    package func pins(for host: String) -> [TLSConfiguration.Pin] {
        guard let name = CertificateName(host) else { return [] }
        let matching = filter { $0.applies(to: name) }
        let longest = matching.compactMap { CertificateName($0.host)?.text.utf8.count }.max()
        return matching.filter { CertificateName($0.host)?.text.utf8.count == longest }
    }
}
