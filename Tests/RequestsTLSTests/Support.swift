import CRequestsPOSIX
import Requests
import RequestsPOSIX
import RequestsTLS
import RequestsTestServer
import TestSupport
import Testing

/// Whether OpenSSL is installed; without it the tests of connections are left out.
enum TLSSupport {
    static let isAvailable = TestTLS.isAvailable
    static let comment: Comment = "libssl is not installed: connections over TLS are not tested"
    static let library = TestTLS.library
    static let isVersion3 = library.version?.hasPrefix("OpenSSL 3") == true
}

extension TLSSupport {
    static func client(
        _ configuration: TLSConfiguration, systemTrust: SystemTrust = .standard, maximumSessions: Int = 256,
        now: @escaping @Sendable () -> Int = { time(nil) }
    ) -> TLSContext {
        TLSContext(
            client: configuration, systemTrust: systemTrust, library: library, maximumSessions: maximumSessions,
            now: now)
    }

    static func server(_ configuration: TLSServerConfiguration) -> TLSContext {
        TLSContext(server: configuration, library: library)
    }
}

/// Certificates that are made once for a test run.
struct TestAuthority: Sendable {
    let root: MadeCertificate
    let key: CertificateKey
    let rsaKey: CertificateKey

    private static let made = Result { try TestAuthority() }
    static var shared: TestAuthority { get throws { try made.get() } }

    init() throws {
        root = try CertificateMaker.authority("Test Root").make(CertificateKey(.p256))
        key = try CertificateKey(.p256)
        rsaKey = try CertificateKey(.rsa(bits: 2048))
    }

    /// Returns the certificate of `host`, which `change` may alter.
    func leaf(
        _ host: String = "www.a.test", key: CertificateKey? = nil, signedBy issuer: MadeCertificate? = nil,
        _ change: (inout CertificateMaker) -> Void = { _ in }
    ) throws -> MadeCertificate {
        var maker = CertificateMaker(host, names: [.dns(host)])
        change(&maker)
        return try maker.make(key ?? self.key, signedBy: issuer ?? root)
    }

    /// Returns the server of `host`.
    func server(_ host: String = "www.a.test") throws -> TLSServerConfiguration {
        TLSServerConfiguration(identity: try leaf(host).identity())
    }
}

/// Two ends of a connection in memory.
final class MemoryLink: TLSTransport {
    private(set) var incoming: [UInt8] = []
    private var position = 0
    private weak var peer: MemoryLink?
    /// The number of bytes that the peer may send before the connection ends.
    var remaining = Int.max
    /// The number of a byte whose lowest bit is changed; nil for none.
    var changedByte: Int?
    /// The maximum number of bytes that are kept for the reader.
    var capacity = Int.max
    /// The maximum number of bytes that one call receives.
    var longestReceive = Int.max
    private(set) var isEnded = false
    private(set) var receivedCount = 0
    /// The number of bytes that the reader has taken.
    private(set) var takenCount = 0

    static func pair() -> (MemoryLink, MemoryLink) {
        let first = MemoryLink(), second = MemoryLink()
        first.peer = second
        second.peer = first
        return (first, second)
    }

    func receive(into buffer: UnsafeMutableRawBufferPointer) throws(SystemError) -> TransferResult {
        let count = min(buffer.count, incoming.count - position, longestReceive)
        guard count > 0 else { return isEnded || peer == nil ? .end : .wouldBlock }
        buffer.copyBytes(from: incoming[position..<position + count])
        position += count
        takenCount += count
        if position == incoming.count {
            incoming = []
            position = 0
        }
        return .bytes(count)
    }

    func send(_ bytes: UnsafeRawBufferPointer) throws(SystemError) -> TransferResult {
        guard let peer, !peer.isEnded else { throw SystemError("send", code: 32) }
        let count = min(bytes.count, peer.capacity - (peer.incoming.count - peer.position))
        guard count > 0 else { return .wouldBlock }
        peer.append(bytes.prefix(count))
        return .bytes(count)
    }

    /// Appends bytes as if the peer had sent them.
    func append(_ bytes: some Sequence<UInt8>) {
        var bytes = Array(bytes)
        if let index = changedByte.map({ $0 - receivedCount }), bytes.indices.contains(index) { bytes[index] ^= 1 }
        receivedCount += bytes.count
        incoming.append(contentsOf: bytes.prefix(remaining))
        if bytes.count >= remaining { isEnded = true }
        remaining -= min(remaining, bytes.count)
    }

    /// Ends the peer's direction without close_notify.
    func end() { isEnded = true }

    var hasPendingBytes: Bool { false }
}

/// A client and a server, stepped by one thread.
struct Peers {
    let client: TLSStream
    let server: TLSStream
    private(set) var clientError: TLSError?
    private(set) var serverError: TLSError?
    private var isDone = (client: false, server: false)

