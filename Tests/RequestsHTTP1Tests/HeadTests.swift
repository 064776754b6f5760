import Requests
import RequestsHTTP1
import TestSupport
import Testing

@Suite("Heads of responses")
struct HeadTests {
    @Test("a head is read the same however its bytes arrive, and a truncated response is an error", .rows("R-20"))
    func arrival() throws {
        let head = "HTTP/1.1 404 Not Found\r\nContent-Type: application/json\r\nx-empty:\r\nX: \t a b\t \r\n"
        let bytes = Array((head + "Content-Length: 5\r\n\r\nhello").utf8)
        let reading = try readResponse(bytes)
        #expect(reading.response?.line == StatusLine(status: 404, reason: "Not Found"))
        #expect(reading.header?.map(\.value) == ["application/json", "", "a b", "5"])
        #expect(reading.header?.map(\.name.rawValue) == ["Content-Type", "x-empty", "X", "Content-Length"])
        #expect(reading.body == Array("hello".utf8))
        #expect(deliveriesThatDiffer(bytes) == [])
        for cut in 0..<bytes.count {
            #expect(throws: WireError.self, "cut at \(cut)") { try readResponse(bytes[..<cut]) }
        }
        #expect(throws: WireError.truncated(.beforeMessage)) { try readResponse([]) }
        #expect(throws: WireError.truncated(.head)) { try readResponse(bytes[..<20]) }
        #expect(throws: WireError.truncated(.body)) { try readResponse(bytes.dropLast()) }
    }

    @Test("an unsolicited second response is not read, and the connection is not reused", .rows("R-22"))
    func unsolicitedResponse() throws {
        let response = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
        let bytes = Array((response + response).utf8)
        let reading = try readResponse(bytes)
        #expect(reading.body == Array("ok".utf8))
        #expect(reading.unread == response.utf8.count)
        #expect(reading.response?.isReusable == true)
        #expect(!reading.isReusable)
        #expect(deliveriesThatDiffer(bytes) == [])
    }

    @Test("the bytes of a body with a Content-Length can bypass the reader")
    func advancing() throws {
        var reader = ResponseReader(answering: .get)
        let head = Array("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n".utf8)
        #expect(!reader.hasStarted)
        let (consumed, _) = try reader.next(in: head.span)
        #expect(consumed == head.count)
        #expect(reader.hasStarted)
        #expect(reader.remaining == 10)
        reader.advance(4)
        reader.advance(-1)
        #expect(reader.remaining == 6)
        let piece: [UInt8] = [1, 2]
        #expect(try reader.next(in: piece.span) == (2, .data(0..<2)))
        #expect(reader.remaining == 4)
        reader.advance(100)
        #expect(reader.remaining == 0)
        let nothing: [UInt8] = []
        #expect(try reader.next(in: nothing.span) == (0, .end(trailers: [])))
        #expect(try reader.next(in: piece.span) == (0, .end(trailers: [])))
    }

    @Test("a body that ends when the connection closes is complete at any length", .rows("R-20"))
    func untilClose() throws {
        let bytes = Array("HTTP/1.1 200 OK\r\n\r\nhello".utf8)
        for cut in 19...bytes.count {
            #expect(try readResponse(bytes[..<cut]).body == Array(bytes[19..<cut]))
        }
        #expect(deliveriesThatDiffer(bytes) == [])
    }

    @Test(
        "a line of a response head ends in CR LF or LF, and a bare CR is a violation", .rows("R-15"),
        arguments: [
            ("HTTP/1.1 200 OK\nA: b\n\n", nil), ("HTTP/1.1 200\nA: b\r\n\n", nil),
            ("HTTP/1.1 200 OK\rA: b\r\n\r\n", .bareCarriageReturn), ("HTTP/1.1 200 OK\r\r\n\r\n", .bareCarriageReturn),
            ("HTTP/1.1 200 OK\r\nA: b\rC: d\r\n\r\n", .bareCarriageReturn),
            ("HTTP/1.1 200 OK\r\nA:\rb\r\n\r\n", .bareCarriageReturn),
            ("HTTP/1.1 200 OK\r\nA: b\r\r\n\r\n", .bareCarriageReturn),
            ("HTTP/1.1 200 OK\r\nA: b\r\n\rX", .bareCarriageReturn), ("HTTP/1.1 200 OK\r\nA\r: b\r\n\r\n", .fieldName),
            ("\rHTTP/1.1 200 OK\r\n\r\n", .version), ("\r\nHTTP/1.1 200 OK\r\n\r\n", .version),
        ] as [(String, Violation?)])
    func lineEnds(text: String, violation: Violation?) throws {
        try expect(text, violation)
    }

    @Test(
        "a folded line continues the value of the previous field after one SP", .rows("R-16"),
        arguments: [
            ("A: b\r\n c\r\n", ["b c"]), ("A: b  \r\n\t \tc \r\n", ["b c"]), ("A: b\r\n \r\n c\r\n", ["b c"]),
            ("A:\r\n b\r\n", ["b"]), ("A: b\r\n Content-Length: 9\r\n", ["b Content-Length: 9"]),
            ("A: b\r\n c\r\n d\r\nE: f\r\n", ["b c d", "f"]), ("A: b\n c\n", ["b c"]), ("A: b\r\n \r\n", ["b"]),
        ])
    func folding(fields: String, values: [String]) throws {
        let bytes = Array("HTTP/1.1 200 OK\r\n\(fields)\r\n".utf8)
        #expect(try readResponse(bytes).header?.map(\.value) == values)
        #expect(deliveriesThatDiffer(bytes) == [])
    }

