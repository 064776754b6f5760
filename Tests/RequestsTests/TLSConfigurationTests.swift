import Requests
import TestSupport
import Testing

@Suite("TLS configuration")
struct TLSConfigurationTests {
    typealias Fingerprint = TLSConfiguration.Fingerprint

    static let bytes = (0..<32).map { UInt8($0) }
    static let hexadecimal = "000102030405060708090A0B0C0D0E0F101112131415161718191a1b1c1d1e1f"
    static let base64 = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="

    @Test(
        "fingerprints are read as hexadecimal digits in any case, with colons or without, and as base64", .rows("HT-26")
    )
    func fingerprints() throws {
        let colons = stride(from: 0, to: 64, by: 2).map { Self.hexadecimal.dropFirst($0).prefix(2) }
        let texts = [
            Self.hexadecimal, Self.hexadecimal.lowercased(), Self.hexadecimal.uppercased(),
            colons.joined(separator: ":"), Self.base64, "sha256/" + Self.base64,
        ]
        for text in texts { #expect(Fingerprint(text)?.bytes == Self.bytes, "\(text)") }
        let fingerprint = try #require(Fingerprint(bytes: Self.bytes))
        #expect(fingerprint.description == "sha256/" + Self.base64)
        #expect(Fingerprint(fingerprint.description) == fingerprint)
    }

    /// Interpolated: the compiler needs seconds for an array of sums of strings.
    static let malformedTexts: [String] = [
        "", "sha256/", "sha1/\(base64)", "\(hexadecimal.dropLast())", "\(hexadecimal)00", "\(hexadecimal)0",
        "\(hexadecimal.dropLast())g", "\(base64.dropLast())", "\(base64)=", "sha256/sha256/\(base64)",
        "\(hexadecimal.dropLast())f\u{301}", "\(base64.dropLast(2))*=", " \(base64)",
        String(repeating: "\u{FF10}", count: 64),
    ]

    @Test(
        "other text is not a fingerprint",
        arguments: malformedTexts)
    func malformed(text: String) {
        #expect(Fingerprint(text) == nil)
    }

    @Test("a fingerprint has 32 bytes")
    func length() {
        for count in [0, 20, 31, 33] {
            #expect(Fingerprint(bytes: [UInt8](repeating: 1, count: count)) == nil)
        }
    }

    /// The hosts of the pins that apply to `host`.
    func found(_ host: String, _ pins: [TLSConfiguration.Pin]) -> [String] {
        pins.pins(for: host).map(\.host)
    }

    @Test("pins are found by whole labels, the longest name first", .rows("T-84"))
    func lookup() {
        let pins: [TLSConfiguration.Pin] = [
            .host("host.com"), .host("api.Host.com."), .host("exact.org", includesSubdomains: false), .host("10.0.0.1"),
            .host("::1"), .host("API.host.com"),
        ]
        let expected: [(String, [String])] = [
            ("host.com", ["host.com"]), ("HOST.COM", ["host.com"]), ("host.com.", ["host.com"]),
            ("www.host.com", ["host.com"]), ("evilhost.com", []), ("host.com.evil.org", []), ("com", []),
            ("api.host.com", ["api.Host.com.", "API.host.com"]),
            ("v1.api.host.com", ["api.Host.com.", "API.host.com"]),
            ("exact.org", ["exact.org"]), ("www.exact.org", []), ("10.0.0.1", ["10.0.0.1"]), ("1.10.0.0.1", []),
            ("10.0.0.11", []), ("::1", ["::1"]), ("", []), (".host.com", []),
        ]
        for (host, hosts) in expected { #expect(found(host, pins) == hosts, "\(host)") }
        #expect(found("host.com", [.host(""), .host(".")]) == [])
        // Equivalent text of other bytes is another name.
        #expect(found("caf\u{E9}.com", [.host("cafe\u{301}.com")]) == [])
    }

    @Test("the defaults verify servers with the certificates of the system, and require TLS 1.2")
    func defaults() {
        let configuration = TLSConfiguration()
        #expect(configuration.trust.isVerifying && configuration.minimumVersion == .tls12)
        #expect(configuration.applicationProtocols == ["http/1.1"] && configuration.identity == nil)
        #expect(configuration.serverName == nil && configuration.pins.isEmpty)
        guard case .system(let readsEnvironment)? = configuration.trust.sources.first else {
            Issue.record("\(configuration.trust)")
            return
        }
        #expect(!readsEnvironment && configuration.trust.sources.count == 1)
    }

    @Test("a combination skips verification if either part does")
    func combinations() {
        let own = TLSConfiguration.Trust.certificates(Data([1]))
        #expect(TLSConfiguration.Trust.system.adding(own).isVerifying)
        #expect(TLSConfiguration.Trust.system.adding(own).sources.count == 2)
        #expect(!TLSConfiguration.Trust.system.adding(.insecureSkipsVerification).isVerifying)
        #expect(!TLSConfiguration.Trust.insecureSkipsVerification.adding(own).isVerifying)
    }

    @Test("the settings of the article are accepted")
    func article() throws {
        let current = try #require(Fingerprint(bytes: Self.bytes)), backup = current, pem = Data()
        var tls = TLSConfiguration()
        tls.trust = .certificates(atPath: "/etc/app/ca.pem")  // these only
        tls.trust = .system.adding(.certificates(pem))  // these as well
        tls.trust = .system(readsEnvironment: true)  // SSL_CERT_FILE, SSL_CERT_DIR
        tls.pins = [
            .host("example.com", publicKeys: [current, backup])
        ]
        tls.identity = TLSConfiguration.Identity(
            certificatesAtPath: "/etc/app/client.pem",
            privateKeyAtPath: "/etc/app/client.key",
            passphrase: { "secret" })
        #expect(tls.pins.pins(for: "www.example.com").count == 1)
    }

    @Test("an identity is never shown")
    func identity() {
        let identity = TLSConfiguration.Identity(
            certificates: Data("certificate".utf8), privateKey: Data("the key".utf8), passphrase: { "a passphrase" })
        var text = "\(identity) \(String(reflecting: identity)) "
        dump(TLSConfiguration(identity: identity), to: &text)
        for secret in ["the key", "a passphrase", "116, 104, 101", "7 bytes"] { #expect(!text.contains(secret)) }
        #expect(text.contains("TLS identity <redacted>"))
    }
}
