import Foundation
import RequestsMiddleware
import RequestsMock
import RequestsSocket
import RequestsTestServer
import TestSupport
import Testing

/// The curl commands of requests, which shells run with the real curl against the test server.
@Suite(
    "Generated curl commands",
    .enabled(if: FileManager.default.isExecutableFile(atPath: "/usr/bin/curl"), "/usr/bin/curl is not installed"),
    .timeLimit(.minutes(10)))
struct CurlCommandTests {
    /// The installed shells: at least `/bin/sh`, which POSIX requires.
    static let shells = ["/bin/sh", "/bin/bash", "/bin/zsh"].filter(FileManager.default.isExecutableFile)

    static let everyByte = Data((0...255).map { UInt8($0) })

    static let requests: [(HTTPMethod, String, Header, Data?)] = [
        (.get, "/a/b?c=d&e=%20", [Field(name: "X-Quote", value: "it's \"$HOME\" `id` \\ !! *")], nil),
        (
            .get, "/a/../b/./c?x[]=1&y={a,b}",
            [Field(name: "X-Empty", value: ""), Field(name: "X-Tab", value: "a\tb")], nil
        ),
        (.head, "/", .empty, nil),
        ("M-SEARCH", "/", [Field(name: "X-Semi", value: "a;b: c")], nil),
        ("purge!#$%&'*+-.^_`|~", "/", .empty, nil),
        (.delete, "/", .empty, nil),
        (.post, "/", .empty, nil),
        (.post, "/", .empty, Data()),
        (.post, "/", [.contentType(.json)], Data("{\"a\": \"it's\"}".utf8)),
        (.put, "/", .empty, Data("@/etc/passwd".utf8)),
        (.patch, "/", .empty, Data("line 1\nline 2\r\n\n".utf8)),
        (.delete, "/", .empty, Data("%s%n\\n\\0 é €".utf8)),
        (.post, "/", [.contentType(.binary)], everyByte),
        (.post, "/", .empty, Data("-d".utf8)),
    ]

    /// Runs `command` with `input` as its standard input, and returns its standard error if it fails.
    private func run(_ command: String, with shell: String, input: Data = Data()) throws -> String? {
        let folder = TemporaryDirectory()
        try folder.write(input, to: "input")
        let process = Process()
        let pipe = Pipe()
        process.executableURL = URL(filePath: shell)
        process.arguments = ["-c", command]
        process.environment = ["PATH": "/usr/bin:/bin", "CURL_HOME": "/nonexistent", "HOME": "/nonexistent"]
        process.standardInput = try FileHandle(forReadingFrom: URL(filePath: folder.path(of: "input")))
        process.standardOutput = FileHandle.nullDevice
        process.standardError = pipe
        try process.run()
        let output = try pipe.fileHandleForReading.readToEnd() ?? Data()
        process.waitUntilExit()
        return process.terminationStatus == 0 ? nil : String(decoding: output, as: UTF8.self)
    }

    /// Runs the command of `request` with every shell, and compares the received request with `request`.
    private func check(_ request: PreparedRequest, _ body: Data?, input: Data = Data(), _ mock: MockExecutor) throws {
        let command = request.curlCommand(secrets: .revealed)
        #expect(!command.contains("\n"))
        for shell in Self.shells {
            let failure = try run(command, with: shell, input: input)
            #expect(failure == nil, "\(shell): \(command)")
            let received = try #require(mock.recordedRequests.last, "\(shell): \(command)")
            #expect(received.method == request.method && received.target.path == request.target.path, "\(command)")
            #expect(received.target.query == request.target.query, "\(command)")
            for field in request.header {
                #expect(received.header.values(of: field.name) == [field.value], "\(command)")
            }
            #expect(received.header.contains(.contentType) == request.header.contains(.contentType), "\(command)")
            if case .bytes(let bytes) = received.body {
                #expect(bytes == body ?? Data(), "\(command)")
            } else {
                #expect(body == nil || body == Data(), "\(command)")
            }
        }
    }

