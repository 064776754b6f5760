import Requests
import TestSupport
import Testing

@Suite("The curl command")
struct CurlTests {
    private func command(
        _ method: HTTPMethod = .post, _ header: Header = [.contentType(.json)], body: RequestBody = .none,
        url: String = "https://u:p@e.com/a?b=c"
    ) throws -> String {
        PreparedRequest(method: method, target: try TargetURI(url), header: header, body: body).curlCommand(
            secrets: .revealed)
    }

    @Test("each method and body has its curl options")
    func forms() throws {
        let end = " 'https://e.com/a?b=c'"
        #expect(try command(.get, .empty) == "curl" + end)
        #expect(try command(.head, .empty) == "curl --head" + end)
        #expect(try command("PURGE", .empty) == "curl --request PURGE" + end)
        #expect(try command(.post, .empty) == "curl --request POST --header 'Content-Length: 0'" + end)
        let post = "curl --request POST --header 'Content-Type: application/json'"
        #expect(try command(body: .bytes(Data("@a".utf8))) == post + " --data-raw @a" + end)
        #expect(try command(body: .bytes(Data())) == post + " --data-raw ''" + end)
        #expect(try command(body: .bytes(Data("it's é".utf8))) == post + #" --data-raw 'it'\''s é'"# + end)
        #expect(try command(body: .file(path: "/a b")) == post + " --data-binary '@/a b'" + end)
        let unseen: [RequestBody] = [
            .bytes(Data(repeating: 0x61, count: 1_025)), .file(path: "/f", range: 0..<1), .file(path: "/f\n"),
            .stream { AsyncStream<Data> { $0.finish() } },
        ]
        for body in unseen { #expect(try command(body: body) == post + " --data-binary @-" + end) }
        #expect(
            try command(.post, .empty, body: .bytes(Data("a".utf8))).contains("--header Content-Type: --data-raw a"))
    }

    @Test("bytes that are not text, or that a terminal would interpret, are written as octal escapes")
    func bytes() throws {
        let suffix =
            " | curl --request POST --header 'Content-Type: application/json' --data-binary @- 'https://e.com/a?b=c'"
        for (bytes, word) in [
            (Array("a\r\n'\\%\u{1}".utf8), #"'a\0015\0012\0047\\%\0001'"#), ([0x61, 0], #"'a\0000'"#),
            ([0xFF], #"'\0377'"#),
            (Array("\u{9B}".utf8), #"'\0302\0233'"#),
        ] {
            #expect(try command(body: .bytes(Data(bytes))) == "printf %b " + word + suffix)
        }
        #expect(
            try command(body: .file(path: "/a\nb'")).contains(#"--data-binary "$(printf %b '@/a\0012b\0047')""#))
    }

    @Test("an empty field value is sent, and brackets in the URL are literal")
    func specialForms() throws {
        #expect(try command(.get, [Field(name: "X-Empty", value: "")]).hasPrefix("curl --header 'X-Empty;' "))
        #expect(try command(.get, .empty, url: "http://[::1]/a") == "curl --globoff 'http://[::1]/a'")
    }

    @Test("secrets are redacted unless they are revealed explicitly", .rows("R-8", "R-74"))
    func secrets() throws {
        let request = PreparedRequest(
            target: try TargetURI("https://u:hunter2@e.com/?token=hunter2"),
            header: [Field(name: .authorization, value: "Bearer hunter2"), Field(name: "X", value: "$(rm) `a`;b")])
        #expect(
            request.curlCommand() == "curl --header 'Authorization: <redacted>' --header 'X: $(rm) `a`;b'"
                + " 'https://e.com/?token=<redacted>'")
        #expect(request.curlCommand(secrets: .revealed).contains("'Authorization: Bearer hunter2'"))
    }
}
