import Requests

/// The name of a server, as it is verified and sent (RFC 6066 §3, RFC 9525 §6).
package struct TLSServerName: Sendable {
    private let name: CertificateName

    /// The name in lower case without a trailing dot, or the address without brackets and zone.
    package var text: String { name.text }
    /// Whether this is an IP address, which is compared with the addresses of a certificate, and not sent.
    package var isAddress: Bool { name.isAddress }

    /// Creates the name of a server.
    ///
    /// - Parameter host: A DNS name in ASCII, or an IP address, as for ``CertificateName``.
    /// - Throws: ``TLSError`` with ``TLSError/Problem/configuration`` if it is neither.
    package init(_ host: String) throws(TLSError) {
        guard let name = CertificateName(host) else {
            let shown = ErrorText.quoted(host, limit: 100)
            throw TLSError(.configuration, "invalid server name \(shown): use a DNS name in ASCII or an IP address")
        }
        self.name = name
    }
}
