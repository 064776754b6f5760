import Requests
import RequestsPOSIX
import RequestsTLS
import RequestsTestServer
import TestSupport
import Testing

@Suite("TLS: certificates", .rows("R-61"), .enabled(if: TLSSupport.isAvailable, TLSSupport.comment))
struct TLSCertificateTests {
    let authority: TestAuthority

    init() throws { authority = try TestAuthority.shared }

    @Test("chains of EC and RSA certificates are accepted", .rows("S-1"), arguments: [0x0303, 0x0304])
    func good(version: Int) throws {
        let rsaRoot = try CertificateMaker.authority("RSA Root").make(authority.rsaKey)
        for (key, root) in [
            (authority.key, authority.root), (authority.rsaKey, authority.root), (authority.rsaKey, rsaRoot),
        ] {
            let leaf = try authority.leaf(key: key, signedBy: root)
            var server = TLSServerConfiguration(identity: try leaf.identity())
            server.versions = version...version
            let peers = try Peers.connected(server, trust: .certificates(root.pem))
            #expect(peers.clientError == nil && peers.serverError == nil)
            try peers.exchange()
            let information = peers.client.information
            #expect(information.version == (version == 0x0304 ? "TLSv1.3" : "TLSv1.2"))
            #expect(information.certificates.first?.names == ["www.a.test"])
            #expect(peers.client.negotiation.cipherSuite == information.cipherSuite)
            #expect(peers.client.negotiation.certificates.isEmpty)
            #expect(information.cipherSuite?.isEmpty == false && !information.isResumed)
        }
    }

    @Test("a certificate for another name is refused, and the error lists its names", .rows("S-2"))
    func otherName() throws {
        let leaf = try authority.leaf { $0.names = [.dns("x.test"), .dns("y.test"), .address([10, 0, 0, 1])] }
        let error = try #require(try Peers.refusal(of: leaf))
        #expect(error.problem == .certificate(.nameMismatch))
        #expect(error.detail == "the certificate is not valid for “www.a.test”; its names are x.test, y.test, 10.0.0.1")
        #expect(error.negotiation?.certificates.first?.names == ["x.test", "y.test", "10.0.0.1"])
    }

    @Test("a name in the common name only is refused", .rows("S-3"))
    func commonName() throws {
        let error = try #require(try Peers.refusal(of: authority.leaf { $0.names = [] }))
        #expect(error.problem == .certificate(.nameMismatch))
        #expect(error.detail.contains("common name is ignored"))
    }

    @Test("certificates that have expired or are not yet valid are refused with the day", .rows("S-4"))
    func validity() throws {
        let expired = try authority.leaf { $0.notAfter = "20260102030405Z" }
        let error = try #require(try Peers.refusal(of: expired))
        #expect(error.problem == .certificate(.expired))
        #expect(error.detail == "certificate expired on 2026-01-02")
        let early = try #require(try Peers.refusal(of: authority.leaf { $0.notBefore = "20800102030405Z" }))
        #expect(early.problem == .certificate(.notYetValid))
        #expect(early.detail == "certificate is not valid before 2080-01-02")
    }

    @Test("a self-signed certificate is refused unless it is trusted", .rows("S-5"))
    func selfSigned() throws {
        let leaf = try CertificateMaker("www.a.test", names: [.dns("www.a.test")]).make(authority.key)
        #expect(try Peers.refusal(of: leaf)?.problem == .certificate(.selfSigned))
        #expect(try Peers.refusal(of: leaf, trust: .certificates(leaf.pem)) == nil)
    }

    @Test("a chain to another root is refused", .rows("S-6"))
    func otherRoot() throws {
        let other = try CertificateMaker.authority("Other Root").make(CertificateKey(.p256))
        let leaf = try authority.leaf(signedBy: other)
        #expect(try Peers.refusal(of: leaf)?.problem == .certificate(.unknownIssuer))
        #expect(try Peers.refusal(of: leaf, with: [other])?.problem == .certificate(.unknownIssuer))
        // The name of the trusted root does not help without its key.
        let impostor = try CertificateMaker.authority("Test Root").make(CertificateKey(.p256))
        let forged = try authority.leaf(signedBy: impostor)
        #expect(try Peers.refusal(of: forged)?.verificationCode == 7)
    }

    @Test("a chain without its intermediate is refused, and accepted with it", .rows("S-7"))
    func intermediate() throws {
        let middle = try CertificateMaker.authority("Middle").make(CertificateKey(.p256), signedBy: authority.root)
        let leaf = try authority.leaf(signedBy: middle)
        let error = try #require(try Peers.refusal(of: leaf))
        #expect(error.problem == .certificate(.unknownIssuer))
        #expect(error.detail.contains("/CN=Middle") && error.detail.contains("intermediate certificate is missing"))
        #expect(try Peers.refusal(of: leaf, with: [middle]) == nil)
        // A file that contains only the intermediate is enough.
        #expect(try Peers.refusal(of: leaf, trust: .certificates(middle.pem)) == nil)
    }

    @Test("the order of a chain does not matter, nor does a superfluous root", .rows("S-8"))
    func unordered() throws {
        let outer = try CertificateMaker.authority("Outer").make(CertificateKey(.p256), signedBy: authority.root)
        let inner = try CertificateMaker.authority("Inner").make(CertificateKey(.p256), signedBy: outer)
        let leaf = try authority.leaf(signedBy: inner)
        #expect(try Peers.refusal(of: leaf, with: [outer, authority.root, inner]) == nil)
    }

