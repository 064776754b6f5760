extension ResponseStream {
    /// The values of a response with one JSON text in each line, as a sequence that can be read once.
    ///
    /// Lines that contain only spaces, tabs and carriage returns are skipped. Releasing the sequence before its
    /// end ends the exchange.
    public struct Values<Value>: AsyncSequence, Sendable {
        /// The error that ended the body early, or ``RequestError/Reason/decodingFailed`` with the number of the line.
        public typealias Failure = RequestError
        /// The type that each line is decoded as.
        public typealias Element = Value

        private let lines: ResponseStream.Lines
        private let decode: @Sendable (Data) throws -> Value

        init(_ lines: ResponseStream.Lines, decode: @escaping @Sendable (Data) throws -> Value) {
            self.lines = lines
            self.decode = decode
        }

        /// Returns the iterator for the values, which can be read once, by one iterator.
        public func makeAsyncIterator() -> Iterator {
            Iterator(lines: lines.makeAsyncIterator(), decode: decode)
        }

        /// An iterator that reads values from the response.
        public struct Iterator: AsyncIteratorProtocol {
            fileprivate var lines: ResponseStream.Lines.Iterator
            fileprivate let decode: @Sendable (Data) throws -> Value
            private var number = 0

            fileprivate init(lines: ResponseStream.Lines.Iterator, decode: @escaping @Sendable (Data) throws -> Value) {
                self.lines = lines
                self.decode = decode
            }

            /// Returns the next value; nil after the last.
            public mutating func next() async throws(RequestError) -> Value? {
                try await next(isolation: #isolation)
            }

            /// Returns the next value; nil after the last.
            ///
            /// - Throws: ``RequestError/Reason/decodingFailed`` for a line that cannot be decoded. The next call
            ///   continues with the next line.
            public mutating func next(isolation actor: isolated (any Actor)?) async throws(RequestError) -> Value? {
                while let line = try await lines.nextBytes(isolation: actor) {
                    number += 1
                    if line.allSatisfy(\.isJSONWhitespace) { continue }
                    let data = Data(line)
                    do {
                        return try decode(data)
                    } catch {
                        let problem = RequestError(
                            .decodingFailed, detail: "line \(number)", underlying: error, body: data)
                        throw lines.failure(problem.decoding(Value.self))
                    }
                }
                return nil
            }
        }
    }
}

extension ResponseDecoder {
    /// Returns a decoder of a body with one JSON text in each line (NDJSON, JSON Lines).
    ///
    /// The values are decoded as they arrive and no faster than you read them. A line of more than `limit` bytes fails
    /// with ``RequestError/Reason/tooLarge(limit:)``. `makeDecoder` is called for each line; without it, the decoder of
    /// the API is used. A ``JSONValue`` is parsed strictly, as by ``JSONValue/init(parsing:)``.
    public static func ndjson<Value: Decodable & SendableMetatype>(
        _ type: Value.Type = Value.self, limit: Int = 1 << 20,
        using makeDecoder: (@Sendable () -> JSONDecoder)? = nil
    ) -> ResponseDecoder where Response == ResponseStream.Values<Value> {
        let types = ["x-ndjson", "jsonl", "json"].map {
            MediaType(type: .application, subtype: MediaType.Subtype($0))
        }
        return ResponseDecoder(accepting: types, delivery: .streamed) { response, makeDefaultDecoder in
            let makeDecoder = makeDecoder ?? makeDefaultDecoder
            return ResponseStream.Values(ResponseStream.Lines(try response.body.streamed(), limit: limit)) { line in
                try makeDecoder().value(Value.self, from: line)
            }
        }
    }
}
