import Requests
import RequestsHTTP1
import Testing

/// Heads are scanned eight bytes at a time: each byte must be checked at each position of a word, and at the end of the
/// received bytes.
@Suite("Scanning of heads")
struct ScanTests {
    private static let tokenBytes = Set(
        "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ".utf8)

    /// Returns `count` letters, with `byte` in place of the letter at `offset`.
    private static func letters(_ count: Int, with byte: UInt8, at offset: Int) -> [UInt8] {
        var letters = [UInt8](repeating: UInt8(ascii: "v"), count: count)
        letters[offset] = byte
        return letters
    }

    @Test("a byte that no token contains is detected at each position of a field name", arguments: [1, 5, 8, 9, 17])
    func names(count: Int) {
        for byte in UInt8.min...UInt8.max {
            for offset in 0..<count where offset > 0 || ![0x09, 0x0A, 0x0D, 0x20].contains(byte) {
                let name = Self.letters(count, with: byte, at: offset)
                let bytes = Array("HTTP/1.1 200 OK\r\n".utf8) + name + Array(": w\r\n\r\n".utf8)
                let reading = try? readResponse(bytes)
                // A colon ends the name, which must not be empty.
                let isValid = Self.tokenBytes.contains(byte) || byte == UInt8(ascii: ":") && offset > 0
                let end = byte == UInt8(ascii: ":") ? offset : count
                let expected = isValid ? String(decoding: name[..<end], as: UTF8.self) : nil
                #expect(reading?.header?.first?.name.rawValue == expected)
            }
        }
    }

    @Test("a control character is detected at each position of a field value", arguments: [1, 5, 8, 9, 17])
    func values(count: Int) {
        for byte in UInt8.min...UInt8.max where byte != 0x0A && byte != 0x0D {
            for offset in 0..<count {
                let value = Self.letters(count, with: byte, at: offset)
                let bytes = Array("HTTP/1.1 200 OK\r\nA:".utf8) + value + Array("\r\n\r\n".utf8)
                let isValid = byte >= 0x20 && byte != 0x7F || byte == 0x09
                let isTrimmed = (byte == 0x20 || byte == 0x09) && (offset == 0 || offset == count - 1)
                let expected = isTrimmed ? value.filter { $0 != byte } : value
                #expect((try? readResponse(bytes).header?.first?.valueBytes) == (isValid ? expected : nil))
            }
        }
    }

    @Test("the usual status line is recognized only by all of its bytes, and its length is limited")
    func usualStatusLine() throws {
        let line = Array("HTTP/1.1 200 OK\r\n".utf8)
        for offset in 0..<line.count {
            for byte in UInt8.min...UInt8.max {
                var changed = line
                changed[offset] = byte
                let reading = try? readResponse(changed + Array("\r\n".utf8))
                // LF in place of CR ends the line too.
                let isSame = byte == line[offset] || offset == 15 && byte == 0x0A
                #expect((reading?.response?.line == StatusLine(status: 200, reason: "OK")) == isSame)
            }
        }
        var limits = WireLimits()
        limits.startLineBytes = line.count
        #expect(try readResponse(line + Array("\r\n".utf8), limits: limits).response != nil)
        limits.startLineBytes = line.count - 1
        #expect(throws: WireError.tooLarge(limit: .startLine(bytes: 16))) {
            try readResponse(line + Array("\r\n".utf8), limits: limits)
        }
    }

    @Test(
        "folded and repeated Content-Length fields declare the same length as one field",
        arguments: ["5", " 5 ", "\r\n 5", "5\r\n ", "5,\r\n\t5", "5\r\nContent-Length: 5"])
    func lengths(value: String) throws {
        let bytes = Array("HTTP/1.1 200 OK\r\nContent-Length:\(value)\r\n\r\nhello".utf8)
        #expect(try readResponse(bytes).response?.framing == .counted(bytes: 5))
        #expect(deliveriesThatDiffer(bytes) == [])
    }
}
