import Requests
import RequestsTLS
import RequestsTestServer
import TestSupport
import Testing

@Suite("TLS: client certificates", .enabled(if: TLSSupport.isAvailable, TLSSupport.comment))
struct TLSIdentityTests {
    let authority: TestAuthority

    init() throws { authority = try TestAuthority.shared }

    func server(_ version: Int) throws -> TLSServerConfiguration {
        var server = try authority.server()
        server.versions = version...version
        server.clientTrust = .certificates(authority.root.pem)
        server.requiresClientCertificate = true
        return server
    }

    func client(_ key: CertificateKey) throws -> MadeCertificate {
        try authority.leaf("client", key: key) { $0.purposes = [.client] }
    }

    @Test("a client certificate is accepted, with its intermediate", .rows("S-30"), arguments: [0x0303, 0x0304])
    func accepted(version: Int) throws {
        for key in [authority.key, authority.rsaKey] {
            let identity = try client(key).identity()
            let peers = try Peers.connected(server(version)) { $0.identity = identity }
            #expect(peers.areConnected)
            try peers.exchange()
        }
        let middle = try CertificateMaker.authority("Middle").make(CertificateKey(.p256), signedBy: authority.root)
        let leaf = try authority.leaf("client", signedBy: middle)
        let whole = try leaf.identity(with: [middle]), bare = try leaf.identity()
        #expect(try Peers.connected(server(version)) { $0.identity = whole }.areConnected)
        #expect(try Peers.connected(server(version)) { $0.identity = bare }.serverError != nil)
    }

