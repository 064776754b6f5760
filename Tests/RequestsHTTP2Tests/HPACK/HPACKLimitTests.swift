import Requests
import RequestsHTTP2
import TestSupport
import Testing

@Suite("HPACK limits")
struct HPACKLimitTests {
    /// The representation of a field of 36 bytes that is stored.
    private static let stored: [UInt8] = [0x40, 3] + Array("x-a".utf8) + [1] + Array("a".utf8)
    private static let field = FieldBytes("x-a", "a")

    @Test("the size of a list counts names, values and 32 bytes for each field", .rows("H-8"))
    func listSize() {
        var fields = OutgoingFields()
        #expect(fields.listSize == 0)
        fields.append(":method", "GET")
        #expect(fields.listSize == 42)
        fields.append(Field(name: "X", valueBytes: [0xE9, 0x80]), isSecret: true)
        #expect(fields.listSize == 77 && fields.count == 2)
    }

    @Test("a list of the largest size is decoded, and one more byte fails its stream only", .rows("H-8"))
    func boundary() throws {
        let block = Self.stored + [0x80 | 62, 0x40, 1, 0x62, 0]
        for fragments in [Fragments.whole, .oneByteAtATime, .cut(at: 7)] {
            var decoder = HPACKDecoder()
            let list = try decoder.decode(block, fragments, limit: 36 + 36 + 33)
            #expect(list == [Self.field, Self.field, FieldBytes("b", "")])
            decoder = HPACKDecoder()
            #expect(throws: HPACKError.listTooLarge(limit: 104)) { try decoder.decode(block, fragments, limit: 104) }
            // What the block has stored can be used.
            #expect(try decoder.decode([0x80 | 62, 0x80 | 63]) == [FieldBytes("b", ""), Self.field])
        }
    }

    @Test("a list that is too large changes the table as the peer has changed it", .rows("H-8"))
    func tableInStep() throws {
        var encoder = HPACKEncoder()
        var decoder = HPACKDecoder()
        let large = (0..<100).map { FieldBytes("x-\($0)", String(repeating: "a", count: $0)) }
        // The third list consists of fields that the second one has stored beyond the limit.
        for (turn, list) in [[Self.field], large, Array(large.suffix(20)), [Self.field]].enumerated() {
            var block: [UInt8] = []
            encoder.encode(outgoing(list), into: &block)
            if turn == 1 {
                #expect(throws: HPACKError.listTooLarge(limit: 3500)) { try decoder.decode(block, limit: 3500) }
            } else {
                #expect(try decoder.decode(block, limit: 3500) == list)
            }
            if turn == 2 { #expect(block == (0..<20).map { 0x80 | 81 - $0 }) }
        }
    }

    // CVE-2016-6581 and CVE-2016-1544.
    @Test("indices of a large field keep no more than the limit", .rows("H-8", "H-27"))
    func bomb() throws {
        let (value, limit) = ([UInt8](repeating: 0x61, count: 4000), 16 << 10)
        // The length of the value: 127 in the first byte, and 3873.
        let block = [0x40, 1, 0x78, 0x7F, 0xA1, 0x1E] + value + [UInt8](repeating: 0x80 | 62, count: 10_000)
        for size in [block.count, 100] {
            let fragments = stride(from: 0, to: block.count, by: size).map { Array(block[$0...].prefix(size)) }
            var decoder = HPACKDecoder()
            var received: ReceivedFields?
            #expect(throws: HPACKError.listTooLarge(limit: limit)) {
                for (index, fragment) in fragments.enumerated() {
                    let isLast = index == fragments.count - 1
                    try decoder.decode(fragment.span, endsBlock: isLast, limit: limit, into: &received)
                    #expect(received.map { Header($0).byteCount } ?? 0 <= limit)
                }
            }
            #expect(received == nil)
            let list = try decoder.decode([0x80 | 62])
            #expect(list == [FieldBytes(Array("x".utf8), value)])
        }
    }

    // CVE-2019-9516.
    @Test("fields with empty names and values count as 32 bytes each", .rows("H-8", "H-27"))
    func emptyFields() throws {
        for field: [UInt8] in [[0, 0, 0], [0x10, 0, 0], [0x40, 0, 0]] {
            let fields = Array(repeatElement(field, count: 10).joined())
            var decoder = HPACKDecoder()
            #expect(try decoder.decode(fields, limit: 320).count == 10)
            #expect(throws: HPACKError.listTooLarge(limit: 319)) { try decoder.decode(fields, limit: 319) }
        }
    }

