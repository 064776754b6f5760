import RequestsConformance
import RequestsPOSIX
import RequestsTLS
import RequestsTestServer
import TestSupport
import Testing

@testable import RequestsURLSession

@Suite("URLSession: TLS settings")
struct SessionTLSTests {
    static let text = """
        a text before the block
        -----BEGIN CERTIFICATE-----
        MAA=
        -----END CERTIFICATE-----
        """

    @Test(
        "settings that a session cannot keep, and invalid ones, are errors that say what to do", .rows("HT-25", "HT-26")
    )
    func invalidSettings() throws {
        let fingerprint = try #require(TLSConfiguration.Fingerprint(bytes: Array(repeating: 1, count: 32)))
        let identity = TLSConfiguration.Identity(certificates: Data(), privateKey: Data())
        let cases: [(TLSConfiguration, String)] = [
            (TLSConfiguration(identity: identity), "ClientCertificate challenge"),
            (TLSConfiguration(applicationProtocols: ["h2"]), "leave applicationProtocols unset"),
            (TLSConfiguration(applicationProtocols: []), "leave applicationProtocols unset"),
            (TLSConfiguration(trust: .system(readsEnvironment: true)), "use Trust.system"),
            (TLSConfiguration(trust: .certificates(Data())), "no certificate found"),
            (TLSConfiguration(trust: .certificates(Data([0x30, 0]))), "a certificate is invalid"),
            (TLSConfiguration(trust: .certificates(Data([0x30, 5, 1]))), "a certificate is invalid"),
            (TLSConfiguration(trust: .certificates(Data(Self.text.utf8))), "a certificate is invalid"),
            (TLSConfiguration(trust: .certificates(Data(Self.text.utf8.dropLast(3)))), "a certificate is invalid"),
            (TLSConfiguration(trust: .certificates(atPath: "/none/ca.pem")), "“/none/ca.pem”"),
            (TLSConfiguration(serverName: ""), "invalid server name"),
            (TLSConfiguration(serverName: ".a.test"), "invalid server name"),
            (TLSConfiguration(serverName: "a\u{301}.test"), "invalid server name"),
            (TLSConfiguration(pins: [.host("a.test")]), "has no fingerprint"),
            (TLSConfiguration(pins: [.host("", publicKeys: [fingerprint])]), "invalid host “” in a pin"),
            (
                TLSConfiguration(pins: [.host("*.a.test", publicKeys: [fingerprint])]),
                "invalid host “*.a.test” in a pin"
            ),
        ]
        for (configuration, words) in cases {
            let error = #expect(throws: RequestError.self) { try SessionTLS(configuration) }
            #expect(error?.reason == .invalidRequest(.invalidTLSConfiguration))
            #expect(error?.detail?.contains(words) == true, "\(words): \(String(describing: error))")
        }
    }

    @Test("the system decides alone unless a setting concerns servers")
    func systemDecides() throws {
        #expect(try SessionTLS(TLSConfiguration()).leavesServersToSystem)
        #expect(try SessionTLS(TLSConfiguration(minimumVersion: .tls13)).leavesServersToSystem)
        #expect(try !SessionTLS(TLSConfiguration(trust: .insecureSkipsVerification)).leavesServersToSystem)
        #expect(try !SessionTLS(TLSConfiguration(serverName: "a.test")).leavesServersToSystem)
        var checked = TLSConfiguration()
        checked.serverCheck = { _, _ in }
        #expect(try !SessionTLS(checked).leavesServersToSystem)
    }

    #if os(Linux)
    @Test("https with TLS settings is an error before anything is sent on Linux, and http is not", .rows("PM-13"))
    func onLinux() async throws {
        let executor = URLSessionExecutor(tls: TLSConfiguration(minimumVersion: .tls13))
        let error = await executor.failure(of: PreparedRequest(target: try TargetURI("https://127.0.0.1:1/")))
        #expect(error?.reason == .invalidRequest(.invalidTLSConfiguration))
        #expect(error?.detail?.contains("use SocketExecutor and its TLS settings") == true)
        #expect(error?.mayHaveReachedServer == false)
        try await withTestServer(serving: MockExecutor(.ok("here"))) { server in
            let response = try await executor.execute(server.request())
            #expect(response.text == "here")
        }
    }
    #endif
}

@Suite(
    "URLSession: decisions about servers",
    .enabled(if: TestTLS.isAvailable, "libssl is not installed: connections over TLS are not tested"))
struct SessionTrustTests {
    /// A root, a leaf for `www.a.test` and their fingerprints.
    struct Chain {
        let root: MadeCertificate
        let leaf: MadeCertificate
        var der: [Data] { [Data(leaf.der), Data(root.der)] }

        init() throws {
            root = try CertificateMaker.authority("Root").make(CertificateKey(.p256))
            leaf = try CertificateMaker("www.a.test", names: [.dns("www.a.test")])
                .make(CertificateKey(.rsa(bits: 2048)), signedBy: root)
        }

        func key(of certificate: MadeCertificate) throws -> TLSConfiguration.Fingerprint {
            try #require(CertificateReader(Data(certificate.der))?.publicKeyFingerprint)
        }
    }

    func refusal(
        _ configuration: TLSConfiguration, _ chain: [Data], _ evaluation: SessionTLS.Evaluation = .trusted,
        of host: String = "www.a.test"
    ) throws -> RequestError? {
        try SessionTLS(configuration).refusal(evaluation, of: host, chain: chain)
    }

