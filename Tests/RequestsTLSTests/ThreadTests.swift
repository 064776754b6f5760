import Requests
import RequestsPOSIX
import RequestsTLS
import RequestsTestServer
import TestSupport
import Testing

@Suite("TLS: threads", .tags(.concurrent), .enabled(if: TLSSupport.isAvailable, TLSSupport.comment))
struct TLSThreadTests {
    @Test("connections of one context work on several threads at once, and share its sessions")
    func sharedContext() async throws {
        let authority = try TestAuthority.shared
        let client = TLSSupport.client(
            TLSConfiguration(trust: .certificates(authority.root.pem)), maximumSessions: 16)
        let server = TLSSupport.server(try authority.server())
        let resumed = try await withThrowingTaskGroup(of: Int.self) { group in
            for task in 0..<8 {
                group.addTask {
                    var resumed = 0
                    for round in 0..<20 {
                        let key = TLSSessionKey(
                            scheme: "https", host: try TLSServerName("www.a.test"), port: (task + round) % 3)
                        var peers = try Peers(client, server, sessionKey: key)
                        peers.connect()
                        try #require(peers.areConnected)
                        try peers.exchange()
                        if peers.client.information.isResumed { resumed += 1 }
                        if round == 10 { client.sessions.removeAll() }
                    }
                    return resumed
                }
            }
            return try await group.reduce(0, +)
        }
        #expect(resumed > 0)
        #expect(client.sessions.count <= 16)
    }

    @Test("a key that several threads write at once is written whole")
    func sharedKey() async throws {
        let key = try CertificateKey(.p256)
        let der = try key.der()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for task in 0..<8 {
                group.addTask {
                    for _ in 0..<300 {
                        if task.isMultiple(of: 2) {
                            #expect(try key.der() == der)
                        } else {
                            _ = try key.pem()
                        }
                    }
                }
            }
            try await group.waitForAll()
        }
    }
}
