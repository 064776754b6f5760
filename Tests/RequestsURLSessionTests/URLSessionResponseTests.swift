import RequestsConformance
import RequestsURLSession
import TestSupport
import Testing

@Suite("URLSession: responses", .timeLimit(.minutes(10)))
struct URLSessionResponseTests {
    static let challenges = ["Basic realm=a", "Digest realm=a, nonce=b", "Negotiate", "NTLM", "Bearer"]

    @Test("a 401 is returned at once with its body, whatever its challenge", .rows("L1", "T-86"), arguments: challenges)
    func challenge(_ challenge: String) async throws {
        let mock = MockExecutor(
            .status(401, "who?").adding(headerField: Field(name: .wwwAuthenticate, value: challenge)))
        try await withTestServer(serving: mock) { server in
            let executor = URLSessionExecutor()
            for header in [Header.empty, [Field(name: .authorization, value: "Basic YTpi")]] {
                let response = try await executor.execute(server.request(header: header))
                #expect(response.head.status == 401)
                #expect(response.text == "who?")
                #expect(response.head.header[.wwwAuthenticate] == challenge)
            }
            let stream = try await executor.execute(server.request(delivery: .streamed)).stream
            #expect(try await stream?.collect() == Data("who?".utf8))
            let folder = TemporaryDirectory()
            let file = try await executor.execute(server.request(delivery: .file(path: folder.path(of: "there"))))
            #expect(file.text == "who?" && folder.names.isEmpty)
            #expect(server.exchanges.count == 4)
        }
    }

    @Test("the session does not follow a redirect, and its body is returned", .rows("L2", "L3", "L9", "D-22"))
    func redirect() async throws {
        let mock = MockExecutor(
            MockResponse(
                status: 307, header: [Field(name: .location, value: "/there")], body: [.bytes(Data("moved".utf8))]))
        try await withTestServer(serving: mock) { server in
            let response = try await URLSessionExecutor().execute(
                server.request(.post, body: .bytes(Data("x".utf8))))
            #expect(response.head.status == 307)
            #expect(response.head.header[.location] == "/there")
            #expect(response.text == "moved")
            #expect(server.exchanges.count == 1)
        }
    }

    @Test("the first-byte limit ends a call whose redirect has an endless body", .rows("R-20"))
    func lateRedirect() async throws {
        var redirect = MockResponse.redirect(307, to: "/there")
        redirect.body = [.bytes(Data(count: 10))]
        try await withTestServer(serving: MockExecutor(redirect), behaving: .failing(.stallBody(atByte: 3))) { server in
            let client = Client(ServerAPI(baseURL: server.baseURL), executor: URLSessionExecutor())
            let request = client.api.get(.text, from: "/").with(timeouts: Timeouts(firstByte: .milliseconds(200)))
            let start = ContinuousClock.now
            let error = await #expect(throws: RequestError.self) { try await client.perform(request) }
            #expect(error?.reason == .timedOut(.firstByte))
            #expect(.now - start >= .milliseconds(200))
        }
    }

    @Test("the first-byte limit ends a call whose redirect never stops sending its body", .rows("R-20"))
    func endlessRedirect() async throws {
        var redirect = MockResponse.redirect(307, to: "/there")
        redirect.body = [.chunks(count: .max) { _ in Data(count: 100) }]
        // The body is sent slowly, because Foundation keeps all of it in memory.
        let slow = TestServer.Behavior(pace: .drip(100, every: .milliseconds(1)))
        try await withTestServer(serving: MockExecutor(redirect), behaving: slow) { server in
            let client = Client(ServerAPI(baseURL: server.baseURL), executor: URLSessionExecutor())
            let request = client.api.get(.text, from: "/").with(timeouts: Timeouts(firstByte: .milliseconds(200)))
            let error = await #expect(throws: RequestError.self) { try await client.perform(request) }
            #expect(error?.reason == .timedOut(.firstByte))
            #expect(server.exchanges.map(\.target) == ["/"])
        }
    }

    @Test("a chunked body without bytes is empty, even with a content coding", .rows("R-24"))
    func emptyCoded() async throws {
        let response = MockResponse(status: 200, header: [Field(name: .contentEncoding, value: "gzip")])
        let chunked = TestServer.Behavior(framing: .chunked(sizes: [1]))
        try await withTestServer(serving: MockExecutor(response), behaving: chunked) { server in
            let response = try await URLSessionExecutor().execute(server.request())
            #expect(response.data == Data())
            let streamed = try await URLSessionExecutor().execute(server.request(delivery: .streamed))
            #expect(try await streamed.stream?.collect() == Data())
        }
    }

    @Test("a call follows redirects: 307 sends the body again, 303 does not", .rows("L2", "L3", "T-59", "PM-73"))
    func following() async throws {
        let mock = MockExecutor { request in
            switch request.target.path {
            case "/307": .redirect(307, to: "/end")
            case "/303": .redirect(303, to: "/end")
            default: .ok("\(request.method) \(request.body)")
            }
        }
        try await withTestServer(serving: mock) { server in
            let client = Client(ServerAPI(baseURL: server.baseURL), executor: URLSessionExecutor())
            let body = BodyProvider.raw(data: Data("abc".utf8))
            let kept = try await client.perform { $0.post(body, to: "/307", receiving: .text) }
            let rewritten = try await client.perform { $0.post(body, to: "/303", receiving: .text) }
            #expect(kept == "POST 3 bytes")
            #expect(rewritten == "GET no body")
        }
    }

