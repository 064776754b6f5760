import Requests
import TestSupport
import Testing

@Suite("JSONValue")
struct JSONValueTests {
    @Test(
        "every JSON text is read, and equal values are printed alike", .rows("HT-34"),
        arguments: [
            ("null", "null"), (" true ", "true"), ("-0", "0"), ("12", "12"), ("1.50", "1.5"), ("1e2", "100.0"),
            ("9223372036854775807", "9223372036854775807"), ("9223372036854775808", "9.223372036854776e+18"),
            ("\"a\\n\\u00e9\\ud83d\\ude00\\/\"", "\"a\\né😀/\""), ("[]", "[]"), ("[1,[2,{}]]", "[1,[2,{}]]"),
            ("{\"b\":1,\"a\":[null],\"b\":2}", "{\"a\":[null],\"b\":1}"), ("\u{FEFF}{ }", "{}"),
            ("\"\\u0001\\\"\"", "\"\\u0001\\\"\""),
        ])
    func parsing(text: String, printed: String) throws {
        let value = try JSONValue(parsing: Data(text.utf8))
        #expect(value.description == printed)
        #expect(try JSONValue(parsing: Data(printed.utf8)) == value)
        #expect(try JSONDecoder().decode(JSONValue.self, from: Data(text.utf8)) == value)
        let encoded = try JSONEncoder().encode(value)
        #expect(try JSONValue(parsing: encoded) == value)
    }

    @Test(
        "truncated JSON is distinguished from invalid JSON", .rows("T-58", "L17"),
        arguments: [
            ("{\"a\": [1,", .truncated, 9), ("{nope}", .unexpectedByte, 1), ("", .truncated, 0), ("  ", .truncated, 2),
            ("[1", .truncated, 2), ("tru", .truncated, 3), ("\"abc", .truncated, 4), ("\"\\u00", .truncated, 5),
            ("-", .truncated, 1), ("1.", .truncated, 2), ("1e+", .truncated, 3), ("{\"a\"", .truncated, 4),
            ("\"\\ud800", .truncated, 7), ("[1,]", .unexpectedByte, 3), ("01", .unexpectedByte, 1),
            ("[1]x", .unexpectedByte, 3), ("{\"a\":1,}", .unexpectedByte, 7), ("tree", .unexpectedByte, 2),
            ("[1, -1e999]", .numberOutOfRange, 4), ("\"\t\"", .unexpectedByte, 1), ("\"\\x\"", .unexpectedByte, 2),
            ("\"\\udc00\"", .invalidString, 7), ("\"\\ud800\\u0041\"", .invalidString, 13), ("'a'", .unexpectedByte, 0),
        ] as [(String, JSONValue.SyntaxError.Problem, Int)])
    func failing(text: String, problem: JSONValue.SyntaxError.Problem, offset: Int) {
        let error = JSONValue.SyntaxError.check(Data(text.utf8))
        #expect(error?.problem == problem && error?.offset == offset, "\(text): \(error.map(String.init) ?? "read")")
    }

    @Test("every proper prefix of a JSON object is truncated JSON", .rows("T-58"))
    func prefixes() {
        let text = Array("{\"a\": [1.5e3, true, \"\\u00e9\\n😀\"], \"b\": {\"c\": null}}".utf8)
        for length in 0..<text.count {
            #expect(JSONValue.SyntaxError.check(Data(text[..<length]))?.problem == .truncated, "\(length)")
        }
        #expect(JSONValue.SyntaxError.check(Data(text)) == nil)
    }

    @Test("excessive nesting is an error and does not trap")
    func depth() throws {
        for character in ["[", "{\"a\":"] {
            let deep = Data(String(repeating: character, count: 100_000).utf8)
            #expect(JSONValue.SyntaxError.check(deep)?.problem == .tooDeep)
            #expect(throws: (any Error).self) { try JSONDecoder().decode(JSONValue.self, from: deep) }
        }
        let nested = String(repeating: "[", count: 512) + String(repeating: "]", count: 512)
        #expect(try JSONValue(parsing: Data(nested.utf8)).description == nested)
        #expect(JSONValue.SyntaxError.check(Data([0x22, 0xFF, 0x22]))?.problem == .invalidString)
    }

    @Test("nulls are removed from objects, and from arrays only on request", .rows("AF-54", "T-74", "D-16"))
    func nulls() {
        let value: JSONValue = [
            "key": "value", "nullkey": nil, "array": [["subnullkey": nil]], "arrayWithNulls": [nil],
        ]
        #expect(value.removingNulls() == ["key": "value", "array": [[:]], "arrayWithNulls": [nil]])
        #expect(value.removingNulls(fromArrays: true) == ["key": "value", "array": [[:]], "arrayWithNulls": []])
    }

    @Test("values are read and changed by path, and a wrong path gives nil", .rows("HT-32", "HT-34"))
    func paths() {
        var value: JSONValue = ["user": ["tags": ["a", "b"], "age": 4.0, "ok": true], "n": 1]
        #expect(value["user", "tags", 1]?.string == "b" && value["user", "age"]?.int == 4)
        #expect(value["user", "tags", 2] == nil && value["user", "tags", -1] == nil && value["n", "x"] == nil)
        #expect(value["n"]?.double == 1 && value["user", "ok"]?.bool == true && value[] == value)
        value["user", "tags", 2] = "c"
        value["user", "tags", 0] = nil
        value["new", "deep"] = 5
        value["n", "x"] = 6
        value["user", "age"] = nil
        value["gone", "x"] = nil
        #expect(value == ["user": ["tags": ["b", "c"], "ok": true], "n": 1, "new": ["deep": 5]])
        #expect(JSONValue.array([1]).asObject == ["data": [1]] && value.asObject["n"] == 1)
        #expect(JSONValue.number(.nan).description == "null" && value["user", "tags"]?.array?.count == 2)
    }

    @Test("numbers with the same value are equal and have equal hash values")
    func numbers() {
        #expect(JSONValue.integer(1) == 1.0 && JSONValue.integer(1).hashValue == JSONValue.number(1).hashValue)
        #expect(JSONValue.integer(1) != 1.5 && JSONValue.integer(1) != true && JSONValue.number(1e300).int == nil)
        #expect((["a": 1, "a": 2] as JSONValue)["a"] == 2)
    }

    @Test("a value that JSON cannot represent is an error when it is encoded as a body", .rows("T-75"))
    func notANumber() {
        let request = AnonymousRequestProvider.example.post(.json(JSONValue.array([.number(.nan)])), to: "/x")
        let error = #expect(throws: RequestError.self) { try request.prepared() }
        #expect(error?.reason == .bodyEncodingFailed && error?.mayHaveReachedServer == false)
    }
}
