import Requests
import RequestsHTTP1
import TestCorpora
import TestSupport
import Testing

@Suite("Mutations")
struct MutationTests {
    /// Returns how often a reader is called if it receives one byte at a time.
    private static func calls(of reader: some MessageReader, _ bytes: [UInt8]) -> Int {
        var (input, reading, reader) = (SplitInput(bytes, .oneByteAtATime), Reading(), reader)
        _ = try? input.read(&reader, into: &reading)
        return input.calls
    }

    @Test(
        "mutated responses are read within bounds, with the same result or error however they arrive",
        .rows("R-71", "R-75", "R-20"))
    func responses() {
        var mutator = Mutator(seed: Mutator.seed, corpus: Self.responses, pieces: Self.pieces)
        for _ in 0..<Mutator.inputs {
            let bytes = mutator.next()
            let differences = deliveriesThatDiffer(bytes, among: deliveries(of: bytes.count))
            #expect(differences == [], "\(String(decoding: bytes, as: UTF8.self).debugDescription)")
            // A reason phrase outside UTF-8 is read as ISO-8859-1, so each of its bytes can become two.
            let kept = (try? readResponse(bytes)).map { $0.bytesKept - $0.latin1Excess } ?? 0
            #expect(kept <= bytes.count, "\(String(decoding: bytes, as: UTF8.self).debugDescription)")
            let calls = Self.calls(of: ResponseReader(answering: .get), bytes)
            #expect(calls <= 2 * bytes.count + 2, "\(String(decoding: bytes, as: UTF8.self).debugDescription)")
        }
    }

    @Test(
        "mutated requests are read within bounds, with the same result or error however they arrive",
        .rows("R-71", "R-75", "R-20"))
    func requests() {
        var mutator = Mutator(seed: Mutator.seed &+ 1, corpus: Self.requests, pieces: Self.pieces)
        for _ in 0..<Mutator.inputs {
            let bytes = mutator.next()
            let differences = requestDeliveriesThatDiffer(bytes, among: deliveries(of: bytes.count))
            #expect(differences == [], "\(String(decoding: bytes, as: UTF8.self).debugDescription)")
            let kept = ((try? readRequests(bytes)) ?? []).reduce(0) { $0 + $1.bytesKept }
            #expect(kept <= bytes.count, "\(String(decoding: bytes, as: UTF8.self).debugDescription)")
            let calls = Self.calls(of: RequestReader(), bytes)
            #expect(calls <= 2 * bytes.count + 2, "\(String(decoding: bytes, as: UTF8.self).debugDescription)")
        }
    }

    /// Returns all bytes one at a time, and split once, at the first offset, the last, and some between.
    private func deliveries(of count: Int) -> [Delivery] {
        [.oneByteAtATime] + stride(from: 1, to: count, by: max(1, count / 3)).map { .split(at: $0) }
            + (count > 1 ? [.split(at: count - 1)] : [])
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

    private static let pieces =
        [
            "\r", "\n", "\r\n", "\r\n\r\n", " ", "\t", "\0", ":", ";", ",", "0", "-1", "ffffffffffffffff",
            "9223372036854775808", "Content-Length: 3\r\n", "Transfer-Encoding: chunked\r\n", "\r\n folded",
            "HTTP/1.1 200 OK",
            "HTTP/1.1 100 \r\n\r\n", "Connection: close\r\n", "Host: a\r\n", "0\r\n\r\n", "\u{FF}", "é", "chunked",
            "gzip, ",
        ].map { Array($0.utf8) } + [[0xE9], [0x80, 0xE9]]
}