    @Test("a block of more than twice the limit ends the connection", .rows("H-8"))
    func hopeless() throws {
        var decoder = HPACKDecoder()
        // Updates of the size are no fields, so the list stays empty.
        let updates = [UInt8](repeating: 0x20, count: 1000)
        #expect(try decoder.decode(updates, limit: 500) == [])
        #expect(throws: HPACKError.blockTooLarge(limit: 500)) { try decoder.decode(updates + [0x20], limit: 500) }
        // A field that never ends is not kept beyond that.
        decoder = HPACKDecoder()
        var received: ReceivedFields?
        var sent = 0
        #expect(throws: HPACKError.blockTooLarge(limit: 1000)) {
            let start: [UInt8] = [0, 1, 0x61, 0x7F, 0xFF, 0xFF, 0x7F]
            try decoder.decode(start.span, endsBlock: false, limit: 1000, into: &received)
            while sent < 10_000 {
                sent += 100
                let more = [UInt8](repeating: 0x61, count: 100)
                try decoder.decode(more.span, endsBlock: false, limit: 1000, into: &received)
            }
        }
        #expect(sent == 2000)
    }

    @Test("names that are copied for the table after the limit are bounded", .rows("H-8"))
    func copies() throws {
        let long = [0x40, 0x7F, 0xD1, 0x0E] + [UInt8](repeating: 0x78, count: 2_000) + [0]
        var decoder = HPACKDecoder()
        #expect(try decoder.decode(long).count == 1)
        // Each copies the name of 2,000 bytes and stores it again: ten times the limit is bearable, 100 times is not.
        let copy: [UInt8] = [0x40 | 62, 0]
        let some = Array(repeatElement(copy, count: 60).joined())
        let many = Array(repeatElement(copy, count: 1_000).joined())
        #expect(throws: HPACKError.listTooLarge(limit: 10_000)) { try decoder.decode(some, limit: 10_000) }
        #expect(throws: HPACKError.listTooLarge(limit: 10_000)) { try decoder.decode(some, limit: 10_000) }
        #expect(throws: HPACKError.blockTooLarge(limit: 10_000)) { try decoder.decode(many, limit: 10_000) }
    }

    @Test("fields that are stored nowhere are checked after the limit, too", .rows("H-8"))
    func uncopied() throws {
        let rows: [(field: [UInt8], error: HPACKError)] = [
            ([0x0F, 47, 0], .listTooLarge(limit: 40)), ([0, 1, 0x61, 1, 0x62], .listTooLarge(limit: 40)),
            ([0, 0x81, 0x1F, 0x81, 0x1F], .listTooLarge(limit: 40)), ([0x0F, 48, 0], .malformed(.index)),
            ([0, 0x81, 0x00, 0], .malformed(.huffman)), ([0, 0, 0x81, 0x00], .malformed(.huffman)),
        ]
        for row in rows {
            var decoder = HPACKDecoder()
            _ = try decoder.decode(Self.stored)
            // The second field exceeds the limit.
            let block = [0x80 | 62, 0x80 | 62] + row.field
            #expect(throws: row.error, "\(row.field)") { try decoder.decode(block, limit: 40) }
        }
    }

    @Test("a decoder is ready after a list that is too large, and after an empty block", .rows("H-8"))
    func ready() throws {
        var decoder = HPACKDecoder()
        for _ in 0..<3 {
            #expect(throws: HPACKError.listTooLarge(limit: 41)) { try decoder.decode([0x82], limit: 41) }
            #expect(try decoder.decode([]) == [])
            #expect(try decoder.decode([0x20, 0x82], limit: 42) == [FieldBytes(":method", "GET")])
        }
    }

    @Test("an error is one line that names the rule or the limit")
    func descriptions() {
        let errors =
            HPACKError.Violation.allCases.map { HPACKError.malformed($0) }
            + [.blockTooLarge(limit: 7), .listTooLarge(limit: 7)]
        for error in errors {
            #expect("\(error)".contains(/RFC 7541 §|limit of 7 bytes|more than 7 bytes/) && !"\(error)".contains("\n"))
        }
    }
}
