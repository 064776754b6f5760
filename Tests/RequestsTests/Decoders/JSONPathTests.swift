import Requests
import TestSupport
import Testing

private let api = AnonymousRequestProvider.example

/// One way to read a `JSONValue` from the bytes of a body.
struct JSONWay: CustomStringConvertible, Sendable {
    let description: String
    /// Reads a body, or throws the error that makes it unreadable.
    let read: @Sendable (Data) async throws -> JSONValue

    private struct Unreadable: Error {}

    private struct Holder: Decodable {
        var value: JSONValue
    }

    private static func way(_ description: String, _ decoder: ResponseDecoder<JSONValue>) -> JSONWay {
        JSONWay(description: description) { body in
            let executor = StubExecutor { request in
                let header: Header = [Field(name: "Content-Type", value: "application/json")]
                return RawResponse(
                    head: ResponseHead(status: 200, header: header, target: request.target), body: .bytes(body))
            }
            do {
                return try await executor.perform(api.get(decoder, from: "/x"))
            } catch {
                throw (error as? RequestError)?.underlying ?? error
            }
        }
    }

    /// The ways that use our own parser.
    static let strict = [
        JSONWay(description: "init(parsing:)") { try JSONValue(parsing: $0) },
        way(".jsonValue", .jsonValue), way(".json", .json()),
        way(".json with keys", .json(keys: .convertFromSnakeCase)),
        way(".json with dates", .json(dates: .iso8601)), way(".json(encoded:)", .json(encoded: JSONValue.self)),
        JSONWay(description: ".ndjson") { body in
            do {
                let decoder = ResponseDecoder<ResponseStream.Values<JSONValue>>.ndjson()
                let executor = StubExecutor { request in
                    .lines(body, to: request)
                }
                var values: [JSONValue] = []
                for try await value in try await executor.perform(api.get(decoder, from: "/x")) { values.append(value) }
                return try #require(values.count == 1 ? values.first : nil)
            } catch let error as RequestError {
                throw error.underlying ?? error
            }
        },
        JSONWay(description: "the payload of an error") { body in
            let error = RequestError(
                .unacceptableStatus,
                response: ResponseHead(
                    status: 400, header: [Field(name: "Content-Type", value: "application/json")],
                    target: try api.get(.none, from: "/x").prepared().target), body: body)
            guard let payload = error.payload(as: JSONValue.self) else { throw Unreadable() }
            return payload
        },
    ]

    /// The ways that use a `JSONDecoder`, within types of the user.
    static let nested = [
        JSONWay(description: "a property") { body in
            let text = Data("{\"value\":".utf8) + body + Data("}".utf8)
            return try JSONDecoder().decode(Holder.self, from: text).value
        },
        JSONWay(description: "an element") { body in
            try #require(try JSONDecoder().decode([JSONValue].self, from: Data("[".utf8) + body + Data("]".utf8)).first)
        },
    ]
}

@Suite("Ways to read JSON")
struct JSONPathTests {
    @Test(
        "the first member of a repeated name is kept, at every depth and however the name is escaped", .rows("L17"),
        arguments: JSONWay.strict + JSONWay.nested)
    func repeatedNames(way: JSONWay) async throws {
        #expect(try await way.read(Data(#"{"a":1,"a":2,"b":3}"#.utf8)) == ["a": 1, "b": 3])
        #expect(try await way.read(Data(#"{"x":[{"a":{"k":1},"\u0061":{"j":2}}]}"#.utf8)) == ["x": [["a": ["k": 1]]]])
        #expect(try await way.read(Data(#"{"é":1,"\u00e9":null}"#.utf8)) == ["é": 1])
    }

