import Requests
import RequestsTLS
import RequestsTestServer
import Testing

@Suite("TLS: handshakes that are cut and slow", .enabled(if: TLSSupport.isAvailable, TLSSupport.comment))
struct TLSCutTests {
    let client: TLSContext
    let identity: TLSConfiguration.Identity

    init() throws {
        let authority = try TestAuthority.shared
        client = TLSSupport.client(TLSConfiguration(trust: .certificates(authority.root.pem)))
        identity = try authority.leaf().identity()
    }

    func server(_ version: Int) -> TLSContext {
        var configuration = TLSServerConfiguration(identity: identity)
        configuration.versions = version...version
        return TLSSupport.server(configuration)
    }

    func peers(_ server: TLSContext) throws -> (peers: Peers, near: MemoryLink, far: MemoryLink) {
        let (near, far) = MemoryLink.pair()
        let name = try TLSServerName("www.a.test")
        return (
            Peers(try TLSStream(client, over: near, to: name), try TLSStream(server: server, over: far)), near, far
        )
    }

    /// Returns the number of bytes that each side receives in a handshake.
    func lengths(_ server: TLSContext) throws -> (near: Int, far: Int) {
        var (peers, near, far) = try peers(server)
        peers.connect()
        try #require(peers.areConnected)
        return (near.receivedCount, far.receivedCount)
    }

    @Test("a handshake that ends at any byte is a typed error of both sides", arguments: [0x0303, 0x0304])
    func cut(version: Int) throws {
        let server = server(version)
        let (nearCount, farCount) = try lengths(server)
        for count in 0..<nearCount {
            var (peers, near, _) = try peers(server)
            near.remaining = count
            if count == 0 { near.end() }
            peers.connect()
            // In TLS 1.3 the client is finished before the tickets.
            if let error = peers.clientError {
                #expect(error.problem == .closedInHandshake, "\(count): \(error)")
                #expect(error.isConnectionLoss && !peers.client.isEstablished)
            } else {
                // The length of a signature varies, so that the last bytes may not have been cut.
                #expect(version == 0x0304 || near.receivedCount <= count)
                #expect(peers.client.isEstablished)
                near.end()
                let error = #expect(throws: TLSError.self) { try peers.read(peers.client) }
                #expect(error?.problem == .truncated)
            }
        }
        for count in 0..<farCount {
            var (peers, _, far) = try peers(server)
            far.remaining = count
            if count == 0 { far.end() }
            peers.connect()
            guard let error = peers.serverError else {
                #expect(far.receivedCount <= count)
                continue
            }
            #expect(error.isConnectionLoss, "\(count): \(error)")
        }
    }

    @Test("a handshake with any bit changed fails, or stalls until its end", arguments: [0x0303, 0x0304])
    func changed(version: Int) throws {
        let server = server(version)
        let (nearCount, farCount) = try lengths(server)
        for number in 0..<nearCount + farCount {
            var (peers, near, far) = try peers(server)
            if number < nearCount { near.changedByte = number } else { far.changedByte = number - nearCount }
            peers.connect()
            near.end()
            far.end()
            if peers.areConnected {
                // The version of a record is not checked by every side (RFC 8446 §5.1), nor are the tickets yet.
                let error = #expect(throws: TLSError.self, "\(number)") {
                    while case .bytes = try peers.read(peers.client) {}
                }
                #expect(error?.problem == .truncated || error?.problem == .protocolViolation, "\(number)")
            } else {
                peers.connect()
                #expect(peers.clientError != nil || peers.serverError != nil, "\(number)")
            }
        }
    }

    @Test("a handshake that stalls at any byte waits for it, without an error", arguments: [0x0303, 0x0304])
    func stalled(version: Int) throws {
        let server = server(version)
        let (nearCount, _) = try lengths(server)
        // The signatures of two handshakes differ by a few bytes.
        for count in 0..<nearCount - 6 {
            let (peers, near, far) = try peers(server)
            near.capacity = count
            for _ in 0..<4 {
                // The capacity counts only bytes that have not been read.
                let before = near.receivedCount
                near.capacity = max(0, count - before)
                let isDone = try peers.client.handshake() == nil
                #expect(!isDone || version == 0x0304)
                _ = try peers.server.handshake()
            }
            #expect(near.receivedCount <= count)
            _ = far
        }
    }

    @Test("bytes that arrive one by one are enough, in both directions", arguments: [0x0303, 0x0304])
    func dripped(version: Int) throws {
        var (peers, near, far) = try peers(server(version))
        near.longestReceive = 1
        far.longestReceive = 1
        for _ in 0..<20 where !peers.areConnected { peers.connect() }
        #expect(peers.areConnected)
        try peers.exchange()
        near.longestReceive = .max
        far.longestReceive = .max
        far.capacity = 1
        near.capacity = 1
        let bytes = (0..<40_000).map { UInt8(truncatingIfNeeded: $0) }
        #expect(
            try peers.transfer(Array(bytes[..<500]), from: peers.client, to: peers.server) == Array(bytes[..<500]))
        far.capacity = 1000
        near.capacity = 777
        #expect(try peers.transfer(bytes, from: peers.client, to: peers.server) == bytes)
        #expect(try peers.transfer(bytes, from: peers.server, to: peers.client) == bytes)
    }

    @Test("a handshake over sockets that accept few bytes at once is completed", arguments: [0x0303, 0x0304])
    func smallBuffers(version: Int) throws {
        for capacity in [1, 50, 1000] {
            var (peers, near, far) = try peers(server(version))
            near.capacity = capacity
            far.capacity = capacity
            for _ in 0..<50 where !peers.areConnected { peers.connect() }
            #expect(peers.areConnected, "\(capacity)")
            near.capacity = .max
            far.capacity = .max
            try peers.exchange()
        }
    }

    @Test("data that is cut at any byte is truncated, and never complete", arguments: [0x0303, 0x0304])
    func truncation(version: Int) throws {
        let server = server(version)
        let text = Array("0123456789".utf8)
        for extra in 0..<200 {
            var (peers, near, far) = try peers(server)
            peers.connect()
            try peers.exchange()
            let before = near.receivedCount
            near.remaining = extra
            if extra == 0 { near.end() }
            _ = try? text.withUnsafeBytes { try peers.server.write($0) }
            peers.server.shutdown()
            if near.receivedCount - before < extra { near.end() }
            var received = 0
            do {
                while case .bytes(let count) = try peers.read(peers.client) { received += count }
                // Only close_notify ends data.
                #expect(received == text.count && near.receivedCount - before <= extra)
            } catch let error as TLSError {
                #expect(error.problem == .truncated, "\(extra): \(error)")
            }
            _ = far
        }
    }
}
