import Requests
import Testing

/// Fields whose text is not a part of the received bytes.
@Suite("Appended fields")
struct AppendedFieldsTests {
    private func append(_ fields: [Field], to received: inout ReceivedFields?) {
        var writer = ReceivedFields.Writer(taking: &received, from: 0)
        for field in fields {
            let (name, value) = (Array(field.name.rawValue.utf8), field.valueBytes)
            let hasRoom = writer.append(name: name.span, value: value.span)
            #expect(hasRoom)
        }
        received = writer.finish()
    }

    private let fields = [
        Field(name: ":status", value: "200"), Field(name: "a", value: ""), Field(name: "", value: "b"),
        Field(name: "c", value: "é"), Field(name: "d", valueBytes: [0x64, 0xE9]),
        Field(name: "e", value: String(repeating: "e", count: 5000)),
    ]

    @Test("appended fields are those of the header, and text outside ASCII is read as such")
    func values() throws {
        for count in 0...fields.count {
            var received: ReceivedFields?
            append(Array(fields[..<count]), to: &received)
            append(Array(fields[count...]), to: &received)
            let header = Header(try #require(received))
            #expect(header == Header(fields))
            #expect(header.map(\.valueBytes) == fields.map(\.valueBytes))
        }
    }

    @Test("received text continues after an appended field")
    func received() {
        let bytes = Array("a:1b:2".utf8)
        var none: ReceivedFields?
        var writer = ReceivedFields.Writer(taking: &none, from: 0)
        var hasRoom = writer.append(name: 0..<1, value: 2..<3, isASCII: true)
        hasRoom = writer.appendText(of: bytes.span, upTo: 3) && hasRoom
        hasRoom = writer.append(name: [0x78].span, value: [0x79, 0x7A].span) && hasRoom
        hasRoom = writer.append(name: 3..<4, value: 5..<6, isASCII: true) && hasRoom
        hasRoom = writer.appendText(of: bytes.span, upTo: 6) && hasRoom
        #expect(hasRoom)
        #expect(writer.finish().map { Header($0) } == ["a": "1", "x": "yz", "b": "2"])
    }

    @Test("the first fields are removed from one header only", arguments: 0...7)
    func removal(count: Int) throws {
        var received: ReceivedFields?
        append(fields, to: &received)
        var changed = try #require(received)
        changed.removeFirst(count)
        #expect(Header(changed) == Header(Array(fields.dropFirst(count))))
        #expect(try Header(#require(received)) == Header(fields))
        // Without another value that refers to the memory, it is changed in place.
        received = nil
        changed.removeFirst(1)
        #expect(Header(changed) == Header(Array(fields.dropFirst(count + 1))))
        changed.removeFirst(-1)
        #expect(Header(changed) == Header(Array(fields.dropFirst(count + 1))))
    }
}
