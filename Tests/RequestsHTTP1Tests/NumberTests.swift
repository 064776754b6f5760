import Requests
import RequestsHTTP1
import TestSupport
import Testing

/// The numbers that frame a message.
///
/// Each is read exactly, or the message is rejected.
@Suite("Numbers of messages")
struct NumberTests {
    static let numbers: [(text: String, value: Int?)] = [
        ("0", 0), ("1", 1), ("-1", nil), ("+1", nil), ("9223372036854775806", .max - 1),
        ("9223372036854775807", .max), ("9223372036854775808", nil), ("18446744073709551615", nil),
        ("18446744073709551616", nil), (String(repeating: "9", count: 400), nil),
        (String(repeating: "0", count: 400) + "7", 7), ("", nil), ("1\u{301}", nil), ("\u{301}1", nil),
    ]

    private func head(_ fields: String) -> [UInt8] { Array("HTTP/1.1 200 OK\r\n\(fields)\r\n\r\n".utf8) }

    @Test(
        "a Content-Length is read exactly or rejected, and bytes are counted against it", .rows("R-9", "R-75"),
        arguments: numbers
    )
    func contentLength(text: String, value: Int?) throws {
        let bytes = head("Content-Length: \(text)") + Array("abc".utf8)
        var reader = ResponseReader(answering: .get)
        guard let value else {
            #expect(throws: WireError.self) { try reader.next(in: bytes.span) }
            return
        }
        let (consumed, event) = try reader.next(in: bytes.span)
        guard case .head(let response) = event else {
            Issue.record("expected a head")
            return
        }
        #expect(response.framing == .counted(bytes: value) && reader.remaining == value)
        let body = Array(bytes[consumed...])
        let (count, _) = try reader.next(in: body.span)
        #expect(count == min(3, value) && reader.remaining == value - count)
        reader.advance(.max)
        #expect(reader.remaining == 0)
    }

    @Test(
        "a chunk size is read exactly or rejected", .rows("R-12", "R-75"),
        arguments: [
            ("0", 0), ("7fffffffffffffff", .max), ("7FFFFFFFFFFFFFFE", .max - 1), ("8000000000000000", nil),
            ("ffffffffffffffff", nil), ("10000000000000000", nil), (String(repeating: "f", count: 400), nil),
            (String(repeating: "0", count: 400) + "7", 7), ("-1", nil), ("+1", nil), ("", nil), ("1\u{301}", nil),
        ] as [(String, Int?)])
    func chunkSize(text: String, value: Int?) throws {
        let bytes = head("Transfer-Encoding: chunked")
        var reader = ResponseReader(answering: .get)
        _ = try reader.next(in: bytes.span)
        let line = Array("\(text)\r\n".utf8)
        guard let value else {
            #expect(throws: WireError.self) { try reader.next(in: line.span) }
            return
        }
        _ = try reader.next(in: line.span)
        #expect(reader.remaining == value)
        reader.advance(.max)
        #expect(reader.remaining == 0)
    }

    @Test("an invalid number of Keep-Alive is absent", .rows("R-47", "R-75"), arguments: numbers)
    func keepAlive(text: String, value: Int?) {
        let keepAlive = KeepAlive("timeout=\(text), max=\(text)")
        #expect(keepAlive.timeout == value && keepAlive.max == value)
    }

    @Test(
        "a status without three digits is an error", .rows("R-26", "R-75"),
        arguments: numbers.map(\.text) + ["000", "099", "1000", "-10"])
    func status(text: String) {
        var reader = ResponseReader(answering: .get)
        let bytes = Array("HTTP/1.1 \(text) OK\r\n\r\n".utf8)
        #expect(throws: WireError.self) { try reader.next(in: bytes.span) }
    }

    @Test(
        "a combining mark after a delimiter hides neither the delimiter nor the token", .rows("R-47", "R-75"),
        arguments: ["\u{301}", "\u{200D}", "\u{FE0F}"])
    func marks(mark: String) throws {
        #expect(KeepAlive("a=\(mark)b,timeout=5,max=\(mark)6").timeout == 5)
        #expect(KeepAlive("timeout=\(mark)5").timeout == nil && KeepAlive("\(mark)timeout=5").timeout == nil)
        let connection = Header(Field(name: .connection, value: "a,\(mark)b, close,\(mark)"))
        #expect(connection.listContains("close", in: .connection))
        #expect(!Header(Field(name: .connection, value: "close\(mark)")).listContains("close", in: .connection))
        let bytes = Array("HTTP/1.1 200 a\(mark)\r\nA: b;\(mark)c\r\nContent-Length: 0\r\n\r\n".utf8)
        var reader = ResponseReader(answering: .get)
        guard case (_, .head(let response)) = try reader.next(in: bytes.span) else {
            Issue.record("expected a head")
            return
        }
        #expect(Array(response.line.reason.utf8) == Array("a\(mark)".utf8))
        #expect(response.header["A"].map { Array($0.utf8) } == Array("b;\(mark)c".utf8))
    }

    @Test("reason phrases that are canonically equivalent are different", .rows("R-23", "R-75"))
    func comparison() {
        let (composed, decomposed) = ("\u{E9}", "e\u{301}")
        #expect(StatusLine(status: 200, reason: composed) != StatusLine(status: 200, reason: decomposed))
        #expect(StatusLine(status: 200, reason: composed) == StatusLine(status: 200, reason: "\u{E9}"))
    }
}
