import Requests
import RequestsHTTP1
import TestCorpora
import Testing

@Suite("Mutations")
struct MutationTests {
    /// Returns the number of calls of a reader that receives one byte at a time.
    private static func calls(of reader: some MessageReader, _ bytes: [UInt8]) -> Int {
        var (input, reading, reader) = (SplitInput(bytes, .oneByteAtATime), Reading(), reader)
        try? input.read(&reader, into: &reading)
        return input.calls
    }

    @Test("mutated responses are read within bounds, whole and byte by byte alike, without a trap (R-71, R-75)")
    func responses() {
        var mutator = Mutator(seed: Mutator.seed, corpus: Self.responses, pieces: Self.pieces)
        for _ in 0..<Mutator.inputs {
            let bytes = mutator.next()
            let whole = try? readResponse(bytes)
            let single = try? readResponse(bytes, .oneByteAtATime)
            #expect(whole == single, "\(String(decoding: bytes, as: UTF8.self).debugDescription)")
            #expect(whole?.bytesKept ?? 0 <= bytes.count, "\(String(decoding: bytes, as: UTF8.self).debugDescription)")
            let calls = Self.calls(of: ResponseReader(answering: .get), bytes)
            #expect(calls <= 2 * bytes.count + 2, "\(String(decoding: bytes, as: UTF8.self).debugDescription)")
        }
    }

    @Test("mutated requests are read within bounds, whole and byte by byte alike, without a trap (R-71, R-75)")
    func requests() {
        var mutator = Mutator(seed: Mutator.seed &+ 1, corpus: Self.requests, pieces: Self.pieces)
        for _ in 0..<Mutator.inputs {
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

    private static let pieces = [
        "\r", "\n", "\r\n", "\r\n\r\n", " ", "\t", "\0", ":", ";", ",", "0", "-1", "ffffffffffffffff",
        "9223372036854775808", "Content-Length: 3\r\n", "Transfer-Encoding: chunked\r\n", "\r\n folded",
        "HTTP/1.1 200 OK",
        "HTTP/1.1 100 \r\n\r\n", "Connection: close\r\n", "Host: a\r\n", "0\r\n\r\n", "\u{FF}", "é", "chunked",
        "gzip, ",
    ].map { Array($0.utf8) }
}
