import CRequestsPOSIX
import Requests
import RequestsTLS
import RequestsTestServer
import Synchronization
import TestSupport
import Testing

@Suite("TLS: resumption", .enabled(if: TLSSupport.isAvailable, TLSSupport.comment))
struct TLSSessionTests {
    let authority: TestAuthority

    init() throws { authority = try TestAuthority.shared }

    func key(_ host: String = "www.a.test", port: Int = 443) throws -> TLSSessionKey {
        TLSSessionKey(scheme: "https", host: try TLSServerName(host), port: port)
    }

    func client(_ change: (inout TLSConfiguration) -> Void = { _ in }) throws -> TLSContext {
        var configuration = TLSConfiguration(trust: .certificates(authority.root.pem))
        change(&configuration)
        return TLSSupport.client(configuration)
    }

    func server(_ version: Int) throws -> TLSContext {
        var configuration = try authority.server()
        configuration.versions = version...version
        return TLSSupport.server(configuration)
    }

    /// Connects, exchanges data, closes, and returns whether both sides resumed a session.
    func connects(
        _ client: TLSContext, _ server: TLSContext, _ key: TLSSessionKey?, isOrderly: Bool = true
    ) throws -> Bool {
        var peers = try Peers(client, server, sessionKey: key)
        peers.connect()
        #expect(peers.areConnected)
        try peers.exchange()
        let isResumed = peers.client.information.isResumed
        #expect(peers.server.information.isResumed == isResumed)
        if isOrderly { peers.client.shutdown() }
        return isResumed
    }

