import Requests
import TestCorpora
import Testing

/// A header with received fields behaves like a header made from fields.
@Suite("Received fields")
struct ReceivedFieldsTests {
    private static let names = ["Accept", "ACCEPT", "Set-Cookie", "cookie", "Cookie", "X-A", "Content-Type", ""]
    private static let values = ["", "a", "b, c", "\u{e9}\u{e9}", "application/json; charset=utf-8", "x y"]

    private func header(_ fields: ReceivedFields?) -> Header { fields.map { Header($0) } ?? .empty }

    private func received(_ fields: [Field]) -> ReceivedFields? {
        var received: ReceivedFields?
        let text = fields.map { Array("\($0.name.rawValue): \($0.value) \r\n".utf8) }
        var (lines, start): ([UInt8], Int) = ([], 0)
        var writer = ReceivedFields.Writer(taking: &received, from: 0)
        for (number, field) in fields.enumerated() {
            let name = start..<(start + field.name.rawValue.utf8.count)
            lines += text[number]
            let value = (name.upperBound + 2)..<(lines.count - 3)
            let isASCII = lines[value].allSatisfy { $0 < 0x80 }
            let hasRoom = writer.append(name: name, value: value, isASCII: isASCII)
            #expect(hasRoom)
            start = lines.count
            // Sometimes one line at a time, sometimes several, and sometimes from other bytes.
            guard number % 3 != 1 || number == fields.count - 1 else { continue }
            let hasTextRoom = writer.appendText(of: lines.span, upTo: start)
            #expect(hasTextRoom)
            guard number % 3 == 2 else { continue }
            (lines, start) = ([], 0)
            received = writer.finish()
            writer = ReceivedFields.Writer(taking: &received, from: 0)
        }
        received = writer.finish()
        return received
    }

    private func append(
        _ name: some Collection<UInt8>, _ value: some Collection<UInt8>, to fields: inout ReceivedFields?
    ) {
        let hasRoom = fields.append(name: name, value: value)
        #expect(hasRoom)
    }

    private func someFields(_ random: inout some RandomNumberGenerator) -> [Field] {
        (0..<Int.random(in: 0...12, using: &random)).map { _ in
            Field(
                name: Field.Name(Self.names.randomElement(using: &random) ?? ""),
                value: Self.values.randomElement(using: &random) ?? "")
        }
    }

    private func isAlike(_ one: Header, _ other: Header) -> Bool {
        let names = Self.names.map { Field.Name($0) }
        return one == other && other == one && one.hashValue == other.hashValue && Array(one) == Array(other)
            && one.description == other.description && one.dictionaryValue == other.dictionaryValue
            && names.allSatisfy { one[$0] == other[$0] && one.values(of: $0) == other.values(of: $0) }
            && names.allSatisfy { one.contains($0) == other.contains($0) }
            && names.allSatisfy { one.firstIndex(of: $0) == other.firstIndex(of: $0) }
            && one.byteCount == other.byteCount
    }

    /// Makes a change, and returns a description of its result.
    private func change(_ header: inout Header, _ choice: Int, _ field: Field) -> String {
        switch choice {
        case 0: header.add(field)
        case 1: header.set(field)
        case 2: return "\(header.remove(field.name), default: "none")"
        case 3: header.removeAll { $0.value == field.value }
        case 4: header[field.name] = field.value
        case 5: return "\(header.popFirst(), default: "none")"
        case 6: return "\(header.updateValue(field.value, of: field.name), default: "none")"
        case 7: header.merge([field]) { $0 + $1 }
        case 8: header.add([field, field])
        case 9: header.removeFields(named: { $0 == field.name })
        default: header.reserveCapacity(20)
        }
        return ""
    }

    @Test(
        "a header with received fields reads, compares and changes like one made from fields",
        arguments: 0..<200 as Range<UInt64>)
    func alike(seed: UInt64) {
        var random = SplitMix64(state: seed)
        let fields = someFields(&random)
        let whole = header(received(fields))
        var (one, other) = (whole, Header(fields))
        #expect(isAlike(one, other))
        for _ in 0..<6 {
            let field = Field(name: Field.Name(Self.names[1]), value: "new")
            let choice = Int.random(in: 0...10, using: &random)
            let changed = Bool.random(using: &random) ? field : someFields(&random).first ?? field
            let outcomes = (change(&one, choice, changed), change(&other, choice, changed))
            #expect(outcomes.0 == outcomes.1 && isAlike(one, other), "\(choice)")
        }
        #expect(isAlike(whole, Header(fields)), "changing a header changed its copy")
    }

