@_spi(Lock) import Requests
import RequestsPOSIX

/// A body that is pulled from its connection: nothing is received that nobody has asked for.
///
/// Read to the end, the connection goes back to the pool; dropped, failed or cancelled, it is closed.
final class StreamedBody: ResponseBodySource {
    private static let chunkSize = 256 << 10

    private enum State: ~Copyable, Sendable {
        case ready(UniqueBox<Transfer>)
        case busy
        case ended(trailers: Header)
        case failed(RequestError)
    }

    private let state: Lock<State>
    private let request: PreparedRequest
    private let head: ResponseHead

    init(_ transfer: consuming UniqueBox<Transfer>, _ request: PreparedRequest, _ head: ResponseHead) {
        state = Lock(.ready(transfer))
        self.request = request
        self.head = head
    }

    func next() async throws(RequestError) -> Data? {
        switch take() {
        case .ready(var transfer):
            do throws(RequestError) {
                try transfer.value.patience.check()
                let chunk = try await Self.chunk(of: &transfer.value)
                put(transfer.value.isAtEnd ? .ended(trailers: transfer.value.trailers) : .ready(transfer))
                return chunk
            } catch {
                let error = error.adding(request: request, response: head)
                put(.failed(error))
                throw error
            }
        case .ended: return nil
        case .failed(let error): throw error
        case .busy:
            throw RequestError(
                .other, detail: "two calls read one body at the same time", request: request, response: head)
        }
    }

    /// The state; a transfer is taken away, for the time of one call.
    private func take() -> State {
        state.withLock { state in
            switch consume state {
            case .ready(let transfer):
                state = .busy
                return .ready(transfer)
            case .busy:
                state = .busy
                return .busy
            case .ended(let trailers):
                state = .ended(trailers: trailers)
                return .ended(trailers: trailers)
            case .failed(let error):
                state = .failed(error)
                return .failed(error)
            }
        }
    }

    private func put(_ new: consuming State) {
        var new = Optional(new)
        state.withLock { $0 = new.take() ?? .busy }
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
            switch state {
            case .ended(let trailers): trailers
            default: .empty
            }
        }
    }
}
