import Requests
import RequestsHTTP2
import Testing

@Suite("Huffman code")
struct HuffmanTests {
    @Test("the code made of its lengths is that of RFC 7541, appendix B")
    func codes() throws {
        let expected = try Self.appendixB.split { $0 == " " || $0 == "\n" }.map { try #require(UInt32($0, radix: 16)) }
        #expect(HuffmanCode.codes.map(\.bits) == expected)
        #expect(HuffmanCode.codes.map(\.length) == HuffmanCode.lengths)
    }

    private func decoded(_ code: [UInt8]) -> [UInt8]? {
        var text: [UInt8] = []
        return HuffmanCode.decode(code.span, into: &text) ? text : nil
    }

    @Test("every byte is encoded and decoded, alone and among others")
    func roundTrip() {
        let all = (0...255).map { UInt8($0) }
        let texts: [[UInt8]] = [[], all, all.reversed()] + all.map { [$0] } + all.map { [0x61, $0, $0, 0x62] }
        for text in texts {
            var code: [UInt8] = []
            HuffmanCode.encode(text.span, into: &code)
            #expect(code.count == HuffmanCode.encodedCount(of: text.span))
            #expect(decoded(code) == text)
            // Without its last byte, the code has fewer symbols or is invalid.
            if !code.isEmpty { #expect(decoded(code.dropLast()) != text) }
        }
    }

    @Test(
        "padding is at most 7 bits, all ones, and EOS is an error",
        arguments: [
            ([0x1F], [0x61]), ([0x18], nil), ([0x1F, 0xFF], nil), ([0xFF], nil), ([0xFE], nil), ([0xF8], [0x26]),
            ([0xFF, 0xFF, 0xFF, 0xFF], nil), ([0xFF, 0xFF, 0xFF, 0xFC], nil), ([0xFF, 0xFF, 0xFF, 0xF3], [0x0A]),
            ([0x00], nil), ([0x07], [0x30]), ([], []),
        ] as [([UInt8], [UInt8]?)])
    func padding(code: [UInt8], text: [UInt8]?) {
        #expect(decoded(code) == text)
    }

    /// The column “code as hex” of appendix B, from symbol 0 to EOS.
    static let appendixB = """
        1ff8 7fffd8 fffffe2 fffffe3 fffffe4 fffffe5 fffffe6 fffffe7 fffffe8 ffffea 3ffffffc fffffe9 fffffea 3ffffffd
        fffffeb fffffec fffffed fffffee fffffef ffffff0 ffffff1 ffffff2 3ffffffe ffffff3 ffffff4 ffffff5 ffffff6 ffffff7
        ffffff8 ffffff9 ffffffa ffffffb 14 3f8 3f9 ffa 1ff9 15 f8 7fa 3fa 3fb f9 7fb fa 16 17 18 0 1 2 19 1a 1b 1c 1d 1e
        1f 5c fb 7ffc 20 ffb 3fc 1ffa 21 5d 5e 5f 60 61 62 63 64 65 66 67 68 69 6a 6b 6c 6d 6e 6f 70 71 72 fc 73 fd 1ffb
        7fff0 1ffc 3ffc 22 7ffd 3 23 4 24 5 25 26 27 6 74 75 28 29 2a 7 2b 76 2c 8 9 2d 77 78 79 7a 7b 7ffe 7fc 3ffd 1ffd
        ffffffc fffe6 3fffd2 fffe7 fffe8 3fffd3 3fffd4 3fffd5 7fffd9 3fffd6 7fffda 7fffdb 7fffdc 7fffdd 7fffde ffffeb
        7fffdf ffffec ffffed 3fffd7 7fffe0 ffffee 7fffe1 7fffe2 7fffe3 7fffe4 1fffdc 3fffd8 7fffe5 3fffd9 7fffe6 7fffe7
        ffffef 3fffda 1fffdd fffe9 3fffdb 3fffdc 7fffe8 7fffe9 1fffde 7fffea 3fffdd 3fffde fffff0 1fffdf 3fffdf 7fffeb
        7fffec 1fffe0 1fffe1 3fffe0 1fffe2 7fffed 3fffe1 7fffee 7fffef fffea 3fffe2 3fffe3 3fffe4 7ffff0 3fffe5 3fffe6
        7ffff1 3ffffe0 3ffffe1 fffeb 7fff1 3fffe7 7ffff2 3fffe8 1ffffec 3ffffe2 3ffffe3 3ffffe4 7ffffde 7ffffdf 3ffffe5
        fffff1 1ffffed 7fff2 1fffe3 3ffffe6 7ffffe0 7ffffe1 3ffffe7 7ffffe2 fffff2 1fffe4 1fffe5 3ffffe8 3ffffe9 ffffffd
        7ffffe3 7ffffe4 7ffffe5 fffec fffff3 fffed 1fffe6 3fffe9 1fffe7 1fffe8 7ffff3 3fffea 3fffeb 1ffffee 1ffffef
        fffff4 fffff5 3ffffea 7ffff4 3ffffeb 7ffffe6 3ffffec 3ffffed 7ffffe7 7ffffe8 7ffffe9 7ffffea 7ffffeb ffffffe
        7ffffec 7ffffed 7ffffee 7ffffef 7fffff0 3ffffee 3fffffff
        """
}
