import Requests
import RequestsPOSIX

/// The state of a body that is collected in memory.
///
/// A body that is longer than the limit is an error, thrown before reading if Content-Length declares the length. If
/// `isWhole` is false, the body is cut at the limit instead, and the connection is not reused.
struct BodyCollection: ~Copyable, Sendable {
    private var body: BodyBuffer
    private let limit: Int
    private let isWhole: Bool

    /// Creates a collection of at most `limit` bytes; `expected` is the declared length, if there is one.
    init(expecting expected: Int?, limit: Int, isWhole: Bool = true) throws(RequestError) {
        let limit = max(0, limit)
        if isWhole, let expected, expected > limit {
            throw RequestError(
                .tooLarge(limit: limit), detail: ErrorText.announced(expected))
        }
        // One byte more than allowed, unless that overflows, reveals a body that is too long.
        let room = isWhole ? max(limit, limit &+ 1) : limit
        body = BodyBuffer(expecting: expected, limit: min(room, expected ?? room))
        self.limit = limit
        self.isWhole = isWhole
    }

    /// Receives the available bytes, and returns whether the body has ended.
    mutating func receive<C: Carrier & ~Copyable>(from transfer: inout Transfer<C>) throws(RequestError) -> Bool {
        while true {
            // More memory is allocated only if more bytes are to come.
            if body.isFull, try transfer.hasEnded() { return true }
            if body.isFull, transfer.carrier.isChunked {
                guard let count = try transfer.arrivedInChunks() else { return false }
                body.grow(for: count)
            }
            guard let count = try transfer.receiveBody(into: body.space()) else { return false }
            if count == 0 { return true }
            body.add(count)
            guard !isWhole || body.count <= limit else {
                throw RequestError(
                    .tooLarge(limit: limit), detail: "the response body is longer than \(ErrorText.bytes(limit))")
            }
        }
    }

    consuming func take() -> Data {
        body.take()
    }
}
