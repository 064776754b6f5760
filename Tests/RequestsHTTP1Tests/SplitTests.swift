import Requests
import RequestsHTTP1
import TestCorpora
import TestSupport
import Testing

// Neither a result nor an error, nor the time at which it is reported, depends on how the bytes are split.
@Suite("Split messages")
struct SplitTests {
    private static let long = String(repeating: "a", count: 700)

    static let responses =
        [
            ("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\rok", 38, .bareCarriageReturn),
            ("HTTP/1.1 200 OK\rX", 17, .bareCarriageReturn), ("HTTP/1.1 200 Fine\rX", 19, .bareCarriageReturn),
            ("HTTP/1.1 200 \(long)\rX", 715, .bareCarriageReturn), ("HTTP/1.1 200 \(long)\0", 714, .statusLine),
            ("HTTP/1.1 099", 10, .status), ("HTTP/1.1 2000", 13, .statusLine), ("HTTP/1.1 20O", 12, .statusLine),
            ("http/1.1 200 OK", 1, .version), ("HTTP/1.1 200 OK\r\nA B: c", 19, .fieldName),
            ("HTTP/1.1 200 OK\r\n\(long)\n", 718, .fieldName), ("HTTP/1.1 200 OK\r\nA: b\u{7}", 22, .fieldValue),
            ("HTTP/1.1 200 OK\r\nA: \(long)\0", 721, .fieldValue),
            ("HTTP/1.1 200 OK\r\nA: \(long)\rb", 722, .bareCarriageReturn),
            ("HTTP/1.1 200 OK\r\n : b", 18, .folding), ("HTTP/1.1 200 OK\r\nA: b\r\n \(long)\0", 725, .fieldValue),
            ("HTTP/1.1 200 OK\nA: b\n\rX", 23, .bareCarriageReturn),
            ("\(chunked)3\rX", 50, .bareCarriageReturn), ("\(chunked)3\n", 49, .chunkLine),
            ("\(chunked)G", 48, .chunkSize), ("\(chunked)1\r\nabc", 52, .chunkEnd),
            ("\(chunked)1\r\na\rb", 53, .chunkEnd),
            ("\(chunked)0\r\nA: b\n", 55, .bareLineFeed), ("\(chunked)0\r\n\rX", 52, .bareCarriageReturn),
            ("\(chunked)0\r\nA\u{1}", 52, .fieldName),
        ] as [(String, Int, Violation)]

    private static let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"

    static let requests =
        [
            ("GET / HTTP/1.1\r\nHost: a\r\n\rX", 27, .bareCarriageReturn), ("G(T", 2, .requestLine),
            ("GET /\(long)\u{1} HTTP/1.1", 706, .requestLine), ("GET /\(long) HTTP/1.1\rX", 716, .bareCarriageReturn),
            ("GET /\(long) HTTP/1.1X", 715, .requestLine), ("GET /\(long) HTTPS", 711, .version),
            ("\(long)(", 701, .requestLine), ("\rX", 2, .bareCarriageReturn), ("GET / HTTP/1.1\n", 15, .bareLineFeed),
            ("GET / HTTP/1.1\r\nA: \(long)\n", 720, .bareLineFeed),
        ] as [(String, Int, Violation)]

    @Test(
        "an invalid byte of a response is an error as soon as it has arrived, whether or not the peer closes",
        .rows("R-20", "R-22"), arguments: responses)
    func response(text: String, position: Int, violation: Violation) throws {
        let bytes = Array(text.utf8)
        #expect(deliveriesThatDiffer(bytes) == [])
        for delivery in [Delivery.whole, .oneByteAtATime] {
            #expect(throws: WireError.violation(violation)) {
                try readResponse(bytes[..<position], delivery, staysOpen: true)
            }
            #expect(throws: Never.self) { try readResponse(bytes[..<(position - 1)], delivery, staysOpen: true) }
        }
    }

    @Test(
        "an invalid byte of a request is an error as soon as it has arrived, whether or not the client closes",
        .rows("R-20", "R-73"), arguments: requests)
    func request(text: String, position: Int, violation: Violation) throws {
        let bytes = Array(text.utf8)
        #expect(requestDeliveriesThatDiffer(bytes) == [])
        for delivery in [Delivery.whole, .oneByteAtATime] {
            #expect(throws: WireError.violation(violation)) {
                try readRequests(bytes[..<position], delivery, staysOpen: true)
            }
            #expect(throws: Never.self) { try readRequests(bytes[..<(position - 1)], delivery, staysOpen: true) }
        }
    }

    @Test("a line beyond a limit has the error of that limit, however its bytes arrive", .rows("R-17", "R-20"))
    func limits() {
        var limits = WireLimits()
        (limits.startLineBytes, limits.lineBytes, limits.headBytes, limits.trailerBytes) = (24, 30, 60, 10)
        for text in [
            "HTTP/1.1 200 much longer than allowed\0\r\n", "HTTP/1.1 200 1234567890\r\0\r\n",
            "HTTP/1.1 200 1234567890\r\n",
            "HTTP/1.1 200 OK\r\nA: 012345678901234567890123456789\0\r\n\r\n",
            "HTTP/1.1 200 OK\r\nA: 01234567890123456789012345\r\0\n\r\n",
            "HTTP/1.1 200 OK\r\n0123456789012345678901234567890123456789(: b\r\n\r\n",
            "HTTP/1.1 200 OK\r\nA: 01234567890123456789\r\nB: 01234567890123456789\0\r\n\r\n",
            "HTTP/1.1 100 Continue\r\nA: 0123456789012345678\r\n\r\nHTTP/1.1 200 OK\r\nA: b\0\r\n\r\n",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nA: 0123456789\0\r\n\r\n",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nA: 01234567\0\r\n\r\n",
        ] {
            #expect(deliveriesThatDiffer(Array(text.utf8), limits: limits) == [], "\(text.debugDescription)")
            let result = Result { try readResponse(text.utf8, limits: limits) }
            guard case .failure(WireError.tooLarge) = result else {
                Issue.record("\(text.debugDescription): \(result)")
                continue
            }
        }
        for text in [
            "GET /0123456789 HTTP/1.1\0", "GET /01234567890123456789(\0 HTTP/1.1", "A0123456789012345678901234((",
        ] {
            #expect(requestDeliveriesThatDiffer(Array(text.utf8), limits: limits) == [], "\(text.debugDescription)")
            #expect(throws: WireError.tooLarge(limit: .startLine(bytes: 24))) {
                try readRequests(text.utf8, limits: limits)
            }
        }
    }

    @Test("a reason phrase outside UTF-8 is read as ISO-8859-1, in at most twice its bytes", .rows("R-20"))
    func reason() throws {
        let bytes = Array("HTTP/1.1 200 ".utf8) + [0xE9, 0x20, 0x80] + Array("\r\nContent-Length: 0\r\n\r\n".utf8)
        let reading = try readResponse(bytes)
        #expect(reading.response?.line.reason == "\u{E9} \u{80}")
        #expect(reading.latin1Excess == 2)
        #expect(deliveriesThatDiffer(bytes) == [])
    }
}