    init(_ client: TLSStream, _ server: TLSStream) {
        self.client = client
        self.server = server
    }

    /// Creates peers over a socket pair.
    init(
        _ client: TLSContext, _ server: TLSContext, host: String = "www.a.test", sessionKey: TLSSessionKey? = nil
    ) throws {
        let reactor = try Reactor()
        let channels = try Socket.Pair().apart { first, second in
            (Channel(first, reactor: reactor), Channel(second, reactor: reactor))
        }
        self.init(
            try TLSStream(client, over: channels.0, to: client.serverName(for: host), sessionKey: sessionKey),
            try TLSStream(server: server, over: channels.1))
    }

    /// Creates peers over a link in memory, and returns them with both ends, the client's first.
    static func inMemory(_ authority: TestAuthority) throws -> (Peers, near: MemoryLink, far: MemoryLink) {
        let (near, far) = MemoryLink.pair()
        let context = TLSSupport.client(TLSConfiguration(trust: .certificates(authority.root.pem)))
        let peers = Peers(
            try TLSStream(context, over: near, to: TLSServerName("www.a.test")),
            try TLSStream(server: TLSSupport.server(authority.server()), over: far))
        return (peers, near, far)
    }

    /// Steps both until each has completed the handshake, has failed, or waits for bytes that do not come.
    mutating func connect() {
        for _ in 0..<200 {
            if !isDone.client {
                do { isDone.client = try client.handshake() == nil } catch {
                    clientError = error
                    isDone.client = true
                }
            }
            if !isDone.server {
                do { isDone.server = try server.handshake() == nil } catch {
                    serverError = error
                    isDone.server = true
                }
            }
            if isDone.client, isDone.server { return }
        }
    }

    /// Whether both completed the handshake.
    var areConnected: Bool {
        client.isEstablished && server.isEstablished && clientError == nil && serverError == nil
    }

    /// Sends `bytes` from one peer to the other, and returns what has arrived.
    func transfer(_ bytes: [UInt8], from sender: TLSStream, to receiver: TLSStream) throws -> [UInt8] {
        var sent = 0
        var received: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 100_000)
        var idle = 0
        while received.count < bytes.count {
            var hasMoved = false
            if sent < bytes.count {
                let result = try bytes.withUnsafeBytes { try sender.write(.init(rebasing: $0[sent...])) }
                if case .bytes(let count) = result {
                    sent += count
                    hasMoved = true
                }
            }
            switch try buffer.withUnsafeMutableBytes({ try receiver.read(into: $0) }) {
            case .bytes(let count):
                received += buffer[..<count]
                hasMoved = true
            case .end: return received
            case .needs: break
            }
            idle = hasMoved ? 0 : idle + 1
            try #require(idle < 1000, "no progress after \(received.count) bytes")
        }
        return received
    }

    /// Exchanges a few bytes in both directions.
    func exchange() throws {
        #expect(try transfer(Array("ping".utf8), from: client, to: server) == Array("ping".utf8))
        #expect(try transfer(Array("pong".utf8), from: server, to: client) == Array("pong".utf8))
    }

    /// Writes `bytes` once.
    func write(_ bytes: [UInt8], to stream: TLSStream) throws(TLSError) -> TLSTransferResult {
        let result = bytes.withUnsafeBytes { bytes in
            Result { () throws(TLSError) in try stream.write(bytes) }
        }
        return try result.get()
    }

    /// Returns what one peer can read now.
    func read(_ stream: TLSStream) throws -> TLSTransferResult {
        var buffer = [UInt8](repeating: 0, count: 1000)
        return try buffer.withUnsafeMutableBytes { try stream.read(into: $0) }
    }
}

extension Peers {
    /// Connects a client that trusts the test's root to a server.
    static func connected(
        _ server: TLSServerConfiguration, host: String = "www.a.test", trust: TLSConfiguration.Trust? = nil,
        _ change: (inout TLSConfiguration) -> Void = { _ in }
    ) throws -> Peers {
        var configuration = TLSConfiguration(trust: try trust ?? .certificates(TestAuthority.shared.root.pem))
        change(&configuration)
        var peers = try Peers(TLSSupport.client(configuration), TLSSupport.server(server), host: host)
        peers.connect()
        return peers
    }

    /// Connects to a server with `certificate`, and returns the failure of the client.
    static func refusal(
        of certificate: MadeCertificate, with intermediates: [MadeCertificate] = [], host: String = "www.a.test",
        trust: TLSConfiguration.Trust? = nil
    ) throws -> TLSError? {
        var server = TLSServerConfiguration(identity: try certificate.identity(with: intermediates))
        server.securityLevel = 0
        let peers = try connected(server, host: host, trust: trust)
        if peers.clientError == nil {
            #expect(peers.areConnected)
            try peers.exchange()
        } else {
            #expect(!peers.client.isEstablished)
        }
        return peers.clientError
    }
}
