extension ResponseStream {
    /// The bytes of a response in chunks, as a sequence that can be read once.
    ///
    /// Releasing it before the end ends the exchange.
    public struct Chunks: AsyncSequence, Sendable {
        /// The error that ended the body early.
        public typealias Failure = RequestError

        private let stream: ResponseStream

        /// Creates a sequence of the chunks that `stream` delivers.
        public init(_ stream: ResponseStream) {
            self.stream = stream
        }

        /// The trailer fields; empty until the end has been read.
        public var trailers: Header { stream.trailers }

        /// Returns an iterator; a second one continues where the first stopped.
        public func makeAsyncIterator() -> Iterator {
            Iterator(stream: stream)
        }

        /// An iterator that reads chunks from the response.
        public struct Iterator: AsyncIteratorProtocol {
            fileprivate let stream: ResponseStream

            /// Returns the next bytes, never empty, or nil at the end.
            public mutating func next() async throws(RequestError) -> Data? {
                try await stream.next()
            }

            /// Returns the next bytes, never empty, or nil at the end.
            public mutating func next(isolation actor: isolated (any Actor)?) async throws(RequestError) -> Data? {
                try await stream.next()
            }
        }
    }
}

extension ResponseStream {
    /// The lines of a response, as a sequence that can be read once.
    ///
    /// Lines end with LF or CR LF, which are not included; the last line need not have a line end. Ill-formed UTF-8
    /// becomes U+FFFD. Releasing the sequence before its end ends the exchange.
    public struct Lines: AsyncSequence, Sendable {
        /// The error that ended the body early, or ``RequestError/Reason/tooLarge(limit:)`` for a line over the limit.
        public typealias Failure = RequestError

        private let stream: ResponseStream
        private let limit: Int

        /// Creates a sequence of the lines in `stream`; a line longer than `limit` bytes is an error.
        public init(_ stream: ResponseStream, limit: Int = 1 << 20) {
            self.stream = stream
            self.limit = limit
        }

        /// Returns an iterator; the lines can be read once, by one iterator.
        public func makeAsyncIterator() -> Iterator {
            Iterator(stream: stream, limit: limit)
        }

        /// An iterator that reads lines from the response.
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

            /// Returns the next line without its line end, or nil after the last.
            public mutating func next() async throws(RequestError) -> String? {
                try await next(isolation: #isolation)
            }

            /// Returns the next line without its line end, or nil after the last.
            ///
            /// - Throws: The error that ended the lines early; every further call throws it again.
            public mutating func next(isolation actor: isolated (any Actor)?) async throws(RequestError) -> String? {
                try await nextBytes(isolation: actor).map { String(decoding: $0, as: UTF8.self) }
            }

            /// Returns the bytes of the next line without its line end, or nil after the last.
            mutating func nextBytes(isolation actor: isolated (any Actor)?) async throws(RequestError) -> [UInt8]? {
                if let failure { throw failure }
                do {
                    return try await line()
                } catch {
                    failure = error
                    throw error
                }
            }

            /// Reads until the next LF or the end of the stream.
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

            /// Appends the chunk's bytes before `end` to `line`.
            private func take(upTo end: Int, into line: inout [UInt8]) throws(RequestError) {
                // Checked before the bytes are copied: a line must never take more memory than the limit.
                guard line.count + (end - chunk.startIndex) <= limit else {
                    throw failure(
                        RequestError(
                            .tooLarge(limit: limit), detail: "a line is longer than \(ErrorText.bytes(limit))"))
                }
                line.append(contentsOf: chunk[..<end])
            }

            /// Returns `error` with the request and the response of the call, if they are known.
            func failure(_ error: RequestError) -> RequestError { stream.failure(error) }
        }
    }
}

extension ResponseStream {
    /// Creates a stream that delivers `data` as one chunk.
    public convenience init(_ data: Data) {
        self.init(length: data.count, DataSource(data))
    }
}

private final class DataSource: ResponseBody.Source {
    // The source of a response is `Sendable`, so two tasks can call it (decision 0002).
    private let data: Lock<Data?>

    init(_ data: Data) {
        self.data = Lock(data.isEmpty ? nil : data)
    }

    func next() async throws(RequestError) -> Data? {
        data.withLock { $0.take() }
    }

    var trailers: Header { .empty }
}
