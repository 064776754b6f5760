/// The body of a request: a recipe that can be followed again, unless it says that it cannot.
public enum RequestBody: Sendable {
    /// No body.
    case none

    /// These bytes.
    case bytes(Data)

    /// The file at `path`, or the `range` of its bytes; read while it is sent, never held in memory.
    case file(path: String, range: Range<Int>? = nil)

    /// Chunks produced while they are sent.
    ///
    /// With a `length` the body must have exactly that many bytes, and Content-Length is sent; without one it is sent
    /// chunked. `make` is called for each sending; a body that is not `replayable` is made once at most.
    case stream(length: Int?, replayable: Bool, make: @Sendable () throws -> sending any RequestBodySource)

    /// These bytes, spelled as Requests 0.3.2 spelled it.
    public static func data(_ data: Data) -> RequestBody { .bytes(data) }
}

/// Produces the chunks of a request's body, in order.
///
/// A source belongs to one sending and is told nothing when that ends early: it is dropped.
public protocol RequestBodySource {
    /// The next chunk; nil at the end. An empty chunk is skipped.
    ///
    /// An error ends the exchange with ``RequestError/Reason/bodyNotEncoded``, the connection closed.
    mutating func next() async throws -> Data?
}

extension RequestBody {
    /// A replayable body of the chunks of the sequence that `make` gives for each sending.
    public static func stream<Chunks: AsyncSequence & SendableMetatype>(
        length: Int? = nil, _ make: @escaping @Sendable () throws -> sending Chunks
    ) -> RequestBody where Chunks.Element == Data {
        .stream(length: length, replayable: true) { SequenceSource(iterator: try make().makeAsyncIterator()) }
    }

    /// A body that can be sent once: a redirect or retry that needs it again fails with
    /// ``RequestError/Reason/bodyNotReplayable``.
    public static func oneShot(length: Int? = nil, _ source: sending any RequestBodySource) -> RequestBody {
        let box = SourceBox(source)
        return .stream(length: length, replayable: false) { try box.take() }
    }

    /// The number of bytes, when it is known without touching a file: nil for a whole file and an open-ended stream.
    public var knownLength: Int? {
        switch self {
        case .none: 0
        case .bytes(let data): data.count
        case .file(_, let range): range?.count
        case .stream(let length, _, _): length
        }
    }

    /// Whether the body can be produced again, for a redirect or a retry.
    public var isReplayable: Bool {
        if case .stream(_, let replayable, _) = self { replayable } else { true }
    }

    /// Whether there is no body at all; an empty body is one.
    public var isNone: Bool {
        if case .none = self { true } else { false }
    }
}

/// Holds the source of a body that can be sent once, and gives it away once.
private final class SourceBox: Sendable {
    private let source: Lock<(any RequestBodySource)?>

    init(_ source: sending any RequestBodySource) {
        self.source = Lock(source)
    }

    func take() throws(RequestError) -> sending any RequestBodySource {
        guard let source = source.withLock({ $0.take() }) else { throw RequestError(.bodyNotReplayable) }
        return source
    }
}

private struct SequenceSource<Iterator: AsyncIteratorProtocol>: RequestBodySource where Iterator.Element == Data {
    var iterator: Iterator

    mutating func next() async throws -> Data? {
        try await iterator.next(isolation: #isolation)
    }
}

extension RequestBody: CustomStringConvertible, CustomReflectable {
    /// What kind of body it is and how long; never its bytes.
    public var description: String {
        switch self {
        case .none: "no body"
        case .bytes(let data): "\(data.count) bytes"
        case .file(let path, let range): range.map { "bytes \($0) of \(path)" } ?? "the file \(path)"
        case .stream(let length, _, _): length.map { "a stream of \($0) bytes" } ?? "a stream"
        }
    }

    /// What `dump` sees: the description.
    public var customMirror: Mirror { Mirror(self, children: ["body": description]) }
}
