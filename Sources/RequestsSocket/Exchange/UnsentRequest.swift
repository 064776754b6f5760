import Requests
import RequestsHTTP1
import RequestsPOSIX

/// The bytes of a request that remain to be sent: the head, and the body from its source.
///
/// A value without a carrier: ``prepare()`` returns the next bytes, and ``advance(_:)`` records what was sent.
struct UnsentRequest: Sendable {
    /// The bytes that follow the parts that were sent.
    enum Next {
        /// New parts.
        case parts
        /// Bytes of a file, which the carrier sends without reading them.
        case file(OpenFile, from: Int64, count: Int)
        /// The next piece of a produced body, for ``receive(_:)``.
        case piece
    }

    /// The source of the body after the parts.
    private enum Source {
        case none
        case memory(Data)
        case file(FileUpload)
        case pieces(PieceUpload)
    }

    /// The first part: the head of the request, or a chunk line.
    private(set) var head: [UInt8]
    /// The second part, which counts as body.
    private(set) var body: Data
    /// The number of bytes of both parts that have been sent.
    private(set) var offset = 0
    /// Whether bytes of the body were prepared after the first parts.
    private(set) var hasBegunBody = false
    private var source: Source

    /// Creates the upload of a request without a body.
    init(_ head: [UInt8]) {
        self.head = head
        body = Data()
        source = .none
    }

    /// Creates the upload of a request that consists of `head` and `payload`.
    ///
    /// If it `expectsContinue`, the head is sent alone. A carrier that `sendsFiles` sends larger files without reading
    /// them.
    init(
        _ head: [UInt8], _ payload: Payload, _ trailers: PreparedRequest.Trailers?, expectsContinue: Bool,
        sendsFiles: Bool
    ) {
        var (first, content, source) = (head, Data(), Source.none)
        switch payload {
        case .none: break
        case .bytes(let data) where expectsContinue: source = .memory(data)
        case .bytes(let data): content = data
        case .file(let file, let range, let isWhole):
            let isRead = !sendsFiles || range.count <= Payload.smallFile
            // The head of a file that is read is sent with its first piece.
            let joined = isRead && !expectsContinue
            if joined { first = [] }
            source = .file(FileUpload(file, range, isWhole: isWhole, isRead: isRead, after: joined ? head : []))
        case .stream(0, _):
            // The head declares an empty body, so it is sent once the source has ended without bytes.
            first = []
            source = .pieces(PieceUpload(length: 0, trailers: nil, after: head))
        case .stream(let length, _):
            source = .pieces(PieceUpload(length: length, trailers: trailers, after: []))
        }
        self.head = first
        body = content
        self.source = source
    }

    /// Whether bytes of the parts remain to be sent.
    var hasParts: Bool { offset < head.count + body.count }

    /// Whether nothing comes after the parts.
    var isLast: Bool {
        switch source {
        case .none: true
        case .memory: false
        case .file(let file): file.isComplete
        case .pieces(let pieces): pieces.isComplete
        }
    }

    /// Records that `count` bytes of the parts were sent.
    mutating func advance(_ count: Int) {
        offset += count
    }

    /// Returns the bytes that follow the parts.
    mutating func prepare() throws(RequestError) -> Next {
        switch source {
        case .none: break
        case .memory(let data):
            source = .none
            set([], data)
        case .file(var file):
            // The parts may refer to memory into which the file is read.
            set([], Data())
            let next = try file.next()
            source = .file(file)
            switch next {
            case .piece(let head, let piece): set(head, piece)
            case .range(let file, let position, let count): return .file(file, from: position, count: count)
            }
        case .pieces: return .piece
        }
        return .parts
    }

    /// Makes `piece` the next parts; nil ends the body.
    mutating func receive(_ piece: Data?) throws(RequestError) {
        guard case .pieces(var pieces) = source else { return }
        let parts = try pieces.receive(piece)
        source = .pieces(pieces)
        if let parts { set(parts.head, parts.body) }
    }

    /// Completes the last piece, for a pause of the source; returns whether that takes new parts.
    mutating func completePiece() -> Bool {
        guard case .pieces(var pieces) = source else { return false }
        let end = pieces.pause()
        if end.isEmpty { return false }
        source = .pieces(pieces)
        set(end, Data())
        return true
    }

    /// Records that the carrier sent `count` bytes of the file; nil if it cannot send this file, which is read then.
    mutating func advanceFile(_ count: Int?) throws(RequestError) {
        guard case .file(var file) = source else { return }
        try file.advance(count)
        source = .file(file)
    }

    private mutating func set(_ head: [UInt8], _ body: Data) {
        hasBegunBody = true
        (self.head, self.body, offset) = (head, body, 0)
    }
}
