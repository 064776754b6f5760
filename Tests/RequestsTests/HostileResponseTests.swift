import Requests
import Testing

private let api = AnonymousRequestProvider.example

@Suite("Errors for hostile responses")
struct HostileResponseTests {
    private struct Item: Decodable, Sendable {
        let id: Int
        let next: [String: Int]?
    }

    static let bodies: [Data] = [
        Data(repeating: UInt8(ascii: "["), count: 1_000_000),
        Data((String(repeating: "{\"id\":", count: 5_000) + "1" + String(repeating: "}", count: 5_000)).utf8),
        Data("{\"id\": \"\\ud800\"}".utf8), Data("{\"id\": \"\\udc00\\ud800\", \"next\": null}".utf8),
        Data("{\"id\": \"\u{1B}[2J\u{1B}]0;x\u{07}\"}".utf8), Data("{\"id\": \"a\u{9B}31m\"}".utf8),
        Data("{\"a\\nb\\u001b[0m\": 1}".utf8), Data("{\"next\": {\"x\\r\\ny\": \"z\"}, \"id\": 1}".utf8),
        Data("{\"id\": 1, \"next\": {\"\\u001b[2J\\n\": \"z\"}}".utf8), Data([0xFF, 0xFE, 0x00]),
        Data("{\"id\": \0}".utf8), Data([0xEF, 0xBB, 0xBF]) + Data("{\"id\": x}".utf8),
        Data("{\"id\": 1e999999}".utf8), Data("{\"id\": 99999999999999999999999999}".utf8),
        Data("\u{2028}{\"id\": }".utf8),
        Data(("{\"id\": \"" + String(repeating: "é", count: 100_000) + "\"}").utf8),
        Data("{\"id\": \"hunter2-hunter2\", \"echo\": \"hunter2\"}".utf8),
    ]

    @Test(
        "a hostile body is a typed error whose text is short and contains no control characters or secrets",
        arguments: bodies)
    func printing(body: Data) async throws {
        let request = api.get(.json(Item.self), from: "/x").authenticated(with: .bearerToken("hunter2"))
        let executor = StubExecutor { request in
            RawResponse(
                head: ResponseHead(status: 200, header: [.contentType(.json)], target: request.target),
                body: .bytes(body))
        }
        let error = try #require(await #expect(throws: RequestError.self) { try await executor.perform(request) })
        #expect(error.reason == .decodingFailed)
        for text in everyText(of: error) {
            #expect(!text.contains("hunter2"))
            #expect(text.utf8.count < 20_000)
        }
        for text in [error.description, error.debugDescription] {
            let controls = text.unicodeScalars.filter { $0.properties.generalCategory == .control && $0 != "\n" }
            #expect(controls.isEmpty, "\(text.debugDescription)")
        }
        #expect(!error.description.contains("\n"))
    }
}
