import RequestsConformance
import RequestsURLSession
import TestSupport
import Testing

@Suite("URLSession: lifecycle of the session", .timeLimit(.minutes(10)))
struct URLSessionLifeTests {
    @Test(
        "a reset cancels running and unsent calls, keeps received responses, and allows new calls",
        .rows("PM-11", "T-62"))
    func reset() async throws {
        let mock = MockExecutor { request in
            request.target.path == "/stalled" ? .ok().delayed(by: .endless) : .ok("here")
        }
        try await withTestServer(serving: mock) { server in
            let executor = URLSessionExecutor()
            let copy = executor
            let received = try await executor.execute(server.request())
            let stalled = try server.request(.get, "/stalled")
            let gate = AsyncStream<Data>.makeStream()
            let isProduced = AsyncStream<Void>.makeStream()
            let unsent = try server.request(
                .put,
                body: .stream {
                    isProduced.continuation.finish()
                    return gate.stream
                })
            let running = Task { await executor.failure(of: stalled) }
            let waiting = Task { await executor.failure(of: unsent) }
            try await server.waitUntil { $0.exchanges.count { $0.isComplete } == 2 }
            for await _ in isProduced.stream {}
            copy.reset()
            gate.continuation.finish()
            #expect(await running.value?.reason == .cancelled)
            #expect(await waiting.value?.reason == .cancelled)
            #expect(received.text == "here")
            #expect(try await copy.execute(server.request()).text == "here")
            #expect(server.exchanges.count == 3)
        }
    }

    @Test("a response that is being decoded is not affected by a reset", .rows("PM-11", "T-62"))
    func resetWhileDecoding() async throws {
        try await withTestServer(serving: MockExecutor(.ok("here"))) { server in
            let executor = URLSessionExecutor()
            let decoder = ResponseDecoder<String> { _, data in
                executor.reset()
                return String(decoding: data, as: UTF8.self)
            }
            let api = ServerAPI(baseURL: server.baseURL)
            let texts = [
                try await executor.perform(api.get(decoder, from: "/x")),
                try await executor.perform(api.get(.text, from: "/x")),
            ]
            #expect(texts == ["here", "here"])
        }
    }

    @Test("the configuration of the app is copied: its fields are sent, later changes are not", .rows("PM-10"))
    func configuration() async throws {
        try await withTestServer(serving: MockExecutor(.ok())) { server in
            let configuration = URLSessionConfiguration.ephemeral
            configuration.httpAdditionalHeaders = ["X-App": "tests"]
            let executor = URLSessionExecutor(configuration: configuration)
            configuration.httpAdditionalHeaders = ["X-App": "changed"]
            _ = try await executor.execute(server.request())
            executor.reset()
            _ = try await executor.execute(server.request())
            #expect(server.exchanges.map { $0.header["X-App"] } == ["tests", "tests"])
            #expect(configuration.httpCookieStorage != nil)
        }
    }

    @Test(
        "cookies are neither stored nor sent from the storage of the app, and responses are not cached", .rows("PM-10"))
    func nothingIsAdded() async throws {
        let response = MockResponse.ok("x").adding(headerField: Field(name: .setCookie, value: "a=1; Path=/"))
            .adding(headerField: Field(name: .cacheControl, value: "max-age=600"))
        try await withTestServer(serving: MockExecutor(response)) { server in
            let configuration = URLSessionConfiguration.ephemeral
            let properties: [HTTPCookiePropertyKey: Any] = [
                .name: "app", .value: "1", .domain: "127.0.0.1", .path: "/",
            ]
            configuration.httpCookieStorage?.setCookie(try #require(HTTPCookie(properties: properties)))
            let executor = URLSessionExecutor(configuration: configuration)
            for _ in 0..<3 {
                let response = try await executor.execute(server.request())
                #expect(response.head.header[.setCookie] == "a=1; Path=/")
            }
            #expect(server.exchanges.count == 3)
            #expect(server.exchanges.allSatisfy { !$0.header.contains(.cookie) })
        }
    }

    @Test("concurrent calls of one session receive their own responses", .rows("PM-1"))
    func many() async throws {
        try await withTestServer(serving: MockExecutor { .ok($0.target.path) }) { server in
            let executor = URLSessionExecutor()
            try await withThrowingTaskGroup(of: Bool.self) { group in
                for index in 0..<64 {
                    let request = try server.request(.get, "/\(index)")
                    group.addTask { try await executor.execute(request).text == "/\(index)" }
                }
                for try await isOwn in group { #expect(isOwn) }
            }
            #expect(server.record.acceptedConnections < 64)
        }
    }

    @Test(
        "challenges for credentials are rejected, and challenges about the connection are left to the session",
        .rows("PM-13", "C25"),
        arguments: [
            (NSURLAuthenticationMethodHTTPBasic, ChallengeDisposition.reject),
            (NSURLAuthenticationMethodDefault, .reject), (NSURLAuthenticationMethodHTTPDigest, .reject),
            (NSURLAuthenticationMethodNTLM, .reject), (NSURLAuthenticationMethodNegotiate, .reject),
            (NSURLAuthenticationMethodHTMLForm, .reject), ("NSURLAuthenticationMethodServerTrust", .deferToHandler),
            ("NSURLAuthenticationMethodClientCertificate", .deferToHandler), ("another", .deferToHandler),
        ])
    func disposition(method: String, disposition: ChallengeDisposition) {
        #expect(ChallengeDisposition(for: method) == disposition)
    }

    @Test(
        "errors of URLSession have the reasons of all executors", .rows("L4", "T-87"),
        arguments: [
            (URLError.Code.cancelled, "", RequestError.Reason.cancelled, RequestError.Reason.cancelled),
            (.cannotConnectToHost, "", .connectionFailed, .connectionFailed),
            (.timedOut, "", .connectionFailed, .connectionFailed),
            (.cannotFindHost, "", .hostNotFound, .hostNotFound),
            (.networkConnectionLost, "", .connectionLost, .connectionLost),
            (.badServerResponse, "Empty reply from server", .connectionLost, .protocolViolation),
            (.unsupportedURL, "Received HTTP/0.9 when not allowed", .protocolViolation, .unsupportedScheme),
            (.cannotParseResponse, "", .protocolViolation, .protocolViolation),
            (.serverCertificateUntrusted, "", .connectionFailed, .connectionFailed),
            (.unknown, "transfer closed with 61 bytes remaining to read", .connectionLost, .other),
            (.unknown, "Recv failure: Connection reset by peer", .connectionLost, .other),
            (.unknown, "SSL certificate problem: self-signed certificate", .connectionFailed, .other),
            (.unknown, "Failed writing header", .protocolViolation, .other),
            (.unknown, "Invalid Content-Length: value", .protocolViolation, .other),
            (.unknown, "Illegal or missing hexadecimal sequence in chunked-encoding", .protocolViolation, .other),
            (.unknown, "something new", .other, .other),
        ])
    func reasons(code: URLError.Code, text: String, curl: RequestError.Reason, darwin: RequestError.Reason) {
        let failure = SessionFailure(code: code, text: text)
        #expect(failure.reason(of: .curl) == curl)
        #expect(failure.reason(of: .darwin) == darwin)
        #expect(failure.isPermanent == (code == .serverCertificateUntrusted || text.contains("certificate")))
    }
}
