import Requests
import RequestsPOSIX
import TestCorpora
import TestSupport
import Testing

@Suite("Mutations of content codings")
struct CodingMutationTests {
    /// The result of decoding.
    private enum Outcome: Hashable {
        case whole(Data)
        case truncated(Data)
        case damaged
        /// The decoded data is longer than the bound.
        case long
    }

    private static let bound = 256 << 10

    /// Decodes `bytes` in pieces of `piece` bytes, with an output buffer of `capacity` bytes.
    private static func decode(_ bytes: [UInt8], _ coding: ContentCoding, piece: Int, capacity: Int) throws -> Outcome {
        let decoder = try #require(coding.makeDecoder())
        let output = UnsafeMutableRawBufferPointer.allocate(byteCount: capacity, alignment: 16)
        defer { output.deallocate() }
        var decoded = Data()
        return try bytes.withUnsafeBytes { bytes in
            var (read, offered) = (0, min(piece, bytes.count))
            while true {
                let part = UnsafeRawBufferPointer(rebasing: bytes[read..<offered])
                guard let (consumed, written) = try? decoder.decode(part, into: output) else { return .damaged }
                try #require(consumed <= part.count && written <= capacity)
                decoded.append(contentsOf: output[..<written])
                read += consumed
                if decoded.count > bound { return .long }
                if written == capacity { continue }
                if read < offered {
                    // The decoder makes progress in every call with input.
                    try #require(consumed + written > 0)
                    continue
                }
                guard offered < bytes.count else { return decoder.isAtEnd ? .whole(decoded) : .truncated(decoded) }
                offered = min(bytes.count, offered + piece)
            }
        }
    }

    @Test(
        "mutated coded bodies are decoded within bounds, whole and byte by byte alike, without a trap",
        .rows("R-24", "R-75"),
        arguments: Coding.available)
    func bodies(coding: Coding) throws {
        let name = try #require(ContentCoding(named: coding.name))
        let contents = [
            Data(), Data("hello".utf8), Data("hello, hello, hello, and so on, and on".utf8), Data(count: 1_000),
            pattern(300),
        ]
        let corpus = try contents.map { Array(try #require(coding.apply(to: $0))) }
        let pieces: [[UInt8]] =
            corpus + [
                [0], [0xFF], [0x1F, 0x8B, 8], [0x78, 0x9C], [0x28, 0xB5, 0x2F, 0xFD], [0, 0, 0xFF, 0xFF], [3],
            ]
        var mutator = Mutator(seed: Mutator.seed, corpus: corpus, pieces: pieces)
        for _ in 0..<Mutator.inputs / 5 {
            let bytes = mutator.next()
            let whole = try Self.decode(bytes, name, piece: bytes.count, capacity: 64 << 10)
            let single = try Self.decode(bytes, name, piece: 1, capacity: 7)
            // Whether the zstd library reports a frame without data as damaged depends on the pieces of its input.
            if coding == .zstd, [whole, single].contains(.damaged) { continue }
            #expect(whole == single, "\(bytes)")
        }
    }
}
