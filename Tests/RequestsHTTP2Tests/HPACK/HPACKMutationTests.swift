import Requests
import RequestsHTTP2
import TestCorpora
import TestSupport
import Testing

@Suite("HPACK mutations")
struct HPACKMutationTests {
    private static let limit = 4096

    /// The fields of consecutive blocks, until one of them is an error.
    private func reading(_ blocks: [[UInt8]], _ fragments: Fragments) -> (lists: [[FieldBytes]], error: HPACKError?) {
        var decoder = HPACKDecoder()
        var lists: [[FieldBytes]] = []
        for block in blocks {
            do throws(HPACKError) {
                lists.append(try decoder.decode(block, fragments, limit: Self.limit))
            } catch {
                guard case .listTooLarge = error else { return (lists, error) }
            }
        }
        return (lists, nil)
    }

    @Test(
        "mutated blocks are decoded within bounds, with the same result or error wherever they are cut",
        .rows("H-4", "H-8"))
    func blocks() {
        var mutator = Mutator(seed: Mutator.seed, corpus: Self.corpus, pieces: Self.pieces)
        var random = SplitMix64(state: Mutator.seed)
        for _ in 0..<Mutator.inputs {
            let blocks = (0..<3).map { _ in mutator.next() }
            let whole = reading(blocks, .whole)
            let offset = Int.random(in: 0...(blocks.map(\.count).max() ?? 0), using: &random)
            for fragments in [.oneByteAtATime, Fragments.cut(at: offset)] {
                let other = reading(blocks, fragments)
                // Fragments can violate a rule before the block is too large, and `#expect` is slow here.
                let hasSameError =
                    whole.error == .blockTooLarge(limit: Self.limit)
                    ? other.error != nil : other.error == whole.error
                if other.lists != whole.lists || !hasSameError {
                    Issue.record("\(fragments) of \(blocks), seed \(Mutator.seed)")
                }
            }
            let sizes = whole.lists.map { $0.reduce(0) { $0 + $1.name.count + $1.value.count + 32 } }
            if (sizes.max() ?? 0) > Self.limit { Issue.record("\(blocks), seed \(Mutator.seed)") }
        }
    }

    @Test(
        "random lists are encoded and decoded, with changes of the limit of the table between them", .rows("H-5", "H-7")
    )
    func lists() throws {
        var random = SplitMix64(state: Mutator.seed)
        for _ in 0..<Mutator.inputs / 200 {
            var encoder = HPACKEncoder()
            var decoder = HPACKDecoder()
            for _ in 0..<20 {
                if Int.random(in: 0..<4, using: &random) == 0 {
                    for _ in 0...Int.random(in: 0..<3, using: &random) {
                        let size = [0, 40, 100, 1000, 4096, 10_000].randomElement(using: &random) ?? 0
                        encoder.setMaximumTableSize(size)
                        decoder.setMaximumTableSize(size)
                    }
                }
                let list = RandomFields.list(&random)
                var block: [UInt8] = []
                encoder.encode(outgoing(list), into: &block)
                let cut = Fragments.cut(at: Int.random(in: 0...block.count, using: &random))
                let decoded = try decoder.decode(block, cut)
                if decoded != list { Issue.record("\(list), seed \(Mutator.seed)") }
            }
        }
    }

    /// Blocks of random lists, and of responses in the corpora if they are present.
    private static let corpus: [[UInt8]] = {
        var random = SplitMix64(state: 1)
        let lists = (0..<50).map { _ in RandomFields.list(&random).filter { $0.value.count < 400 } }
        return lists.flatMap { encode([$0, $0]) } + encode(lists)
            + Corpora.hpackEdges.flatMap(\.blocks) + Corpora.hpackEncodings.flatMap { $0.blocks.prefix(3) }
    }()

    private static let pieces: [[UInt8]] = [
        [0x80], [0x82], [0xBE], [0xBF], [0xC0], [0xFF], [0x20], [0x3F, 0xE1, 0x1F], [0x3F, 0x45], [0x7F], [0x40],
        [0x0F],
        [0x1F], [0, 0, 0], [0x40, 0, 0], [0x40, 1, 0x61, 1, 0x62], [0x7E, 1, 0x63], [0xFF, 0xFF, 0xFF, 0xFF, 0x07],
        [0x80, 0x80, 0x80, 0x80, 0], [0x84, 0xFF, 0xFF, 0xFF, 0xFF], [0x81, 0x1F], [0x81, 0xFE],
        [UInt8](repeating: 0xBE, count: 100), [0x40, 1, 0x61, 0x7F, 0x41] + [UInt8](repeating: 0x62, count: 192),
    ]
}
