import CRequestsPOSIX
import Requests
import RequestsPOSIX
import RequestsTLS
import RequestsTestServer
import TestSupport
import Testing

/// Peers that send endless messages that OpenSSL skips.
@Suite("TLS: floods", .enabled(if: TLSSupport.isAvailable, TLSSupport.comment), .timeLimit(.minutes(10)))
struct TLSFloodTests {
    let authority: TestAuthority
    let context: TLSContext

    init() throws {
        authority = try TestAuthority.shared
        context = TLSSupport.client(TLSConfiguration(trust: .certificates(authority.root.pem)))
    }

    /// Records that a peer repeats.
    struct Flood: Sendable, CustomTestStringConvertible {
        let testDescription: String
        /// The bytes before the repeated ones.
        var start: [UInt8] = []
        let record: [UInt8]
    }

    static let helloRequest: [UInt8] = [22, 3, 3, 0, 4, 0, 0, 0, 0]
    static let floods = [
        Flood(testDescription: "HelloRequest", record: helloRequest),
        Flood(
            testDescription: "full records of HelloRequests",
            record: [22, 3, 3, 0x40, 0] + Array(repeating: 0, count: 0x4000)),
        Flood(testDescription: "HelloRequests in fragments of a byte", record: [22, 3, 3, 0, 1, 0]),
        Flood(
            testDescription: "a ServerHello in fragments of a byte", start: [22, 3, 3, 0, 4, 2, 0, 0x40, 0],
            record: [22, 3, 3, 0, 1, 3]),
        Flood(
            testDescription: "a ServerHello of 16 MiB", start: [22, 3, 3, 0, 4, 2, 0xFF, 0xFF, 0xFF],
            record: [22, 3, 3, 0, 1, 3]),
        Flood(testDescription: "empty handshake records", record: [22, 3, 3, 0, 0]),
        Flood(testDescription: "empty records of data", record: [23, 3, 3, 0, 0]),
        Flood(testDescription: "records of data", record: [23, 3, 3, 0, 1, 65]),
        Flood(testDescription: "ChangeCipherSpec", record: [20, 3, 3, 0, 1, 1]),
        Flood(testDescription: "warnings", record: [21, 3, 3, 0, 2, 1, 100]),
        Flood(testDescription: "heartbeats", record: [24, 3, 3, 0, 3, 1, 0, 0]),
        Flood(testDescription: "records of an unknown type", record: [99, 3, 3, 0, 1, 0]),
    ]

    /// Continues the handshake until it fails, and returns its error and the number of calls that needed no wait.
    func failure(of client: TLSStream, over link: EndlessLink) -> (error: TLSError?, turns: Int) {
        var turns = 0
        while true {
            let before = link.supplied
            do {
                let needed = try client.handshake()
                #expect(needed?.isEmpty == true, "\(String(describing: needed))")
                // The work of a call is limited, whatever the peer sends.
                #expect(link.supplied - before <= 64 * min(link.longestReceive, 36 << 10))
                turns += 1
                if needed?.isEmpty != true || turns > 10_000 { return (nil, turns) }
            } catch {
                return (error, turns)
            }
        }
    }

    @Test(
        "a flood in a handshake ends it, after calls with a limited amount of work",
        .rows("S-31", "S-44"), arguments: floods, [1, 36 << 10])
    func handshake(flood: Flood, longestReceive: Int) throws {
        let link = EndlessLink(flood.start, repeating: flood.record)
        link.longestReceive = longestReceive
        let client = try TLSStream(context, over: link, to: TLSServerName("www.a.test"))
        let (error, turns) = failure(of: client, over: link)
        #expect(error != nil, "\(turns)")
        #expect(link.supplied <= 256 << 10 + 36 << 10)
        let again = #expect(throws: TLSError.self) { try client.handshake() }
        #expect(again?.problem == error?.problem)
        if flood.record == Self.helloRequest {
            #expect(error?.problem == .flood)
            #expect(error?.detail == "the peer sent at least 512 records or 256 KiB in the TLS handshake")
            #expect(error?.isPermanent == false)
            #expect(longestReceive > 1 || turns > 60)
        }
    }

