import CRequestsPOSIX
import Requests
import RequestsPOSIX
import RequestsTLS
import RequestsTestServer
import TestSupport
import Testing

@Suite("TLS: faults of the transport", .enabled(if: TLSSupport.isAvailable, TLSSupport.comment))
struct TLSFaultTests {
    let authority: TestAuthority
    let client: TLSContext
    let server: TLSContext

    init() throws {
        authority = try TestAuthority.shared
        client = TLSSupport.client(TLSConfiguration(trust: .certificates(authority.root.pem)))
        server = TLSSupport.server(try authority.server())
    }

    /// Connects, sends a body in each direction, and returns the error of the client, whose transfers have `faults`.
    func outcome(_ faults: TransferFaults) throws -> TLSError? {
        let reactor = try Reactor()
        let channels = try Socket.Pair().apart { first, second in
            (Channel(first, reactor: reactor, faults: faults), Channel(second, reactor: reactor))
        }
        var peers = Peers(
            try TLSStream(client, over: channels.0, to: TLSServerName("www.a.test")),
            try TLSStream(server: server, over: channels.1))
        peers.connect()
        if let error = peers.clientError { return error }
        try #require(peers.areConnected)
        let bytes = (0..<40_000).map { UInt8(truncatingIfNeeded: $0) }
        do {
            #expect(try peers.transfer(bytes, from: peers.client, to: peers.server) == bytes)
            #expect(try peers.transfer(bytes, from: peers.server, to: peers.client) == bytes)
        } catch let error as TLSError {
            return error
        }
        return nil
    }

    @Test("a failed transfer throws its error, and a short or delayed one is continued", .rows("S-49"))
    func everyTransfer() throws {
        let counting = TransferFaults()
        #expect(try outcome(counting) == nil)
        try #require(counting.transfers > 5)
        for number in 1...counting.transfers {
            let reset = TransferFaults(.failTransfer(number), code: ECONNRESET)
            let error = try outcome(reset)
            // The last transfers may be reads that find nothing, whose number varies.
            guard reset.hasHappened else { continue }
            #expect(error?.isConnectionLoss == true, "\(number): \(String(describing: error))")
            #expect(try outcome(TransferFaults(.shortenTransfer(number))) == nil, "\(number)")
            #expect(try outcome(TransferFaults(.delayTransfer(number))) == nil, "\(number)")
        }
        #expect(try outcome(TransferFaults(longestRead: 100, longestWrite: 333)) == nil)
    }
}