    @Test(
        "a server that the system refuses is refused for the same reason as over sockets", .rows("PM-13"),
        arguments: [
            (-67818, RequestError.CertificateProblem.expired), (-67819, .notYetValid), (-67602, .nameMismatch),
            (-67843, .unknownIssuer), (-25318, .unknownIssuer), (-1, .other), (.min, .other),
        ])
    func refusedBySystem(status: Int, problem: RequestError.CertificateProblem) throws {
        let chain = try Chain()
        let error = try refusal(
            TLSConfiguration(trust: .certificates(chain.root.pem)), chain.der,
            .failed(status: status, text: "a reason"))
        #expect(error?.reason == .certificateRefused(problem))
        #expect(error?.detail == "a reason" && error?.mayHaveReachedServer == false)
        #expect(error?.tls?.certificates.map(\.subject) == ["/CN=www.a.test", "/CN=Root"])
    }

    @Test("without verification the system's verdict does not count, and pins do", .rows("HT-25"))
    func unverified() throws {
        let chain = try Chain()
        let failed = SessionTLS.Evaluation.failed(status: -67843, text: "not trusted")
        var configuration = TLSConfiguration(trust: .insecureSkipsVerification)
        #expect(try refusal(configuration, chain.der, failed) == nil)
        configuration.pins = [.host("a.test", publicKeys: [try chain.key(of: chain.leaf)])]
        #expect(try refusal(configuration, chain.der, failed) == nil)
        // Anyone can send the pinned certificate behind one of their own.
        configuration.pins = [.host("a.test", publicKeys: [try chain.key(of: chain.root)])]
        #expect(try refusal(configuration, chain.der, failed)?.reason == .certificateRefused(.notPinned))
    }

    @Test(
        "a verified chain must contain a pin of its host, by key or certificate",
        .rows("HT-26", "T-84", "R-63", "AF-62"))
    func pins() throws {
        let chain = try Chain()
        let other = try #require(TLSConfiguration.Fingerprint(bytes: Array(repeating: 7, count: 32)))
        let whole = try #require(CertificateReader(Data(chain.root.der))?.fingerprint)
        func reason(_ pins: [TLSConfiguration.Pin], host: String = "www.a.test") throws -> RequestError.Reason? {
            try refusal(TLSConfiguration(pins: pins), chain.der, of: host)?.reason
        }
        let refused = RequestError.Reason.certificateRefused(.notPinned)
        #expect(try reason([.host("a.test", publicKeys: [other, chain.key(of: chain.root)])]) == nil)
        #expect(try reason([.host("a.test", certificates: [whole])]) == nil)
        #expect(try reason([.host("a.test", publicKeys: [other])]) == refused)
        #expect(try reason([.host("a.test", publicKeys: [whole])]) == refused)
        #expect(try reason([.host("b.test", publicKeys: [other])]) == nil)
        #expect(try reason([.host("a.test", publicKeys: [other])], host: "evila.test") == nil)
        // The longest name decides.
        let pins: [TLSConfiguration.Pin] = [
            .host("a.test", publicKeys: [try chain.key(of: chain.leaf)]), .host("www.a.test", publicKeys: [other]),
        ]
        #expect(try reason(pins) == refused)
        // Nothing that cannot be read matches a pin.
        let error = try refusal(TLSConfiguration(pins: pins), [Data([1, 2, 3])])
        #expect(error?.reason == refused)
        #expect(try refusal(TLSConfiguration(pins: pins), [])?.reason == refused)
    }

    @Test("the configured server name replaces the URL's host for pins and the check", .rows("HT-25"))
    func serverName() throws {
        let chain = try Chain()
        let other = try #require(TLSConfiguration.Fingerprint(bytes: Array(repeating: 7, count: 32)))
        let configuration = TLSConfiguration(
            serverName: "www.a.test", pins: [.host("a.test", publicKeys: [other])])
        #expect(try refusal(configuration, chain.der, of: "10.0.0.1")?.reason == .certificateRefused(.notPinned))
    }

    @Test("the check of the app receives the name and the chain after verification and pins", .rows("PM-13"))
    func check() throws {
        struct Refusal: Error {}
        let chain = try Chain()
        var configuration = TLSConfiguration()
        configuration.serverCheck = { host, chain in
            guard host == "www.a.test", chain.first?.names == ["www.a.test"], chain.count == 2 else { throw Refusal() }
        }
        #expect(try refusal(configuration, chain.der) == nil)
        let error = try refusal(configuration, chain.der, of: "b.test")
        #expect(error?.reason == .certificateRefused(.refusedByCheck))
        #expect(error?.detail?.contains("the app refused the certificate of “b.test”") == true)
        // It is not called for a server that the system refuses.
        let first = try refusal(
            configuration, chain.der, .failed(status: -67818, text: "expired"), of: "b.test")
        #expect(first?.reason == .certificateRefused(.expired))
    }

    @Test("trusted certificates are read from PEM and DER, in memory and in files", .rows("HT-25"))
    func anchors() async throws {
        let chain = try Chain()
        let pem = Data("a text\n".utf8) + chain.root.pem + Data("\nanother\n".utf8) + chain.leaf.pem
        let expected = [Data(chain.root.der), Data(chain.leaf.der)]
        #expect(try SessionTLS(TLSConfiguration(trust: .certificates(pem))).anchors == expected)
        let der = Data(chain.root.der + chain.leaf.der)
        let both = try SessionTLS(TLSConfiguration(trust: .system.adding(.certificates(der))))
        #expect(both.anchors == expected && both.trustsSystem)
        try await withFolder { path in
            try pem.write(to: URL(filePath: "\(path)/ca.pem"))
            let read = try SessionTLS(TLSConfiguration(trust: .certificates(atPath: "\(path)/ca.pem")))
            #expect(read.anchors == expected && !read.trustsSystem && read.isVerifying)
        }
    }
}
