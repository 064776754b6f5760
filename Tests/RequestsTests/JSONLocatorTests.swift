import Requests
import TestCorpora
import Testing

@Suite("JSONLocator")
struct JSONLocatorTests {
    @Test(
        "the locator finds the value that a decoding error names",
        arguments: [
            (#"{"a":1}"#, [.key("a")], 5), (#"{"a" : [1, {"b":null}]}"#, [.key("a"), .index(1), .key("b")], 16),
            (#"[[],[0,1]]"#, [.index(1), .index(1)], 7), (#" {"a":{}}"#, [.key("a"), .key("b")], 6),
            (#"{"a":{"c":1}}"#, [.key("a"), .key("b")], 5), (#"{"b":1}"#, [.key("a")], 0), ("[]", [.index(0)], 0),
            (#"{"snake_case":1}"#, [.key("snakeCase")], 14), (#"{"x":"\"a\"","a":2}"#, [.key("a")], 17),
            (#"{"a":1}"#, [], 0), ("", [], 0), ("{", [], 1), (#"{"a":}"#, [], 5), (#"{"a":1"#, [], 6), ("[1,]", [], 3),
            (#"{"a":tru}"#, [], 5), ("[1] x", [], 4), (#"{"a"#, [], 3), ("\"a\nb\"", [], 2), (#""\"#, [], 2),
        ] as [(String, [JSONLocator.PathComponent], Int)])
    func places(json: String, path: [JSONLocator.PathComponent], offset: Int) {
        #expect(JSONLocator.offset(of: path, in: Data(json.utf8)) == offset)
    }

    @Test("a text that is nested too deeply, or a path into a scalar, has no offset")
    func nothing() {
        #expect(JSONLocator.offset(of: [], in: Data(repeating: UInt8(ascii: "["), count: 1_000_000)) == nil)
        #expect(JSONLocator.offset(of: [.key("a")], in: Data("1".utf8)) == nil)
    }

    @Test("the locator does not trap on any bytes")
    func fuzz() {
        var generator = SplitMix64(state: 5)
        let bytes = Array(#"{}[]",:\truefalsn0-1.e "#.utf8) + [0x0A, 0xFF]
        for _ in 0..<20_000 {
            let count = Int.random(in: 0...12, using: &generator)
            let data = Data((0..<count).map { _ in bytes.randomElement(using: &generator) ?? 0 })
            for path in [[], [JSONLocator.PathComponent.key("a")], [.index(1), .index(0)]] {
                let offset = JSONLocator.offset(of: path, in: data) ?? 0
                #expect((0...data.count).contains(offset))
            }
        }
    }
}
