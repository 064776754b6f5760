import Requests
import RequestsTLS
import RequestsTestServer
import TestSupport
import Testing

@Suite("TLS: pins", .enabled(if: TLSSupport.isAvailable, TLSSupport.comment))
struct TLSPinTests {
    let authority: TestAuthority
    let leaf: MadeCertificate
    let other: TLSConfiguration.Fingerprint

    init() throws {
        authority = try TestAuthority.shared
        leaf = try authority.leaf("a.test") { $0.names = [.dns("a.test"), .dns("*.a.test"), .dns("evila.test")] }
        other = try #require(TLSConfiguration.Fingerprint(bytes: Array(repeating: 9, count: 32)))
    }

    /// Returns the fingerprints that a client sees: of the public key and of the certificate.
    func fingerprints(
        of index: Int, _ intermediates: [MadeCertificate] = []
    ) throws -> (key: TLSConfiguration.Fingerprint, whole: TLSConfiguration.Fingerprint) {
        let server = TLSServerConfiguration(identity: try leaf.identity(with: intermediates))
        let chain = try Peers.connected(server, host: "a.test").client.information.certificates
        return (try #require(chain[index].publicKeyFingerprint), try #require(chain[index].fingerprint))
    }

    func failure(
        _ pins: [TLSConfiguration.Pin], host: String = "a.test", trust: TLSConfiguration.Trust? = nil,
        with intermediates: [MadeCertificate] = []
    ) throws -> TLSError? {
        let server = TLSServerConfiguration(identity: try leaf.identity(with: intermediates))
        return try Peers.connected(server, host: host, trust: trust) { $0.pins = pins }.clientError
    }

    @Test("a chain with a pinned key or certificate is accepted, any other is refused", .rows("R-63", "AF-62"))
    func pinned() throws {
        let found = try fingerprints(of: 0)
        #expect(try failure([.host("a.test", publicKeys: [other, found.key])]) == nil)
        #expect(try failure([.host("a.test", certificates: [other, found.whole])]) == nil)
        #expect(try failure([.host("a.test", publicKeys: [other]), .host("a.test", publicKeys: [found.key])]) == nil)
        let error = try #require(try failure([.host("a.test", publicKeys: [other], certificates: [other])]))
        #expect(error.problem == .certificate(.notPinned))
        #expect(error.detail == "the certificate of “a.test” matches no pin; its key is \(found.key)")
        // A key is not a certificate.
        #expect(try failure([.host("a.test", publicKeys: [found.whole], certificates: [found.key])]) != nil)
        // The root of the verified chain counts.
        let root = try fingerprints(of: 1, [authority.root])
        #expect(try failure([.host("a.test", publicKeys: [root.key])]) == nil)
    }

    @Test("a pin applies to its host and to subdomains, and not to names that end alike", .rows("T-84"))
    func hosts() throws {
        let pins: [TLSConfiguration.Pin] = [.host("A.test.", publicKeys: [other])]
        #expect(try failure(pins, host: "a.test")?.problem == .certificate(.notPinned))
        #expect(try failure(pins, host: "api.a.test")?.problem == .certificate(.notPinned))
        #expect(try failure(pins, host: "api.a.test.")?.problem == .certificate(.notPinned))
        #expect(try failure(pins, host: "evila.test") == nil)
        let narrow: [TLSConfiguration.Pin] = [.host("a.test", includesSubdomains: false, publicKeys: [other])]
        #expect(try failure(narrow, host: "a.test") != nil && failure(narrow, host: "api.a.test") == nil)
        // The longest name decides.
        let key = try fingerprints(of: 0).key
        let both: [TLSConfiguration.Pin] = [
            .host("a.test", publicKeys: [other]), .host("api.a.test", publicKeys: [key]),
        ]
        #expect(try failure(both, host: "api.a.test") == nil && failure(both, host: "www.a.test") != nil)
    }

    @Test("pins are checked after verification, and do not replace it", .rows("R-63", "AF-62"))
    func verification() throws {
        let key = try fingerprints(of: 0).key
        let foreign = try CertificateMaker.authority("Other").make(CertificateKey(.p256))
        let pins: [TLSConfiguration.Pin] = [.host("a.test", publicKeys: [key])]
        let unknown = try failure(pins, trust: .certificates(foreign.pem))
        #expect(unknown?.problem == .certificate(.unknownIssuer))
        #expect(try failure(pins, trust: .insecureSkipsVerification) == nil)
        #expect(try failure([.host("a.test", publicKeys: [other])], trust: .insecureSkipsVerification) != nil)
        // Without verification a pinned certificate behind the server's own proves nothing.
        let root = try fingerprints(of: 1, [authority.root])
        let rootPin: [TLSConfiguration.Pin] = [.host("a.test", publicKeys: [root.key])]
        #expect(try failure(rootPin, trust: .insecureSkipsVerification, with: [authority.root]) != nil)
        // Nor does one that is no part of the verified chain.
        let server = TLSServerConfiguration(identity: try leaf.identity(with: [foreign]))
        let sent = try Peers.connected(server, host: "a.test", trust: .insecureSkipsVerification)
            .client.information.certificates
        let foreignKey = try #require(sent.count == 2 ? sent[1].publicKeyFingerprint : nil)
        let foreignPin: [TLSConfiguration.Pin] = [.host("a.test", publicKeys: [foreignKey])]
        #expect(try failure(foreignPin, with: [foreign])?.problem == .certificate(.notPinned))
        #expect(try failure([.host("a.test", publicKeys: [key])], with: [foreign]) == nil)
    }

    @Test("pins without a host or fingerprints are errors before anything is sent", .rows("R-63"))
    func invalid() {
        for pin in [TLSConfiguration.Pin.host("a.test"), .host("", publicKeys: [other])] {
            let context = TLSSupport.client(TLSConfiguration(trust: .insecureSkipsVerification, pins: [pin]))
            let error = #expect(throws: TLSError.self) { try context.prepare() }
            #expect(error?.problem == .configuration)
        }
    }

    /// Spellings of hosts, with the one text that is compared; nil for a host that can match nothing.
    static let spellings: [(host: String, canonical: String?)] = [
        ("::1", "::1"), ("[::1]", "::1"), ("0::1", "::1"), ("::0001", "::1"), ("[0:0:0:0:0:0:0:1]", "::1"),
        ("::0.0.0.1", "::1"), ("[::1%lo]", "::1"), ("::1%25lo", "::1"),
        ("FE80::A", "fe80::a"), ("fe80:0::000a%eth0", "fe80::a"), ("[FE80::a%25eth0]", "fe80::a"),
        ("::ffff:127.0.0.1", "::ffff:127.0.0.1"), ("[::FFFF:7F00:1]", "::ffff:127.0.0.1"),
        ("127.0.0.1", "127.0.0.1"), ("a.test", "a.test"), ("A.Test.", "a.test"), ("x_y.a.test", "x_y.a.test"),
        ("xn--bcher-kva.test", "xn--bcher-kva.test"), ("XN--BCHER-KVA.test.", "xn--bcher-kva.test"),
        ("", nil), (".", nil), (".a.test", nil), ("a..test", nil), ("*.a.test", nil), ("*", nil),
        ("a.test:443", nil), ("https://a.test", nil), ("a.test/", nil), (" a.test", nil), ("a.test\0", nil),
        ("b\u{FC}cher.test", nil), ("a\u{301}.test", nil), ("\u{212A}.test", nil),
        ("127.1", nil), ("0127.0.0.1", nil), ("127.0.0.1.", nil), ("2130706433", nil), ("0x7f.0.0.1", nil),
        ("256.0.0.1", nil), ("[127.0.0.1]", nil), ("127.0.0.1%lo", nil), ("[a.test]", nil), ("::1::", nil),
        ("[::1", nil), ("::1]", nil), ("%lo", nil), ("a.test%lo", nil),
    ]

    @Test(
        "every spelling of a host is enforced, or refused before anything is sent", .rows("R-63"), arguments: spellings)
    func oneForm(host: String, canonical: String?) throws {
        let pins: [TLSConfiguration.Pin] = [.host(host, publicKeys: [other])]
        let context = TLSSupport.client(TLSConfiguration(trust: .insecureSkipsVerification, pins: pins))
        #expect(pins.pins(for: host).count == (canonical == nil ? 0 : 1))
        guard let canonical else {
            let error = #expect(throws: TLSError.self) { try context.prepare() }
            #expect(error?.problem == .configuration)
            #expect(error?.detail.contains("use a DNS name in ASCII or an IP address") == true)
            return
        }
        try context.prepare()
        #expect(CertificateName(host)?.text == canonical)
        for (spelling, name) in Self.spellings where name == canonical {
            #expect(pins.pins(for: spelling).count == 1, "\(spelling)")
            #expect(try TLSServerName(spelling).text == canonical)
        }
        for (spelling, name) in Self.spellings where name != canonical && name?.hasSuffix("." + canonical) != true {
            #expect(pins.pins(for: spelling).isEmpty, "\(spelling)")
        }
    }

    @Test("pins of addresses are enforced for every spelling on a connection", .rows("R-63"))
    func addresses() throws {
        let loopback6: [UInt8] = Array(repeating: 0, count: 15) + [1]
        let leaf = try authority.leaf("a") { $0.names = [.address(loopback6), .address([127, 0, 0, 1])] }
        let server = TLSServerConfiguration(identity: try leaf.identity())
        for pinned in ["::1", "[::1]", "0::1", "::0001", "[::1%lo]"] {
            for host in ["::1", "[::1]", "[::1%25lo]", "127.0.0.1"] {
                let error = try Peers.connected(server, host: host) {
                    $0.pins = [.host(pinned, publicKeys: [other])]
                }.clientError
                let expected: TLSError.Problem? = host == "127.0.0.1" ? nil : .certificate(.notPinned)
                #expect(error?.problem == expected, "\(pinned) \(host)")
            }
        }
    }

    @Test("a pin that does not include the server name of the configuration is refused", .rows("R-63"))
    func otherServerName() throws {
        for (pinned, isEnforced) in [
            ("a.test", true), ("api.a.test", true), ("b.test", false), ("x.api.a.test", false),
        ] {
            let context = TLSSupport.client(
                TLSConfiguration(
                    trust: .insecureSkipsVerification, serverName: "API.a.test",
                    pins: [
                        .host(pinned, publicKeys: [other])
                    ]))
            if isEnforced {
                try context.prepare()
            } else {
                let error = #expect(throws: TLSError.self) { try context.prepare() }
                #expect(error?.problem == .configuration)
                let reason = "applies to no server, because serverName is “API.a.test”; pin that name"
                #expect(error?.detail == "the pin for “\(pinned)” \(reason)")
            }
        }
    }

    @Test("a context with pins checks the chain although another one has a session of the same server", .rows("R-63"))
    func sessions() throws {
        let server = TLSSupport.server(TLSServerConfiguration(identity: try leaf.identity()))
        let key = TLSSessionKey(scheme: "https", host: try TLSServerName("a.test"), port: 443)
        for pins in [[], [.host("a.test", publicKeys: [other])]] as [[TLSConfiguration.Pin]] {
            let client = TLSSupport.client(
                TLSConfiguration(trust: .certificates(authority.root.pem), pins: pins))
            var peers = try Peers(client, server, host: "a.test", sessionKey: key)
            peers.connect()
            #expect((peers.clientError == nil) == pins.isEmpty)
        }
    }
}
