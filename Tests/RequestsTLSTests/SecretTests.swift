import Requests
import RequestsTLS
import RequestsTestServer
import TestSupport
import Testing

@Suite("TLS: secrets", .enabled(if: TLSSupport.isAvailable, TLSSupport.comment))
struct TLSSecretTests {
    @Test("no key and no passphrase is in a description, a dump or an error", .rows("S-56"))
    func secrets() throws {
        let authority = try TestAuthority.shared
        let passphrase = "correct horse battery staple"
        let certificate = try authority.leaf()
        let clear = try authority.key.pem(), encrypted = try authority.key.pem(passphrase: passphrase)
        var outputs: [String] = []
        func record(_ value: Any) {
            var text = ""
            dump(value, to: &text)
            outputs += [text, "\(value)", String(reflecting: value)]
        }
        let identities: [TLSConfiguration.Identity] = [
            .init(certificates: certificate.pem, privateKey: clear),
            .init(certificates: certificate.pem, privateKey: encrypted) { passphrase },
            .init(certificates: certificate.pem, privateKey: encrypted) { passphrase + "x" },
            .init(certificates: clear, privateKey: clear), .init(certificates: clear, privateKey: clear.dropLast(60)),
            .init(certificates: certificate.pem, privateKey: try CertificateKey(.p256).pem()),
            .init(certificatesAtPath: "/secret/path.pem", privateKeyAtPath: "/secret/key.pem"),
        ]
        for identity in identities {
            record(identity)
            let configuration = TLSConfiguration(trust: .insecureSkipsVerification, identity: identity)
            record(configuration)
            let context = TLSSupport.client(configuration)
            do { try context.prepare() } catch { record(error) }
        }
        #expect(outputs.contains { $0.contains("passphrase is wrong") })
        let lines = (clear + encrypted).split(separator: 10).map { String(decoding: $0, as: UTF8.self) }
        let secrets = [passphrase] + lines.filter { !$0.hasPrefix("-----") && $0.utf8.count > 16 }
        try #require(secrets.count > 4)
        for output in outputs {
            for secret in secrets { #expect(!output.contains(secret)) }
            // A dump of bytes shows their numbers.
            #expect(!output.contains("\(Array(clear.prefix(8)))"))
        }
        for identity in identities { #expect("\(identity)" == "TLS identity <redacted>") }
    }
}
