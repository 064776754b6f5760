import Requests

/// A body that arrives in pieces from a source, whose declared length is checked.
struct PieceUpload: Sendable {
    enum Next: Sendable {
        case piece(Data)
        /// The end of a body of unknown length, with its trailer fields.
        case end(trailers: Header)
    }

    private let length: Int?
    private let trailers: PreparedRequest.Trailers?
    /// The number of bytes that are missing from a body of known length.
    private var missing: Int
    /// The piece that completes a body of known length.
    ///
    /// It is sent only when the source has ended, so that the server never takes the beginning of a longer body for the
    /// whole.
    private var last: Data?
    /// The part that has been received but not returned yet.
    private var received: Next?
    /// Whether all pieces have been received.
    private(set) var isComplete = false

    /// Creates a body of `length` bytes, or of unknown length if it is nil.
    init(length: Int?, trailers: PreparedRequest.Trailers?) {
        self.length = length
        self.trailers = trailers
        missing = length ?? 0
    }

    /// Returns the next part; nil if the source must produce a piece first.
    mutating func next() -> Next? { received.take() }

    /// Receives the next `piece`; nil at the end.
    mutating func receive(_ piece: Data?) throws(RequestError) {
        guard let piece else { return try end() }
        if let length {
            guard missing > 0, piece.count <= missing else { throw Self.mismatch("longer than", length) }
            missing -= piece.count
            if missing == 0 {
                last = piece
                return
            }
        }
        received = .piece(piece)
    }

    private mutating func end() throws(RequestError) {
        isComplete = true
        guard let length else {
            received = .end(trailers: try trailers?.header() ?? .empty)
            return
        }
        guard missing == 0 else { throw Self.mismatch("\(ErrorText.bytes(missing)) shorter than", length) }
        received = .piece(last.take() ?? Data())
    }

    private static func mismatch(_ comparison: String, _ length: Int) -> RequestError {
        RequestError(
            .bodyEncodingFailed, detail: "the body is \(comparison) its declared \(ErrorText.bytes(length))")
    }
}
