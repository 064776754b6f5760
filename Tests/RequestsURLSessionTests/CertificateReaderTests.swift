import RequestsConformance
import RequestsPOSIX
import RequestsTLS
import RequestsTestServer
import TestCorpora
import TestSupport
import Testing

@testable import RequestsURLSession

@Suite(
    "URLSession: certificates",
    .enabled(if: TestTLS.isAvailable, "libssl is not installed: connections over TLS are not tested"))
struct CertificateReaderTests {
    /// Returns what OpenSSL reads in certificates: a server sends them behind its own, at most nine at a time.
    func readByOpenSSL(_ certificates: [Data], _ server: MadeCertificate) throws -> [TLSConfiguration.Certificate] {
        let pem = certificates.map { der in
            Data("-----BEGIN CERTIFICATE-----\n\(der.base64EncodedString())\n-----END CERTIFICATE-----\n".utf8)
        }
        let identity = TLSConfiguration.Identity(
            certificates: pem.reduce(server.pem, +), privateKey: try server.key.pem())
        let far = TLSContext(server: TLSServerConfiguration(identity: identity))
        let near = TLSContext(client: TLSConfiguration(trust: .insecureSkipsVerification))
        let reactor = try Reactor()
        let channels = try Socket.Pair().apart { first, second in
            (Channel(first, reactor: reactor), Channel(second, reactor: reactor))
        }
        let client = try TLSStream(near, over: channels.0, to: TLSServerName("a.test"))
        let peer = try TLSStream(server: far, over: channels.1)
        var isDone = (client: false, peer: false)
        while !isDone.client || !isDone.peer {
            if !isDone.client { isDone.client = try client.handshake() == nil }
            if !isDone.peer { isDone.peer = try peer.handshake() == nil }
        }
        return Array(client.information.certificates.dropFirst())
    }

    func expectEqual(_ certificate: TLSConfiguration.Certificate, _ expected: TLSConfiguration.Certificate) {
        #expect(certificate.der == expected.der)
        // OpenSSL 1.1.1 does not escape a slash in a name.
        let escapes = TestTLS.library.version?.hasPrefix("OpenSSL 3") == true
        func text(_ name: String) -> String { escapes ? name : name.replacing("\\/", with: "/") }
        #expect(text(certificate.subject) == expected.subject)
        #expect(text(certificate.issuer) == expected.issuer)
        #expect(certificate.names == expected.names)
        #expect(certificate.nameCount == expected.nameCount)
        #expect(certificate.notBefore == expected.notBefore)
        #expect(certificate.notAfter == expected.notAfter)
        #expect(certificate.fingerprint == expected.fingerprint)
        #expect(certificate.publicKeyFingerprint == expected.publicKeyFingerprint)
    }

    /// Certificates with many kinds of content.
    func made() throws -> [MadeCertificate] {
        let key = try CertificateKey(.p256)
        let root = try CertificateMaker.authority("Root é\u{301} \n / CN=x").make(CertificateKey(.rsa(bits: 2048)))
        var address = CertificateMaker("10.0.0.1", names: [.address([10, 0, 0, 1]), .address([1, 2, 3])])
        address.names.append(.address(Array(repeating: 0, count: 15) + [1]))
        address.names.append(.address([0x20, 1, 0xD, 0xB8] + Array(repeating: 0, count: 12)))
        address.notBefore = "19500101000000Z"
        address.notAfter = "20491231235959Z"
        var odd = CertificateMaker(
            "odd", names: [.dnsBytes([0x61, 0, 0x62]), .dnsBytes([0xFF, 0x7F]), .dns("*.a.test")])
        odd.notAfter = "20500101000000Z"
        odd.purposes = [.server]
        odd.permittedDomain = "a.test"
        let many = CertificateMaker("many", names: (0..<300).map { .dns("host\($0).a.test") })
        let long = [249, 250, 251, 252, 253].map { CertificateMaker(String(repeating: "x", count: $0)) }
        return try [root] + ([address, odd, many] + long).map { try $0.make(key, signedBy: root) }
    }

    @Test("certificates are read as by OpenSSL", .rows("HT-26"))
    func madeCertificates() throws {
        let certificates = try made()
        let expected = try readByOpenSSL(certificates.map { Data($0.der) }, certificates[1])
        #expect(expected.count == certificates.count)
        for (certificate, expected) in zip(certificates, expected) {
            expectEqual(try #require(CertificateReader(Data(certificate.der))?.summary), expected)
        }
    }

    static let bundle = "/etc/ssl/certs/ca-certificates.crt"

    @Test(
        "the authorities of the system are read as by OpenSSL", .rows("HT-26"),
        .enabled(if: FileManager.default.fileExists(atPath: bundle), "the system has no bundle of certificates"))
    func systemCertificates() throws {
        let authorities = try SessionTLS(TLSConfiguration(trust: .certificates(atPath: Self.bundle))).anchors
        #expect(authorities.count > 50)
        let server = try CertificateMaker("a.test").make(CertificateKey(.p256))
        for start in stride(from: 0, to: authorities.count, by: 9) {
            let part = Array(authorities[start..<min(start + 9, authorities.count)])
            let expected = try readByOpenSSL(part, server)
            #expect(expected.count == part.count)
            for (der, expected) in zip(part, expected) {
                expectEqual(try #require(CertificateReader(der)?.summary), expected)
            }
        }
    }

    @Test("cut and damaged certificates are read or refused, and never more of them than there is", .rows("HT-26"))
    func damaged() throws {
        var random = SplitMix64(state: 1)
        for certificate in try made() {
            let der = Data(certificate.der)
            for end in 0..<min(der.count, 1000) { #expect(CertificateReader(der.prefix(end)) == nil) }
            #expect(CertificateReader(der + [0]) == nil)
            for _ in 0..<500 {
                var changed = der
                for _ in 0..<Int.random(in: 1...4, using: &random) {
                    changed[Int.random(in: 0..<changed.count, using: &random)] = UInt8.random(
                        in: 0...255, using: &random)
                }
                guard let read = CertificateReader(changed)?.summary else { continue }
                #expect(read.subject.utf8.count <= 255 && read.issuer.utf8.count <= 255 && read.names.count <= 20)
            }
        }
    }

    @Test(
        "values whose length is too large or incomplete are not read",
        arguments: [
            [], [0x30], [0x30, 0x80], [0x30, 0x81], [0x30, 0x85, 0, 0, 0, 0, 1, 0],
            [0x30, 0x84, 0xFF, 0xFF, 0xFF, 0xFF],
            [0x30, 0x88, 0x7F, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF], [0x30, 0xFF, 1], [0x30, 1],
        ] as [[UInt8]])
    func lengths(bytes: [UInt8]) {
        var reader = DERReader(bytes[...])
        #expect(reader.next() == nil)
        #expect(reader.remaining == bytes[...])
    }
}
