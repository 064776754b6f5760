@_spi(Lock) import Requests
import RequestsPOSIX

/// The source of a request's body, which produces one piece at a time, each in its own task.
///
/// An exchange receives while the source produces (decision 0071). The task runs where the exchange does, and is
/// cancelled when the feed is released.
struct BodyFeed: ~Copyable, Sendable {
    /// A piece of the body; without data, its end.
    struct Piece: Sendable {
        let data: Data?
    }

    private let producer: Producer
    private var task: Task<Void, Never>?
    /// Whether a piece has been requested but not taken.
    private var isProducing = false

    init(_ source: sending any RequestBody.Source) {
        producer = Producer(source)
    }

    deinit {
        task?.cancel()
    }

    /// Begins to produce a piece, unless that has begun.
    ///
    /// If ``take()`` does not find the piece, its arrival calls `readiness`.
    mutating func begin(_ readiness: @escaping @Sendable () -> Void) {
        if isProducing { return }
        isProducing = true
        let producer = producer
        task = CallingThread.startTask {
            if await producer.produce() { readiness() }
        }
    }

    /// Returns the piece that has been produced; nil while there is none.
    mutating func take() throws(RequestError) -> Piece? {
        let piece = try producer.take()
        if piece != nil { isProducing = false }
        return piece
    }
}

private final class Producer: @unchecked Sendable {  // one task at a time uses the source
    private struct State: Sendable {
        var piece: Result<BodyFeed.Piece, RequestError>?
        /// Whether the exchange has looked for the piece without success, so that it may be waiting.
        var isAwaited = false
    }

    private var source: any RequestBody.Source
    private let state = Lock(State())

    init(_ source: sending any RequestBody.Source) {
        self.source = source
    }

    /// Produces a piece, and returns whether the exchange may be waiting for it.
    func produce() async -> Bool {
        let piece = await nextPiece()
        return state.withLock { state in
            state.piece = piece
            return state.isAwaited
        }
    }

    private func nextPiece() async -> Result<BodyFeed.Piece, RequestError> {
        do throws(RequestError) {
            return try await RequestError.wrapping(.bodyEncodingFailed) {
                // An empty chunk would end the body.
                while let data = try await source.next() {
                    if !data.isEmpty { return .success(BodyFeed.Piece(data: data)) }
                    // A source without bytes must not keep the exchange from its limits and its cancellation.
                    await Task.yield()
                    try Task.checkCancellation()
                }
                return .success(BodyFeed.Piece(data: nil))
            }
        } catch {
            return .failure(error.ofSource)
        }
    }

    func take() throws(RequestError) -> BodyFeed.Piece? {
        try state.withLock { state in
            let piece = state.piece.take()
            state.isAwaited = piece == nil
            return piece
        }?.get()
    }
}

extension RequestError {
    /// The error of a call whose body source failed with this error.
    ///
    /// If the source reads another response, that connection may be lost; the connection of this exchange is not.
    fileprivate var ofSource: RequestError {
        switch reason {
        case .connectionFailed, .connectionLost, .hostNotFound, .protocolViolation:
            RequestError(.bodyEncodingFailed, underlying: self)
        default: self
        }
    }
}
