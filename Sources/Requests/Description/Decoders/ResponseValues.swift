/// The values of a response that has one JSON text a line: a sequence that can be read once, and pulls.
///
/// Lines that are empty, or have only spaces, tabs and carriage returns, are skipped. Dropping it before its end closes the connection.
public struct ResponseValues<Value>: AsyncSequence, Sendable {
    /// What ended the body early, or ``RequestError/Reason/notDecoded`` with the number of the line.
    public typealias Failure = RequestError
    /// One line's value.
    public typealias Element = Value

    private let lines: ResponseLines
    private let decode: @Sendable (Data) throws -> Value

    init(_ lines: ResponseLines, decode: @escaping @Sendable (Data) throws -> Value) {
        self.lines = lines
        self.decode = decode
    }

    /// Begins to read; the values can be read once, by one iterator.
    public func makeAsyncIterator() -> Iterator {
        Iterator(lines: lines.makeAsyncIterator(), decode: decode)
    }

    /// Pulls values from the response.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate var lines: ResponseLines.Iterator
        fileprivate let decode: @Sendable (Data) throws -> Value
        private var number = 0

        fileprivate init(lines: ResponseLines.Iterator, decode: @escaping @Sendable (Data) throws -> Value) {
            self.lines = lines
            self.decode = decode
        }

        /// The next value; nil after the last.
        public mutating func next() async throws(RequestError) -> Value? {
            try await next(isolation: #isolation)
        }

        /// The next value; nil after the last.
        ///
        /// A line that is no such value throws; the next call goes on with the next line.
        public mutating func next(isolation actor: isolated (any Actor)?) async throws(RequestError) -> Value? {
            while let line = try await lines.nextBytes(isolation: actor) {
                number += 1
                if line.allSatisfy(\.isJSONWhitespace) { continue }
                let data = Data(line)
                do {
                    return try decode(data)
                } catch {
                    throw RequestError(.notDecoded, detail: "line \(number)", underlying: error, body: data)
                }
            }
            return nil
        }
    }
}

extension ResponseDecoder {
    /// One JSON text a line (NDJSON, JSON Lines), as they arrive and no faster than they are asked for.
    ///
    /// A line of more than `limit` bytes is ``RequestError/Reason/tooLarge(limit:)``; the decoder is made once a line.
    /// A ``JSONValue`` is read as ``JSONValue/init(parsing:)`` reads it, strictly.
    public static func ndjson<Value: Decodable & SendableMetatype>(
        _ type: Value.Type = Value.self, limit: Int = 1 << 20,
        using makeDecoder: @escaping @Sendable () -> JSONDecoder = { JSONDecoder() }
    ) -> ResponseDecoder where Response == ResponseValues<Value> {
        let types = ["x-ndjson", "jsonl", "json"].map {
            MediaType(type: .application, subtype: MediaType.SubType($0))
        }
        return ResponseDecoder(
            accepting: types,
            streaming: { _, stream in
                ResponseValues(ResponseLines(stream, limit: limit)) { try makeDecoder().value(Value.self, from: $0) }
            })
    }
}
