import Requests
import RequestsHTTP1
import TestSupport
import Testing

@Suite("Framing of responses")
struct FramingTests {
    @Test(
        "Content-Length is one decimal number, which can be repeated unchanged", .rows("R-9"),
        arguments: [
            (["0"], 0), (["5"], 5), (["005"], 5), (["5", "5"], 5), (["5, 5"], 5), (["5,5", "5"], 5),
            (["9223372036854775807"], Int.max),
            ([""], nil), (["+5"], nil), (["-5"], nil), (["5.0"], nil), (["0x5"], nil), (["5_0"], nil), (["5 5"], nil),
            (["1e1"], nil), (["5,"], nil), ([",5"], nil), (["5,,5"], nil), (["5, 6"], nil), (["5", "6"], nil),
            (["5", ""], nil), (["05", "5"], nil), (["five"], nil), (["５"], nil), (["5\u{B}"], nil),
            (["9223372036854775808"], nil), (["18446744073709551621"], nil),
            ([String(repeating: "9", count: 400)], nil),
        ] as [([String], Int?)])
    func contentLength(values: [String], expected: Int?) throws {
        let header = Header(values.map { Field(name: .contentLength, value: $0) })
        if let expected {
            #expect(try framing(of: ok, header, answering: .get) == .counted(bytes: expected))
        } else {
            #expect(throws: WireError.self) { try framing(of: ok, header, answering: .get) }
        }
    }

