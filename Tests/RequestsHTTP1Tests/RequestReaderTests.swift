import Requests
import RequestsHTTP1
import TestCorpora
import TestSupport
import Testing

@Suite("Requests")
struct RequestReaderTests {
    @Test("the requests on one connection are read in order, however their bytes arrive", .rows("R-73"))
    func pipeline() throws {
        let text =
            "POST /a?b=c HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc\r\n"
            + "PUT /b HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nde\r\n0\r\nT: u\r\n\r\n"
            + "OPTIONS * HTTP/1.0\r\n\r\nGET /never HTTP/1.1\r\nHost: x\r\n\r\n"
        let readings = try readRequests(text.utf8)
        #expect(readings.compactMap(\.request?.line.method) == [.post, .put, .options])
        #expect(readings.compactMap(\.request?.line.target) == ["/a?b=c", "/b", "*"])
        #expect(readings.map(\.body) == [Array("abc".utf8), Array("de".utf8), []])
        #expect(readings[1].trailers == [Field(name: "T", value: "u")])
        #expect(readings.compactMap(\.request?.isReusable) == [true, true, false])
        #expect(requestDeliveriesThatDiffer(Array(text.utf8)) == [])
    }

    @Test(
        "a malformed or ambiguous request is a violation with a status for the response", .rows("R-73"),
        arguments: [
            ("GET / HTTP/1.1\r\n\r\n", .host, 400), ("GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n", .host, 400),
            ("GET / HTTP/1.0\r\nHost: a\r\nHost: b\r\n\r\n", .host, 400),
            ("GET  / HTTP/1.1\r\nHost: a\r\n\r\n", .requestLine, 400), ("GET /\r\n\r\n", .requestLine, 400),
            ("GET / HTTP/1.1 \r\nHost: a\r\n\r\n", .requestLine, 400), ("GE(T / HTTP/1.1\r\n", .requestLine, 400),
            ("GET /a b HTTP/1.1\r\n", .version, 400), ("GET /\u{E9} HTTP/1.1\r\n", .requestLine, 400),
            ("GET /\t HTTP/1.1\r\n", .requestLine, 400), (" GET / HTTP/1.1\r\n", .requestLine, 400),
            ("\r\n\r\nGET / HTTP/1.1\r\n", .requestLine, 400), ("\nGET / HTTP/1.1\r\n", .requestLine, 400),
            ("GET / http/1.1\r\n", .version, 400), ("GET / ICE/1.0\r\n", .version, 400),
            ("GET / HTTP/2.0\r\n", .unsupportedVersion, 505), ("GET / HTTP/1.1\nHost: a\r\n\r\n", .bareLineFeed, 400),
            ("GET / HTTP/1.1\r\nHost: a\n\r\n", .bareLineFeed, 400),
            ("GET / HTTP/1.1\r\nHost: a\r\nA: b\r\n c\r\n\r\n", .folding, 400),
            ("GET / HTTP/1.1\r\n Host: a\r\n\r\n", .folding, 400),
            ("GET / HTTP/1.1\r\nHost: a\r\nA : b\r\n\r\n", .fieldName, 400),
            ("GET / HTTP/1.1\r\nHost: a\rb\r\n\r\n", .bareCarriageReturn, 400),
            ("GET / HTTP/1.1\r\nHost: a\r\nA: \u{C}\r\n\r\n", .fieldValue, 400),
            ("PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", .conflictingLengths, 400),
            ("PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: +1\r\n\r\n", .contentLength, 400),
            (
                "PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
                .lengthWithTransferCoding, 400
            ),
            ("PUT / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked, gzip\r\n\r\n", .transferCoding, 400),
            ("PUT / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", .unsupportedTransferCoding, 501),
            ("PUT / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n", .transferCodingInHTTP10, 400),
        ] as [(String, Violation, Int)])
    func violations(text: String, violation: Violation, status: Int) {
        let error = WireError.violation(violation)
        #expect(throws: error) { try readRequests(text.utf8) }
        #expect(throws: error) { try readRequests(text.utf8, .oneByteAtATime) }
        #expect(error.statusHint.code == status)
    }

    @Test(
        "a target in a form that its method allows is read", .rows("R-73"),
        arguments: [
            "GET /", "GET //", "GET /a/../b;c=d,e:@!$&'()*+=-._~%2F%c3%a9?/?a=b&c", "OPTIONS *", "OPTIONS /a",
            "GET http://example.com", "GET HTTP://a.b:8080/c?d", "GET http://a?b", "PUT https://[::1]:443/",
            "OPTIONS http://a:1", "CONNECT a.example:443", "CONNECT [2001:db8::1]:1", "CONNECT a%20b:65535", "FROB /x",
            "GET http://a:/", "connect /a",
        ])
    func targets(line: String) throws {
        let target = try #require(line.split(separator: " ").last)
        let readings = try readRequests("\(line) HTTP/1.1\r\nHost: a\r\n\r\n".utf8)
        #expect(readings.map { $0.request?.line.target } == [String(target)])
        #expect(requestDeliveriesThatDiffer(Array("\(line) HTTP/1.1\r\nHost: a\r\n\r\n".utf8)) == [])
    }

