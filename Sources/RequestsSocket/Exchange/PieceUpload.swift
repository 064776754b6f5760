import Requests
import RequestsHTTP1

/// A body that arrives in pieces from a source, with the framing of its pieces.
struct PieceUpload: Sendable {
    private let length: Int?
    private let trailers: PreparedRequest.Trailers?
    /// The head that is sent when the body has ended.
    private let head: [UInt8]
    /// The number of bytes that are missing from a body of known length.
    private var missing: Int
    /// The piece that completes a body of known length.
    ///
    /// It is sent only when the source has ended, so that the server never treats the beginning of a longer body as the
    /// whole.
    private var last: Data?
    private var encoder = ChunkEncoder()
    /// Whether all pieces have been received.
    private(set) var isComplete = false

    /// Creates a body of `length` bytes, or one in chunks if it is nil; `head` is sent at its end.
    init(length: Int?, trailers: PreparedRequest.Trailers?, after head: [UInt8]) {
        self.length = length
        self.trailers = trailers
        self.head = head
        missing = length ?? 0
    }

    /// Returns the parts to send for the next `piece`, nil at the end; nil if another piece is needed first.
    mutating func receive(_ piece: Data?) throws(RequestError) -> (head: [UInt8], body: Data)? {
        guard let length else { return try chunk(piece) }
        guard let piece else {
            guard missing == 0 else {
                throw Self.mismatch("\(ErrorText.bytes(missing)) shorter than", length)
            }
            isComplete = true
            return (head, last ?? Data())
        }
        guard missing > 0, piece.count <= missing else { throw Self.mismatch("longer than", length) }
        missing -= piece.count
        guard missing == 0 else { return ([], piece) }
        last = piece
        return nil
    }

    /// Returns the part to send when the source pauses; empty if there is none.
    mutating func pause() -> [UInt8] {
        var end: [UInt8] = []
        encoder.endChunk(in: &end)
        return end
    }

    /// Returns a chunk, or the last chunk and the trailers (RFC 9112 §7.1).
    private mutating func chunk(_ piece: Data?) throws(RequestError) -> (head: [UInt8], body: Data) {
        var line: [UInt8] = []
        if let piece {
            encoder.begin(piece.count, in: &line)
            return (line, piece)
        }
        isComplete = true
        let fields = try trailers?.header() ?? .empty
        do throws(WireError) {
            try encoder.end(trailers: fields, in: &line)
        } catch {
            throw RequestError(.bodyEncodingFailed, detail: error.description, underlying: error)
        }
        return (line, Data())
    }

    private static func mismatch(_ comparison: String, _ length: Int) -> RequestError {
        RequestError(
            .bodyEncodingFailed, detail: "the body is \(comparison) its declared \(ErrorText.bytes(length))")
    }
}