    @Test(
        "a 2xx to CONNECT has no body, whatever fields it has, and other responses have one", .rows("R-9", "R-11"),
        arguments: [
            "", "Content-Length: 5", "Content-Length: x", "Content-Length: 1, 2", "Transfer-Encoding: chunked",
            "Transfer-Encoding: chunked\r\nContent-Length: 5", "Transfer-Encoding: gzip",
        ])
    func tunnel(fields: String) throws {
        let lines = fields.isEmpty ? "" : "\(fields)\r\n"
        for line in ["HTTP/1.1 200 OK", "HTTP/1.0 200 OK", "HTTP/1.1 299 x"] {
            let text = "\(line)\r\n\(lines)\r\n"
            let reading = try readResponse("\(text)tunnel".utf8, answering: .connect)
            #expect(reading.response?.framing == BodyFraming.none && reading.unread == 6)
            #expect(deliveriesThatDiffer(Array(text.utf8), answering: .connect) == [])
        }
        let refusal = "HTTP/1.1 403 No\r\nContent-Length: 2\r\n\r\nno"
        #expect(try readResponse(refusal.utf8, answering: .connect).body.count == 2)
        #expect(throws: WireError.self) {
            try readResponse("HTTP/1.1 502 No\r\nContent-Length: x\r\n\r\n".utf8, answering: .connect)
        }
    }

    @Test("different values of Content-Length are a conflict, not an invalid number", .rows("R-9"))
    func conflict() {
        let header: Header = [Field(name: .contentLength, value: "5"), Field(name: .contentLength, value: "6")]
        #expect(throws: WireError.violation(.conflictingLengths)) { try framing(of: ok, header, answering: .get) }
    }

    @Test("Transfer-Encoding with Content-Length is rejected in either order", .rows("R-10"))
    func bothLengths() {
        let coding = Field(name: .transferEncoding, value: "chunked")
        let length = Field(name: .contentLength, value: "5")
        for header in [Header(coding, length), Header(length, coding)] {
            #expect(throws: WireError.violation(.lengthWithTransferCoding)) {
                try framing(of: ok, header, answering: .get)
            }
            #expect(throws: WireError.violation(.lengthWithTransferCoding)) {
                try framing(of: RequestLine(method: .post, target: "/"), header)
            }
        }
    }

    @Test(
        "the only transfer coding is chunked, once and last", .rows("R-11"),
        arguments: [
            (["chunked"], nil), (["Chunked"], nil), (["\t chunked "], nil), ([", chunked"], nil),
            (["", "chunked"], nil),
            ([""], .transferCoding), ([",  ,"], .transferCoding), (["identity"], .transferCoding),
            (["chunked, gzip"], .transferCoding), (["chunked", "gzip"], .transferCoding),
            (["chunked, chunked"], .transferCoding), (["chunked", "chunked"], .transferCoding),
            (["chunkedchunked"], .transferCoding), (["xchunked"], .transferCoding), (["chunked;a=b"], .transferCoding),
            (["\u{B}chunked"], .transferCoding), (["\"chunked\""], .transferCoding),
            (["chunked chunked"], .transferCoding),
            (["gzip, chunked"], .unsupportedTransferCoding), (["gzip", "chunked"], .unsupportedTransferCoding),
            (["identity, chunked"], .unsupportedTransferCoding),
        ] as [([String], Violation?)])
    func transferCoding(values: [String], expected: Violation?) throws {
        let header = Header(values.map { Field(name: .transferEncoding, value: $0) })
        if let expected {
            #expect(throws: WireError.violation(expected)) { try framing(of: ok, header, answering: .get) }
        } else {
            #expect(try framing(of: ok, header, answering: .get) == .chunked)
        }
    }

    @Test("Transfer-Encoding in HTTP/1.0 is a violation", .rows("R-11"))
    func transferCodingInHTTP10() {
        let line = StatusLine(version: .http10, status: 200, reason: "OK")
        let header: Header = [Field(name: .transferEncoding, value: "chunked")]
        #expect(throws: WireError.violation(.transferCodingInHTTP10)) {
            try framing(of: line, header, answering: .get)
        }
    }

    @Test(
        "responses to HEAD, and 204 and 304, have no body whatever their head, and allow reuse", .rows("R-19"),
        arguments: [(HTTPMethod.head, 200), (.get, 204), (.get, 304), (.head, 404), (.put, 204)] as [(HTTPMethod, Int)],
        [
            "Content-Length: 5", "Transfer-Encoding: chunked", "Content-Length: 5\r\nTransfer-Encoding: a",
        ])
    func noBody(exchange: (method: HTTPMethod, status: Int), fields: String) throws {
        let text = "HTTP/1.1 \(exchange.status) X\r\n\(fields)\r\n\r\n"
        let reading = try readResponse(text.utf8, answering: exchange.method)
        #expect(reading.response?.framing == BodyFraming.none)
        #expect(reading.body.isEmpty)
        #expect(reading.isReusable)
        #expect(try readResponse((text + "hello").utf8, answering: exchange.method).unread == 5)
    }

    @Test(
        "invalid or different lengths are rejected even if the response has no body", .rows("R-9", "R-19"),
        arguments: [(HTTPMethod.get, 204), (.get, 304), (.head, 200)] as [(HTTPMethod, Int)],
        ["Content-Length: 7\r\nContent-Length: 8", "Content-Length: 7, 8", "Content-Length: x"])
    func noBodyButLengths(exchange: (method: HTTPMethod, status: Int), fields: String) throws {
        let text = "HTTP/1.1 \(exchange.status) X\r\n\(fields)\r\n\r\n"
        #expect(throws: WireError.self) { try readResponse(text.utf8, answering: exchange.method) }
        let interim = "HTTP/1.1 103 X\r\n\(fields)\r\n\r\nHTTP/1.1 204 X\r\n\r\n"
        #expect(try readResponse(interim.utf8).interim.count == 1)
    }

    @Test(
        "a connection persists as RFC 9112 §9.3 requires", .rows("R-47"),
        arguments: [
            ("1.1", "X: y", true), ("1.1", "Connection: close", false), ("1.1", "Connection: CLOSE", false),
            ("1.1", "Connection: foo, close , bar", false),
            ("1.1", "Connection: keep-alive\r\nConnection: close", false),
            ("1.1", "Connection: closed", true), ("1.2", "X: y", true),
            ("1.0", "X: y", false), ("1.0", "Connection: Keep-Alive", true),
            ("1.0", "Connection: foo,keep-alive", true), ("1.0", "Connection: keep-alive, close", false),
        ])
    func persistence(version: String, field: String, expected: Bool) throws {
        let reading = try readResponse("HTTP/\(version) 200 OK\r\n\(field)\r\nContent-Length: 0\r\n\r\n".utf8)
        #expect(reading.isReusable == expected)
        let open = try readResponse("HTTP/\(version) 200 OK\r\n\(field)\r\n\r\n".utf8)
        #expect(open.response?.framing == .untilClose)
        #expect(!open.isReusable)
    }

    @Test("timeout and max of Keep-Alive are parsed, and other parameters are ignored", .rows("R-47"))
    func keepAlive() throws {
        func parse(_ lines: String) throws -> KeepAlive? {
            try readResponse("HTTP/1.1 200 OK\r\n\(lines)Content-Length: 0\r\n\r\n".utf8).response?.keepAlive
        }
        #expect(try parse("") == nil)
        #expect(try parse("Keep-Alive: timeout=5, max=100\r\n")?.timeout == 5)
        #expect(try parse("Keep-Alive: timeout=5\r\nkeep-alive: max=100\r\n")?.max == 100)
        #expect(try parse("KEEP-ALIVE: Timeout=1\r\n")?.timeout == 1)
        #expect(try parse("Keep-Alive: timeout=-1, max=99999999999999999999\r\n")?.timeout == nil)
        #expect(try parse("Keep-Alive: timeout=-1, max=99999999999999999999\r\n")?.max == nil)
        #expect(try parse("Keep-Alive: timeout, =5, x=\r\n")?.timeout == nil)
    }

    private let ok = StatusLine(status: 200, reason: "OK")
}
