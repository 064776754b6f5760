@_spi(Lock) import Requests
import RequestsPOSIX

/// What waiting costs by itself: sends the same bytes each time, waits as the socket executor waits, and receives once
/// what it does not read.
///
/// One request at a time, over TCP, and only where the answer comes in one piece.
final class BareWait: RequestExecutor {
    private struct Line: Sendable {
        let channel: Channel
        let bytes: [UInt8]
    }

    private let line = Lock<Line?>(nil)

    private func line(for request: PreparedRequest) async throws -> Line {
        if let line = line.withLock({ $0 }) { return line }
        let address = try SocketAddress(literallyOf: request.target)
        let channel = Channel(try Socket(for: address), reactor: try Reactor.shared())
        try await channel.connect(to: address)
        let line = Line(channel: channel, bytes: try RequestHeadWriter.head(of: request, framing: .none))
        self.line.withLock { $0 = line }
        return line
    }

    /// Sends, waits, receives; the body is what came, head and all.
    func execute(_ request: PreparedRequest) async throws(RequestError) -> RawResponse {
        try await RequestError.wrapping(.other) {
            let line = try await line(for: request)
            _ = try line.bytes.withUnsafeBytes { try line.channel.write($0) }
            let body = try await Self.receive(on: line.channel)
            return RawResponse(head: ResponseHead(status: .ok, target: request.target), body: .bytes(body))
        }
    }

    private static func receive(on channel: Channel) async throws -> Data {
        while true {
            try await channel.waitUntilReadable(by: .after(.seconds(60)))
            let piece = try withUnsafeTemporaryAllocation(byteCount: 1 << 10, alignment: 1) { room -> Data? in
                guard case .bytes(let count) = try channel.read(into: room) else { return nil }
                return Data(room[..<count])
            }
            if let piece { return piece }
        }
    }
}
