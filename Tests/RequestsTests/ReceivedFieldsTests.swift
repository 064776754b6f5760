import Requests
import TestCorpora
import Testing

/// A header with received fields behaves like a header made from fields.
@Suite("Received fields")
struct ReceivedFieldsTests {
    private static let names = ["Accept", "ACCEPT", "Set-Cookie", "cookie", "Cookie", "X-A", "Content-Type", ""]
    private static let values = ["", "a", "b, c", "\u{e9}\u{e9}", "application/json; charset=utf-8", "x y"]

    private func received(_ fields: [Field], roomForText room: Int = 0) -> ReceivedFields {
        var received = ReceivedFields(roomForText: room)
        var text: [UInt8] = []
        func keep() {
            let hasRoom = text.withUnsafeBufferPointer { received.append(text: $0) }
            #expect(hasRoom)
            text = []
        }
        for (number, field) in fields.enumerated() {
            let (start, name) = (text.count, field.name.rawValue.utf8.count)
            text += "\(field.name.rawValue): \(field.value) \r\n".utf8
            let value = (start + name + 2)..<(text.count - 3)
            let isASCII = text[value].allSatisfy { $0 < 0x80 }
            let hasRoom = received.append(name: start..<(start + name), value: value, isASCII: isASCII)
            #expect(hasRoom)
            // Sometimes one line at a time, sometimes several.
            if number % 3 != 1 { keep() }
        }
        keep()
        return received
    }

    private func append(
        _ name: some Collection<UInt8>, _ value: some Collection<UInt8>, to fields: inout ReceivedFields
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
        let whole = Header(received(fields))
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
        all.removeLast()
        #expect(Header(all) == Header(Array(fields.dropLast())))
        #expect(Header(half) == Header(Array(fields[..<1_000])))
        var (one, other) = (half, half)
        one.removeLast()
        append("One".utf8, "1".utf8, to: &one)
        append("Other".utf8, "2".utf8, to: &other)
        #expect(one[999].value == "1" && other[1_000].name == "Other" && half.count == 1_000 && other.count == 1_001)
    }

    @Test("bytes that are not UTF-8 are kept as received")
    func bytes() {
        var fields = ReceivedFields(roomForText: 8)
        append("X".utf8, [0xE9, 0x20, 0xFF], to: &fields)
        let header = Header(fields)
        #expect(header["x"] == "\u{e9} \u{ff}" && header[0].valueBytes == [0xE9, 0x20, 0xFF])
        #expect(isAlike(header, [Field(name: "X", receivedBytes: [0xE9, 0x20, 0xFF])]))
        #expect(header != [Field(name: "X", value: "\u{e9} \u{ff}")])
    }
    @Test(
        "a received field that cannot be sent is an error like a field that was made",
        arguments: [
            ("X", [0x61, 0x00]), ("X", [0xE9, 0x7F]), ("X Y", [0x61]), ("", [0x61]), ("X", [0xE9, 0x09, 0x61]),
        ])
    func problems(name: String, value: [UInt8]) throws {
        var fields = ReceivedFields(roomForText: 8)
        append("A".utf8, "b".utf8, to: &fields)
        append(name.utf8, value, to: &fields)
        let target = try TargetURI("http://a/")
        let reasons = [Header(fields), Header(Array(Header(fields)))].map { header -> RequestError.Reason? in
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
