import Requests
import RequestsHTTP1
import TestSupport
import Testing

@Suite("Writing")
struct WritingTests {
    @Test("a written response head is read back unchanged")
    func head() throws {
        var buffer: [UInt8] = []
        let header: Header = [Field(name: "x-A", value: "b"), Field(name: "Empty", value: "")]
        try ResponseHeadWriter.append(404, header, to: &buffer)
        #expect(String(decoding: buffer, as: UTF8.self) == "HTTP/1.1 404 Not Found\r\nx-A: b\r\nEmpty: \r\n\r\n")
        let reading = try readResponse(buffer)
        #expect(reading.response?.line == StatusLine(status: 404, reason: "Not Found"))
        #expect(reading.header == header)
    }

    @Test("the bytes of a received field are written unchanged", .rows("R-23"))
    func latin1() throws {
        let bytes = Array("HTTP/1.1 200 OK\r\nX: J".utf8) + [0xF6] + Array("rg\r\n\r\n".utf8)
        var buffer: [UInt8] = []
        try ResponseHeadWriter.append(200, readResponse(bytes).header ?? [], to: &buffer)
        #expect(buffer == bytes)
    }

    @Test("a control character in a name, a value, a reason or a trailer is an error", .rows("R-1"))
    func controls() {
        for byte in [UInt8](0...0x1F) + [0x7F] where byte != 0x09 {
            let text = "a\(Unicode.Scalar(byte))b"
            var buffer: [UInt8] = []
            #expect(throws: WireError.self) {
                try ResponseHeadWriter.append(200, [Field(name: "A", value: text)], to: &buffer)
            }
            #expect(throws: WireError.self) {
                try ResponseHeadWriter.append(200, [Field(name: Field.Name(text), value: "")], to: &buffer)
            }
            #expect(throws: WireError.self) {
                try ResponseHeadWriter.append(StatusLine(status: 200, reason: text), [], to: &buffer)
            }
            #expect(throws: WireError.self) {
                var encoder = ChunkEncoder()
                try encoder.end(trailers: [Field(name: "A", value: text)], in: &buffer)
            }
            #expect(buffer.isEmpty)
        }
        for code in [-1, 0, 99, 1000] {
            #expect(throws: WireError.violation(.status)) {
                var buffer: [UInt8] = []
                try ResponseHeadWriter.append(HTTPStatus(code), [], to: &buffer)
            }
        }
    }

    @Test("chunks are framed with the fewest bytes, and an empty chunk is not written", .rows("R-6"))
    func chunks() throws {
        var encoder = ChunkEncoder()
        var buffer: [UInt8] = []
        for text in ["", "a", "", String(repeating: "b", count: 16), "", "c"] {
            encoder.begin(text.utf8.count, in: &buffer)
            buffer += Array(text.utf8)
        }
        try encoder.end(in: &buffer)
        #expect(
            String(decoding: buffer, as: UTF8.self)
                == "1\r\na\r\n10\r\nbbbbbbbbbbbbbbbb\r\n1\r\nc\r\n0\r\n\r\n")
        var empty: [UInt8] = []
        try encoder.end(trailers: [Field(name: "T", value: "u")], in: &empty)
        #expect(String(decoding: empty, as: UTF8.self) == "0\r\nT: u\r\n\r\n")
    }

    @Test(
        "a chunk size is written in hexadecimal digits and read back", .rows("R-12"),
        arguments: [1, 9, 10, 15, 16, 255, 256, 4095, 4096, 65_535, 1 << 32, .max])
    func sizes(size: Int) throws {
        var encoder = ChunkEncoder()
        var buffer = Array("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n".utf8)
        let head = buffer.count
        encoder.begin(size, in: &buffer)
        #expect(String(decoding: buffer[head...], as: UTF8.self) == String(size, radix: 16) + "\r\n")
        #expect(buffer.count - head <= 18)
        var reader = ResponseReader(answering: .get)
        _ = try reader.next(in: buffer.span)
        _ = try reader.next(in: buffer.span.extracting(head...))
        #expect(reader.remaining == size)
        reader.advance(size)
        #expect(reader.remaining == 0)
    }

    @Test(
        "a field for framing, routing or authentication is not allowed as a trailer", .rows("R-14"),
        arguments: [
            "Content-Length", "transfer-encoding", "Host", "Set-Cookie", "Authorization", "Content-Type", "Connection",
        ])
    func trailers(name: String) {
        #expect(throws: WireError.violation(.trailer)) {
            var encoder = ChunkEncoder()
            var buffer: [UInt8] = []
            try encoder.end(trailers: [Field(name: Field.Name(name), value: "x")], in: &buffer)
        }
    }

    @Test("an error describes the problem in one line")
    func descriptions() {
        let errors: [WireError] = [
            .violation(.contentLength), .tooLarge(limit: .head(bytes: 262_144)), .truncated(.body),
        ]
        #expect(
            errors.map(\.description) == [
                "Content-Length is not a decimal number below 2^63 (RFC 9110 §8.6)",
                "more than 262144 bytes in the head",
                "the connection ended in the body",
            ])
    }

    @Test("the reader accepts in a field name the bytes of a token (RFC 9110 §5.6.2)")
    func tokens() throws {
        for byte in UInt8.min...UInt8.max where byte != 0x3A {
            let bytes = Array("HTTP/1.1 200 OK\r\na".utf8) + [byte] + Array(": b\r\n\r\n".utf8)
            let isRead = (try? readResponse(bytes)) != nil
            #expect(isRead == Token.isTokenByte(byte))
        }
    }
}