    @Test(
        "a second connection resumes the session of the first", .rows("S-35"), arguments: [0x0303, 0x0304],
        [true, false])
    func resumes(version: Int, isOrderly: Bool) throws {
        let client = try client(), server = try server(version)
        #expect(try !connects(client, server, key(), isOrderly: isOrderly))
        for _ in 0..<5 { #expect(try connects(client, server, key(), isOrderly: isOrderly)) }
        #expect(try !connects(client, server, nil))
    }

    @Test("a ticket of TLS 1.3 is used once", .rows("S-35"))
    func ticketsAreUsedOnce() throws {
        let client = try client(), server = try server(0x0304)
        _ = try connects(client, server, key())
        let count = client.sessions.count
        #expect(count >= 1)
        var peers = try Peers(client, server, sessionKey: key())
        #expect(client.sessions.count == count - 1)
        peers.connect()
        #expect(peers.client.information.isResumed)
    }

    @Test("a session is not used for another scheme, host, port or route, nor by another configuration", .rows("S-36"))
    func sessionsStayApart() throws {
        for version in [0x0303, 0x0304] {
            let client = try client(), server = try server(version)
            #expect(try !connects(client, server, key()))
            #expect(try !connects(client, server, key(port: 444)))
            let route = TLSSessionKey(scheme: "https", host: try TLSServerName("www.a.test"), port: 443, route: "proxy")
            #expect(try !connects(client, server, route))
            let scheme = TLSSessionKey(scheme: "wss", host: try TLSServerName("www.a.test"), port: 443)
            #expect(try !connects(client, server, scheme))
            let identity = try authority.leaf("client").identity()
            #expect(try !connects(self.client { $0.identity = identity }, server, key()))
            #expect(try !connects(self.client { $0.trust = .insecureSkipsVerification }, server, key()))

            // A session that was verified for one host does not vouch for another one.
            _ = try connects(client, server, key())
            for key in [try key("other.a.test"), try key()] {
                var peers = try Peers(client, server, host: "other.a.test", sessionKey: key)
                peers.connect()
                #expect(peers.clientError?.problem == .certificate(.nameMismatch))
            }
        }
    }

    @Test("connections that were not verified keep no session", .rows("S-36"))
    func unverified() throws {
        let client = try client { $0.trust = .insecureSkipsVerification }
        let server = try server(0x0304)
        for _ in 0..<2 { #expect(try !connects(client, server, key())) }
        #expect(client.sessions.count == 0)
    }

    @Test(
        "a session that the server does not know leads to a full handshake", .rows("S-37"), arguments: [0x0303, 0x0304])
    func refusedTicket(version: Int) throws {
        let client = try client()
        _ = try connects(client, try server(version), key())
        let other = try server(version)
        #expect(try !connects(client, other, key()))
        #expect(try connects(client, other, key()))
    }

    /// A time in seconds since 1970, which a test moves.
    final class Clock: Sendable {
        private let seconds: Atomic<Int>
        init(_ seconds: Int) { self.seconds = Atomic(seconds) }
        var now: Int { seconds.load(ordering: .relaxed) }
        func move(by change: Int) { seconds.wrappingAdd(change, ordering: .relaxed) }
    }

    static let day = 86_400

    @Test(
        "resumptions in a row do not extend the day since the last full handshake", .rows("S-35"),
        arguments: [0x0303, 0x0304])
    func oneDay(version: Int) throws {
        let clock = Clock(time(nil))
        let client = TLSSupport.client(
            TLSConfiguration(trust: .certificates(authority.root.pem)), now: { clock.now })
        let server = try server(version)
        for _ in 0..<2 {
            #expect(try !connects(client, server, key()))
            for _ in 0..<23 {
                clock.move(by: Self.day / 24)
                #expect(try connects(client, server, key()))
            }
            clock.move(by: Self.day / 24)
        }
        // After the clock was set back, the verification is not valid.
        #expect(try !connects(client, server, key()))
        clock.move(by: -1)
        #expect(try !connects(client, server, key()))
    }

    @Test(
        "a session is not resumed when a certificate of the verified chain has expired", .rows("S-35", "S-4"),
        arguments: [0x0303, 0x0304], [true, false])
    func expiry(version: Int, isOfLeaf: Bool) throws {
        // Of 2098-01-01; the other certificates expire in 2099.
        let end = "20980101000000Z", now = 4_039_372_800 - 3600
        var maker = CertificateMaker.authority("Intermediate")
        if !isOfLeaf { maker.notAfter = end }
        let intermediate = try maker.make(CertificateKey(.p256), signedBy: authority.root)
        let leaf = try authority.leaf(signedBy: intermediate) { if isOfLeaf { $0.notAfter = end } }
        var configuration = TLSServerConfiguration(identity: try leaf.identity(with: [intermediate]))
        configuration.versions = version...version
        let server = TLSSupport.server(configuration)
        let clock = Clock(now)
        let checks = SharedCounter()
        var settings = TLSConfiguration(trust: .certificates(authority.root.pem))
        settings.serverCheck = { _, _ in checks.add() }
        let client = TLSSupport.client(settings, now: { clock.now })
        #expect(try !connects(client, server, key()))
        clock.move(by: 1800)
        #expect(try connects(client, server, key()) && checks.value == 1)
        clock.move(by: 1790)
        #expect(try connects(client, server, key()))
        clock.move(by: 10)
        // The chain is verified again, here with the clock of the system.
        #expect(try !connects(client, server, key()) && checks.value == 2)
        #expect(client.sessions.count == 0)
        #expect(try !connects(client, server, key()))
    }

    @Test("the number of sessions is limited, for each key as well")
    func limits() throws {
        let client = TLSSupport.client(
            TLSConfiguration(trust: .certificates(authority.root.pem)), maximumSessions: 12)
        let server = try server(0x0304)
        for _ in 0..<10 {
            // Each full handshake adds two tickets, and takes none.
            var peers = try Peers(client, server, sessionKey: key())
            client.sessions.removeAll()
            peers.connect()
            try peers.exchange()
        }
        #expect((1...8).contains(client.sessions.count))
        for port in 1...30 { _ = try connects(client, server, key(port: port)) }
        #expect(client.sessions.count == 12)
        client.sessions.removeAll()
        #expect(client.sessions.count == 0)
    }
}
