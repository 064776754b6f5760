import Requests
import TestSupport
import Testing

/// Bodies that are long in one respect: reading eight times as much may take eight times as long, but not 64 times.
@Suite("Growth of data", .serialized, .timeLimit(.minutes(10)))
struct DataGrowthTests {
    struct Shape: CustomStringConvertible, Sendable {
        let description: String
        /// Returns a body with the given number of bytes, or elements, that make it long.
        let make: @Sendable (Int) -> String
    }

    private static func many(_ text: String, _ count: Int) -> String { String(repeating: text, count: count) }

    static let events = [
        Shape(description: "data fields") { many("data: x\n", $0) + "\n" },
        Shape(description: "empty data fields") { many("data\r", $0) + "\r" },
        Shape(description: "one line") { "data: " + many("é", $0 * 4) + "\n\n" },
        Shape(description: "types") { many("event: e\n", $0) + "data\n\n" },
        Shape(description: "ids and events") { "id: " + many("1", $0) + "\n" + many("data\n\n", $0) },
        Shape(description: "a comment") { ":" + many("x", $0 * 4) + "\ndata\n\n" },
        Shape(description: "a retry") { "retry: " + many("9", $0 * 4) + "\ndata\n\n" },
    ]

    @Test(
        "the time to parse an event stream is proportional to its length, whole and in small chunks", .rows("R-71"),
        arguments: events)
    func eventStreams(shape: Shape) async throws {
        for chunk in [Int.max, 16] {
            let ratio = try await Growth.ratio { size in
                let bytes = Array(shape.make(size).utf8)
                return {
                    var parser = ServerSentEvent.Parser(limit: .max)
                    var (start, count) = (0, 0)
                    while start < bytes.count {
                        let end = start + min(chunk, bytes.count - start)
                        count += try parser.read(bytes[start..<end]).count
                        start = end
                    }
                    #expect(count > 0)
                }
            }
            #expect(ratio <= Growth.limit, "in chunks of \(chunk)")
        }
    }

    static let lines = [
        Shape(description: "lines") { many("a\n", $0) },
        Shape(description: "one line") { many("a", $0 * 4) },
        Shape(description: "empty lines") { many("\r\n", $0) },
    ]

    @Test(
        "the time to read lines is proportional to the length of the body, whole and in small chunks", .rows("R-71"),
        arguments: lines)
    func linesOfText(shape: Shape) async throws {
        for chunk in [Int.max, 16] {
            let ratio = try await Growth.ratio { size in
                let chunks = Self.chunks(of: shape.make(size), size: chunk)
                return {
                    var count = 0
                    for try await _ in ResponseStream.Lines(ResponseStream(ChunkSource(chunks)), limit: .max) {
                        count += 1
                    }
                    #expect(count > 0)
                }
            }
            #expect(ratio <= Growth.limit, "in chunks of \(chunk)")
        }
    }

    static let texts = [
        Shape(description: "an array") { "[" + many("1,", $0) + "1]" },
        Shape(description: "an object") { size in "{" + (0...size).map { "\"\($0)\":1" }.joined(separator: ",") + "}" },
        Shape(description: "a repeated name") { "{" + many("\"a\":1,", $0) + "\"a\":2}" },
        Shape(description: "a string") { "\"" + many("é", $0 * 4) + "\"" },
        Shape(description: "escapes") { "\"" + many("\\u00e9\\n", $0) + "\"" },
        Shape(description: "a name") { "{\"" + many("é", $0 * 4) + "\":1}" },
        Shape(description: "marks in a name") { "{\"" + many("\u{301}\u{323}", $0) + "\":1}" },
        Shape(description: "marks in escapes of a name") { "{\"" + many("\\u0301\\u0323", $0) + "\":1}" },
        Shape(description: "marks in a string") { "[\"" + many("\u{301}\u{323}", $0) + "\"]" },
        Shape(description: "digits") { many("9", $0 * 4) },
        Shape(description: "digits of a fraction") { "0." + many("0", $0 * 4) + "1" },
        Shape(description: "digits of an exponent") { "1e-" + many("0", $0 * 4) + "1" },
        Shape(description: "white space") { many(" ", $0 * 4) + "1" },
        Shape(description: "open arrays") { many("[", $0 * 4) },
        Shape(description: "open objects") { many("{\"a\":", $0 * 4) },
        Shape(description: "arrays at the greatest depth") {
            many("[", 500) + many("[[],[]],", $0) + "1" + many("]", 500)
        },
    ]

    @Test(
        "the time to check JSON is proportional to its length, even if it is too deep or out of range",
        .rows("R-71", "R-75"),
        arguments: texts)
    func jsonTexts(shape: Shape) async throws {
        let ratio = try await Growth.ratio { size in
            let data = Data(shape.make(size).utf8)
            return { _ = JSONValue.SyntaxError.check(data) }
        }
        #expect(ratio <= Growth.limit)
        let lines = try await Growth.ratio { size in
            let chunks = Self.chunks(of: shape.make(size) + "\n1\n", size: 1_024)
            return {
                var iterator = try Self.values(of: chunks).makeAsyncIterator()
                _ = try? await iterator.next()
                #expect(try await iterator.next() == 1)
            }
        }
        #expect(lines <= Growth.limit, "as a line")
    }

    @Test(
        "the time to locate a decoding error is proportional to the length of the JSON", .rows("R-71"), arguments: texts
    )
    func locating(shape: Shape) async throws {
        let paths: [[JSONLocator.PathComponent]] = [[], [.index(.max)], [.key("a"), .key("none")], [.key("é")]]
        for path in paths {
            let ratio = try await Growth.ratio { size in
                let data = Data(shape.make(size).utf8)
                return { _ = JSONLocator.offset(of: path, in: data) }
            }
            #expect(ratio <= Growth.limit, "\(path)")
        }
    }

    /// Returns the values of a response; a blocking call stays on this thread, whose time is measured.
    private static func values(of chunks: [String]) throws -> ResponseStream.Values<JSONValue> {
        let executor = StubExecutor { request in
            RawResponse(
                head: ResponseHead(status: 200, target: request.target),
                body: .stream(ResponseStream(ChunkSource(chunks))))
        }
        return try executor.performAndWait(AnonymousRequestProvider.example.get(.ndjson(limit: .max), from: "/x"))
    }

    private static func chunks(of text: String, size: Int) -> [String] {
        var (chunks, text) = ([String](), text[...])
        while !text.isEmpty {
            chunks.append(String(text.prefix(size)))
            text = text.dropFirst(size)
        }
        return chunks
    }
}