    @Test("credentials are not sent to another origin after a redirect", .rows("L3", "T-59"))
    func credentials() async throws {
        try await withTestServer(serving: MockExecutor(.ok())) { other in
            let url = other.baseURL.absoluteString
            try await withTestServer(serving: MockExecutor(.redirect(to: url))) { server in
                let client = Client(ServerAPI(baseURL: server.baseURL), executor: URLSessionExecutor())
                try await client.perform { $0.get(.none, from: "/").authenticated(with: .bearerToken("t")) }
                #expect(server.exchanges.first?.header[.authorization] == "Bearer t")
                #expect(other.exchanges.first?.header[.authorization] == nil)
            }
        }
    }

    @Test(
        "a redirect with an empty Location is returned without its body", .rows("PM-73"),
        .enabled(if: Support.isOnLinux))
    func emptyLocation() async throws {
        try await withTestServer(serving: MockExecutor(.redirect(to: ""))) { server in
            let response = try await URLSessionExecutor().execute(server.request())
            #expect(response.head.status == 302)
            #expect(response.text == "")
        }
    }

    @Test("a compressed body is decoded; the metrics contain its coding, the header does not", .rows("L7"))
    func compressed() async throws {
        let data = try #require(Data(base64Encoded: "H4sIAAAAAAACA8tIzcnJ11HIwKQAVaOCdxoAAAA="))
        let mock = MockExecutor(.data(data).adding(headerField: Field(name: .contentEncoding, value: "gzip")))
        try await withTestServer(serving: mock) { server in
            let executor = URLSessionExecutor()
            let response = try await executor.execute(server.request())
            #expect(response.text == "hello, hello, hello, hello")
            #expect(response.head.header[.contentEncoding] == nil)
            #expect(response.head.header[.contentLength] == nil)
            #expect(response.metrics.contentEncoding == "gzip")
            #expect(response.metrics.encodedBodyLength == data.count)
            #expect(response.metrics.timeToResponseHead != nil)
            let head = try await executor.execute(server.request(.head))
            #expect(head.head.header[.contentEncoding] == "gzip")
        }
    }

    @Test(
        "a connection that closes before the response is an error", .rows("L4", "T-87"),
        arguments: [TestServer.Fault.closeBeforeHead, .resetBeforeHead])
    func lost(fault: TestServer.Fault) async throws {
        try await withTestServer(serving: MockExecutor(.ok()), fault: fault) { server in
            let error = await URLSessionExecutor().failure(of: try server.request(.post))
            #expect(error?.reason == .connectionLost)
            #expect(error?.mayHaveReachedServer == true)
            #expect(error?.request?.method == .post)
            #expect(server.exchanges.count == 1)
        }
    }

    @Test("two Location fields are not joined", .rows("D-22"))
    func locations() async throws {
        for location in ["/a,b", "/c"] {
            let fields = [Field(name: .location, value: location), Field(name: .location, value: "/c,d")]
            let mock = MockExecutor(MockResponse(status: 302, header: Header(fields)))
            try await withTestServer(serving: mock) { server in
                let response = try await URLSessionExecutor().execute(server.request())
                #expect(response.head.header.values(of: .location) == [location, "/c,d"])
            }
        }
    }

    @Test("white space after values is removed, and commas in values do not split them", .rows("D-22"))
    func values() async throws {
        let head = [
            "HTTP/1.1 302 Found", "Location: /find?by=Doe, John \t", "ETag: \"1\" ", "Content-Length: 4 ",
            "Set-Cookie: a=1; Path=/x", "Set-Cookie: plain", "Set-Cookie: b=2; Expires=Wed, 09 Jun 2031 10:18:14 GMT  ",
        ]
        let fault = TestServer.Fault.raw(Array((head.joined(separator: "\r\n") + "\r\n\r\nbody").utf8))
        try await withTestServer(serving: MockExecutor(.ok()), fault: fault) { server in
            let response = try await URLSessionExecutor().execute(server.request())
            let header = response.head.header
            #expect(header.values(of: .location) == ["/find?by=Doe, John"] && header.values(of: .etag) == ["\"1\""])
            #expect(header.values(of: .contentLength) == ["4"] && response.text == "body")
            #expect(
                header.values(of: .setCookie)
                    == ["a=1; Path=/x", "plain", "b=2; Expires=Wed, 09 Jun 2031 10:18:14 GMT"])
        }
    }

    @Test(
        "a field that Foundation on Linux cannot parse is a protocol violation", .rows("D-22"),
        .enabled(if: Support.isOnLinux),
        arguments: [[0xE9], [0x09], [0x20, 0x20]] as [[UInt8]])
    func unreadableFields(value: [UInt8]) async throws {
        let end = Array("\r\nContent-Length: 4\r\n\r\nwho?".utf8)
        for line in ["HTTP/1.1 200 OK\r\nX-Note: ", "HTTP/1.1 401 No\r\nWWW-Authenticate: "] {
            let fault = TestServer.Fault.raw(Array(line.utf8) + value + end)
            try await withTestServer(serving: MockExecutor(.ok()), fault: fault) { server in
                let error = await URLSessionExecutor().failure(of: try server.request())
                #expect(error?.reason == .protocolViolation)
            }
        }
    }

    @Test("a stream can be read after its executor is released")
    func outliving() async throws {
        try await withTestServer(serving: MockExecutor(.ok("0123456789"))) { server in
            let stream = try await URLSessionExecutor().execute(server.request(delivery: .streamed)).stream
            #expect(try await stream?.collect() == Data("0123456789".utf8))
        }
    }
}