    @Test("a leaf cannot issue certificates", .rows("S-9"))
    func leafAsIssuer() throws {
        for isAuthority in [nil, false] {
            let issuer = try authority.leaf("issuer.a.test", key: CertificateKey(.p256)) {
                $0.isAuthority = isAuthority
            }
            let error = try Peers.refusal(of: authority.leaf(signedBy: issuer), with: [issuer])
            #expect(error?.verificationCode == 24 || error?.verificationCode == 79)
        }
        var maker = CertificateMaker.authority("Short")
        maker.pathLength = 0
        let short = try maker.make(CertificateKey(.p256), signedBy: authority.root)
        let below = try CertificateMaker.authority("Below").make(CertificateKey(.p256), signedBy: short)
        let error = try Peers.refusal(of: authority.leaf(signedBy: below), with: [below, short])
        #expect(error?.verificationCode == 25)
    }

    @Test("an authority cannot issue outside of its name constraints", .rows("S-10"))
    func nameConstraints() throws {
        var maker = CertificateMaker.authority("Constrained")
        maker.permittedDomain = "b.test"
        let constrained = try maker.make(CertificateKey(.p256), signedBy: authority.root)
        let outside = try authority.leaf(signedBy: constrained)
        #expect(try Peers.refusal(of: outside, with: [constrained])?.verificationCode == 47)
        let inside = try authority.leaf("www.b.test", signedBy: constrained)
        #expect(try Peers.refusal(of: inside, with: [constrained], host: "www.b.test") == nil)
    }

    @Test("a certificate for clients only is refused", .rows("S-11"))
    func purpose() throws {
        let error = try Peers.refusal(of: authority.leaf { $0.purposes = [.client] })
        #expect(error?.verificationCode == 26)
        #expect(try Peers.refusal(of: authority.leaf { $0.purposes = [.client, .server] }) == nil)
    }

    @Test("signatures with SHA-1 and short RSA keys are refused", .rows("S-12"))
    func weak() throws {
        let middle = try CertificateMaker.authority("Middle").make(CertificateKey(.p256), signedBy: authority.root)
        let sha1 = try authority.leaf(signedBy: middle) { $0.usesSHA1 = true }
        #expect(try Peers.refusal(of: sha1, with: [middle])?.problem == .certificate(.weak))
        let short = try authority.leaf(key: CertificateKey(.rsa(bits: 1024)))
        let error = try #require(try Peers.refusal(of: short))
        #expect(error.problem == .certificate(.weak))
        #expect(error.detail == "the key of the certificate is too short")
    }

    @Test("a flipped bit of the signature is refused", .rows("S-23"))
    func damaged() throws {
        let error = try Peers.refusal(of: authority.leaf { $0.hasDamagedSignature = true })
        #expect(error?.verificationCode == 7)
    }

    @Test(
        "a chain with any byte changed is refused, and can be described", .rows("S-23"),
        arguments: [1, 0x80] as [UInt8])
    func changedChain(bits: UInt8) throws {
        let middle = try CertificateMaker.authority("Middle").make(CertificateKey(.p256), signedBy: authority.root)
        let leaf = try authority.leaf(signedBy: middle)
        let key = try leaf.key.pem()
        var sent = 0
        for index in 0..<leaf.der.count + middle.der.count {
            var chain = leaf.der + middle.der
            chain[index] ^= bits
            let identity = TLSConfiguration.Identity(certificates: Data(chain), privateKey: key)
            let server = TLSSupport.server(TLSServerConfiguration(identity: identity))
            // Not even the server can read some of them.
            guard (try? server.prepare()) != nil else { continue }
            let client = TLSSupport.client(TLSConfiguration(trust: .certificates(authority.root.pem)))
            var peers = try Peers(client, server)
            peers.connect()
            let error = try #require(peers.clientError, "\(index)")
            #expect(!error.detail.isEmpty && error.detail.utf8.count < 2000)
            #expect(!error.detail.unicodeScalars.contains { $0.value < 0x20 }, "\(error.detail)")
            sent += 1
        }
        #expect(sent > 200)
    }

    @Test("revocation is not checked: no responder is connected to, and no stapled response required", .rows("S-24"))
    func revocation() throws {
        // A responder of OCSP that would be connected to, and the demand for a stapled response (RFC 7633).
        let listener = try Socket.listening(on: .loopback())
        let port = try #require(try listener.localAddress().port)
        let responder = DER.value(0x86, Array("http://127.0.0.1:\(port)/".utf8))
        let access = DER.sequence(DER.sequence(DER.identifier(1, 3, 6, 1, 5, 5, 7, 48, 1), responder))
        let feature = DER.sequence(DER.integer([5]))
        let leaf = try authority.leaf {
            $0.extensions = [
                DER.sequence(DER.identifier(1, 3, 6, 1, 5, 5, 7, 1, 1), DER.octets(access)),
                DER.sequence(DER.identifier(1, 3, 6, 1, 5, 5, 7, 1, 24), DER.octets(feature)),
            ]
        }
        #expect(try Peers.refusal(of: leaf) == nil)
        let isUnused = try listener.accept() == nil
        #expect(isUnused)
    }
}
