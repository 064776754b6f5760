import Requests
import TestSupport
import Testing

private let api = AnonymousRequestProvider.example

@Suite("The curl command of a multipart form")
struct CurlFormTests {
    private static func command(
        _ parts: [MultipartForm.Part], style: MultipartForm.Style = .browser, secrets: Redaction.Secrets = .revealed
    ) throws -> String {
        try api.post(.multipart(parts, style: style), to: "/x").prepared().curlCommand(secrets: secrets)
    }

    private static func forms(_ words: String) -> String {
        "curl --request POST \(words) https://e.com/api/x"
    }

    @Test("texts and whole files are options of curl, quoted for curl and for the shell")
    func parts() throws {
        #expect(try Self.command([.text("a", name: "n")]) == Self.forms(#"--form 'n="a"'"#))
        #expect(
            try Self.command([.text(#"@it's "x"; \ $HOME"#, name: "n")])
                == Self.forms(#"--form 'n="@it'\''s \"x\"; \\ $HOME"'"#))
        #expect(
            try Self.command([.text("a", name: "n")], style: .standard)
                == Self.forms(#"--form 'n="a";type=text/plain; charset=utf-8'"#))
        let data = MultipartForm.Part.data(Data("é".utf8), name: "n", filename: "a b.png", contentType: .png)
        #expect(try Self.command([data]) == Self.forms(#"--form 'n="é";filename="a b.png";type=image/png'"#))
        let url = URL(filePath: #filePath)
        let file = MultipartForm.Part.file(at: url, name: "f", filename: "x.txt", contentType: "text/x")
            .adding(headerField: Field(name: "X-A", value: "b"))
        #expect(
            try Self.command([file])
                == Self.forms(
                    #"--form 'f=@"\#(url.path(percentEncoded: false))";filename="x.txt";type=text/x;headers="X-A: b"'"#)
        )
    }

    @Test("a form with a part that curl cannot express is read from standard input or written by printf")
    func fallback() throws {
        let url = URL(filePath: #filePath)
        let stream = RequestBody.stream { AsyncStream<Data> { $0.finish() } }
        let unseen: [MultipartForm.Part] = [
            .text("a\n", name: "n"), .text("a\0b", name: "n"), .text("a", name: ""), .text("a", name: "a=b"),
            .text("a", name: "a\u{1}"), .data(Data([0xFF]), name: "n"),
            .text(String(repeating: "a", count: 1_025), name: "n"), .file(at: url, name: "f", range: 0..<1),
            .body(stream, name: "n"), .deferred { [] }, .text("a", name: "n", contentType: "a/b; c=\"d;e\""),
            .text("a", name: "n", contentType: "a/b; Headers=c"),
            .part(.bytes(Data("a".utf8)), header: ["Content-Disposition": "form-data; name=a"]),
        ]
        for part in unseen {
            let command = try Self.command([.text("b", name: "m"), part])
            #expect(!command.contains("--form") && command.contains("boundary="), "\(command)")
        }
    }

    @Test("a body or content type that replaces the form is shown instead of it")
    func replaced() throws {
        var request = try api.post(.multipart([.text("a", name: "n")]), to: "/x").prepared()
        let copy = request
        request.body = .bytes(Data("other".utf8))
        #expect(request.curlCommand().contains("--data-raw other"))
        #expect(copy.curlCommand().contains("--form"))
        request = copy
        request.header[.contentType] = "text/plain"
        #expect(!request.curlCommand().contains("--form"))
        request = copy
        request.header["X-A"] = "b"
        #expect(request.curlCommand().contains("--form") && request.curlCommand().contains("X-A: b"))
        let parameters = api.post(.multipart([.text("a", name: "n")], style: .browser), to: "/x")
            .adding(parameters: ["m": 1], in: .form)
        #expect(
            try parameters.prepared().curlCommand(secrets: .revealed)
                == Self.forms(#"--form 'n="a"' --form 'm="1"'"#))
    }

    @Test("parts with secret names, and secrets of the request in any part, are redacted", .rows("R-8"))
    func secrets() throws {
        let request = api.post(
            .multipart([.text("hunter2", name: "password"), .text("x hunter3 y", name: "n")]), to: "/x"
        ).authenticated(with: .bearerToken("hunter3"))
        let command = try request.prepared().curlCommand()
        #expect(command.contains("--form") && !command.contains("hunter"), "\(command)")
        let revealed = try request.prepared().curlCommand(secrets: .revealed)
        #expect(revealed.contains("hunter2") && revealed.contains("hunter3"))
    }
}