    @Test(
        "a server of TLS 1.3 may request the certificate after the handshake; without an identity it cannot",
        .rows("S-30"), arguments: [true, false])
    func afterTheHandshake(hasIdentity: Bool) throws {
        let request = try #require(
            NativeFunctions.find("SSL_verify_client_post_handshake", as: NativeFunctions.OfSSL.self))
        let handshake = try #require(NativeFunctions.find("SSL_do_handshake", as: NativeFunctions.OfSSL.self))
        let setMode = try #require(NativeFunctions.find("SSL_set_verify", as: NativeFunctions.SetVerify.self))
        var server = try server(0x0304)
        server.requiresClientCertificate = false
        let identity = try client(authority.key).identity()
        var peers = try Peers(
            TLSSupport.client(
                TLSConfiguration(
                    trust: .certificates(authority.root.pem), identity: hasIdentity ? identity : nil)),
            TLSSupport.server(server))
        // SSL_VERIFY_PEER, _FAIL_IF_NO_PEER_CERT and _POST_HANDSHAKE.
        setMode(peers.server.ssl, 0x1 | 0x2 | 0x8, nil)
        peers.connect()
        try #require(peers.areConnected)
        try peers.exchange()
        #expect(peers.server.information.certificates.isEmpty)
        // The client has announced the extension only with an identity.
        try #require(request(peers.server.ssl) == (hasIdentity ? 1 : 0))
        guard hasIdentity else { return }
        try #require(handshake(peers.server.ssl) == 1)
        // The client reads the request with the first exchange, and the server its certificate with the second.
        try peers.exchange()
        try peers.exchange()
        #expect(peers.server.information.certificates.first?.names == ["client"])
    }

    @Test("a missing or unacceptable client certificate is an alert, in TLS 1.3 with the first read", .rows("S-30"))
    func missing() throws {
        let old = try Peers.connected(server(0x0303))
        #expect(old.clientError?.problem == .alert(40))
        let new = try Peers.connected(server(0x0304))
        #expect(new.clientError == nil && new.serverError != nil)
        let required = #expect(throws: TLSError.self) { try new.read(new.client) }
        #expect(required?.problem == .alert(116))
        #expect(required?.detail.contains("a client certificate is required (alert 116)") == true)
        #expect(required?.isConnectionLoss == false)
        // The error stays.
        #expect(throws: TLSError.self) { try new.read(new.client) }

        let other = try CertificateMaker.authority("Other").make(CertificateKey(.p256))
        let identity = try authority.leaf("client", signedBy: other).identity()
        let refused = try Peers.connected(server(0x0304)) { $0.identity = identity }
        let unknown = #expect(throws: TLSError.self) { try refused.read(refused.client) }
        #expect(unknown?.problem == .alert(48))
    }

    @Test("a key of another certificate is an error before anything is sent", .rows("S-30"))
    func wrongKey() throws {
        let identity = TLSConfiguration.Identity(
            certificates: try client(authority.key).pem, privateKey: try CertificateKey(.p256).pem())
        let error = #expect(throws: TLSError.self) { try prepare(identity) }
        #expect(error?.problem == .configuration)
        #expect(error?.detail.contains("private key does not match the certificate") == true)
    }

    func prepare(_ identity: TLSConfiguration.Identity) throws {
        try TLSSupport.client(
            TLSConfiguration(trust: .certificates(authority.root.pem), identity: identity)
        ).prepare()
    }

    @Test("keys are read as PKCS#8 and in traditional formats, as PEM and DER, from memory and files")
    func formats() throws {
        let directory = TemporaryDirectory()
        for key in [authority.key, authority.rsaKey] {
            let certificate = try client(key)
            try prepare(.init(certificates: certificate.pem, privateKey: key.pem()))
            try prepare(.init(certificates: Data(certificate.der), privateKey: key.der()))
            try directory.write(Array(certificate.pem + key.pem()), to: "both.pem")
            let path = directory.path(of: "both.pem")
            try prepare(.init(certificatesAtPath: path, privateKeyAtPath: path))
        }
        let missing = directory.path(of: "missing.pem")
        let error = #expect(throws: TLSError.self) {
            try prepare(.init(certificatesAtPath: missing, privateKeyAtPath: missing))
        }
        #expect(error?.problem == .configuration && error?.detail.contains("missing.pem") == true)
    }

    @Test("certificates of any length are read as PEM, and the key behind them")
    func lengths() throws {
        let key = try authority.key.pem()
        for count in 1...64 {
            let certificate = try authority.leaf(String(repeating: "x", count: count))
            try prepare(.init(certificates: certificate.pem + key, privateKey: certificate.pem + key))
        }
    }

    @Test("an encrypted key needs its passphrase, which is requested once")
    func encrypted() throws {
        let certificate = try client(authority.key).pem
        let key = try authority.key.pem(passphrase: "correct horse")
        let calls = SharedCounter()
        try prepare(
            .init(certificates: certificate, privateKey: key) {
                calls.add()
                return "correct horse"
            })
        #expect(calls.value == 1)
        struct Unavailable: Error {}
        let attempts: [(String, (@Sendable () throws -> String)?)] = [
            ("the passphrase is wrong", { "wrong" }), ("the passphrase is wrong", { "" }),
            ("the passphrase is wrong", { String(repeating: "x", count: 5000) }),
            ("its passphrase is unavailable", { throw Unavailable() }), ("has no passphrase", nil),
        ]
        for (words, passphrase) in attempts {
            let error = #expect(throws: TLSError.self) {
                try prepare(.init(certificates: certificate, privateKey: key, passphrase: passphrase))
            }
            #expect(error?.problem == .configuration && error?.detail.contains(words) == true, "\(error?.detail ?? "")")
        }
    }

    @Test(
        "what is not a certificate or a key is an error",
        arguments: [
            "", "text", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", "-----BEGIN CERTIFICATE-----",
            "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n",
        ])
    func malformed(text: String) throws {
        let certificate = try client(authority.key).pem
        let bytes = Data(text.utf8)
        let identities: [TLSConfiguration.Identity] = [
            .init(certificates: bytes, privateKey: try authority.key.pem()),
            .init(certificates: certificate, privateKey: bytes),
        ]
        for identity in identities {
            let error = #expect(throws: TLSError.self) { try prepare(identity) }
            #expect(error?.problem == .configuration)
        }
        let trust = TLSSupport.client(TLSConfiguration(trust: .certificates(bytes)))
        let error = #expect(throws: TLSError.self) { try trust.prepare() }
        #expect(error?.problem == .configuration)
    }
}
