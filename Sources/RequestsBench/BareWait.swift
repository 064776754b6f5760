@_spi(Lock) import Requests
import RequestsPOSIX

/// An executor that measures the cost of waiting alone: it sends the same bytes each time, waits as the socket executor
/// does, and receives once without parsing.
///
/// It sends one request at a time, over TCP, and requires a response that arrives in one piece.
final class BareWait: RequestExecutor {
    private struct OpenConnection: Sendable {
        let channel: Channel
        let bytes: [UInt8]
    }

    private let connection = Lock<OpenConnection?>(nil)

    private func connection(for request: PreparedRequest) async throws -> OpenConnection {
        if let connection = connection.withLock({ $0 }) { return connection }
        let address = try SocketAddress(literallyOf: request.target)
        let channel = Channel(try Socket(for: address), reactor: try Reactor.shared())
        try await channel.connect(to: address)
        let connection = OpenConnection(
            channel: channel, bytes: try RequestHeadWriter.head(of: request, framing: .none))
        self.connection.withLock { $0 = connection }
        return connection
    }

    /// Sends, waits and receives; the body is everything that was received, including the head.
    func execute(_ request: PreparedRequest) async throws(RequestError) -> RawResponse {
        try await RequestError.wrapping(.other) {
            let connection = try await connection(for: request)
            _ = try connection.bytes.withUnsafeBytes { try connection.channel.write($0) }
            let body = try await Self.receive(on: connection.channel)
            return RawResponse(head: ResponseHead(status: .ok, target: request.target), body: .bytes(body))
        }
    }

    private static func receive(on channel: Channel) async throws -> Data {
        while true {
            try await channel.waitUntilReadable(by: .after(.seconds(60)))
            let piece = try withUnsafeTemporaryAllocation(byteCount: 1 << 10, alignment: 1) { buffer -> Data? in
                guard case .bytes(let count) = try channel.read(into: buffer) else { return nil }
                return Data(buffer[..<count])
            }
            if let piece { return piece }
        }
    }
}
