import CRequestsPOSIX
import Requests
import RequestsPOSIX
import RequestsTLS
import RequestsTestServer
import TestCorpora
import TestSupport
import Testing

@Suite(
    "TLS: records and messages", .enabled(if: TLSSupport.isAvailable, TLSSupport.comment), .timeLimit(.minutes(10)))
struct TLSRecordTests {
    let authority: TestAuthority

    init() throws { authority = try TestAuthority.shared }

    func connected(_ version: Int = 0x0304) throws -> Peers {
        var server = try authority.server()
        server.versions = version...version
        let peers = try Peers.connected(server)
        try #require(peers.areConnected)
        return peers
    }

    /// Returns a client whose peer is the end of a link that the test feeds.
    func fedClient() throws -> (client: TLSStream, incoming: MemoryLink, peer: MemoryLink) {
        let context = TLSSupport.client(TLSConfiguration(trust: .certificates(authority.root.pem)))
        let (near, far) = MemoryLink.pair()
        let client = try TLSStream(context, over: near, to: TLSServerName("www.a.test"))
        #expect(try client.handshake() == .reading)
        return (client, near, far)
    }

    func failure(of client: TLSStream, receiving bytes: [UInt8], at link: MemoryLink) -> TLSError? {
        link.append(bytes)
        return #expect(throws: TLSError.self) { try client.handshake() }
    }

