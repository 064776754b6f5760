/// The settings of TLS connections: trust, versions, identity and pins.
///
/// The default trusts the certificate authorities of the system, requires TLS 1.2 or later, and verifies the chain and
/// the name of every server (RFC 9110 §4.3.4, RFC 9525):
///
/// ```swift
/// var tls = TLSConfiguration()
/// tls.trust = .system.adding(.certificates(atPath: "/etc/app/ca.pem"))
/// tls.pins = [
///     .host("example.com", publicKeys: [current, backup])
/// ]
/// ```
///
/// Whether a certificate has been revoked is not checked: neither CRLs nor OCSP are requested. Certificates with a
/// short lifetime, or pins, limit what a stolen key allows.
///
/// Files are read when the first connection needs them. An invalid value is an error before anything is sent.
public struct TLSConfiguration: Sendable {
    /// The certificate authorities that may issue server certificates.
    public var trust: Trust

    /// The oldest version of TLS that is accepted.
    ///
    /// A stricter policy of the system is kept.
    public var minimumVersion: Version

    /// The certificate and key with which the client identifies itself; nil for none.
    public var identity: Identity?

    /// The names of the application protocols that are offered, the preferred one first (RFC 7301).
    ///
    /// Each has 1 to 255 bytes. An empty list offers none. A server that selects a protocol that was not offered is
    /// refused.
    public var applicationProtocols: [String]

    /// The name that the certificate of the server must have, and that is sent as SNI; nil for the host of the URL.
    ///
    /// It also replaces the host when ``pins`` are looked up.
    public var serverName: String?

    /// The pinned hosts; the verified chain of each must contain at least one of its fingerprints.
    public var pins: [Pin]

    /// A function that checks the server after its chain, its name and its pins were verified; nil for none.
    ///
    /// The function receives the verified name, and the verified chain with the certificate of the server first. If it
    /// throws, the connection is refused before anything of a request is sent, with
    /// ``RequestError/CertificateProblem/refusedByCheck``. It runs on the thread that performs the handshake, so it
    /// must not wait. It is not called when a session is resumed, whose server has passed it. Without verification, the
    /// certificates are the ones that the server sent.
    public var serverCheck: (@Sendable (_ host: String, _ chain: [Certificate]) throws -> Void)?

    /// Creates a configuration.
    ///
    /// - Parameters:
    ///   - trust: The trusted certificate authorities.
    ///   - minimumVersion: The oldest version of TLS that is accepted.
    ///   - identity: The certificate and key of the client.
    ///   - applicationProtocols: The names of the application protocols to offer.
    ///   - serverName: The name to verify instead of the host of the URL.
    ///   - pins: The pinned hosts; the verified chain of each must contain at least one of its fingerprints.
    public init(
        trust: Trust = .system, minimumVersion: Version = .tls12, identity: Identity? = nil,
        applicationProtocols: [String] = ["http/1.1"], serverName: String? = nil, pins: [Pin] = []
    ) {
        self.trust = trust
        self.minimumVersion = minimumVersion
        self.identity = identity
        self.applicationProtocols = applicationProtocols
        self.serverName = serverName
        self.pins = pins
    }
}

extension TLSConfiguration {
    /// A version of TLS.
    @nonexhaustive
    public enum Version: Hashable, Sendable {
        /// TLS 1.2 (RFC 5246).
        case tls12
        /// TLS 1.3 (RFC 8446).
        case tls13
    }
}
