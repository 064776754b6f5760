import Requests
import TestSupport
import Testing

private let api = AnonymousRequestProvider.example

@Suite("Text")
struct TextTests {
    private static func text(
        _ bytes: [UInt8], _ type: String?, by decoder: ResponseDecoder<String> = .text
    ) async throws(RequestError) -> String {
        let header = type.map { [Field(name: .contentType, value: $0)] as Header } ?? .empty
        let executor = StubExecutor { request in
            RawResponse(
                head: ResponseHead(status: 200, header: header, target: request.target), body: .bytes(Data(bytes)))
        }
        return try await executor.perform(api.get(decoder, from: "/x"))
    }

    @Test(
        "text is decoded in the charset of its type, and in UTF-8 without one", .rows("RQ-25"),
        arguments: [
            ([0xC3, 0xA9], nil, "é"), ([0xC3, 0xA9], "text/plain", "é"),
            ([0xC3, 0xA9], "text/plain; charset=UTF-8", "é"), ([0xE9], "text/plain; charset=ISO-8859-1", "é"),
            ([0xE9, 0x80], "text/plain;Charset=\"latin1\"", "é\u{80}"),
            ([0x61], "text/plain; charset=us-ascii", "a"), ([0x00, 0xE9], "text/plain; charset=utf-16", "é"),
            ([0xFF, 0xFE, 0xE9, 0x00], "text/plain; charset=utf-16", "é"),
            ([0xFE, 0xFF, 0xD8, 0x3D, 0xDE, 0x00], "text/plain; charset=UTF-16", "😀"),
            ([0xE9, 0x00], "text/plain; charset=utf-16le", "é"), ([0x00, 0xE9], "text/plain; charset=utf-16be", "é"),
            ([], "text/plain; charset=utf-16", ""), ([0xFE, 0xFF], "text/plain; charset=utf-16", ""),
            ([], "text/plain; charset=windows-1252", ""),
        ] as [([UInt8], String?, String)])
    func charsets(bytes: [UInt8], type: String?, expected: String) async throws {
        #expect(try await Self.text(bytes, type) == expected)
        #expect(try await Self.text(bytes, type, by: .lossyText) == expected)
    }

    @Test(
        "ill-formed text is an error that names the charset and the place, and is repaired on request", .rows("RQ-25"),
        arguments: [
            ([0x61, 0xFF, 0x62], "text/plain", "UTF-8 at byte 1", "a\u{FFFD}b"),
            ([0xC3, 0xA9, 0xC3], "text/plain; charset=utf-8", "UTF-8 at byte 2", "é\u{FFFD}"),
            ([0xED, 0xA0, 0x80], nil, "UTF-8 at byte 0", "\u{FFFD}\u{FFFD}\u{FFFD}"),
            ([0x61, 0xE9], "text/plain; charset=us-ascii", "US-ASCII at byte 1", "a\u{FFFD}"),
            ([0x00, 0x61, 0x00], "text/plain; charset=utf-16", "UTF-16 at byte 2", "a\u{FFFD}"),
            ([0xD8, 0x3D, 0x00, 0x61], "text/plain; charset=utf-16", "UTF-16", "\u{FFFD}a"),
        ] as [([UInt8], String?, String, String)])
    func illFormed(bytes: [UInt8], type: String?, place: String, repaired: String) async throws {
        let error = await #expect(throws: RequestError.self) { try await Self.text(bytes, type) }
        #expect(error?.reason == .decodingFailed && error?.body == Data(bytes))
        #expect("\(error as Any)".contains("ill-formed \(place)"), "\(error as Any)")
        #expect(try await Self.text(bytes, type, by: .lossyText) == repaired)
    }

    @Test("a charset that is unknown is an error that names it", .rows("RQ-25"))
    func unknown() async throws {
        for decoder in [ResponseDecoder.text, .lossyText] {
            let error = await #expect(throws: RequestError.self) {
                try await Self.text([0x61], "text/plain; charset=\"x-\u{301}\"", by: decoder)
            }
            #expect(error?.reason == .decodingFailed)
            #expect("\(error as Any)".contains("unsupported charset"), "\(error as Any)")
        }
    }

    @Test("a response that cannot have a body has no text", .rows("RQ-27", "C13", "T-16"))
    func nothing() async throws {
        for decoder in [ResponseDecoder.text, .lossyText] {
            let error = await #expect(throws: RequestError.self) {
                try await StubExecutor(204).perform(api.get(decoder, from: "/x"))
            }
            #expect(error?.reason == .unexpectedNoContent)
        }
    }
}