    @Test("received fields grow as needed, and earlier copies do not change")
    func growth() {
        let fields = (0..<2_000).map { index in
            Field(name: Field.Name("X-\(index)"), value: String(repeating: "v", count: index % 70))
        }
        var all = received(Array(fields[..<1_000]))
        let half = all
        for field in fields[1_000...] {
            append(field.name.rawValue.utf8, field.value.utf8, to: &all)
        }
        #expect(header(all) == Header(fields))
        #expect(header(half) == Header(Array(fields[..<1_000])))
        var (one, other) = (half, half)
        append("One".utf8, "1".utf8, to: &one)
        append("Other".utf8, "2".utf8, to: &other)
        #expect(header(one)[1_000].value == "1" && header(other)[1_000].name == "Other")
        #expect(half?.count == 1_000 && one?.count == 1_001 && other?.count == 1_001)
    }

    @Test("folded lines extend a value, and earlier copies do not change", arguments: ["", "v"])
    func folding(value: String) {
        func extend(_ fields: inout ReceivedFields?, with text: String) -> Bool {
            var writer = ReceivedFields.Writer(taking: &fields, from: 0)
            let bytes = Array(text.utf8)
            let hasRoom = writer.extendLast(with: bytes.span, isASCII: text == "ascii", upTo: bytes.count)
            fields = writer.finish()
            return hasRoom
        }
        var none: ReceivedFields?
        let extendsNone = extend(&none, with: "ascii")
        #expect(!extendsNone && none == nil)
        var fields = received([Field(name: "First", value: "1")])
        append("Last".utf8, value.utf8, to: &fields)
        let before = fields
        var expected = value
        for number in 0..<300 {
            let text = number == 200 ? "\u{e9}" : "ascii"
            expected += (expected.isEmpty ? "" : " ") + text
            let hasRoom = extend(&fields, with: text)
            #expect(hasRoom)
        }
        #expect(header(fields) == [Field(name: "First", value: "1"), Field(name: "Last", value: expected)])
        #expect(header(before) == [Field(name: "First", value: "1"), Field(name: "Last", value: value)])
        append("Next".utf8, "n".utf8, to: &fields)
        #expect(header(fields)[1].value == expected && header(fields)[2].value == "n")
    }

    @Test("invalid ranges and more than 2 GiB are refused")
    func refusals() {
        var fields: ReceivedFields?
        var writer = ReceivedFields.Writer(taking: &fields, from: 0)
        for (name, value) in [(-1..<1, 2..<3), (0..<3, 2..<3), (0..<1, 1..<1 << 31), (0..<1, 1..<Int.max)] {
            let hasRoom = writer.append(name: name, value: value, isASCII: true)
            #expect(!hasRoom)
        }
        fields = writer.finish()
        #expect(fields == nil)
    }

    @Test("bytes that are not UTF-8 are kept as received")
    func bytes() {
        var fields: ReceivedFields?
        append("X".utf8, [0xE9, 0x20, 0xFF], to: &fields)
        let header = self.header(fields)
        #expect(header["x"] == "\u{e9} \u{ff}" && header[0].valueBytes == [0xE9, 0x20, 0xFF])
        #expect(isAlike(header, [Field(name: "X", valueBytes: [0xE9, 0x20, 0xFF])]))
        #expect(header != [Field(name: "X", value: "\u{e9} \u{ff}")])
    }
    @Test(
        "a received field that cannot be sent is an error like a field that was made",
        arguments: [
            ("X", [0x61, 0x00]), ("X", [0xE9, 0x7F]), ("X Y", [0x61]), ("", [0x61]), ("X", [0xE9, 0x09, 0x61]),
        ])
    func problems(name: String, value: [UInt8]) throws {
        var fields: ReceivedFields?
        append("A".utf8, "b".utf8, to: &fields)
        append(name.utf8, value, to: &fields)
        let target = try TargetURI("http://a/")
        let reasons = [header(fields), Header(Array(header(fields)))].map { header -> RequestError.Reason? in
            do throws(RequestError) {
                try PreparedRequest(target: target, header: header).validate()
                return nil
            } catch {
                return error.reason
            }
        }
        #expect(reasons[0] == reasons[1] && (reasons[0] == nil) == (value.last == 0x61 && name == "X"))
    }
}
