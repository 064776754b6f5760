@_spi(Lock) import Requests
import RequestsPOSIX

/// A body that is pulled from its connection: nothing is received that nobody has asked for.
///
/// Read to the end, the connection goes back to the pool; dropped, failed or cancelled, it is closed.
final class StreamedBody: ResponseBodySource {
    private static let chunkSize = 256 << 10

    private enum State: Sendable {
        case ready(Transfer)
        case busy
        case ended(trailers: Header)
        case failed(RequestError)
    }

    private let state: Lock<State>
    private let request: PreparedRequest
    private let head: ResponseHead

    init(_ transfer: Transfer, _ request: PreparedRequest, _ head: ResponseHead) {
        state = Lock(.ready(transfer))
        self.request = request
        self.head = head
    }

    func next() async throws(RequestError) -> Data? {
        guard var transfer = try take() else { return nil }
        do throws(RequestError) {
            try transfer.patience.check()
            let chunk = try await Self.chunk(of: &transfer)
            let next: State = transfer.isAtEnd ? .ended(trailers: transfer.trailers) : .ready(transfer)
            state.withLock { $0 = next }
            return chunk
        } catch {
            let error = error.adding(request: request, response: head)
            state.withLock { $0 = .failed(error) }
            throw error
        }
    }

    /// The transfer, for the time of one call; nil at the end.
    private func take() throws(RequestError) -> Transfer? {
        let current = state.withLock { state in
            let current = state
            if case .ready = state { state = .busy }
            return current
        }
        switch current {
        case .ready(let transfer): return transfer
        case .ended: return nil
        case .failed(let error): throw error
        case .busy:
            throw RequestError(
                .other, detail: "two calls read one body at the same time", request: request, response: head)
        }
    }

    /// What one receive gives; nil at the end.
    private static func chunk(of transfer: inout Transfer) async throws(RequestError) -> Data? {
        let room = min(chunkSize, max(1, transfer.expectedLength ?? chunkSize))
        var buffer = BodyBuffer(expecting: room, limit: room)
        let count = try await transfer.receiveBody(into: buffer.space())
        guard count > 0 else { return nil }
        buffer.add(count)
        return buffer.takePiece()
    }

    var trailers: Header {
        state.withLock { state in
            if case .ended(let trailers) = state { trailers } else { .empty }
        }
    }
}
