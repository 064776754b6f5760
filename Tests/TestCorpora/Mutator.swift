import Requests

/// Changes byte streams at random, in the same way for the same seed.
package struct Mutator {
    /// The number of inputs that each reader is tested with; REQUESTS_FUZZ_INPUTS sets it.
    package static let inputs = number("REQUESTS_FUZZ_INPUTS") ?? 10_000
    /// The seed of the inputs, which are the same in each run; REQUESTS_FUZZ_SEED sets it.
    package static let seed = environmentSeed ?? 1
    static let environmentSeed = ProcessInfo.processInfo.environment["REQUESTS_FUZZ_SEED"].flatMap(UInt64.init)

    private static func number(_ name: String) -> Int? {
        ProcessInfo.processInfo.environment[name].flatMap(Int.init)
    }

    private var random: SplitMix64
    private let corpus: [[UInt8]]
    private let pieces: [[UInt8]]

    /// Creates a mutator that changes elements of `corpus` and inserts elements of `pieces`.
    package init(seed: UInt64, corpus: [[UInt8]], pieces: [[UInt8]]) {
        random = SplitMix64(state: seed)
        self.corpus = corpus
        self.pieces = pieces
    }

    /// Returns the next input.
    package mutating func next() -> [UInt8] {
        var bytes = corpus.randomElement(using: &random) ?? []
        for _ in 0..<Int.random(in: 1...4, using: &random) { mutate(&bytes) }
        return bytes
    }

    private mutating func mutate(_ bytes: inout [UInt8]) {
        let start = Int.random(in: 0...bytes.count, using: &random)
        let end = min(bytes.count, start + Int.random(in: 0...8, using: &random))
        switch Int.random(in: 0..<6, using: &random) {
        case 0: bytes.replaceSubrange(start..<end, with: [UInt8.random(in: .min ... .max, using: &random)])
        case 1: bytes.removeSubrange(start..<end)
        case 2: bytes.insert(contentsOf: pieces.randomElement(using: &random) ?? [], at: start)
        case 3: bytes.insert(contentsOf: bytes[start..<end], at: start)
        case 4:
            let other = corpus.randomElement(using: &random) ?? []
            bytes.replaceSubrange(start..., with: other[min(start, other.count)...])
        default: if start < end { bytes[start] ^= 1 << UInt8.random(in: 0..<8, using: &random) }
        }
    }
}

/// A small generator of random numbers, the same ones for the same seed.
package struct SplitMix64: RandomNumberGenerator, Sendable {
    private var state: UInt64

    package init(state: UInt64) {
        self.state = state
    }

    package mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = (state ^ (state >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}
