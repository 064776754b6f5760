import Requests
import RequestsPOSIX
import RequestsTLS
import RequestsTestServer
import TestSupport
import Testing

@Suite("TLS: one connection within another", .enabled(if: TLSSupport.isAvailable, TLSSupport.comment))
struct TLSLayerTests {
    let authority: TestAuthority
    let client: TLSContext

    init() throws {
        authority = try TestAuthority.shared
        client = TLSSupport.client(TLSConfiguration(trust: .certificates(authority.root.pem)))
    }

    /// Returns the peers of the proxy, connected over links with `capacity`.
    func outer(_ capacity: Int = .max) throws -> (peers: Peers, links: (MemoryLink, MemoryLink)) {
        let links = MemoryLink.pair()
        links.0.capacity = capacity
        links.1.capacity = capacity
        let server = TLSSupport.server(try authority.server("proxy.a.test"))
        var peers = Peers(
            try TLSStream(client, over: links.0, to: TLSServerName("proxy.a.test")),
            try TLSStream(server: server, over: links.1))
        peers.connect()
        try #require(peers.areConnected)
        return (peers, links)
    }

    @Test("a TLS connection to a proxy carries the one to the origin", arguments: [Int.max, 1000])
    func layers(capacity: Int) throws {
        let (outer, links) = try outer(capacity)
        let server = TLSSupport.server(try authority.server())
        var inner = Peers(
            try TLSStream(client, over: outer.client, to: TLSServerName("www.a.test")),
            try TLSStream(server: server, over: outer.server))
        inner.connect()
        try #require(inner.areConnected)
        try inner.exchange()
        let bytes = (0..<100_000).map { UInt8(truncatingIfNeeded: $0) }
        #expect(try inner.transfer(bytes, from: inner.client, to: inner.server) == bytes)
        #expect(try inner.transfer(bytes, from: inner.server, to: inner.client) == bytes)
        #expect(inner.server.requestedName == "www.a.test")
        #expect(outer.server.requestedName == "proxy.a.test")

        // What the outer connection could not send has to be waited for.
        links.1.capacity = 0
        #expect(try bytes.withUnsafeBytes { try inner.client.write($0) } == .needs(.writing))
        #expect(try inner.read(inner.client) == .needs([.reading, .writing]))
        links.1.capacity = .max
        _ = try inner.read(inner.client)
        #expect(try inner.read(inner.server) == .bytes(1000))
    }

    @Test("the end of the outer connection truncates the inner one")
    func truncation() throws {
        let (outer, _) = try outer()
        let server = TLSSupport.server(try authority.server())
        var inner = Peers(
            try TLSStream(client, over: outer.client, to: TLSServerName("www.a.test")),
            try TLSStream(server: server, over: outer.server))
        inner.connect()
        try inner.exchange()
        outer.server.shutdown()
        let error = #expect(throws: TLSError.self) { try inner.read(inner.client) }
        #expect(error?.problem == .truncated)
    }

    @Test("bytes that the outer connection has not read yet are not waited for", .rows("R-51", "S-46"))
    func unreportedBytes() throws {
        let (outer, links) = try outer()
        let server = TLSSupport.server(try authority.server())
        let inner = Peers(
            try TLSStream(client, over: outer.client, to: TLSServerName("www.a.test")),
            try TLSStream(server: server, over: outer.server))
        // A read ends after 64 receives, here in the middle of a record.
        links.0.longestReceive = 1
        var pauses = 0
        while !inner.client.isEstablished || !inner.server.isEstablished {
            let needed = try inner.client.handshake()
            if needed?.isEmpty == true {
                pauses += 1
                continue
            }
            #expect(links.0.incoming.isEmpty)
            _ = try inner.server.handshake()
        }
        #expect(pauses > 10)
        _ = try inner.write([UInt8](repeating: 1, count: 1000), to: inner.server)
        var result = try inner.read(inner.client)
        pauses = 0
        while result == .needs(.none) {
            pauses += 1
            result = try inner.read(inner.client)
        }
        #expect(result == .bytes(1000) && pauses > 10)
    }
}
