import Requests
import RequestsHTTP2
import TestCorpora
import TestSupport
import Testing

/// Changes of the size of the table (RFC 7541 §4.2, §6.3).
@Suite("HPACK table size")
struct HPACKTableSizeTests {
    private static let field = [FieldBytes("x-a", "a")]
    /// The field as an index, after it was stored.
    private static let index: [UInt8] = [0x80 | 62]
    /// An update of the size to 4096.
    private static let update4096: [UInt8] = [0x3F, 0xE1, 0x1F]

    @Test(
        "the next block begins with the lowest and the last limit of the peer, if they change the table",
        .rows("H-7"),
        arguments: [
            ([], []), ([4096], []), ([65536], []), ([1 << 31], []), ([0], [0x20]), ([100], [0x3F, 69]),
            ([0, 100, 4096], [0x20] + update4096), ([0, 100], [0x20, 0x3F, 69]), ([200, 100], [0x3F, 69]),
            ([100, 65536], [0x3F, 69] + update4096), ([4096, 0, 0], [0x20]), ([8192, 16384], []),
            ([100, 200, 100], [0x3F, 69]),
        ] as [([Int], [UInt8])])
    func updates(limits: [Int], expected: [UInt8]) throws {
        var encoder = HPACKEncoder()
        var decoder = HPACKDecoder()
        var block: [UInt8] = []
        encoder.encode(outgoing(Self.field), into: &block)
        #expect(try decoder.decode(block) == Self.field)
        for limit in limits {
            encoder.setMaximumTableSize(limit)
            decoder.setMaximumTableSize(limit)
        }
        for turn in 0..<3 {
            block = []
            encoder.encode(outgoing(Self.field), into: &block)
            #expect(try decoder.decode(block) == Self.field)
            // Only the first block has the updates.
            if turn == 0 { #expect(block.starts(with: expected)) } else { #expect(block[0] & 0xE0 != 0x20) }
            if turn == 0, expected.isEmpty { #expect(block == Self.index) }
            // A lower limit has removed the field if it does not fit, which takes 36 bytes.
            if turn == 0, limits.contains(0) { #expect(block.count > expected.count + 1) }
        }
    }

    @Test("after a limit that is not lower than the table, only the last one is sent", .rows("H-7"))
    func raised() {
        var encoder = HPACKEncoder()
        var block = [UInt8]()
        encoder.setMaximumTableSize(100)
        encoder.encode(outgoing(Self.field), into: &block)
        for limit in [200, 4096] { encoder.setMaximumTableSize(limit) }
        block = []
        encoder.encode(outgoing(Self.field), into: &block)
        #expect(block == Self.update4096 + Self.index)
    }

    @Test(
        "with a table below 4,096 bytes, every list is decoded", .rows("H-7"),
        arguments: [0, 31, 32, 36, 40, 100, 1000])
    func smallTables(size: Int) throws {
        var random = SplitMix64(state: Mutator.seed)
        var encoder = HPACKEncoder()
        var decoder = HPACKDecoder()
        encoder.setMaximumTableSize(size)
        decoder.setMaximumTableSize(size)
        for _ in 0..<200 {
            let list = RandomFields.list(&random)
            var block: [UInt8] = []
            encoder.encode(outgoing(list), into: &block)
            #expect(try decoder.decode(block) == list)
        }
    }

    @Test("a reduced limit must be respected before the next field, also if it was raised again", .rows("H-7"))
    func reduced() throws {
        for (block, isValid) in [
            ([0x82], false), ([0x3F, 69, 0x82], true), ([0x3F, 70, 0x82], false), ([0x20, 0x82], true),
            (Self.update4096 + [0x82], false), ([0x3F, 69] + Self.update4096 + [0x82], true), ([], true),
        ] as [([UInt8], Bool)] {
            var decoder = HPACKDecoder()
            for limit in [100, 200, 4096] { decoder.setMaximumTableSize(limit) }
            let result = Result { () throws(HPACKError) in try decoder.decode(block) }
            #expect(((try? result.get()) != nil) == isValid, "\(block)")
        }
    }

    @Test("what a smaller table cannot hold is removed, the oldest first", .rows("H-7"))
    func removal() throws {
        var decoder = HPACKDecoder()
        for name in ["a", "b", "c"] { _ = try decoder.decode([0x40, 1] + Array(name.utf8) + [1, 0x31]) }
        // Two fields of 34 bytes fit.
        let list = try decoder.decode([0x3F, 68 - 31, 0x80 | 62, 0x80 | 63])
        #expect(list == [FieldBytes("c", "1"), FieldBytes("b", "1")])
        #expect(throws: HPACKError.malformed(.index)) { try decoder.decode([0x80 | 64]) }
    }

    @Test(
        "an integer of 31 bits is read, and a larger or longer one is an error", .rows("H-7"),
        arguments: [
            ([0x3F, 0x9A, 0x0A], true), ([0x3F, 0], true), ([0x3F, 0x80, 0x80, 0], true),
            ([0x3F, 0xE0, 0xFF, 0xFF, 0xFF, 0x07], true), ([0x3F, 0xE1, 0xFF, 0xFF, 0xFF, 0x07], false),
            ([0x3F, 0xFF, 0xFF, 0xFF, 0xFF, 0x7F], false), ([0x3F, 0x80, 0x80, 0x80, 0x80, 0x80, 0], false),
            ([0x3F] + [UInt8](repeating: 0xFF, count: 9) + [1], false),
            ([0x3F] + [UInt8](repeating: 0xFF, count: 400), false),
        ] as [([UInt8], Bool)])
    func integers(block: [UInt8], isValid: Bool) throws {
        for fragments in [Fragments.whole, .oneByteAtATime] {
            var decoder = HPACKDecoder()
            decoder.setMaximumTableSize(Int(Int32.max))
            if isValid {
                #expect(try decoder.decode(block, fragments) == [])
            } else {
                #expect(throws: HPACKError.malformed(.integer)) { try decoder.decode(block, fragments) }
            }
        }
    }
}
