import Requests
import RequestsPOSIX

/// The state of a body that is collected in memory.
///
/// More bytes than the limit are an error, thrown before any is read if Content-Length declares them. With `isWhole`
/// false the body is truncated at the limit instead, and the connection is not reused.
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
            throw RequestError(
                .tooLarge(limit: limit), detail: "Content-Length is \(ErrorText.bytes(expected))", response: head)
        }
        // One byte more than allowed, unless that overflows, reveals a body that is too long.
        let room = isWhole ? max(limit, limit &+ 1) : limit
        body = BodyBuffer(expecting: expected, limit: min(room, expected ?? room))
        self.limit = limit
        self.isWhole = isWhole
    }

    /// Receives the available bytes, and returns the reason why there are no more now; nil at the end.
    mutating func receive(from transfer: inout Transfer) throws(RequestError) -> Pause? {
        while true {
            // More memory is allocated only if more bytes are to come.
            if body.isFull, try transfer.endsAtOnce() { return nil }
            if body.isFull, transfer.isChunked {
                guard let count = try transfer.chunkedBytesAtOnce() else { return try transfer.pause() }
                body.grow(for: count)
            }
            guard let count = try transfer.bodyAtOnce(into: body.space()) else { return try transfer.pause() }
            if count == 0 { return nil }
            body.add(count)
            guard !isWhole || body.count <= limit else {
                throw RequestError(
                    .tooLarge(limit: limit), detail: "the response body is longer than \(ErrorText.bytes(limit))")
            }
        }
    }

    /// Returns the bytes received.
    consuming func take() -> Data {
        body.take()
    }
}
