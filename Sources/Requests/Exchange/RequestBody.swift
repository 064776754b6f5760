/// A request body, which can be produced again for each transmission unless ``isReplayable`` is false.
public enum RequestBody: Sendable {
    /// No body.
    case none

    /// Bytes in memory.
    case bytes(Data)

    /// The file at `path`, or the `range` of its bytes; it is read while it is sent, and never held in memory.
    case file(path: String, range: Range<Int>? = nil)

    /// Chunks that are produced while they are sent.
    ///
    /// With a `length` in bytes, the body must have exactly that length and is sent with Content-Length; without one,
    /// it is sent chunked. `make` is called for each transmission, and only once if `isReplayable` is false.
    case stream(length: Int?, isReplayable: Bool, make: @Sendable () throws -> sending any RequestBody.Source)

    /// Returns a body of bytes in memory, in the form of Requests 0.3.2.
    public static func data(_ data: Data) -> RequestBody { .bytes(data) }
}

extension RequestBody {
    /// A type that produces the chunks of a request body, in order.
    ///
    /// A source belongs to one transmission. If that ends early, the task that calls ``next()`` is cancelled, and the
    /// source is released. It need not be `Sendable` (decision 0002).
    public protocol Source {
        /// Returns the next chunk, or nil at the end; an empty chunk is skipped.
        ///
        /// - Throws: An error, which fails the exchange with ``RequestError/Reason/bodyEncodingFailed`` and closes the
        ///   connection.
        mutating func next() async throws -> Data?
    }
}

extension RequestBody {
    /// Returns a body with the chunks of an asynchronous sequence.
    ///
    /// - Parameters:
    ///   - length: The length of the body in bytes; nil sends it chunked. A body of another length is an error.
    ///   - isReplayable: Whether the body can be sent again; true by default.
    ///   - make: The function that returns the sequence. It is called for each transmission, and only once if
    ///     `isReplayable` is false.
    /// - Returns: The body.
    public static func stream<Chunks: AsyncSequence & SendableMetatype>(
        length: Int? = nil, isReplayable: Bool = true, _ make: @escaping @Sendable () throws -> sending Chunks
    ) -> RequestBody where Chunks.Element == Data {
        .stream(length: length, isReplayable: isReplayable) { SequenceSource(iterator: try make().makeAsyncIterator()) }
    }

    /// Returns a body that can be sent once: a redirect or retry that needs it again fails with
    /// ``RequestError/Reason/bodyNotReplayable``.
    ///
    /// - Parameters:
    ///   - length: The length of the body in bytes; nil sends it chunked. A body of another length is an error.
    ///   - source: The source of the chunks.
    /// - Returns: The body.
    public static func oneShot(length: Int? = nil, _ source: sending any RequestBody.Source) -> RequestBody {
        let box = SourceBox(source)
        return .stream(length: length, isReplayable: false) { try box.take() }
    }

    /// The length in bytes if it is known without reading a file's size: nil for a whole file and an open-ended stream.
    public var knownLength: Int? {
        switch self {
        case .none: 0
        case .bytes(let data): data.count
        case .file(_, let range): range?.count
        case .stream(let length, _, _): length
        }
    }

    /// Whether the body can be produced again for a redirect or a retry.
    public var isReplayable: Bool {
        if case .stream(_, let replayable, _) = self { replayable } else { true }
    }

    /// Whether there is no body; false for an empty body.
    package var isNone: Bool {
        if case .none = self { true } else { false }
    }
}

/// The source of a body that can be sent once; it can be taken once.
private final class SourceBox: Sendable {
    private let source: Lock<(any RequestBody.Source)?>

    init(_ source: sending any RequestBody.Source) {
        self.source = Lock(source)
    }

    func take() throws(RequestError) -> sending any RequestBody.Source {
        guard let source = source.withLock({ $0.take() }) else { throw RequestError(.bodyNotReplayable) }
        return source
    }
}

private struct SequenceSource<Iterator: AsyncIteratorProtocol>: RequestBody.Source where Iterator.Element == Data {
    var iterator: Iterator

    mutating func next() async throws -> Data? {
        // In the isolation of the caller, because the iterator need not be `Sendable`.
        try await iterator.next(isolation: #isolation)
    }
}

extension RequestBody: CustomStringConvertible, CustomReflectable {
    /// The kind of the body and its length, without its bytes.
    public var description: String {
        switch self {
        case .none: "no body"
        case .bytes(let data): ErrorText.bytes(data.count)
        case .file(let path, let range):
            range.map { "bytes \($0) of \(ErrorText.quoted(path))" } ?? "the file \(ErrorText.quoted(path))"
        case .stream(let length, _, _): length.map { "a stream of \(ErrorText.bytes($0))" } ?? "a stream"
        }
    }

    /// The mirror that `dump` prints: the description.
    public var customMirror: Mirror { Mirror(self, children: ["body": description]) }
}
