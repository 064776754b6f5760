import Requests
import RequestsPOSIX

/// A body on its way into memory.
///
/// More bytes than the limit are an error, known from Content-Length before one is read; with `isWhole` false they are
/// cut off instead, and the connection is not used again.
struct BodyCollection: ~Copyable {
    private var body: BodyBuffer
    private let limit: Int
    private let isWhole: Bool

    init(
        of transfer: borrowing Transfer, _ limit: Int, _ head: ResponseHead, isWhole: Bool = true
    ) throws(RequestError) {
        let limit = max(0, limit)
        let expected = transfer.expectedLength
        if isWhole, let expected, expected > limit {
            throw RequestError(.tooLarge(limit: limit), detail: "\(expected) bytes announced", response: head)
        }
        // One byte more than allowed tells a body that is too long.
        let room = isWhole ? max(limit, limit &+ 1) : limit
        body = BodyBuffer(expecting: expected, limit: min(room, expected ?? room))
        self.limit = limit
        self.isWhole = isWhole
    }

    /// Receives what there is; why there is no more for now, nil at the end.
    mutating func receive(from transfer: inout Transfer) throws(RequestError) -> Pause? {
        while true {
            // More memory is asked for only when there is more to come.
            if body.isFull, try transfer.endsAtOnce() { return nil }
            if body.isFull, transfer.isChunked {
                guard let count = try transfer.chunkedBytesAtOnce() else { return try transfer.pause() }
                body.grow(for: count)
            }
            guard let count = try transfer.bodyAtOnce(into: body.space()) else { return try transfer.pause() }
            if count == 0 { return nil }
            body.add(count)
            guard !isWhole || body.count <= limit else { throw RequestError(.tooLarge(limit: limit)) }
        }
    }

    /// The bytes received.
    consuming func take() -> Data {
        body.take()
    }
}
