import Requests
import RequestsPOSIX

/// A body that is pulled from its connection: nothing is received that nobody has asked for.
///
/// Read to the end, the connection goes back to the pool; dropped, failed or cancelled, it is closed.
struct StreamedBody: PulledSource, ~Copyable {
    private static let chunkSize = 256 << 10

    private var transfer: UniqueBox<Transfer>

    init(_ transfer: consuming UniqueBox<Transfer>) {
        self.transfer = transfer
    }

    /// What one receive gives; nil at the end.
    mutating func next() async throws(RequestError) -> Data? {
        try transfer.value.patience.check()
        do throws(SystemError) {
            // In a forked child the bytes are the parent's.
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
