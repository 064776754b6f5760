import Requests
import RequestsHTTP2
import TestCorpora
import TestSupport
import Testing

// The cases are not in the repository. Without the folder, these suites are skipped.
@Suite("HPACK stories", .enabled(if: Corpora.arePresent, "the folder of corpora is missing"))
struct HPACKStoryTests {
    /// The number of blocks of each encoding that are cut at every offset; `.ci/cuts` cuts all of them.
    static let cutBlocks = 2

    @Test("the files are loaded")
    func files() {
        #expect(Corpora.hpackEncodings.count > 100 && Corpora.hpackStories.count > 10)
        #expect(Corpora.hpackEdges.count > 40)
    }

    @Test(
        "every block is decoded as its list, also one byte at a time", .rows("H-4"), arguments: Corpora.hpackEncodings)
    func lists(of encoding: HPACKEncoding) throws {
        let expected = try #require(Corpora.hpackStories[encoding.story]).lists.map { $0.map { FieldBytes($0) } }
        for fragments in [Fragments.whole, .oneByteAtATime] {
            let lists = try decode(encoding.blocks, tableSizes: encoding.tableSize, fragments)
            #expect(lists == expected, "\(fragments)")
        }
    }

    @Test("a block is decoded the same, wherever it is cut", .rows("H-4"), arguments: Corpora.hpackEncodings)
    func cuts(of encoding: HPACKEncoding) throws {
        let blocks = Array(encoding.blocks.prefix(Self.cutBlocks))
        let expected = try decode(blocks, tableSizes: encoding.tableSize)
        for offset in 0...(blocks.map(\.count).max() ?? 0) {
            let lists = try decode(blocks, tableSizes: encoding.tableSize, .cut(at: offset))
            // Without the macro, which is slow where it is called a million times.
            if lists != expected { Issue.record("cut at \(offset)") }
        }
    }
}

@Suite("HPACK edges", .enabled(if: Corpora.arePresent, "the folder of corpora is missing"))
struct HPACKEdgeTests {
    @Test(
        "blocks are accepted or rejected as the corpus states, wherever they are cut", .rows("H-4"),
        arguments: Corpora.hpackEdges)
    func verdict(of edge: HPACKEdge) throws {
        let offsets = 0...(edge.blocks.map(\.count).max() ?? 0)
        for fragments in [.whole, .oneByteAtATime] + offsets.map({ Fragments.cut(at: $0) }) {
            let result = Result { () throws(HPACKError) in
                try decode(edge.blocks, tableSizes: edge.tableSize, fragments)
            }
            switch (edge.verdict, result) {
            case (.accept, .success(let lists)):
                let expected = try #require(edge.lists).map { $0.map { FieldBytes($0) } }
                #expect(lists == expected, "\(fragments)")
            case (.reject, .failure(.malformed)): break
            default: Issue.record("\(fragments): \(result)")
            }
        }
    }
}