    @Test("a command sends its request: quotes, line ends, every byte, unusual methods", arguments: requests.indices)
    func runs(index: Int) async throws {
        let (method, path, header, body) = Self.requests[index]
        let mock = MockExecutor(.ok("x"))
        try await withTestServer(serving: mock) { server in
            var request = PreparedRequest(
                method: method, target: try TargetURI(server.baseURL.absoluteString + path), header: header)
            if let body { request.body = .bytes(body) }
            try check(request, body, mock)
        }
    }

    @Test("a command sends a multipart form as this library does, except for the boundary", arguments: [0, 1, 2])
    func multipart(style: Int) async throws {
        let mock = MockExecutor(.ok("x"))
        let folder = TemporaryDirectory()
        let name = "a \"curl;,'\\"
        try folder.write(Self.everyByte, to: name)
        let file = URL(filePath: folder.path(of: name))
        let parts: [MultipartForm.Part] = [
            .text("it's \"a\"; \\ $HOME `id` %41 é\r\n.", name: "te xt"), .text("@/etc/passwd", name: "at"),
            .text("<x", name: "less", contentType: "text/html"), .text("", name: "empty"),
            .file(at: file, name: "file;x", filename: "a \"b\"; \\c.bin"),
            .data(Data("x;type=a/b".utf8), name: "n", filename: "é.png", contentType: .png)
                .adding(headerField: Field(name: "X-A", value: "b; \"c\"")),
        ]
        try await withTestServer(serving: mock) { server in
            let api = AnonymousRequestProvider(baseURL: server.baseURL)
            let styles: [MultipartForm.Style] = [.standard, .browser, .afnetworking]
            let body = BodyProvider.multipart(parts, boundary: "B0und", style: styles[style])
            let request = try api.post(body, to: "/form").prepared()
            let command = request.curlCommand(secrets: .revealed)
            #expect(command.contains(" --form ") && !command.contains("\n"))
            guard case .bytes(let expected) = try await request.body.collected() else { return }
            for shell in Self.shells {
                let failure = try run(command, with: shell)
                #expect(failure == nil, "\(shell): \(command)")
                let received = try #require(mock.recordedRequests.last)
                let boundary = try #require(received.header.contentType?.parameters["boundary"])
                guard case .bytes(let bytes) = received.body else {
                    Issue.record("no body: \(command)")
                    continue
                }
                // Each byte is one character of ISO-8859-1.
                let text = String(data: bytes, encoding: .isoLatin1)?.replacing(boundary, with: "B0und")
                #expect(text == String(data: expected, encoding: .isoLatin1), "\(command)")
            }
        }
    }

    @Test("the command of an error has the fields that middleware has added")
    func failedRequest() async throws {
        let mock = MockExecutor { request in
            MockResponse(status: request.header.contains(.authorization) ? .notFound : .unauthorized)
        }
        try await withTestServer(serving: mock) { server in
            let client = Client(AnonymousRequestProvider(baseURL: server.baseURL), executor: SocketExecutor())
                .authenticating(with: FixedCredentials.bearerToken("a1b2"))
            let request: Request<AnonymousRequestProvider, Data> = client.api.get(.data, from: "/missing")
            let thrown = await #expect(throws: RequestError.self) { try await client.perform { _ in request } }
            let error = try #require(thrown)
            #expect(error.response?.status == .notFound)
            let sent = try #require(error.request)
            #expect(sent.header.contains(.authorization))
            try check(sent, nil, mock)
            let repeated = try await SocketExecutor().execute(sent)
            #expect(repeated.status == .notFound)
        }
    }

    @Test("a command sends a file by its path, and a large body from standard input")
    func files() async throws {
        let mock = MockExecutor(.ok("x"))
        let folder = TemporaryDirectory()
        let name = "curl's\nbody"
        try folder.write(Self.everyByte, to: name)
        let path = folder.path(of: name)
        let long = Data(repeating: 0x27, count: 5_000)
        try await withTestServer(serving: mock) { server in
            let target = try TargetURI(server.baseURL.absoluteString + "/f")
            try check(
                PreparedRequest(method: .put, target: target, body: .file(path: path)), Self.everyByte, mock)
            try check(PreparedRequest(method: .put, target: target, body: .bytes(long)), long, input: long, mock)
        }
    }
}
