import Requests
import RequestsHTTP1
import TestCorpora
import Testing

@Suite("Mutations")
struct MutationTests {
    /// How many inputs each reader is tried with, and what they begin from; others behind environment variables.
    private static let inputs = number("REQUESTS_FUZZ_INPUTS") ?? 10_000
    private static let seed = UInt64(number("REQUESTS_FUZZ_SEED") ?? 1)

    private static func number(_ name: String) -> Int? {
        ProcessInfo.processInfo.environment[name].flatMap(Int.init)
    }

    /// How often a reader is asked that is given one byte at a time: with each byte, and once more for what it makes.
    private static func calls(of reader: some MessageReader, _ bytes: [UInt8]) -> Int {
        var (connection, reading, reader) = (Connection(bytes, .oneByteAtATime), Reading(), reader)
        try? connection.read(&reader, into: &reading)
        return connection.calls
    }

    @Test(
        "no mutation of a response traps a reader or has it spin or keep more than came, and it is read whole as byte by byte (R-71, R-75)"
    )
    func responses() {
        var mutator = Mutator(seed: Self.seed, corpus: Self.responses)
        for _ in 0..<Self.inputs {
            let bytes = mutator.next()
            let whole = try? readResponse(bytes)
            let single = try? readResponse(bytes, .oneByteAtATime)
            #expect(whole == single, "\(String(decoding: bytes, as: UTF8.self).debugDescription)")
            #expect(whole?.bytesKept ?? 0 <= bytes.count, "\(String(decoding: bytes, as: UTF8.self).debugDescription)")
            let calls = Self.calls(of: ResponseReader(answering: .get), bytes)
            #expect(calls <= 2 * bytes.count + 2, "\(String(decoding: bytes, as: UTF8.self).debugDescription)")
        }
    }

    @Test(
        "no mutation of a request traps a reader or has it spin or keep more than came, and it is read whole as byte by byte (R-71, R-75)"
    )
    func requests() {
        var mutator = Mutator(seed: Self.seed &+ 1, corpus: Self.requests)
        for _ in 0..<Self.inputs {
            let bytes = mutator.next()
            let whole = try? readRequests(bytes)
            let single = try? readRequests(bytes, .oneByteAtATime)
            #expect(whole == single, "\(String(decoding: bytes, as: UTF8.self).debugDescription)")
            let kept = (whole ?? []).reduce(0) { $0 + $1.bytesKept }
            #expect(kept <= bytes.count, "\(String(decoding: bytes, as: UTF8.self).debugDescription)")
            let calls = Self.calls(of: RequestReader(), bytes)
            #expect(calls <= 2 * bytes.count + 2, "\(String(decoding: bytes, as: UTF8.self).debugDescription)")
        }
    }

    private static let responses =
        Corpora.responses.map(\.bytes).filter { $0.count < 400 }
        + [
            "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 5\r\nConnection: keep-alive\r\n\r\nhello",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5;a=b\r\nhello\r\n10\r\n0123456789abcdef\r\n0\r\nT: u\r\n\r\n",
            "HTTP/1.1 103 Early Hints\r\nLink: <a>\r\n\r\nHTTP/1.0 200 OK\nA: b\n c\n\nuntil the end",
            "HTTP/1.1 304 Not Modified\r\nETag: \"x\"\r\nKeep-Alive: timeout=5, max=7\r\n\r\n",
        ].map { Array($0.utf8) }

    private static let requests =
        Corpora.requests.map(\.bytes).filter { $0.count < 400 }
        + [
            "GET / HTTP/1.1\r\nHost: a\r\n\r\nPOST /b HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc",
            "PUT /c HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\nT: u\r\n\r\n",
        ].map { Array($0.utf8) }
}

/// Alters byte streams at random, the same way for the same seed.
private struct Mutator {
    private var random: SplitMix64
    private let corpus: [[UInt8]]
    private let pieces: [[UInt8]] = [
        "\r", "\n", "\r\n", "\r\n\r\n", " ", "\t", "\0", ":", ";", ",", "0", "-1", "ffffffffffffffff",
        "9223372036854775808", "Content-Length: 3\r\n", "Transfer-Encoding: chunked\r\n", "\r\n folded",
        "HTTP/1.1 200 OK",
        "HTTP/1.1 100 \r\n\r\n", "Connection: close\r\n", "Host: a\r\n", "0\r\n\r\n", "\u{FF}", "é", "chunked",
        "gzip, ",
    ].map { Array($0.utf8) }

    init(seed: UInt64, corpus: [[UInt8]]) {
        random = SplitMix64(state: seed)
        self.corpus = corpus
    }

    mutating func next() -> [UInt8] {
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

/// A small generator of random numbers that gives the same ones for the same seed.
private struct SplitMix64: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = (state ^ (state >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}