    @Test("folding neither hides nor creates a framing field", .rows("R-16"))
    func foldedFraming() throws {
        let coding = "HTTP/1.1 200 OK\r\nTransfer-Encoding:\r\n chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n"
        #expect(try readResponse(coding.utf8).response?.framing == .chunked)
        try expect("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n 0\r\n\r\nhello", .contentLength)
        try expect("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n x\r\n\r\n0\r\n\r\n", .transferCoding)
        try expect("HTTP/1.1 200 OK\r\n Content-Length: 5\r\n\r\nhello", .folding)
        try expect("HTTP/1.1 200 OK\r\n\tA: b\r\n\r\n", .folding)
    }

    @Test(
        "a field line is a token, a colon and a value without control characters", .rows("R-75"),
        arguments: [
            ("A:b", nil), ("!#$%&'*+-.^_`|~09azAZ: b", nil), ("A: b\tc", nil), ("A: b: c", nil),
            ("A : b", .fieldName), ("A\t: b", .fieldName), (": b", .fieldName), ("A", .fieldName),
            ("A b: c", .fieldName),
            ("A@: b", .fieldName), ("Ä: b", .fieldName), ("A\0: b", .fieldName), ("A\u{7F}: b", .fieldName),
            ("A: b\0", .fieldValue), ("A: \u{B}b", .fieldValue), ("A: b\u{1F}c", .fieldValue),
            ("A: \u{7F}", .fieldValue),
        ] as [(String, Violation?)])
    func fields(line: String, violation: Violation?) throws {
        try expect("HTTP/1.1 200 OK\r\n\(line)\r\n\r\n", violation)
    }

    @Test("bytes above 0x7F are decoded as UTF-8, or else as ISO-8859-1, and preserved", .rows("R-23"))
    func nonASCII() throws {
        let latin1 = Array("HTTP/1.1 200 OK\r\nX: J".utf8) + [0xF6] + Array("rg\r\nY: Jörg\r\n\r\n".utf8)
        let header = try #require(try readResponse(latin1).header)
        #expect(header.map(\.value) == ["Jörg", "Jörg"])
        #expect(header[0].valueBytes == [0x4A, 0xF6, 0x72, 0x67])
        #expect(header[1].valueBytes == Array("Jörg".utf8))
        #expect(deliveriesThatDiffer(latin1) == [])
        let reason = try readResponse(Array("HTTP/1.1 200 J".utf8) + [0xF6] + Array("rg\r\n\r\n".utf8))
        #expect(reason.response?.line.reason == "Jörg")
    }

    @Test(
        "a status line has an HTTP/1 version and a status of three digits, at least 100", .rows("R-26"),
        arguments: [
            ("HTTP/1.1 200 OK", nil), ("HTTP/1.1 599 X", nil), ("HTTP/1.1 999 X", nil), ("HTTP/1.1 200", nil),
            ("HTTP/1.1 200 ", nil), ("HTTP/1.1 200  OK", nil), ("HTTP/1.0 200 OK", nil), ("HTTP/1.9 200 OK", nil),
            ("HTTP/1.1 000 X", .status), ("HTTP/1.1 099 X", .status), ("HTTP/1.1 99 X", .statusLine),
            ("HTTP/1.1 1000 X", .statusLine), ("HTTP/1.1 20X X", .statusLine), ("HTTP/1.1 200X", .statusLine),
            ("HTTP/1.1 -20 X", .statusLine), ("HTTP/1.1 +20 X", .statusLine), ("HTTP/1.1  200 X", .statusLine),
            ("HTTP/1.1\t200 X", .statusLine), ("HTTP/1.1 200\tX", .statusLine), ("HTTP/1.1 200 \0", .statusLine),
            ("HTTP/1.10 200 X", .statusLine), ("HTTP/1.1", .statusLine),
            ("HTTP/2.0 200 X", .unsupportedVersion), ("HTTP/0.9 200 X", .unsupportedVersion),
            ("http/1.1 200 X", .version), ("HTTP/11.1 200 X", .version), ("HTTP/1 200 X", .version),
            ("HTTP/.1 200 X", .version), (" HTTP/1.1 200 X", .version), ("SSH-2.0-OpenSSH", .version),
        ] as [(String, Violation?)])
    func statusLine(line: String, violation: Violation?) throws {
        try expect("\(line)\r\n\r\n", violation)
    }

    @Test("a response that is not HTTP is rejected at its first byte", .rows("R-65"))
    func notHTTP() {
        let alert: [UInt8] = [0x15, 0x03, 0x01]
        #expect(throws: WireError.violation(.version)) {
            var reader = ResponseReader(answering: .get)
            _ = try reader.next(in: alert.span)
        }
    }

    private func expect(_ text: String, _ violation: Violation?) throws {
        let bytes = Array(text.utf8)
        if let violation {
            #expect(throws: WireError.violation(violation)) { try readResponse(bytes) }
            #expect(throws: WireError.self) { try readResponse(bytes, .oneByteAtATime) }
        } else {
            _ = try readResponse(bytes)
        }
        #expect(deliveriesThatDiffer(bytes) == [])
    }
}
