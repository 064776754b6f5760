import Requests
import RequestsHTTP1
import TestCorpora
import TestSupport
import Testing

@Suite("Limits of heads")
struct LimitTests {
    private let limits = WireLimits()

    @Test("endless fields exceed the head's limit or the field count", .rows("R-17"))
    func endlessFields() {
        let start = "HTTP/1.1 200 OK\r\n"
        let (manyError, _) = endlessResponse(
            beginningWith: start, thenRepeating: Array("X: y\r\n".utf8), times: 1_000_000)
        #expect(manyError == .tooLarge(limit: .fields(count: limits.fieldCount)))
        let long = Array(("X: " + String(repeating: "y", count: 1000) + "\r\n").utf8)
        let (longError, sent) = endlessResponse(beginningWith: start, thenRepeating: long, times: 1_000_000)
        #expect(longError == .tooLarge(limit: .head(bytes: limits.headBytes)))
        #expect(sent <= limits.headBytes + long.count)
        let (foldError, _) = endlessResponse(
            beginningWith: start + "X: y\r\n", thenRepeating: Array(" y\r\n".utf8), times: 1_000_000)
        #expect(foldError == .tooLarge(limit: .head(bytes: limits.headBytes)))
    }

    @Test("an endless field line exceeds its limit", .rows("R-17"), arguments: ["X: ", "X", "X: y\r\n ", ""])
    func endlessLine(start: String) {
        let (error, sent) = endlessResponse(
            beginningWith: "HTTP/1.1 200 OK\r\n" + start, thenRepeating: [UInt8](repeating: 0x61, count: 100),
            times: 1_000_000)
        #expect(error == .tooLarge(limit: .fieldLine(bytes: limits.lineBytes)))
        #expect(sent <= limits.lineBytes + 100)
    }

    @Test("an endless reason phrase exceeds the limit of the start line", .rows("R-17"))
    func endlessReason() {
        let (error, sent) = endlessResponse(
            beginningWith: "HTTP/1.1 200 ", thenRepeating: [0x61], times: 1_000_000)
        #expect(error == .tooLarge(limit: .startLine(bytes: limits.startLineBytes)))
        #expect(sent <= limits.startLineBytes + 1)
    }

    @Test("a message of the maximum size is read, and one more byte is an error", .rows("R-17"))
    func boundaries() throws {
        var limits = WireLimits()
        limits.headBytes = 40
        limits.lineBytes = 20
        limits.fieldCount = 2
        limits.startLineBytes = 17
        let start = "HTTP/1.1 200 OK\r\n"
        let exact = start + "A: bbbbbbbbbbbbbbb\r\n" + "\r\n"
        #expect(try readResponse(exact.utf8, limits: limits).header?.count == 1)
        for (text, limit) in [
            (start + "A: bbbbbbbbbbbbbbbb\r\n\r\n", WireLimit.fieldLine(bytes: 20)),
            (start + "A: bbbbbbbbbbbbbb\r\nC:\r\n\r\n", .head(bytes: 40)),
            (start + "A:\r\nB:\r\nC:\r\n\r\n", .fields(count: 2)), ("HTTP/1.1 200 OKK\r\n\r\n", .startLine(bytes: 17)),
        ] {
            #expect(throws: WireError.tooLarge(limit: limit)) { try readResponse(text.utf8, limits: limits) }
            #expect(deliveriesThatDiffer(Array(text.utf8), limits: limits) == [])
        }
        #expect(deliveriesThatDiffer(Array(exact.utf8), limits: limits) == [])
    }

    @Test("interim responses are reported, skipped and limited", .rows("R-18"))
    func interimResponses() throws {
        let interim = "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\nContent-Length: 5\r\n\r\n"
        let final = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
        let bytes = Array((interim + "HTTP/1.1 100 Continue\r\n\r\n" + final).utf8)
        let reading = try readResponse(bytes)
        #expect(reading.interim.map(\.line.status) == [103, 100])
        #expect(reading.interim[0].header[.link] == "</a>")
        #expect(reading.header?.count == 1)
        #expect(reading.body == Array("ok".utf8))
        #expect(deliveriesThatDiffer(bytes) == [])

        let allowed = String(repeating: interim, count: limits.interimResponses)
        #expect(try readResponse((allowed + final).utf8).interim.count == limits.interimResponses)
        let error = WireError.tooLarge(limit: .interimResponses(count: limits.interimResponses))
        #expect(throws: error) { try readResponse((allowed + interim + final).utf8) }
        #expect(endlessResponse(beginningWith: "", thenRepeating: Array(interim.utf8), times: 1000).error == error)
        #expect(throws: error) {
            try readResponse((String(repeating: "HTTP/1.1 100 Continue\r\n\r\n", count: 70) + final).utf8)
        }
    }

    @Test("all heads of an exchange share one limit", .rows("R-18"))
    func sharedLimit() {
        let interim = "HTTP/1.1 103 X\r\nX: " + String(repeating: "y", count: 90_000) + "\r\n\r\n"
        let (error, sent) = endlessResponse(beginningWith: "", thenRepeating: Array(interim.utf8), times: 20)
        #expect(error == .tooLarge(limit: .head(bytes: limits.headBytes)))
        #expect(sent < 2 * limits.headBytes)
    }

    @Test("101 is an error unless it was requested; the bytes after it are not HTTP", .rows("R-18"))
    func upgrade() throws {
        let text = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nContent-Length: 4\r\n\r\nabcd"
        #expect(throws: WireError.violation(.unexpectedUpgrade)) { try readResponse(text.utf8) }
        let reading = try readResponse(text.utf8, upgrade: true)
        #expect(reading.response?.line.status == 101)
        #expect(reading.response?.framing == BodyFraming.none)
        #expect(reading.unread == 4)
        #expect(reading.response?.isReusable == false)
    }
}
