extension TLSConfiguration {
    /// The result of a TLS handshake.
    public struct Negotiation: Hashable, Sendable {
        private let values: Values

        /// The values, which copies share; that keeps metrics small.
        private final class Values: Hashable, Sendable {
            let version: String
            let cipherSuite: String?
            let applicationProtocol: String?
            let isResumed: Bool
            let certificates: [Certificate]

            init(
                _ version: String, _ cipherSuite: String?, _ applicationProtocol: String?, _ isResumed: Bool,
                _ certificates: [Certificate]
            ) {
                self.version = version
                self.cipherSuite = cipherSuite
                self.applicationProtocol = applicationProtocol
                self.isResumed = isResumed
                self.certificates = certificates
            }

            static func == (left: Values, right: Values) -> Bool {
                left === right
                    || left.texts.elementsEqual(right.texts, by: { $0.elementsEqual($1) })
                        && left.isResumed == right.isResumed && left.certificates == right.certificates
            }

            /// The bytes of the version, the cipher suite and the protocol, empty if there is none.
            private var texts: [String.UTF8View] {
                [version.utf8, (cipherSuite ?? "").utf8, (applicationProtocol ?? "").utf8]
            }

            func hash(into hasher: inout Hasher) {
                for text in texts { for byte in text { hasher.combine(byte) } }
            }
        }

        /// Creates the result of a handshake, as for a response in a test.
        ///
        /// - Parameters:
        ///   - version: The version, such as `TLSv1.3`.
        ///   - cipherSuite: The name of the cipher suite.
        ///   - applicationProtocol: The selected application protocol.
        ///   - isResumed: Whether an earlier session was resumed.
        ///   - certificates: The certificates that the peer sent, its own first.
        public init(
            version: String, cipherSuite: String? = nil, applicationProtocol: String? = nil, isResumed: Bool = false,
            certificates: [Certificate] = []
        ) {
            values = Values(version, cipherSuite, applicationProtocol, isResumed, certificates)
        }

        /// The version, such as `TLSv1.3`; empty if it is unknown, as for a server that URLSession refuses.
        public var version: String { values.version }

        /// The name of the cipher suite, such as `TLS_AES_256_GCM_SHA384`; nil before one has been chosen.
        public var cipherSuite: String? { values.cipherSuite }

        /// The selected application protocol, such as `http/1.1` (RFC 7301); nil for none.
        public var applicationProtocol: String? { values.applicationProtocol }

        /// Whether an earlier session was resumed; the peer then sent no certificates.
        public var isResumed: Bool { values.isResumed }

        /// The certificates that the peer sent, its own first, at most 10; empty in the metrics of a response.
        public var certificates: [Certificate] { values.certificates }
    }

    /// A certificate of a peer.
    public struct Certificate: Hashable, Sendable {
        /// The certificate as DER (X.690).
        public var der: Data

        /// The subject, such as `/C=US/O=Example/CN=www.example.com`, at most 255 bytes; other bytes than printable
        /// ASCII are escaped.
        public var subject: String

        /// The issuer, in the same format.
        public var issuer: String

        /// The names and addresses of hosts for which the certificate is valid, at most 20.
        public var names: [String]

        /// The number of the certificate's alternative names, which may exceed the number in ``names``.
        package var nameCount: Int

        /// The first day on which the certificate is valid, as `2026-01-02` in UTC.
        public var notBefore: String

        /// The last day on which the certificate is valid, as `2027-01-02` in UTC.
        public var notAfter: String

        /// The SHA-256 fingerprint of the certificate; nil if it is unknown.
        public var fingerprint: Fingerprint?

        /// The SHA-256 fingerprint of the certificate's public key (RFC 7469 §2.4); nil if it is unknown.
        public var publicKeyFingerprint: Fingerprint?

        package init(
            der: Data, subject: String, issuer: String, names: [String], nameCount: Int, notBefore: String,
            notAfter: String, fingerprint: Fingerprint?, publicKeyFingerprint: Fingerprint?
        ) {
            self.der = der
            self.subject = subject
            self.issuer = issuer
            self.names = names
            self.nameCount = nameCount
            self.notBefore = notBefore
            self.notAfter = notAfter
            self.fingerprint = fingerprint
            self.publicKeyFingerprint = publicKeyFingerprint
        }
    }
}

extension TLSConfiguration.Certificate {
    /// Returns whether both certificates have the same bytes.
    public static func == (left: Self, right: Self) -> Bool { left.der == right.der }

    /// Hashes the bytes of the certificate.
    public func hash(into hasher: inout Hasher) { hasher.combine(der) }
}

extension TLSConfiguration.Negotiation: CustomStringConvertible {
    /// The version, the cipher suite and the subject of the peer on one line.
    public var description: String {
        let peer = certificates.first.map { certificate in
            "\(certificate.subject), issued by \(certificate.issuer), valid until \(certificate.notAfter)"
        }
        return [version.isEmpty ? nil : version, cipherSuite, isResumed ? "resumed" : nil, peer].compactMap(\.self)
            .joined(separator: ", ")
    }
}
