import Requests
import RequestsPOSIX

/// The pieces of a request's body that remain to be sent.
///
/// It sends nothing itself: ``prepare()`` returns the next piece, and ``advance(_:isComplete:)`` records what was sent.
/// The head of the request is sent with the first piece, so a request without a body has one empty piece.
struct UnsentBody: Sendable {
    enum Next {
        case piece
        /// The end of a body of unknown length, with its trailer fields.
        case end(trailers: Header)
        /// Bytes of a file, which the carrier sends without reading them.
        case file(OpenFile, from: Int64, count: Int)
        /// A piece that the source must produce and pass to ``receive(_:)``.
        case production
    }

    /// The source of the pieces that follow the present one.
    private enum Source {
        case none
        case memory(Data)
        // Indirect, because these large values would enlarge every exchange.
        indirect case file(FileUpload)
        indirect case pieces(PieceUpload)
    }

    private(set) var piece: Data
    /// Whether the present piece, or bytes that the carrier adds to it, remain to be sent.
    private(set) var hasPiece: Bool
    /// The number of bytes of the piece that have been sent.
    private(set) var offset = 0
    /// Whether any bytes of the body were prepared after the first piece.
    private(set) var hasBegun = false
    private var source: Source

    /// Creates a body that is sent with the head.
    init(_ data: Data = Data()) {
        piece = data
        hasPiece = true
        source = .none
    }

    /// Creates the body of a request from its `payload`.
    ///
    /// If the request `expectsContinue`, its head is sent alone. A carrier that `sendsFiles` sends larger files without
    /// reading them.
    init(
        _ payload: Payload, _ trailers: PreparedRequest.Trailers?, expectsContinue: Bool, sendsFiles: Bool
    ) {
        self.init()
        switch payload {
        case .none: break
        case .bytes(let data) where expectsContinue: source = .memory(data)
        case .bytes(let data): piece = data
        case .file(let file, let range, let isWhole):
            let isRead = !sendsFiles || range.count <= Payload.smallFile
            // The head of a file that is read is sent with its first piece.
            hasPiece = !isRead || expectsContinue
            source = .file(FileUpload(file, range, isWhole: isWhole, isRead: isRead))
        case .stream(let length, _):
            // A head that declares an empty body is sent once the source has ended without bytes.
            hasPiece = length != 0
            source = .pieces(PieceUpload(length: length, trailers: trailers))
        }
    }

    /// Whether the present piece is the last one.
    var isLast: Bool {
        switch source {
        case .none: true
        case .memory: false
        case .file(let file): file.isComplete
        case .pieces(let pieces): pieces.isComplete
        }
    }

    /// Records that `count` bytes of the piece were sent; `isComplete` is false if bytes that the carrier adds to it
    /// remain.
    mutating func advance(_ count: Int, isComplete: Bool) {
        offset += count
        hasPiece = offset < piece.count || !isComplete
    }

    /// Returns the part that follows the present piece.
    mutating func prepare() throws(RequestError) -> Next {
        switch source {
        case .none: break
        case .memory(let data):
            source = .none
            begin(data)
        case .file(var file):
            // The piece may refer to memory into which the file is read.
            piece = Data()
            let next = try file.next()
            source = .file(file)
            switch next {
            case .piece(let piece): begin(piece)
            case .range(let file, let position, let count):
                hasBegun = true
                return .file(file, from: position, count: count)
            }
        case .pieces(var pieces):
            let next = pieces.next()
            source = .pieces(pieces)
            switch next {
            case nil: return .production
            case .piece(let piece)?: begin(piece)
            case .end(let trailers)?:
                begin(Data())
                return .end(trailers: trailers)
            }
        }
        return .piece
    }

    /// Makes `piece` the next one; nil ends the body.
    mutating func receive(_ piece: Data?) throws(RequestError) {
        guard case .pieces(var pieces) = source else { return }
        try pieces.receive(piece)
        source = .pieces(pieces)
    }

    /// Adds an empty piece, with which the carrier sends the bytes that end the previous piece.
    mutating func addEmptyPiece() {
        begin(Data())
    }

    /// Records that the carrier sent `count` bytes of the file.
    ///
    /// Nil means that it cannot send this file, which is then read instead.
    mutating func advanceFile(_ count: Int?) throws(RequestError) {
        guard case .file(var file) = source else { return }
        try file.advance(count)
        source = .file(file)
    }

    private mutating func begin(_ piece: Data) {
        (self.piece, offset) = (piece, 0)
        (hasPiece, hasBegun) = (true, true)
    }
}
