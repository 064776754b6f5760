import Requests
import RequestsHTTP1
import TestSupport
import Testing

@Suite("Chunked bodies")
struct ChunkTests {
    private static let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"

    @Test(
        "a chunked body is read to its end and no further, however its bytes arrive", .rows("R-12", "R-20", "R-22"),
        arguments: [
            ("5\r\nhello\r\n0\r\n\r\n", "hello"), ("5\r\nhello\r\n6\r\n world\r\n0\r\n\r\n", "hello world"),
            ("a\r\n0123456789\r\n000\r\n\r\n", "0123456789"), ("A\r\n0123456789\r\n0\r\n\r\n", "0123456789"),
            ("00000000000000000001\r\nx\r\n0\r\n\r\n", "x"), ("2\r\n\r\n\r\n0\r\n\r\n", "\r\n"),
            ("1;a\r\nx\r\n0;b=\"c;d\"\r\n\r\n", "x"), ("1 ; a = b\r\nx\r\n0\r\n\r\n", "x"),
            ("1;\r\nx\r\n0\r\n\r\n", "x"), ("0\r\n\r\n", ""),
        ])
    func accepted(body: String, data: String) throws {
        let bytes = Array((Self.head + body).utf8)
        let reading = try readResponse(bytes)
        #expect(reading.body == Array(data.utf8))
        #expect(reading.isReusable)
        #expect(deliveriesThatDiffer(bytes) == [])
        for cut in 0..<bytes.count {
            #expect(throws: WireError.self, "cut at \(cut)") { try readResponse(bytes[..<cut]) }
        }
        let followed = try readResponse(bytes + Array("HTTP/1.1 200 OK\r\n".utf8))
        #expect(followed.body == reading.body)
        #expect(followed.unread == 17)
        #expect(!followed.isReusable)
    }

    @Test(
        "an invalid chunk size, chunk line or chunk end is a violation", .rows("R-12"),
        arguments: [
            ("\r\n", .chunkSize), ("x\r\n", .chunkSize), ("0x5\r\n", .chunkSize), ("+5\r\n", .chunkSize),
            ("-5\r\n", .chunkSize), ("1_0\r\n", .chunkSize), (" 5\r\n", .chunkSize), ("5.\r\n", .chunkSize),
            ("5\0\r\n", .chunkSize), (";a\r\n", .chunkSize), ("８\r\n", .chunkSize), ("5g\r\n", .chunkSize),
            ("8000000000000000\r\n", .chunkSize), ("ffffffffffffffff\r\n", .chunkSize),
            ("10000000000000005\r\n", .chunkSize), ("f0000000000000003\r\n", .chunkSize),
            ("5 \r\n", .chunkLine), ("5\t\r\n", .chunkLine), ("5 5\r\n", .chunkLine), ("5\n", .chunkLine),
            ("5;a\n", .chunkLine), ("5;\0\r\n", .chunkLine), ("5;\u{7F}\r\n", .chunkLine),
            ("5\r\r\n", .bareCarriageReturn), ("5\rhello", .bareCarriageReturn), ("5;a\rb\r\n", .bareCarriageReturn),
            ("5\r\nhello\n", .chunkEnd), ("5\r\nhello0\r\n\r\n", .chunkEnd), ("5\r\nhello\rX", .chunkEnd),
            ("5\r\nhello\r\r\n", .chunkEnd),
        ] as [(String, Violation)])
    func violations(body: String, violation: Violation) {
        let bytes = Array((Self.head + body + "hello\r\n0\r\n\r\n").utf8)
        #expect(throws: WireError.violation(violation)) { try readResponse(bytes) }
        #expect(throws: WireError.violation(violation)) { try readResponse(bytes, .oneByteAtATime) }
    }

    @Test("a chunk size below 2^63 is accepted, and its data can bypass the reader", .rows("R-12"))
    func hugeChunk() throws {
        var reader = ResponseReader(answering: .get)
        let bytes = Array((Self.head + "7fffffffffffffff\r\n").utf8)
        let (head, _) = try reader.next(in: bytes.span)
        let (size, event) = try reader.next(in: bytes.span.extracting(head...))
        #expect(event == .needMore)
        #expect(head + size == bytes.count)
        #expect(reader.remaining == .max)
        reader.advance(1 << 40)
        #expect(reader.remaining == .max - 1 << 40)
        reader.advance(.max)
        #expect(reader.remaining == 0)
        let end = Array("\r\n0\r\n\r\n".utf8)
        #expect(try reader.next(in: end.span) == (7, .end(trailers: [])))
    }

    @Test("chunk extensions are limited to less than 1 MiB in total; chunks without them are not", .rows("R-13"))
    func overhead() throws {
        let limit = WireLimits().chunkExtensionBytes
        let extended = Array(("1;" + String(repeating: "e", count: 100) + "\r\nx\r\n").utf8)
        let (error, sent) = feed(extended, times: 64 << 20)
        #expect(error == .tooLarge(limit: .chunkExtensions(bytes: limit)))
        #expect(sent < 1 << 20)
        let plain = [UInt8](repeating: 0, count: 1000).flatMap { _ in Array("1\r\nx\r\n".utf8) }
        #expect(feed(plain, times: 1000).error == nil)
        let zeros = [UInt8](repeating: 0x30, count: 4096)
        #expect(feed(zeros, times: 1000).error == .tooLarge(limit: .chunkExtensions(bytes: limit)))
    }

    @Test("a trailer section has a separate limit", .rows("R-13"))
    func maximumTrailerSize() {
        let limit = WireLimits().trailerBytes
        let (error, sent) = feed(Array("X: yyyyyy\r\n".utf8), times: 10_000, after: "0\r\n")
        #expect(error == .tooLarge(limit: .trailers(bytes: limit)))
        #expect(sent <= limit + 100)
        #expect(feed([0x61], times: 100_000, after: "0\r\n").error == .tooLarge(limit: .trailers(bytes: limit)))
    }

    @Test("trailers are separate from the header, whatever their names", .rows("R-14"))
    func trailers() throws {
        let text =
            Self.head + "2\r\nok\r\n0\r\nX: 1\r\nSet-Cookie: a=b\r\nContent-Length: 9\r\nConnection: close\r\n\r\n"
        let reading = try readResponse(text.utf8)
        #expect(reading.header?.map(\.name) == [.transferEncoding])
        #expect(reading.trailers.map(\.name) == ["X", .setCookie, .contentLength, .connection])
        #expect(reading.body == Array("ok".utf8))
        #expect(reading.isReusable)
        #expect(deliveriesThatDiffer(Array(text.utf8)) == [])
    }

    @Test(
        "a malformed trailer section is an error", .rows("R-14", "R-15"),
        arguments: [
            "x\r\n\r\n", "a b: c\r\n\r\n", "a: b\n\r\n", "\n", "a: b\rc\r\n\r\n", " a: b\r\n\r\n", "a: b\0\r\n\r\n",
        ])
    func badTrailers(section: String) {
        #expect(throws: WireError.self) { try readResponse((Self.head + "0\r\n" + section).utf8) }
    }

    /// Reads a head and repetitions of `bytes`, and returns the error, if any, and the number of repeated bytes.
    private func feed(
        _ bytes: [UInt8], times: Int, after start: String = ""
    ) -> (error: WireError?, sent: Int) {
        endlessResponse(beginningWith: Self.head + start, thenRepeating: bytes, times: times)
    }
}
