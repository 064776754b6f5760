import RequestsFoundation
import RequestsMock
import TestSupport
import Testing

/// The charsets that `.text` reads because the program links Foundation.
@Suite("Charsets of Foundation")
struct TextCharsetTests {
    /// Returns the text of a response with `bytes`, whose Content-Type names `charset`.
    private static func text(_ bytes: [UInt8], _ charset: String) async throws -> String {
        let api = AnonymousRequestProvider("https://e.com")
        let type = try #require(MediaType("text/plain; charset=\(charset)"))
        let executor = MockExecutor(.data(Data(bytes), contentType: type))
        return try await executor.perform(api.get(.text, from: "/x"))
    }

    @Test(
        "text is decoded in a charset that only Foundation supports", .rows("RQ-25"),
        arguments: [
            ([0x80, 0xE9], "windows-1252", "€é"), ([0xB1, 0xE6], "ISO-8859-2", "ąć"),
            ([0xCF, 0xF0], "Windows-1251", "Пр"), ([0x82, 0xA0], "Shift_JIS", "あ"),
            ([0xE1], "windows-1253", "α"), ([0, 0, 0, 0xE9], "utf-32be", "é"), ([0xE9, 0, 0, 0], "utf-32le", "é"),
        ] as [([UInt8], String, String)])
    func text(bytes: [UInt8], charset: String, expected: String) async throws {
        #expect(try await Self.text(bytes, charset) == expected)
    }

    @Test(
        "ill-formed text in such a charset is an error that names it", .rows("RQ-25"),
        arguments: [
            ([0x82], "Shift_JIS"), ([0, 0, 0], "utf-32be"), ([0, 0, 0, 0x61, 0], "utf-32"),
            ([0xFF, 0xFF, 0xFF, 0xFF], "utf-32le"),
        ]
            as [([UInt8], String)])
    func illFormed(bytes: [UInt8], charset: String) async throws {
        let error = await #expect(throws: RequestError.self) { try await Self.text(bytes, charset) }
        #expect(error?.reason == .decodingFailed && error?.body == Data(bytes))
        #expect("\(error as Any)".contains("the body is ill-formed “\(charset)”"), "\(error as Any)")
    }

    @Test("text in a charset that cannot be decoded correctly is an error, not other text", .rows("RQ-25"))
    func unsupported() async throws {
        let macintosh = await #expect(throws: RequestError.self) { try await Self.text([0x8A], "macintosh") }
        #expect("\(macintosh as Any)".contains("unsupported charset “macintosh”"), "\(macintosh as Any)")
        #if os(Linux)
        let japanese = await #expect(throws: RequestError.self) { try await Self.text([0xA4, 0xA2], "EUC-JP") }
        #expect("\(japanese as Any)".contains("“EUC-JP” is not supported here"), "\(japanese as Any)")
        #endif
    }
}
