import Requests

// The pieces in which a streamed body is received.
extension Exchange where C: ~Copyable {
    private static var pieceSize: Int { 256 << 10 }

    /// Begins to receive the next piece of a streamed body.
    package mutating func beginPiece() {
        let room = min(Self.pieceSize, max(1, transfer.bodyLength ?? Self.pieceSize))
        piece = BodyBuffer(expecting: room, limit: room)
        transfer.resume()
        if case .streaming = state.response { state.response = .receivingPiece }
    }

    /// Returns the piece that has arrived; nil at the end of the body.
    package mutating func takePiece() -> Data? {
        guard let piece = piece.take() else { return nil }
        let data = piece.takePiece()
        return data.isEmpty ? nil : data
    }
}
