import Requests
import RequestsTLS
import RequestsTestServer
import TestSupport
import Testing

@Suite("TLS: versions, ciphers and protocols", .rows("R-64"), .enabled(if: TLSSupport.isAvailable, TLSSupport.comment))
struct TLSNegotiationTests {
    let authority: TestAuthority

    init() throws { authority = try TestAuthority.shared }

    @Test("servers with TLS 1.0 or 1.1 only are refused", .rows("S-25"), arguments: [0x0301, 0x0302])
    func old(version: Int) throws {
        var server = try authority.server()
        server.versions = version...version
        server.securityLevel = 0
        server.ciphers = "ALL:@SECLEVEL=0"
        let error = try #require(try Peers.connected(server).clientError)
        #expect(error.problem == .negotiationFailed)
        #expect(error.detail.contains("version of TLS is not supported"))
    }

    @Test("servers with TLS 1.2 only and 1.3 only are accepted", .rows("S-26"), arguments: [0x0303, 0x0304])
    func versions(version: Int) throws {
        var server = try authority.server()
        server.versions = version...version
        let peers = try Peers.connected(server)
        #expect(peers.areConnected)
        #expect(peers.client.information.version == (version == 0x0303 ? "TLSv1.2" : "TLSv1.3"))
        let strict = try Peers.connected(server) { $0.minimumVersion = .tls13 }
        #expect(strict.areConnected == (version == 0x0304))
        if version == 0x0303 { #expect(strict.clientError?.problem == .negotiationFailed) }
    }

    @Test("a server without a common cipher is refused", .rows("S-27"))
    func ciphers() throws {
        var server = try authority.server()
        server.versions = 0x0303...0x0303
        server.securityLevel = 0
        server.ciphers = "NULL-SHA256:@SECLEVEL=0"
        let peers = try Peers.connected(server)
        #expect(peers.clientError?.problem == .alert(40))
        #expect(peers.clientError?.detail.contains("no acceptable version, cipher or certificate") == true)
        #expect(peers.serverError?.problem == .negotiationFailed)
    }

    @Test("a server without application protocols is accepted, one with others only refuses", .rows("S-28"))
    func applicationProtocols() throws {
        var server = try authority.server()
        let without = try Peers.connected(server)
        #expect(without.areConnected && without.client.information.applicationProtocol == nil)
        server.applicationProtocols = ["h2", "http/1.1"]
        let common = try Peers.connected(server)
        #expect(common.areConnected && common.client.information.applicationProtocol == "http/1.1")
        server.applicationProtocols = ["h2"]
        let other = try Peers.connected(server)
        #expect(other.clientError?.problem == .negotiationFailed)
        #expect(other.clientError?.detail.contains("no common application protocol") == true)
        #expect(other.clientError?.detail.contains("that the server supports (alert 120)") == true)
    }

    /// The list with which a server selects a protocol without regard to the client's.
    private static let http2 = StaticString("h2")

    @Test("a protocol that was not offered is refused", .rows("S-28"), arguments: [0x0303, 0x0304])
    func unsolicitedProtocol(version: Int) throws {
        let context = try #require(NativeFunctions.find("SSL_get_SSL_CTX", as: NativeFunctions.Context.self))
        let set = try #require(
            NativeFunctions.find("SSL_CTX_set_alpn_select_cb", as: NativeFunctions.SetSelectCallback.self))
        var server = try authority.server()
        server.versions = version...version
        let client = TLSSupport.client(TLSConfiguration(trust: .certificates(authority.root.pem)))
        let peers = try Peers(client, TLSSupport.server(server))
        set(
            context(peers.server.ssl),
            { _, result, count, _, _, _ in
                result?.pointee = TLSNegotiationTests.http2.utf8Start
                count?.pointee = 2
                return 0
            }, nil)
        // A write that performs the handshake must not send anything to such a server either.
        let secret = Array("secret".utf8)
        var errors: [TLSError] = []
        var received: [TLSTransferResult] = []
        for _ in 0..<20 {
            do throws(TLSError) { _ = try peers.write(secret, to: peers.client) } catch { errors.append(error) }
            if peers.server.isEstablished {
                if let result = try? peers.read(peers.server) { received.append(result) }
            } else {
                _ = try? peers.server.handshake()
            }
        }
        let error = try #require(errors.first)
        #expect(error.problem == .negotiationFailed || error.problem == .protocolViolation)
        #expect(!received.contains { if case .bytes = $0 { true } else { false } })
    }

    @Test("names of protocols have 1 to 255 bytes")
    func protocolNames() {
        for name in ["", String(repeating: "x", count: 256)] {
            let context = TLSSupport.client(
                TLSConfiguration(trust: .insecureSkipsVerification, applicationProtocols: [name]))
            let error = #expect(throws: TLSError.self) { try context.prepare() }
            #expect(error?.problem == .configuration)
        }
    }
}