    @Test("a renegotiation that a server requests is refused with an alert", .rows("S-31"))
    func renegotiation() throws {
        let peers = try connected(0x0303)
        let clear = try #require(
            NativeFunctions.find("SSL_clear_options", as: NativeFunctions.OfSSLAndOptions.self))
        let renegotiate = try #require(NativeFunctions.find("SSL_renegotiate", as: NativeFunctions.OfSSL.self))
        let handshake = try #require(NativeFunctions.find("SSL_do_handshake", as: NativeFunctions.OfSSL.self))
        _ = clear(peers.server.ssl, 1 << 30)
        try #require(renegotiate(peers.server.ssl) == 1)
        _ = handshake(peers.server.ssl)
        #expect(peers.client.liveness() == .idle)
        // The refusal is an alert, for which OpenSSL ends the server's side.
        let refused = #expect(throws: TLSError.self) { try peers.read(peers.server) }
        #expect(
            refused?.problem == .protocolViolation || refused?.problem == .alert(100), "\(String(describing: refused))")
    }

    @Test("keys are updated on an idle connection and within a body", .rows("S-32"))
    func keyUpdates() throws {
        let update = try #require(NativeFunctions.find("SSL_key_update", as: NativeFunctions.OfSSLAndNumber.self))
        let handshake = try #require(NativeFunctions.find("SSL_do_handshake", as: NativeFunctions.OfSSL.self))
        let peers = try connected()
        try peers.exchange()
        let requested: Int32 = 1
        for sender in [peers.server, peers.client] {
            try #require(update(sender.ssl, requested) == 1)
            try #require(handshake(sender.ssl) == 1)
            #expect(peers.client.liveness() == .idle && peers.server.liveness() == .idle)
            try peers.exchange()
        }
        let bytes = (0..<300_000).map { UInt8(truncatingIfNeeded: $0) }
        for part in stride(from: 0, to: bytes.count, by: 50_000) {
            try #require(update(peers.server.ssl, requested) == 1)
            let slice = Array(bytes[part..<part + 50_000])
            #expect(try peers.transfer(slice, from: peers.server, to: peers.client) == slice)
        }
        try peers.exchange()
    }

    @Test("tickets with the handshake and later are not stray bytes", .rows("S-33"))
    func tickets() throws {
        let peers = try connected()
        // The tickets that follow the handshake have arrived.
        #expect(peers.client.liveness() == .idle)
        try peers.exchange()
        if let issue = NativeFunctions.find("SSL_new_session_ticket", as: NativeFunctions.OfSSL.self) {
            let handshake = try #require(NativeFunctions.find("SSL_do_handshake", as: NativeFunctions.OfSSL.self))
            try #require(issue(peers.server.ssl) == 1)
            try #require(handshake(peers.server.ssl) == 1)
            #expect(peers.client.liveness() == .idle)
        }
        try peers.exchange()
        _ = try Array("x".utf8).withUnsafeBytes { try peers.server.write($0) }
        #expect(peers.client.liveness() == .strayBytes)
    }

    @Test("a connection whose peer has sent close_notify is reported as closed before its socket is closed")
    func endBeforeClosing() throws {
        let peers = try connected()
        peers.server.shutdown()
        while peers.client.liveness() == .idle { sched_yield() }
        #expect(peers.client.liveness() == .closed)
        #expect(peers.client.liveness() == .closed)
    }

    @Test(
        "an idle connection that the server closes is closed, with close_notify and without", arguments: [true, false])
    func idleEnd(isOrderly: Bool) throws {
        var peers: Peers? = try connected()
        let client = try #require(peers?.client)
        if isOrderly { peers?.server.shutdown() }
        peers = nil
        // On a busy machine, bytes over loopback arrive later. The time limit of the suite bounds the loop.
        while client.liveness() == .idle { sched_yield() }
        #expect(client.liveness() == .closed)
        #expect(client.liveness() == .closed)
    }

    @Test("a peer that uses plain HTTP, or another protocol, is reported at once", .rows("S-38"))
    func plainHTTP() throws {
        for text in ["HTTP/1.1 400 Bad Request\r\n\r\n", "HTTP/1.0 200 OK\r\n", "GET / HTTP/1.1\r\n"] {
            let (client, link, _) = try fedClient()
            let error = failure(of: client, receiving: Array(text.utf8), at: link)
            #expect(error?.problem == .notTLS && error?.detail.contains("plain HTTP") == true, "\(text)")
        }
        let (client, link, _) = try fedClient()
        let error = failure(of: client, receiving: Array("220 mail.example.com ESMTP\r\n".utf8), at: link)
        #expect(error?.problem == .notTLS && error?.detail.contains("does not use TLS") == true)

        // A plain client at a TLS server.
        let (near, far) = MemoryLink.pair()
        let server = try TLSStream(server: TLSSupport.server(authority.server()), over: far)
        far.append(Array("GET / HTTP/1.1\r\nHost: a\r\n\r\n".utf8))
        let refused = #expect(throws: TLSError.self) { try server.handshake() }
        #expect(refused?.problem == .notTLS && refused?.detail.contains("plain HTTP") == true)
        _ = near
    }

    @Test("garbage, a record that is too long, and an alert are refused", .rows("S-39"))
    func garbage() throws {
        var generator = RandomSeed().numbers()
        for _ in 0..<200 {
            let (client, link, _) = try fedClient()
            let bytes = (0..<100).map { _ in UInt8.random(in: 0...255, using: &generator) }
            link.append(bytes)
            link.end()
            #expect(throws: TLSError.self, "\(bytes)") { try client.handshake() }
        }
        let (client, link, _) = try fedClient()
        let long = failure(
            of: client, receiving: [22, 3, 3, 0xFF, 0xFF] + Array(repeating: 0, count: 70_000), at: link)
        #expect(long?.problem == .protocolViolation, "\(String(describing: long))")
        let (alerted, alertLink, _) = try fedClient()
        let alert = failure(of: alerted, receiving: [21, 3, 3, 0, 2, 2, 40], at: alertLink)
        #expect(alert?.problem == .alert(40))
        // Changed bytes of an established connection are found by its authentication.
        var (peers, near, _) = try Peers.inMemory(authority)
        peers.connect()
        try #require(peers.areConnected)
        try peers.exchange()
        near.append([23, 3, 3, 0, 32] + Array(repeating: 7, count: 32))
        let forged = #expect(throws: TLSError.self) { try peers.read(peers.client) }
        #expect(forged?.problem == .protocolViolation)
    }

    @Test("a flood of empty records in the handshake ends the connection", .rows("S-44"))
    func emptyRecords() throws {
        for type: UInt8 in [22, 23] {
            let (client, link, _) = try fedClient()
            let error = failure(of: client, receiving: (0..<1000).flatMap { _ in [type, 3, 3, 0, 0] }, at: link)
            #expect(error?.problem == .protocolViolation, "\(String(describing: error))")
        }
        // So does one of alerts that are warnings.
        let (client, link, _) = try fedClient()
        let error = failure(of: client, receiving: (0..<1000).flatMap { _ in [21, 3, 3, 0, 2, 1, 100] }, at: link)
        #expect(error?.problem == .protocolViolation, "\(String(describing: error))")
    }

    @Test("sending to a peer that has closed the connection is an error, and not SIGPIPE", .rows("S-48"))
    func reset() throws {
        var peers: Peers? = try connected()
        let client = try #require(peers?.client)
        peers = nil
        let bytes = [UInt8](repeating: 1, count: 200_000)
        let error = #expect(throws: TLSError.self) {
            for _ in 0..<10 { _ = try bytes.withUnsafeBytes { try client.write($0) } }
        }
        #expect(error?.isConnectionLoss == true)
        if case .system(let system) = error?.problem {
            #expect(system.isBrokenPipe || system.isReset)
        } else {
            Issue.record("\(String(describing: error))")
        }
    }

    @Test("a response that was sent before a connection was closed is received after a failed write")
    func responseBeforeEnd() throws {
        for isOrderly in [true, false] {
            let (near, far) = MemoryLink.pair()
            let context = TLSSupport.client(TLSConfiguration(trust: .certificates(authority.root.pem)))
            var peers = Peers(
                try TLSStream(context, over: near, to: TLSServerName("www.a.test")),
                try TLSStream(server: TLSSupport.server(authority.server()), over: far))
            peers.connect()
            try peers.exchange()
            _ = try Array("413".utf8).withUnsafeBytes { try peers.server.write($0) }
            if isOrderly { peers.server.shutdown() }
            near.end()
            far.end()
            let bytes = [UInt8](repeating: 1, count: 100_000)
            for _ in 0..<2 {
                let error = #expect(throws: TLSError.self) { try bytes.withUnsafeBytes { try peers.client.write($0) } }
                #expect(error?.isConnectionLoss == true)
            }
            #expect(try peers.read(peers.client) == .bytes(3))
            if isOrderly {
                #expect(try peers.read(peers.client) == .end)
            } else {
                let error = #expect(throws: TLSError.self) { try peers.read(peers.client) }
                #expect(error?.problem == .truncated)
            }
        }
    }

    @Test("a write that has to read, and a read that has to write, do not hang", .rows("S-51"))
    func crossedDirections() throws {
        // A write before the handshake performs it, and needs bytes of the peer.
        var (peers, _, far) = try Peers.inMemory(authority)
        let text = Array("early".utf8)
        #expect(try text.withUnsafeBytes { try peers.client.write($0) } == .needs(.reading))
        peers.connect()
        try #require(peers.areConnected)
        try peers.exchange()

        // The reply to a key update cannot be sent, because the socket is full.
        let update = try #require(NativeFunctions.find("SSL_key_update", as: NativeFunctions.OfSSLAndNumber.self))
        let handshake = try #require(NativeFunctions.find("SSL_do_handshake", as: NativeFunctions.OfSSL.self))
        far.capacity = 0
        try #require(update(peers.server.ssl, 1) == 1 && handshake(peers.server.ssl) == 1)
        #expect(try peers.read(peers.client) == .needs(.reading))
        #expect(try text.withUnsafeBytes { try peers.client.write($0) } == .needs(.writing))
        #expect(try peers.read(peers.client) == .needs([.reading, .writing]))
        #expect(try text.withUnsafeBytes { try peers.client.write($0) } == .needs(.writing))
        far.capacity = 10
        #expect(try peers.read(peers.client) == .needs([.reading, .writing]))
        #expect(try peers.read(peers.server) == .needs(.reading))
        // A read sends what is pending.
        far.capacity = .max
        #expect(try peers.read(peers.client) == .needs(.reading))
        #expect(try text.withUnsafeBytes { try peers.client.write($0) } == .bytes(5))
        #expect(try peers.read(peers.server) == .bytes(5))
        try peers.exchange()
    }

    @Test("a write whose records have been sent in part says so until it returns their bytes", .rows("R-42"))
    func partialWrite() throws {
        var (peers, _, far) = try Peers.inMemory(authority)
        peers.connect()
        try #require(peers.areConnected)
        far.capacity = 60_000
        let bytes = [UInt8](repeating: 1, count: 100_000)
        #expect(!peers.client.hasPartialWrite)
        #expect(try bytes.withUnsafeBytes { try peers.client.write($0) } == .needs(.writing))
        #expect(peers.client.hasPartialWrite)
        far.capacity = .max
        #expect(try bytes.withUnsafeBytes { try peers.client.write($0) } == .bytes(100_000))
        #expect(!peers.client.hasPartialWrite)
    }

    @Test("an error that other code left on the thread is ignored", .rows("S-59"))
    func leftoverError() throws {
        let peers = try connected()
        let read = try #require(NativeFunctions.find("d2i_X509", as: NativeFunctions.ReadCertificate.self))
        let peek = try #require(NativeFunctions.find("ERR_peek_error", as: NativeFunctions.PeekError.self))
        func leaveError() {
            let bytes: [UInt8] = [1, 2, 3, 4]
            bytes.withUnsafeBufferPointer { bytes in
                var position = bytes.baseAddress
                #expect(read(nil, &position, bytes.count) == nil)
            }
            #expect(peek() != 0)
        }
        leaveError()
        #expect(try peers.read(peers.client) == .needs(.reading))
        leaveError()
        try peers.exchange()
        leaveError()
        #expect(peers.client.liveness() == .idle)
        leaveError()
        peers.client.shutdown()
        #expect(try peers.read(peers.server) == .end)
    }

    #if os(Linux)
    @Test("a forked child receives an error, and the connection of the parent continues", .rows("S-58"))
    func fork() throws {
        let peers = try connected()
        try peers.exchange()
        var children = ForkedChildren()
        let isRefused = children.run {
            var byte: UInt8 = 0
            do {
                _ = try withUnsafeMutableBytes(of: &byte) { try peers.client.read(into: $0) }
                return false
            } catch let error as TLSError {
                return error.problem == .configuration && error.detail.contains("forked child")
            } catch {
                return false
            }
        }
        #expect(isRefused)
        try peers.exchange()
    }
    #endif
}
