import Requests
import RequestsHTTP2
import TestCorpora
import TestSupport
import Testing

@Suite("HPACK encoder")
struct HPACKEncoderTests {
    @Test(
        "the blocks of all stories are decoded as their lists, and are at most 5 % larger than those of nghttp2",
        .rows("H-5"), .enabled(if: Corpora.arePresent, "the folder of corpora is missing"),
        arguments: [HPACKStory.Kind.request, .response])
    func stories(kind: HPACKStory.Kind) throws {
        var bytes = 0
        for story in Corpora.hpackStories.values where story.kind == kind {
            let lists = story.lists.map { $0.map { FieldBytes($0) } }
            let blocks = encode(lists)
            #expect(try decode(blocks) == lists, "\(story.id)")
            bytes += blocks.reduce(0) { $0 + $1.count }
        }
        let reference = Corpora.hpackEncodings.filter {
            $0.encoder == "nghttp2" && Corpora.hpackStories[$0.story]?.kind == kind
        }.reduce(0) { $0 + $1.wireBytes }
        #expect(reference == (kind == .request ? 6165 : 157_806))
        #expect(bytes * 100 <= reference * 105, "\(bytes) bytes, and \(reference) of nghttp2")
    }

    @Test("a string is Huffman-coded only if that is shorter", .rows("H-5"))
    func shorterStrings() {
        // A hash has 12 bits, an x has 7, an a has 5.
        for (value, expected) in [
            ("##", [0x02, 0x23, 0x23]), ("xx", [0x02, 0x78, 0x78]), ("", [0x00]), ("aaa", [0x82, 0x18, 0xC7]),
        ] as [(String, [UInt8])] {
            let block = encode([[FieldBytes("cookie", value)]])[0]
            // Never indexed, with the index 32 of the name: 15 in the first byte, and 17.
            #expect(block.starts(with: [0x1F, 17]) && Array(block.dropFirst(2)) == expected, "\(value)")
        }
    }
}
