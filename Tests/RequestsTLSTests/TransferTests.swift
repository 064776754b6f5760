import Requests
import RequestsTLS
import RequestsTestServer
import Testing

@Suite("TLS: transfers", .enabled(if: TLSSupport.isAvailable, TLSSupport.comment))
struct TLSTransferTests {
    @Test("bodies of 2 KB, 64 KiB and 16 MiB arrive whole in both directions", arguments: [0x0303, 0x0304])
    func sizes(version: Int) throws {
        var server = try TestAuthority.shared.server()
        server.versions = version...version
        let peers = try Peers.connected(server)
        for count in [1, 2_000, 64 << 10, 16 << 20] {
            let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31 ^ $0 >> 8) }
            #expect(try peers.transfer(bytes, from: peers.client, to: peers.server) == bytes)
            #expect(try peers.transfer(bytes, from: peers.server, to: peers.client) == bytes)
        }
    }
}
