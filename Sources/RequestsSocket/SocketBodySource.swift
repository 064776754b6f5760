import Requests
import RequestsPOSIX

/// A body that is read from its connection on demand: no bytes are received before they are requested.
///
/// At its end the connection returns to the pool; if the body is released before, fails or is cancelled, it is closed.
struct SocketBodySource: PulledSource, ~Copyable {
    private static let chunkSize = 256 << 10

    private var transfer: UniqueBox<Transfer>

    init(_ transfer: consuming UniqueBox<Transfer>) {
        self.transfer = transfer
    }

    /// Returns the bytes of one receive; nil at the end.
    mutating func next() async throws(RequestError) -> Data? {
        try transfer.value.timeLimits.check()
        do throws(SystemError) {
            // In a forked child the bytes belong to the parent.
            try transfer.value.connection.channel.reactor.checkProcess()
        } catch {
            throw RequestError(.connectionLost, detail: error.description, underlying: error)
        }
        let room = min(Self.chunkSize, max(1, transfer.value.expectedLength ?? Self.chunkSize))
        var buffer = BodyBuffer(expecting: room, limit: room)
        let count = try await transfer.value.receiveBody(into: buffer.space())
        guard count > 0 else { return nil }
        buffer.add(count)
        return buffer.takePiece()
    }

    var trailers: Header? { transfer.value.isAtEnd ? transfer.value.trailers : nil }
}
