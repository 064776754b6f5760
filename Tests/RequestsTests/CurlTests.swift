import Requests
import Testing

@Suite("The curl command")
struct CurlTests {
    private func command(
        _ method: HTTPMethod = .post, _ header: Header = [.contentType(.json)], body: RequestBody = .none
    ) throws -> String {
        PreparedRequest(method: method, target: try TargetURI("https://u:p@e.com/a?b=c"), header: header, body: body)
            .curlCommand(.revealing)
    }

    @Test("each method and body as curl spells it")
    func forms() throws {
        let end = " 'https://e.com/a?b=c'"
        #expect(try command(.get, .empty) == "curl" + end)
        #expect(try command(.head, .empty) == "curl --head" + end)
        #expect(try command("PURGE", .empty) == "curl --request PURGE" + end)
        let post = "curl --request POST --header 'Content-Type: application/json'"
        #expect(try command(body: .bytes(Data("@a".utf8))) == post + " --data-raw @a" + end)
        #expect(try command(body: .bytes(Data())) == post + " --data-raw ''" + end)
        #expect(try command(body: .bytes(Data("it's".utf8))) == post + #" --data-raw 'it'\''s'"# + end)
        #expect(
            try command(body: .bytes(Data("a\r\n'\\\u{1}é".utf8))) == post + #" --data-raw $'a\r\n\'\\\x01é'"# + end)
        #expect(try command(body: .file(path: "/a b")) == post + " --data-binary '@/a b'" + end)
        let unseen: [RequestBody] = [
            .bytes(Data([0xFF])), .bytes(Data([0x61, 0])), .bytes(Data(repeating: 0x61, count: 1_025)),
            .file(path: "/f", range: 0..<1), .stream { AsyncStream<Data> { $0.finish() } },
        ]
        for body in unseen { #expect(try command(body: body) == post + " --data-binary @-" + end) }
        #expect(
            try command(.post, .empty, body: .bytes(Data("a".utf8))).contains("--header Content-Type: --data-raw a"))
    }

    @Test("secrets are redacted unless asked for (R-8)")
    func secrets() throws {
        let request = PreparedRequest(
            target: try TargetURI("https://u:hunter2@e.com/?token=hunter2"),
            header: [Field(name: .authorization, value: "Bearer hunter2"), Field(name: "X", value: "$(rm) `a`;b")])
        #expect(
            request.curlCommand == "curl --header 'Authorization: <redacted>' --header 'X: $(rm) `a`;b'"
                + " 'https://e.com/?token=<redacted>'")
        #expect(request.curlCommand(.revealing).contains("'Authorization: Bearer hunter2'"))
    }
}