    @Test(
        "text that is not JSON is rejected, even where JSONDecoder accepts it", .rows("L17", "R-72"),
        arguments: JSONWay.strict)
    func strict(way: JSONWay) async {
        for text in [
            "[1,]", "{\"a\":1,}", "[1]\0", "1\0", "\"a\"\0", "\0", "[1]\u{A0}", "[1]\u{C}", "\u{A0}", "\u{2003}", "01",
            "[1]]", "nul", "\"\u{1}\"", "[1,,2]", "{\"a\":1 \"b\":2}", "+1", ".5", "NaN", "-Infinity", "\u{FEFF}",
            "[1,\u{301}2]", "{\u{301}\"a\":1}", "{\"a\"\u{200D}:1}", "[1]\u{FE0F}", "\"\\ud800\"",
        ] {
            await #expect(throws: (any Error).self, "\(text.debugDescription)") {
                try await way.read(Data(text.utf8))
            }
        }
        let invalid: [[UInt8]] = [
            [0x22, 0xFF, 0x22], [0x22, 0xC0, 0x80, 0x22], [0x22, 0xED, 0xA0, 0x80, 0x22], [0x31, 0x00], [0x00, 0x31],
        ]
        for bytes in invalid {
            await #expect(throws: (any Error).self, "\(bytes)") { try await way.read(Data(bytes)) }
        }
    }

    @Test(
        "a number that does not fit in Double is a typed error", .rows("L17"), arguments: JSONWay.strict)
    func range(way: JSONWay) async throws {
        for text in ["1E400", "-1e309", String(repeating: "9", count: 400), "1e99999999999999999999"] {
            guard way.description != "the payload of an error" else { continue }
            let error = await #expect(throws: JSONValue.SyntaxError.self) { try await way.read(Data(text.utf8)) }
            #expect(error?.problem == .numberOutOfRange)
            #expect(error?.description.utf8.starts(with: "JSON number does not fit in Double".utf8) == true)
        }
        #expect(try await way.read(Data("[1e-400, -0]".utf8)) == [0.0, 0])
        #expect(try await way.read(Data("9223372036854775807".utf8)) == .integer(.max))
        #expect(try await way.read(Data("-9223372036854775808".utf8)) == .integer(.min))
        #expect(try await way.read(Data("9223372036854775808".utf8)) == .number(0x1p63))
    }

    @Test("a number out of range within a Decodable type is an error that reports corrupt data", .rows("L17"))
    func nestedRange() async throws {
        for way in JSONWay.nested {
            let error = await #expect(throws: DecodingError.self) { try await way.read(Data("1E400".utf8)) }
            guard case .dataCorrupted = error else {
                Issue.record("\(way): \(error.map(String.init(describing:)) ?? "no error")")
                continue
            }
        }
    }

    @Test("names that differ only in their normalization are rejected and not merged", .rows("L17"))
    func equivalentNames() throws {
        let text = "{\"x\":1,\"e\u{301}\":1,\"\u{E9}\":2}"
        let error = #expect(throws: JSONValue.SyntaxError.self) { try JSONValue(parsing: Data(text.utf8)) }
        #expect(error == JSONValue.SyntaxError.check(Data(text.utf8)) && error?.problem == .equivalentNames)
        #expect(error?.offset == 15)
        let apart = try JSONValue(parsing: Data("[{\"e\u{301}\":1},{\"\u{E9}\":2}]".utf8))
        #expect(apart[0, "e\u{301}"] == 1 && apart[1, "\u{E9}"] == 2)
    }

    @Test(
        "a name with 30 consecutive combining marks is accepted, one with more is rejected as slow to hash",
        .rows("R-71"))
    func marks() throws {
        for marks in ["\u{301}\u{323}", "\u{F73}", "\\u0301\\u0323"] {
            let text = { (count: Int) in Data("{\"a\(String(repeating: marks, count: count))\":1}".utf8) }
            #expect(JSONValue.SyntaxError.check(text(15)) == nil)
            #expect(JSONValue.SyntaxError.check(text(1_000_000))?.problem == .combiningMarks)
            #expect(JSONValue.SyntaxError.check(text(31))?.problem == .combiningMarks)
        }
        let long = String(repeating: "e\u{301}", count: 10_000)
        #expect(try JSONValue(parsing: Data("{\"\(long)\":1}".utf8))[.key(long)] == 1)
        let value = String(repeating: "\u{301}\u{323}", count: 10_000)
        #expect(try JSONValue(parsing: Data("\"\(value)\"".utf8)).string?.utf8.count == 40_000)
    }

    @Test("decoder options that change the meaning of a text are respected")
    func options() async throws {
        let keyed = try await JSONWay.read("{\"a_b\":{\"c_d\":1}}", .json(keys: .convertFromSnakeCase))
        #expect(keyed == ["aB": ["cD": 1]])
        let lenient = ResponseDecoder<JSONValue>.json {
            let decoder = JSONDecoder()
            decoder.allowsJSON5 = true
            return decoder
        }
        #expect(try await JSONWay.read("{a: 0x10,}", lenient) == ["a": 16])
    }

    @Test("lines of JSON white space are skipped, and invalid UTF-8 is an error", .rows("R-75"))
    func whitespace() async throws {
        let lines = ["1", "", " \t", "\u{A0}", "2", "\u{FF}", "\u{2003}", "\u{C}", "\u{FEFF}", "3\t"]
        var body = Data(lines.joined(separator: "\r\n").utf8)
        body.append(contentsOf: [0x0A, 0x22, 0xFF, 0x22, 0x0A, 0x34])
        let executor = StubExecutor { [body] request in .lines(body, to: request) }
        var iterator = try await executor.perform(api.get(.ndjson(JSONValue.self), from: "/x")).makeAsyncIterator()
        var (values, failures) = ([JSONValue](), [String]())
        while true {
            do {
                guard let value = try await iterator.next() else { break }
                values.append(value)
            } catch {
                failures.append(error.detail ?? "")
            }
        }
        #expect(values == [1, 2, 3, 4])
        #expect(failures == [4, 6, 7, 8, 9, 11].map { "line \($0)" })
    }
}

extension JSONWay {
    fileprivate static func read(_ text: String, _ decoder: ResponseDecoder<JSONValue>) async throws -> JSONValue {
        try await way("", decoder).read(Data(text.utf8))
    }
}

extension RawResponse {
    fileprivate static func lines(_ body: Data, to request: PreparedRequest) -> RawResponse {
        let header: Header = [Field(name: "Content-Type", value: "application/x-ndjson")]
        return RawResponse(
            head: ResponseHead(status: 200, header: header, target: request.target), body: .stream(ResponseStream(body))
        )
    }
}
