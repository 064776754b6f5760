@_spi(Lock) import Requests

/// A body that is decoded as it is pulled: nothing is asked for before all that is here has been handed over.
///
/// The coded body is read to its end, so that its connection can be used again; dropped, failed or cancelled, it is let go.
final class DecodedBody: ResponseBodySource {
    private struct Source: ~Copyable, Sendable {
        var chain: DecodingChain
        let stream: ResponseStream
    }

    private enum State: ~Copyable, Sendable {
        case ready(Source)
        case busy
        case ended(trailers: Header)
        case failed(RequestError)
    }

    private let state: Lock<State>
    private let request: PreparedRequest
    private let head: ResponseHead

    init(_ chain: consuming DecodingChain, of stream: ResponseStream, _ request: PreparedRequest, _ head: ResponseHead)
    {
        state = Lock(.ready(Source(chain: chain, stream: stream)))
        self.request = request
        self.head = head
    }

    func next() async throws(RequestError) -> Data? {
        switch take() {
        case .ready(var source):
            do throws(RequestError) {
                let piece = try await Self.piece(of: &source, request)
                put(piece == nil ? .ended(trailers: source.stream.trailers) : .ready(source))
                return piece
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

    private static func piece(
        of source: inout Source, _ request: PreparedRequest
    ) async throws(RequestError) -> Data? {
        while true {
            switch try source.chain.step() {
            case .piece: return Data(source.chain.piece)
            case .tired:
                try request.checkTime()
                await Task.yield()
            case .needsMore:
                guard let bytes = try await source.stream.next() else {
                    try source.chain.finish()
                    return nil
                }
                source.chain.put(bytes)
            }
        }
    }

    /// The state; a source is taken away, for the time of one call.
    private func take() -> State {
        state.withLock { state in
            switch consume state {
            case .ready(let source):
                state = .busy
                return .ready(source)
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

    var trailers: Header {
        state.withLock { state in
            switch state {
            case .ended(let trailers): trailers
            default: .empty
            }
        }
    }
}
