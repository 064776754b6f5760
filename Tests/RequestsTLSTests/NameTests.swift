import Requests
import RequestsTLS
import RequestsTestServer
import TestSupport
import Testing

@Suite("TLS: names", .rows("R-61"), .enabled(if: TLSSupport.isAvailable, TLSSupport.comment))
struct TLSNameTests {
    let authority: TestAuthority

    init() throws { authority = try TestAuthority.shared }

    /// Whether a certificate with `names` is accepted for `host`.
    func isAccepted(_ host: String, _ names: [CertificateMaker.Name]) throws -> Bool {
        let error = try Peers.refusal(of: authority.leaf { $0.names = names }, host: host)
        if let error { #expect(error.problem == .certificate(.nameMismatch), "\(host): \(error)") }
        return error == nil
    }

    @Test("a wildcard matches one label", .rows("S-13"))
    func wildcard() throws {
        #expect(try isAccepted("www.a.test", [.dns("*.a.test")]))
        #expect(try !isAccepted("x.www.a.test", [.dns("*.a.test")]))
        #expect(try !isAccepted("a.test", [.dns("*.a.test")]))
    }

    @Test(
        "wildcards for a top-level domain, for a part of a label, and alone are refused", .rows("S-14"),
        arguments: [
            ("a.test", "*.test"), ("www.a.test", "w*.a.test"), ("www.a.test", "*w.a.test"), ("www.a.test", "*"),
            ("www.a.test", "*.*.test"), ("www.a.test", "www.*.test"),
        ])
    func refusedWildcards(host: String, name: String) throws {
        #expect(try !isAccepted(host, [.dns(name)]))
    }

    @Test("a wildcard matches a label with an underscore", .rows("S-13", "S-14"))
    func underscores() throws {
        #expect(try isAccepted("x_y.a.test", [.dns("other.test"), .dns("*.a.test")]))
        #expect(try isAccepted("_X.a.test", [.dns("*.A.test")]) && isAccepted("a.x_y.test", [.dns("*.x_y.test")]))
        #expect(try isAccepted("x_y.a.test", [.dns("x_y.a.test")]) && isAccepted("x_y.test", [.dns("x_y.test")]))
        #expect(try !isAccepted("z.x_y.a.test", [.dns("*.a.test")]) && !isAccepted("x_y.a.test", [.dns("*.b.test")]))
        #expect(try !isAccepted("x_y.test", [.dns("*.test")]) && !isAccepted("x_y", [.dns("*")]))
        for name in ["x-y.a.test", "x*.a.test", "*y.a.test", "*.*.test", "a.test", "*", "*.test", "xay.a.test"] {
            #expect(try !isAccepted("x_y.a.test", [.dns(name)]), "\(name)")
        }
    }

    @Test("an IP address must be among the addresses of the certificate", .rows("S-15"))
    func addresses() throws {
        let loopback6: [UInt8] = Array(repeating: 0, count: 15) + [1]
        let names: [CertificateMaker.Name] = [.address([127, 0, 0, 1]), .address(loopback6)]
        #expect(try isAccepted("127.0.0.1", names))
        #expect(try isAccepted("::1", names) && isAccepted("[::1]", names))
        #expect(try isAccepted("[::1%25lo]", names))
        #expect(try !isAccepted("127.0.0.2", names) && !isAccepted("::2", names))
        #expect(try !isAccepted("127.0.0.1", [.dns("127.0.0.1")]))
    }

    @Test("a wildcard does not match an IP address", .rows("S-16"))
    func wildcardAddress() throws {
        #expect(try !isAccepted("10.0.0.1", [.dns("*.0.0.1"), .dns("*")]))
    }

    @Test("the case of a name does not matter", .rows("S-17"))
    func letterCase() throws {
        #expect(try isAccepted("WWW.a.Test", [.dns("www.A.tEST")]))
    }

    @Test("a trailing dot is neither sent nor compared", .rows("S-18"))
    func trailingDot() throws {
        let peers = try Peers.connected(authority.server(), host: "www.a.test.")
        #expect(peers.areConnected)
        #expect(peers.server.requestedName == "www.a.test")
    }

    @Test("a name that contains NUL does not match what is before it", .rows("S-19"))
    func nul() throws {
        let name = Array("www.a.test".utf8) + [0] + Array(".evil.test".utf8)
        let leaf = try authority.leaf { $0.names = [.dnsBytes(name)] }
        let error = try #require(try Peers.refusal(of: leaf))
        #expect(!error.description.utf8.contains(0))
        if case .certificate = error.problem {} else { Issue.record("\(error.problem)") }
    }

    @Test("letters outside of ASCII match nothing, not even similar ones", .rows("S-20"))
    func nonASCII() throws {
        // U+212A, the Kelvin sign, is k in lower case.
        let kelvin = Array("www.\u{212A}.test".utf8)
        #expect(try !isAccepted("www.k.test", [.dnsBytes(kelvin)]))
        #expect(try !isAccepted("www.a.test", [.dnsBytes(Array("www.\u{E4}.test".utf8))]))
        for host in ["www.\u{212A}.test", "b\u{FC}cher.test", "www.a\u{301}.test"] {
            #expect(throws: TLSError.self) { try TLSServerName(host) }
        }
    }

    @Test(
        "hosts that a certificate cannot have are refused before anything is sent", .rows("S-21"),
        arguments: [
            "", ".", ".a.test", "a..test", "a b.test", "a.test\u{0}.evil", "*.a.test", "a.test..", "a/b",
            String(repeating: "a", count: 64) + ".test", String(repeating: "abc.", count: 80) + "test",
        ])
    func invalidHosts(host: String) throws {
        let context = TLSSupport.client(TLSConfiguration(trust: .certificates(authority.root.pem)))
        let error = #expect(throws: TLSError.self) { try context.serverName(for: host) }
        #expect(error?.problem == .configuration)
        var overridden = TLSConfiguration(trust: .certificates(authority.root.pem))
        overridden.serverName = host
        let other = TLSSupport.client(overridden)
        #expect(throws: TLSError.self) { try other.serverName(for: "www.a.test") }
    }

    @Test("certificates with 10,000 names and chains of 110 end in an error or a connection", .rows("S-22"))
    func extremes() throws {
        let many = try authority.leaf { $0.names = (0..<10_000).map { .dns("host\($0).a.test") } }
        let error = try #require(try Peers.refusal(of: many))
        #expect(error.problem == .protocolViolation, "\(error)")
        let hundred = try authority.leaf { $0.names += (0..<100).map { .dns("host\($0).a.test") } }
        #expect(try Peers.refusal(of: hundred) == nil)
        let mismatch = try #require(try Peers.refusal(of: hundred, host: "other.test"))
        #expect(mismatch.detail.utf8.count < 1000 && mismatch.detail.contains("and 81 more"))

        var chain = [authority.root]
        let key = try CertificateKey(.p256)
        for number in 0..<110 {
            chain.append(try CertificateMaker.authority("Authority \(number)").make(key, signedBy: chain.last))
        }
        let leaf = try authority.leaf(signedBy: chain.last)
        let intermediates = Array(chain.dropFirst().reversed())
        let tooLong = try #require(try Peers.refusal(of: leaf, with: intermediates))
        if case .certificate = tooLong.problem {} else { Issue.record("\(tooLong)") }
        let short = try authority.leaf(signedBy: chain[20])
        #expect(try Peers.refusal(of: short, with: Array(chain[1...20].reversed())) == nil)
    }

    @Test("the exact name is sent, and none for an IP address", .rows("S-29", "R-64"))
    func serverNameIndication() throws {
        let named = try Peers.connected(authority.server("x-1.a.test"), host: "x-1.a.test")
        #expect(named.server.requestedName == "x-1.a.test")
        let leaf = try authority.leaf { $0.names = [.address([127, 0, 0, 1])] }
        let server = TLSServerConfiguration(identity: try leaf.identity())
        let address = try Peers.connected(server, host: "127.0.0.1")
        #expect(address.areConnected && address.server.requestedName == nil)
    }

    @Test("the name of the configuration replaces the host")
    func serverNameOverride() throws {
        let peers = try Peers.connected(authority.server(), host: "10.0.0.1") { $0.serverName = "www.a.test" }
        #expect(peers.areConnected && peers.server.requestedName == "www.a.test")
    }
}
