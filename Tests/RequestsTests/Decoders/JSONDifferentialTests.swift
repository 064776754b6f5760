import Foundation
import Requests
import TestCorpora
import TestSupport
import Testing

/// Compares our parser with Foundation's two on generated and damaged documents: ours may be stricter, but its values
/// never differ.
@Suite("JSON compared with Foundation", .timeLimit(.minutes(10)))
struct JSONDifferentialTests {
    @Test(
        "JSONDecoder and JSONSerialization accept all that our parser accepts, with the same value",
        .rows("R-71", "R-72", "L17"))
    func generated() throws {
        var generator = JSONGenerator(seed: Mutator.seed)
        var accepted = 0
        for _ in 0..<Mutator.inputs {
            let text = generator.document()
            accepted += try Self.compare(Data(text)) ? 1 : 0
        }
        // Most documents are well-formed; a generator whose documents are all rejected would prove nothing.
        #expect(accepted > Mutator.inputs / 2)
    }

    @Test("JSONDecoder and JSONSerialization agree with our parser on damaged documents", .rows("R-71", "R-72", "R-75"))
    func mutated() throws {
        var generator = JSONGenerator(seed: Mutator.seed + 1)
        let corpus = (0..<200).map { _ in generator.document() }
        let pieces =
            [
                "\"", "\\", "\\u", "\\ud83d\\ude00", "\\udc00", "{", "}", "[", "]", ",", ":", "1e400", "-", "e+", ".",
                "0",
                "\0", "\u{FEFF}", "\u{301}", "\u{A0}", "null", "true", " ", "\t", "\r\n", "NaN",
            ].map { Array($0.utf8) } + [[0xFF], [0xC0, 0x80], [0xED, 0xA0, 0x80]]
        var mutator = Mutator(seed: Mutator.seed, corpus: corpus, pieces: pieces)
        var refused = 0
        for _ in 0..<Mutator.inputs { refused += try Self.compare(Data(mutator.next())) ? 0 : 1 }
        #expect(refused > Mutator.inputs / 10 && refused < Mutator.inputs)
    }

    /// Returns whether our parser accepts `data`; if it does, compares the value with Foundation's.
    private static func compare(_ data: Data) throws -> Bool {
        guard let value = try? JSONValue(parsing: data) else { return false }
        let text = Comment(rawValue: String(decoding: data, as: UTF8.self))
        #expect(try JSONValue(parsing: Data(value.description.utf8)) == value, text)
        // Foundation rejects numbers that are too small for a Double, which our parser reads.
        guard !hasTinyNumber(data) else { return true }
        let decoded = try? JSONDecoder().decode(JSONValue.self, from: data)
        #expect(decoded.map { isEqual(value, to: $0) } == true, text)
        // JSONSerialization drops U+FEFF from strings.
        guard !String(decoding: data, as: UTF8.self).unicodeScalars.contains("\u{FEFF}") else { return true }
        let object = try? JSONSerialization.jsonObject(with: data, options: .fragmentsAllowed)
        #expect(object.map { isEqual(value, to: $0) } == true, text)
        return true
    }

    /// Returns whether `value` equals a value of `JSONDecoder`.
    ///
    /// `JSONDecoder` reads `9007199254740993.5` as a whole number and drops the fraction; we read a `Double`.
    private static func isEqual(_ value: JSONValue, to decoded: JSONValue) -> Bool {
        switch (value, decoded) {
        case (.number(let number), .integer(let integer)): abs(Double(integer) - number) <= number.ulp
        case (.array(let elements), .array(let others)):
            elements.count == others.count && zip(elements, others).allSatisfy { isEqual($0, to: $1) }
        case (.object(let members), .object(let others)):
            members.count == others.count
                && members.allSatisfy { name, member in others[name].map { isEqual(member, to: $0) } == true }
        case (.string(let text), .string(let other)): text.utf8.elementsEqual(other.utf8)
        default: value == decoded
        }
    }

    private static func hasTinyNumber(_ data: Data) -> Bool {
        String(decoding: data, as: UTF8.self).contains(/[eE]-0*[1-9][0-9]{2}/)
    }

