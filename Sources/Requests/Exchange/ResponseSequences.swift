/// The bytes of a response in chunks: a sequence that can be read once, and pulls.
///
/// Dropping it before its end closes the connection.
public struct ResponseBytes: AsyncSequence, Sendable {
    /// What ended the body early.
    public typealias Failure = RequestError

    private let stream: ResponseStream

    /// The chunks of `stream`.
    public init(_ stream: ResponseStream) {
        self.stream = stream
    }

    /// The fields after the body; empty until the end has been read.
    public var trailers: Header { stream.trailers }

    /// Begins to read; a second iterator goes on where the first stopped.
    public func makeAsyncIterator() -> Iterator {
        Iterator(stream: stream)
    }

    /// Pulls chunks from the response.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate let stream: ResponseStream

        /// The next bytes, never empty; nil at the end.
        public mutating func next() async throws(RequestError) -> Data? {
            try await stream.next()
        }

        /// The next bytes, never empty; nil at the end.
        public mutating func next(isolation actor: isolated (any Actor)?) async throws(RequestError) -> Data? {
            try await stream.next()
        }
    }
}

/// The lines of a response: a sequence that can be read once, and pulls.
///
/// Lines end with LF or CR LF, which are left out; a last line without an end is a line. Ill-formed UTF-8 becomes
/// U+FFFD. Dropping it before its end closes the connection.
public struct ResponseLines: AsyncSequence, Sendable {
    /// What ended the body early, or ``RequestError/Reason/tooLarge(limit:)`` for a line over the limit.
    public typealias Failure = RequestError

    private let stream: ResponseStream
    private let limit: Int

    /// The lines of `stream`, none longer than `limit` bytes.
    public init(_ stream: ResponseStream, limit: Int = 1 << 20) {
        self.stream = stream
        self.limit = limit
    }

    /// Begins to read; the lines can be read once, by one iterator.
    public func makeAsyncIterator() -> Iterator {
        Iterator(stream: stream, limit: limit)
    }

    /// Pulls lines from the response.
    public struct Iterator: AsyncIteratorProtocol {
        private let stream: ResponseStream
        private let limit: Int
        private var chunk: ArraySlice<UInt8> = []
        private var isAtEnd = false
        private var failure: RequestError?

        fileprivate init(stream: ResponseStream, limit: Int) {
            self.stream = stream
            self.limit = limit
        }

        /// The next line without its end; nil after the last.
        public mutating func next() async throws(RequestError) -> String? {
            try await next(isolation: #isolation)
        }

        /// The next line without its end; nil after the last.
        ///
        /// - Throws: What ended the lines early, again at every further call: what follows an error is no line.
        public mutating func next(isolation actor: isolated (any Actor)?) async throws(RequestError) -> String? {
            try await nextBytes(isolation: actor).map { String(decoding: $0, as: UTF8.self) }
        }

        /// The bytes of the next line without its end, as they were sent; nil after the last.
        mutating func nextBytes(isolation actor: isolated (any Actor)?) async throws(RequestError) -> [UInt8]? {
            if let failure { throw failure }
            do {
                return try await line()
            } catch {
                failure = error
                throw error
            }
        }

        private mutating func line() async throws(RequestError) -> [UInt8]? {
            var line: [UInt8] = []
            while true {
                if let end = chunk.firstIndex(of: 0x0A) {
                    try take(upTo: end, into: &line)
                    chunk = chunk[(end + 1)...]
                    break
                }
                try take(upTo: chunk.endIndex, into: &line)
                guard !isAtEnd, let next = try await stream.next() else {
                    isAtEnd = true
                    chunk = []
                    if line.isEmpty { return nil }
                    break
                }
                chunk = Array(next)[...]
            }
            if line.last == 0x0D { line.removeLast() }
            return line
        }

        private func take(upTo end: Int, into line: inout [UInt8]) throws(RequestError) {
            guard line.count + (end - chunk.startIndex) <= limit else {
                throw RequestError(.tooLarge(limit: limit), detail: "one line")
            }
            line.append(contentsOf: chunk[..<end])
        }
    }
}

extension ResponseStream {
    /// A stream that gives `data` as one chunk.
    public convenience init(_ data: Data) {
        self.init(length: data.count, DataSource(data))
    }
}

private final class DataSource: ResponseBodySource {
    private let data: Lock<Data?>

    init(_ data: Data) {
        self.data = Lock(data.isEmpty ? nil : data)
    }

    func next() async throws(RequestError) -> Data? {
        data.withLock { $0.take() }
    }

    var trailers: Header { .empty }
}
