package import Requests
package import RequestsTLS

/// A certificate that was created for a test, with its key.
///
/// No system trusts its issuers, and keys are never stored.
package struct MadeCertificate: Sendable {
    package let der: [UInt8]
    package let key: CertificateKey
    /// The subject, which becomes the issuer of certificates that this one signs.
    let subject: [UInt8]

    /// The certificate as PEM (RFC 7468 §5).
    package var pem: Data {
        let text = Array(Data(der).base64EncodedString().utf8)
        let lines = stride(from: 0, to: text.count, by: 64).map { text[$0..<min($0 + 64, text.count)] + [0x0A] }
        return Data("-----BEGIN CERTIFICATE-----\n".utf8) + lines.joined() + Data("-----END CERTIFICATE-----\n".utf8)
    }

    /// Returns the identity of a server or client, which sends the certificate and `intermediates`.
    package func identity(with intermediates: [MadeCertificate] = []) throws(TLSError) -> TLSConfiguration.Identity {
        TLSConfiguration.Identity(
            certificates: intermediates.reduce(pem) { $0 + $1.pem }, privateKey: try key.pem())
    }
}

/// The content of a certificate to make for a test (RFC 5280 §4).
package struct CertificateMaker: Sendable {
    package var commonName: String
    /// The names for which the certificate is valid.
    package var names: [Name] = []
    /// The first and the last moment of its validity, as `YYYYMMDDHHMMSSZ`.
    package var notBefore = "20200101000000Z"
    package var notAfter = "20991231235959Z"
    /// Whether the certificate may sign others; nil leaves the extension out.
    package var isAuthority: Bool?
    /// The maximum number of authorities between it and a leaf; nil means no limit.
    package var pathLength: UInt8?
    /// The purposes of the certificate; an empty list leaves the extension out.
    package var purposes: [Purpose] = []
    /// Further extensions, as DER.
    package var extensions: [[UInt8]] = []
    /// The domain within which an authority may issue certificates; nil means no limit.
    package var permittedDomain: String?
    /// Whether the signature uses SHA-1, which clients refuse.
    package var usesSHA1 = false
    /// Whether one byte of the signature is changed.
    package var hasDamagedSignature = false

    /// A name in subjectAltName.
    package enum Name: Sendable {
        case dns(String)
        /// A DNS name with any bytes, valid or not.
        case dnsBytes([UInt8])
        /// An IP address: 4 or 16 bytes.
        case address([UInt8])
    }

    /// An extended key usage.
    package enum Purpose: Int, Sendable {
        case server = 1
        case client = 2
    }

    package init(_ commonName: String, names: [Name] = []) {
        self.commonName = commonName
        self.names = names
    }

    package static func authority(_ commonName: String) -> CertificateMaker {
        var maker = CertificateMaker(commonName)
        maker.isAuthority = true
        return maker
    }

    /// Makes the certificate.
    ///
    /// - Parameters:
    ///   - key: The key of the certificate.
    ///   - issuer: The certificate that signs it; nil signs it with its own key.
    /// - Returns: The certificate.
    /// - Throws: ``TLSError`` if the library is missing.
    package func make(_ key: CertificateKey, signedBy issuer: MadeCertificate? = nil) throws(TLSError)
        -> MadeCertificate
    {
        let subject = Self.name(commonName)
        let signer = issuer?.key ?? key
        let algorithm = algorithm(of: signer)
        let validity = DER.sequence(DER.time(notBefore), DER.time(notAfter))
        // A random positive serial number of 8 bytes.
        let serial: [UInt8] = [1] + (0..<7).map { _ in UInt8.random(in: 0...255) }
        let content = DER.sequence(
            DER.value(0xA0, DER.integer([2])), DER.integer(serial), algorithm, issuer?.subject ?? subject, validity,
            subject, try key.publicKey(), DER.value(0xA3, DER.sequence(encodedExtensions())))
        var signature = try signer.signature(of: content, usesSHA1: usesSHA1)
        if hasDamagedSignature { signature[signature.count - 1] ^= 1 }
        return MadeCertificate(
            der: DER.sequence(content, algorithm, DER.bits(signature)), key: key, subject: subject)
    }

    private static func name(_ commonName: String) -> [UInt8] {
        DER.sequence(DER.set(DER.sequence(DER.identifier(2, 5, 4, 3), DER.text(Array(commonName.utf8)))))
    }

    /// Returns the encoded signature algorithm for `key` (RFC 3279 §2.2, RFC 4055 §5, RFC 5758 §3.2).
    private func algorithm(of key: CertificateKey) -> [UInt8] {
        let null: [UInt8] = [0x05, 0x00]
        return switch (key.kind, usesSHA1) {
        case (.rsa, false): DER.sequence(DER.identifier(1, 2, 840, 113_549, 1, 1, 11), null)
        case (.rsa, true): DER.sequence(DER.identifier(1, 2, 840, 113_549, 1, 1, 5), null)
        case (.p256, false): DER.sequence(DER.identifier(1, 2, 840, 10045, 4, 3, 2))
        case (.p256, true): DER.sequence(DER.identifier(1, 2, 840, 10045, 4, 1))
        }
    }

    private func encodedExtensions() -> [UInt8] {
        var result = extensions.flatMap(\.self)
        if let isAuthority {
            let length = pathLength.map { DER.integer([$0]) } ?? []
            let content = isAuthority ? DER.isTrue + length : []
            result += DER.sequence(
                DER.identifier(2, 5, 29, 19), DER.isTrue, DER.octets(DER.value(0x30, content)))
        }
        if !names.isEmpty {
            result += DER.sequence(
                DER.identifier(2, 5, 29, 17), DER.octets(DER.value(0x30, names.flatMap(Self.generalName))))
        }
        if !purposes.isEmpty {
            let content = purposes.flatMap { DER.identifier(1, 3, 6, 1, 5, 5, 7, 3, $0.rawValue) }
            result += DER.sequence(DER.identifier(2, 5, 29, 37), DER.octets(DER.value(0x30, content)))
        }
        if let permittedDomain {
            let subtree = DER.sequence(DER.value(0x82, Array(permittedDomain.utf8)))
            result += DER.sequence(
                DER.identifier(2, 5, 29, 30), DER.isTrue, DER.octets(DER.sequence(DER.value(0xA0, subtree))))
        }
        return result
    }

    private static func generalName(_ name: Name) -> [UInt8] {
        switch name {
        case .dns(let text): DER.value(0x82, Array(text.utf8))
        case .dnsBytes(let bytes): DER.value(0x82, bytes)
        case .address(let bytes): DER.value(0x87, bytes)
        }
    }
}