    @Test(
        "a flood after a part of the server's messages ends the handshake", .rows("S-31", "S-44"),
        arguments: floods, [0x0303, 0x0304])
    func laterInTheHandshake(flood: Flood, version: Int) throws {
        var configuration = try authority.server()
        configuration.versions = version...version
        let (near, far) = MemoryLink.pair()
        let server = try TLSStream(server: TLSSupport.server(configuration), over: far)
        let link = EndlessLink(flood.start, repeating: flood.record)
        let client = try TLSStream(context, over: link, to: TLSServerName("www.a.test"))
        link.isPaused = true
        #expect(try client.handshake() == .reading)
        far.append(link.sent)
        _ = try server.handshake()
        // All of TLS 1.2's messages before Finished, and the ServerHello of TLS 1.3.
        let messages = near.incoming
        let count = version == 0x0303 ? messages.count : 5 + Int(messages[3]) << 8 + Int(messages[4])
        link.prepend(messages[..<count])
        let (error, _) = failure(of: client, over: link)
        #expect(error != nil)
        #expect(link.supplied <= 256 << 10 + 36 << 10)
        // A server that has encrypted its messages can repeat them only in records that cannot be verified.
        if flood.record == Self.helloRequest, version == 0x0303 { #expect(error?.problem == .flood) }
    }

    /// A message without data that a server can send on an established connection, and the versions that have it.
    enum Message: CaseIterable {
        case keyUpdate, keyUpdateWithReply, ticket, helloRequest

        /// Sends the message; returns false if this version of OpenSSL cannot.
        func send(from server: TLSStream) throws -> Bool {
            let handshake = try #require(NativeFunctions.find("SSL_do_handshake", as: NativeFunctions.OfSSL.self))
            let isPrepared: Bool
            switch self {
            case .keyUpdate, .keyUpdateWithReply:
                let update = NativeFunctions.find("SSL_key_update", as: NativeFunctions.OfSSLAndNumber.self)
                isPrepared = update?(server.ssl, self == .keyUpdate ? 0 : 1) == 1
            case .ticket:
                let issue = NativeFunctions.find("SSL_new_session_ticket", as: NativeFunctions.OfSSL.self)
                isPrepared = issue?(server.ssl) == 1
            case .helloRequest:
                let renegotiate = NativeFunctions.find("SSL_renegotiate", as: NativeFunctions.OfSSL.self)
                isPrepared = renegotiate?(server.ssl) == 1
            }
            return isPrepared && handshake(server.ssl) == 1
        }
    }

    func established(_ version: Int = 0x0304) throws -> (peers: Peers, near: MemoryLink) {
        var configuration = try authority.server()
        configuration.versions = version...version
        let (near, far) = MemoryLink.pair()
        var peers = Peers(
            try TLSStream(context, over: near, to: TLSServerName("www.a.test")),
            try TLSStream(server: TLSSupport.server(configuration), over: far))
        peers.connect()
        try peers.exchange()
        return (peers, near)
    }

    @Test(
        "messages without data end a connection when there are 32 in a row, and not before",
        .rows("S-32", "S-44"), arguments: [Message.keyUpdate, .keyUpdateWithReply, .ticket], [29, .max])
    func messages(message: Message, longestReceive: Int) throws {
        let (peers, near) = try established()
        guard try message.send(from: peers.server) else { return }
        near.longestReceive = longestReceive
        for count in [30, 31, 31] {
            for _ in 0..<count { try #require(try message.send(from: peers.server)) }
            _ = try peers.write(Array("data".utf8), to: peers.server)
            var result = try peers.read(peers.client)
            while result == .needs(.none) { result = try peers.read(peers.client) }
            #expect(result == .bytes(4))
        }
        let (start, taken) = (near.receivedCount, near.takenCount)
        for _ in 0..<2000 { try #require(try message.send(from: peers.server)) }
        let length = (near.receivedCount - start) / 2000
        _ = try peers.write(Array("data".utf8), to: peers.server)
        let error = #expect(throws: TLSError.self) {
            while try peers.read(peers.client) == .needs(.none) {}
        }
        #expect(error?.problem == .flood)
        // OpenSSL may hold one receive of records that it has not processed.
        #expect(near.takenCount - taken <= 32 * length + 36 << 10)
        #expect(error?.detail == "the peer sent at least 32 records or 64 KiB of TLS without data")
        #expect(peers.client.liveness() == .closed)
    }

    @Test(
        "an idle connection with a few tickets and key updates can be used, one with a flood cannot",
        .rows("S-33", "S-44"))
    func idle() throws {
        for message in [Message.keyUpdateWithReply, .ticket] {
            let (peers, _) = try established()
            for _ in 0..<20 { guard try message.send(from: peers.server) else { return } }
            #expect(peers.client.liveness() == .idle)
            try peers.exchange()
            for _ in 0..<10_000 { try #require(try message.send(from: peers.server)) }
            #expect(peers.client.liveness() == .closed)
        }
    }

    @Test(
        "records that are not encrypted end an established connection at once", .rows("S-31", "S-44"),
        arguments: floods, [0x0303, 0x0304])
    func unencrypted(flood: Flood, version: Int) throws {
        for longestReceive in [1, Int.max] {
            let (peers, near) = try established(version)
            near.longestReceive = longestReceive
            let taken = near.takenCount
            near.append(flood.start)
            for _ in 0..<10_000 { near.append(flood.record) }
            let error = #expect(throws: TLSError.self) {
                while try peers.read(peers.client) == .needs(.none) {}
            }
            #expect(error?.problem == .protocolViolation || error?.problem == .flood, "\(String(describing: error))")
            #expect(near.takenCount - taken <= 64 << 10)
            #expect(peers.client.liveness() == .closed)
        }
    }

    @Test("endless requests for renegotiation end the connection", .rows("S-31", "S-44"))
    func renegotiations() throws {
        let (peers, near) = try established(0x0303)
        let clear = try #require(NativeFunctions.find("SSL_clear_options", as: NativeFunctions.OfSSLAndOptions.self))
        _ = clear(peers.server.ssl, 1 << 30)
        var error: TLSError?
        for _ in 0..<100 where error == nil {
            guard try Message.helloRequest.send(from: peers.server) else { break }
            do { while try peers.read(peers.client) == .needs(.none) {} } catch let found {
                error = found as? TLSError
            }
        }
        _ = near
        #expect(error?.problem == .flood, "\(String(describing: error))")
    }

    @Test("many small records of data are read in several calls", .rows("S-44", "S-46"))
    func smallRecords() throws {
        let (peers, near) = try established()
        for number in 0..<1000 { _ = try peers.write([UInt8(truncatingIfNeeded: number)], to: peers.server) }
        var received: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 10_000)
        while received.count < 1000 {
            guard case .bytes(let count) = try buffer.withUnsafeMutableBytes({ try peers.client.read(into: $0) }) else {
                Issue.record("\(received.count) of 1,000 bytes")
                break
            }
            #expect((1...64).contains(count))
            received += buffer[..<count]
        }
        #expect(received == (0..<1000).map { UInt8(truncatingIfNeeded: $0) })
        #expect(near.incoming.isEmpty && peers.client.liveness() == .idle)
        // Bytes that were received with others are not lost for the check of an idle connection.
        for _ in 0..<1000 { _ = try peers.write([1], to: peers.server) }
        #expect(try peers.read(peers.client) == .bytes(64))
        #expect(peers.client.liveness() == .strayBytes)
    }
}

/// A link whose peer sends without end.
final class EndlessLink: TLSTransport {
    private var start: [UInt8]
    private let record: [UInt8]
    private var position = 0
    /// The maximum number of bytes that one call receives.
    var longestReceive = Int.max
    /// Whether nothing can be received.
    var isPaused = false
    /// The number of bytes that were received.
    private(set) var supplied = 0
    private(set) var sent: [UInt8] = []

    init(_ start: [UInt8], repeating record: [UInt8]) {
        self.start = start
        self.record = record
    }

    /// Supplies `bytes` before all others, and ends the pause.
    func prepend(_ bytes: some Sequence<UInt8>) {
        start = bytes + start
        isPaused = false
    }

    func receive(into buffer: UnsafeMutableRawBufferPointer) throws(SystemError) -> TransferResult {
        if isPaused { return .wouldBlock }
        let count = min(buffer.count, longestReceive)
        for index in 0..<count {
            buffer[index] = position < start.count ? start[position] : record[(position - start.count) % record.count]
            position += 1
        }
        supplied += count
        return .bytes(count)
    }

    func send(_ bytes: UnsafeRawBufferPointer) throws(SystemError) -> TransferResult {
        sent += bytes
        return .bytes(bytes.count)
    }

    var hasPendingBytes: Bool { false }
}
