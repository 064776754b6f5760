import Requests
import RequestsHTTP2
import TestSupport
import Testing

/// Blocks that are long in one respect.
///
/// Decoding a block eight times as long takes about eight times as long, not 64 times.
@Suite("HPACK growth")
struct HPACKGrowthTests {
    struct Shape: CustomStringConvertible, Sendable {
        let description: String
        /// Returns a block with the part that makes it long, of about the given number of bytes.
        let make: @Sendable (Int) -> [UInt8]
    }

    /// Returns a representation and the length of the string after it.
    private static func literal(_ start: [UInt8], _ string: [UInt8], isHuffmanCoded: Bool = false) -> [UInt8] {
        // Three bytes continue the 127 of the first one.
        let length = string.count - 127
        let continued = [UInt8(length & 0x7F) | 0x80, UInt8(length >> 7 & 0x7F) | 0x80, UInt8(length >> 14)]
        return start + [isHuffmanCoded ? 0xFF : 0x7F] + continued + string
    }

    private static func many(_ bytes: [UInt8], _ count: Int) -> [UInt8] {
        Array(repeatElement(bytes, count: count).joined())
    }

    /// A stored field of 4,000 bytes, whose index is 62.
    private static let large = literal([0x40, 1, 0x78], many([0x61], 3967))

    static let shapes = [
        Shape(description: "a value") { literal([0, 1, 0x61], many([0x61], $0)) },
        Shape(description: "a Huffman-coded value") {
            literal([0, 1, 0x61], many([0x18, 0xC7], $0 / 2), isHuffmanCoded: true)
        },
        Shape(description: "a name") { literal([0], many([0x61], $0)) + [0] },
        Shape(description: "a stored value") { literal([0x40, 1, 0x61], many([0x61], $0)) },
        Shape(description: "fields") { many([0, 1, 0x61, 1, 0x62], $0 / 5) },
        Shape(description: "stored fields") { many([0x40, 1, 0x61, 1, 0x62], $0 / 5) },
        Shape(description: "stored empty fields") { many([0x40, 0, 0], $0 / 3) },
        Shape(description: "indices") { many([0x82], $0) },
        Shape(description: "indices of a large field") { large + many([0xBE], $0) },
        Shape(description: "names of a large field, stored and not") { large + many([0x7E, 0, 0x0F, 47, 0], $0 / 5) },
        Shape(description: "sizes of the table") { many([0x20, 0x3F, 0xE1, 0x1F], $0 / 4) },
    ]

    @Test("a block that grows is decoded in proportional time", .rows("H-8"), arguments: shapes)
    func blocks(shape: Shape) async throws {
        var decoder = HPACKDecoder()
        #expect(throws: Never.self) {
            do { _ = try decoder.decode(shape.make(16_000)) } catch HPACKError.listTooLarge {}
        }
        for fragments in [Fragments.whole, .oneByteAtATime] {
            let ratio = try await Growth.ratio { size in
                let block = shape.make(size)
                return {
                    var decoder = HPACKDecoder()
                    _ = try? decoder.decode(block, fragments, limit: 4 * size)
                }
            }
            #expect(ratio < Growth.limit, "\(fragments)")
        }
    }

    @Test("a list that grows is collected and encoded in proportional time", .rows("H-5"))
    func lists() async throws {
        for names in [["x-a"], ["x-a", "cookie", "accept", ":path", "x-b"]] {
            let ratio = try await Growth.ratio { size in
                {
                    var encoder = HPACKEncoder()
                    var fields = OutgoingFields()
                    for number in 0..<size / 4 { fields.append(names[number % names.count], "\(number)") }
                    var block: [UInt8] = []
                    encoder.encode(fields, into: &block)
                }
            }
            #expect(ratio < Growth.limit, "\(names)")
        }
    }
}
