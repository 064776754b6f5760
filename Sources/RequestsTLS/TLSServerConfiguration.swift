package import Requests

/// The settings of a server; only tests and the test server use them.
package struct TLSServerConfiguration: Sendable {
    package var identity: TLSConfiguration.Identity
    /// The certificates that may issue client certificates; with nil, no client certificate is requested.
    package var clientTrust: TLSConfiguration.Trust?
    package var requiresClientCertificate = false
    /// The application protocols, the preferred one first.
    ///
    /// A client that offers only others is refused with an alert.
    package var applicationProtocols: [String] = []
    /// The versions, as the numbers that are sent: 0x0301 is TLS 1.0, and 0x0304 is TLS 1.3.
    package var versions = 0x0303...0x0304
    /// The ciphers of TLS 1.2 and earlier in OpenSSL's notation; nil for its default.
    package var ciphers: String?
    /// OpenSSL's security level; a test may set 0 to have a server that clients refuse.
    package var securityLevel: Int32 = 2
    /// Whether the server offers sessions for resumption, with tickets or its own cache.
    package var resumesSessions = true

    package init(identity: TLSConfiguration.Identity) {
        self.identity = identity
    }
}
