extension TLSConfiguration {
    /// The pinned hosts, with fingerprints of which the verified certificate chain must contain at least one.
    ///
    /// Hosts are compared by labels: a pin for `example.com` applies to `example.com` and `api.example.com`, not to
    /// `evilexample.com`. If several pins apply, only those with the longest host name are used. Connections to other
    /// hosts are verified as usual. A chain without any of the fingerprints is refused before anything is sent.
    ///
    /// Pin at least two keys, one of which is not in use yet: otherwise the app cannot connect any more when the server
    /// replaces its key.
    public struct Pins: Sendable, ExpressibleByArrayLiteral {
        /// The pins, in any order.
        public var pins: [Pin]

        /// Creates a list of pins.
        ///
        /// - Parameter pins: The pins, in any order.
        public init(_ pins: [Pin]) {
            self.pins = pins
        }

        /// Creates a list of pins.
        ///
        /// - Parameter elements: The pins, in any order.
        public init(arrayLiteral elements: Pin...) {
            pins = elements
        }

        /// Returns the pins that apply to `host`; empty if there are none.
        ///
        /// - Parameter host: The name of a host in ASCII, in any case, or an IP address.
        /// - Returns: All pins with the longest name that applies.
        package func pins(for host: String) -> [Pin] {
            let host = Pin.normalized(host)
            let matching = pins.filter { $0.applies(toNormalized: host) }
            let longest = matching.map { Pin.normalized($0.host).utf8.count }.max()
            return matching.filter { Pin.normalized($0.host).utf8.count == longest }
        }
    }

    /// The fingerprints for one host and its subdomains.
    public struct Pin: Sendable {
        /// The name of the host, in any case.
        public let host: String

        /// Whether the pin also applies to every subdomain of ``host``.
        public let includesSubdomains: Bool

        /// The fingerprints of public keys: SHA-256 of the SubjectPublicKeyInfo (RFC 7469 §2.4).
        public let publicKeys: [Fingerprint]

        /// The fingerprints of certificates: SHA-256 of the DER.
        public let certificates: [Fingerprint]

        /// Creates a pin, one of whose fingerprints the chain must contain.
        ///
        /// - Parameters:
        ///   - host: The name of the host. An empty name is an error before anything is sent.
        ///   - includesSubdomains: Whether the pin also applies to subdomains. An IP address has none.
        ///   - publicKeys: Fingerprints of public keys of the server or of an issuer in its verified chain.
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
    /// Returns `host` in lower case and without a trailing dot.
    static func normalized(_ host: String) -> String {
        var bytes = host.utf8.map { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0) ? $0 | 0x20 : $0 }
        if bytes.last == UInt8(ascii: ".") { bytes.removeLast() }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Whether the pin applies to a normalized host: the same name, or a subdomain of it.
    fileprivate func applies(toNormalized candidate: String) -> Bool {
        let name = Array(Self.normalized(host).utf8)
        let candidate = Array(candidate.utf8)
        guard !name.isEmpty, candidate.count >= name.count, candidate.suffix(name.count).elementsEqual(name) else {
            return false
        }
        if candidate.count == name.count { return true }
        // An address has no subdomains: `1.10.0.0.1` is not a host below `10.0.0.1`.
        let isName = candidate.contains { !(0x30...0x39).contains($0) && $0 != UInt8(ascii: ".") }
        return includesSubdomains && isName && candidate[candidate.count - name.count - 1] == UInt8(ascii: ".")
    }
}
