import Requests
import RequestsHTTP1

/// The request of an exchange as an HTTP/1.1 message (RFC 9112): its head, and the lines around the pieces of its body.
package struct HTTP1Request: Sendable {
    /// The bytes before the present piece of the body: the head, or lines of chunks.
    private(set) var prefix: [UInt8] = []
    /// The number of prefix bytes that have been sent.
    private(set) var sentOfPrefix = 0
    /// Whether a byte of the request was sent.
    private(set) var hasWritten = false
    /// The encoder of a body in chunks; nil if its length is declared.
    private var encoder: ChunkEncoder?

    package init() {}

    /// Whether bytes of the prefix remain to be sent.
    var hasUnsentPrefix: Bool { sentOfPrefix < prefix.count }

    /// Begins an exchange, with the head of `request`.
    mutating func begin(_ request: borrowing OutgoingRequest) {
        prefix = request.head()
        sentOfPrefix = 0
        hasWritten = false
        encoder = request.framing == .chunked ? ChunkEncoder() : nil
    }

    /// Releases the memory that the exchange needed.
    mutating func end() {
        prefix = []
    }

    /// Begins a piece of `count` bytes.
    mutating func beginPiece(of count: Int) {
        if encoder == nil { return }
        dropSent()
        encoder?.begin(count, in: &prefix)
    }

    /// Completes the present piece, and returns whether more bytes must be sent for that.
    ///
    /// Only chunks have bytes at their end. If a body turns out to have no bytes, its head is sent when its source has
    /// ended.
    mutating func endPiece() -> Bool {
        if encoder == nil { return false }
        dropSent()
        encoder?.endChunk(in: &prefix)
        return hasUnsentPrefix
    }

    /// Ends a body of unknown length (RFC 9112 §7.1).
    mutating func end(with trailers: Header) throws(RequestError) {
        dropSent()
        do throws(WireError) {
            try encoder?.end(trailers: trailers, in: &prefix)
        } catch {
            throw RequestError(.bodyEncodingFailed, detail: error.description, underlying: error)
        }
    }

    /// Records that `count` bytes were sent, and returns how many of them belong to the piece.
    mutating func advance(_ count: Int) -> Int {
        hasWritten = true
        let inPrefix = min(count, prefix.count - sentOfPrefix)
        sentOfPrefix += inPrefix
        return count - inPrefix
    }

    private mutating func dropSent() {
        prefix.removeFirst(sentOfPrefix)
        sentOfPrefix = 0
    }
}