    /// Returns whether `value` equals an object of `JSONSerialization`.
    ///
    /// It keeps another member of a repeated name than we do, so documents repeat none.
    private static func isEqual(_ value: JSONValue, to object: Any) -> Bool {
        switch value {
        case .null: object is NSNull
        case .bool(let bool): object as? Bool == bool
        case .integer(let integer): (object as? NSNumber)?.int64Value == Int64(integer)
        // JSONSerialization does not round every number as IEEE 754 requires.
        case .number(let number):
            (object as? NSNumber).map { abs($0.doubleValue - number) <= 8 * number.ulp } == true
        case .string(let string): (object as? String).map { $0.utf8.elementsEqual(string.utf8) } == true
        case .array(let elements):
            (object as? [Any]).map {
                $0.count == elements.count && zip(elements, $0).allSatisfy { isEqual($0, to: $1) }
            } == true
        case .object(let members):
            (object as? [String: Any]).map { object in
                object.count == members.count
                    && members.allSatisfy { name, member in object[name].map { isEqual(member, to: $0) } == true }
            } == true
        }
    }
}

/// Makes random JSON texts, the same ones for the same seed.
struct JSONGenerator {
    private var random: SplitMix64
    private var names = 0

    init(seed: UInt64) { random = SplitMix64(state: seed) }

    mutating func document() -> [UInt8] {
        Array((space() + value(depth: 0) + space()).utf8)
    }

    private mutating func pick(_ texts: [String]) -> String { texts.randomElement(using: &random) ?? "" }

    private mutating func space() -> String { pick(["", "", "", " ", "\t", "\r\n", "\n "]) }

    private mutating func value(depth: Int) -> String {
        switch Int.random(in: 0..<(depth < 5 ? 9 : 6), using: &random) {
        case 0: return pick(["null", "true", "false"])
        case 1, 2: return number()
        case 3, 4, 5: return string()
        case 6: return list(depth: depth, "[", "]") { $0.value(depth: depth + 1) }
        default:
            return list(depth: depth, "{", "}") { generator in
                // Numbered, because JSONSerialization keeps the last of members with the same name.
                generator.names += 1
                let name = "\"\(generator.names)" + generator.string().dropFirst()
                return name + generator.space() + ":" + generator.space() + generator.value(depth: depth + 1)
            }
        }
    }

    private mutating func list(
        depth: Int, _ open: String, _ close: String, _ element: (inout JSONGenerator) -> String
    ) -> String {
        var elements: [String] = []
        for _ in 0..<Int.random(in: 0...4, using: &random) { elements.append(space() + element(&self) + space()) }
        return open + (elements.isEmpty ? space() : elements.joined(separator: ",")) + close
    }

    private mutating func digits(_ count: ClosedRange<Int>) -> String {
        (0..<Int.random(in: count, using: &random)).map { _ in String(Int.random(in: 0...9, using: &random)) }.joined()
    }

    private mutating func number() -> String {
        let whole = pick([
            "0", "1", "-1", "9007199254740993", "9223372036854775807", "-9223372036854775808", "9223372036854775808",
            "18446744073709551615", "18446744073709551616", "1" + digits(0...30), "-7" + digits(0...3),
        ])
        let fraction = pick(["", "", "." + digits(1...20), ".0"])
        return whole + fraction + pick(["", "", "", "e" + digits(1...2), "E+" + digits(1...1), "e-" + digits(1...2)])
    }

    private mutating func string() -> String {
        let pieces = [
            "a", "é", "e\u{301}", "😀", "\\n", "\\\"", "\\\\", "\\/", "\\u0041", "\\u00e9", "\\ud83d\\ude00", "\u{7F}",
            "\\u0000", "\u{200D}", "\u{FE0F}", "\u{FEFF}", "\u{FFFF}", "\\b\\f\\r\\t", "\u{10FFFF}", " ", "[", "}", ":",
        ]
        return "\"" + (0..<Int.random(in: 0...8, using: &random)).map { _ in pick(pieces) }.joined() + "\""
    }
}