    @Test(
        "a target with a fragment, an invalid byte or the form of another method is rejected", .rows("R-73"),
        arguments: [
            "GET /a#b", "GET /#", "GET #a", "GET http://a/#b", "GET http://a#b", "GET *", "HEAD *", "options *",
            "GET **",
            "OPTIONS **", "OPTIONS */a", "OPTIONS a", "GET a", "GET a/b", "GET ?a", "GET a:1", "GET [::1]:1", "GET :a",
            "GET 1a:b", "GET urn:a:b", "GET a.b:80", "GET http:", "GET http:a", "GET http:/a", "GET HTTPS:/a",
            "GET http://", "GET http:///a",
            "GET http://:80/", "GET http://?a", "GET http://a@b/", "GET http://a:b@c/", "GET http://a:65536/",
            "GET http://a:1b/", "GET http://a:99999999999999999999999999/", "GET http://[::1/", "GET http://[]/",
            "GET http://[::g]/", "GET http://[::1]a/", "GET http://a%2/", "GET http://a\\b/", "GET /a|b", "GET /<a>",
            "GET /\"", "GET /a\\b", "GET /^", "GET /`", "GET /{a}", "GET /[a]", "GET /%", "GET /%2", "GET /%zz",
            "GET /a?%f",
            "CONNECT /", "CONNECT *", "CONNECT a", "CONNECT a:", "CONNECT :1", "CONNECT a:b", "CONNECT a:65536",
            "CONNECT a:1/b", "CONNECT http://a:1", "CONNECT a@b:1", "CONNECT [::1]", "CONNECT a:1#b", "CONNECT a:1?b",
        ])
    func wrongTargets(line: String) {
        let error = WireError.violation(.requestTarget)
        let bytes = Array("\(line) HTTP/1.1\r\nHost: a\r\n\r\n".utf8)
        for delivery in Delivery.all(for: bytes.count) {
            #expect(throws: error) { try readRequests(bytes, delivery) }
        }
        #expect(error.statusHint == 400)
    }

    @Test(
        "the value of Host is empty, or a host and an optional port", .rows("R-73"),
        arguments: [
            ("", true), ("a", true), ("a.b:80", true), ("a:", true), ("[::1]", true), ("[::1]:8080", true),
            ("0.0.0.0=5000", true), ("a_b", true), ("a%20b", true), ("a/b", false), ("a?b", false), ("a#b", false),
            ("a@b", false), ("a b", false), ("a,b", true), ("a:65536", false), ("a:b", false), (":80", false),
            ("[::1", false), ("[::1]a", false), ("::1", false), ("http://a", false), ("a\u{301}", false),
            ("%zz", false),
        ])
    func hosts(value: String, isValid: Bool) throws {
        for version in ["1.0", "1.1"] {
            let bytes = Array("GET / HTTP/\(version)\r\nHost: \(value)\r\n\r\n".utf8)
            if isValid {
                #expect(try readRequests(bytes).count == 1)
            } else {
                #expect(throws: WireError.violation(.hostValue)) { try readRequests(bytes) }
            }
        }
    }

    @Test("the status for a request that is too large is 413, 414 or 431", .rows("R-73"))
    func tooLarge() {
        let target = String(repeating: "a", count: WireLimits().startLineBytes)
        #expect(throws: WireError.tooLarge(limit: .startLine(bytes: WireLimits().startLineBytes))) {
            try readRequests("GET /\(target) HTTP/1.1\r\n".utf8)
        }
        #expect(WireError.tooLarge(limit: .startLine(bytes: 1)).statusHint == 414)
        #expect(WireError.tooLarge(limit: .head(bytes: 1)).statusHint == 431)
        #expect(WireError.tooLarge(limit: .chunkExtensions(bytes: 1)).statusHint == 413)
    }

    @Test(
        "a connection's end is reported before a request, and is an error within a request", .rows("R-73"))
    func ends() {
        let text = "PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc"
        #expect(throws: WireError.truncated(.beforeMessage)) { try readRequests("".utf8) }
        #expect(throws: WireError.truncated(.beforeMessage)) { try readRequests("\r\n".utf8) }
        for cut in 1..<text.utf8.count {
            #expect(throws: WireError.self, "cut at \(cut)") { try readRequests(text.utf8.prefix(cut)) }
        }
    }

    @Test(
        "Expect: 100-continue is honored in HTTP/1.1 requests with a body",
        arguments: [
            ("1.1", "Expect: 100-continue\r\nContent-Length: 3", true),
            ("1.1", "expect: 100-Continue\r\nTransfer-Encoding: chunked", true),
            ("1.1", "Expect: 100-continue", false), ("1.1", "Content-Length: 3", false),
            ("1.0", "Expect: 100-continue\r\nContent-Length: 3", false),
        ])
    func expectation(version: String, fields: String, expected: Bool) throws {
        var reader = RequestReader()
        let head = Array("PUT / HTTP/\(version)\r\nHost: a\r\n\(fields)\r\n\r\n".utf8)
        guard case .head(let request) = try reader.next(in: head.span).event else {
            Issue.record("expected a head")
            return
        }
        #expect(request.expectsContinue == expected)
    }

    @Test(
        "a request that the corpus rejects is also rejected with a valid Host", .rows("R-73"),
        .enabled(if: Corpora.arePresent, "the folder of corpora is missing"),
        arguments: Corpora.requests.filter { $0.verdict == .reject })
    func withHost(test: RequestCase) throws {
        // The handler rejects an unknown method, not the reader.
        guard test.name != "Invalid method", test.name != "PRI request HTTP2" else { return }
        let bytes = test.bytes
        let hasHost = String(decoding: bytes, as: UTF8.self).lowercased().contains("host:")
        guard !hasHost, let lineEnd = bytes.firstRange(of: [0x0D, 0x0A])?.upperBound else { return }
        #expect(throws: WireError.self) {
            try readRequests(bytes[..<lineEnd] + Array("Host: a\r\n".utf8) + bytes[lineEnd...])
        }
    }
}
