import Adaptors
import PackageStandIns
@_spi(Lock) import Requests
import RequestsMiddleware
import RequestsMock
import RequestsSocket
import RequestsTestServer
import TestSupport
import Testing

/// The adaptors for messages in the article Adaptors, with stand-ins for the packages.
@Suite("Adaptors for messages", .timeLimit(.minutes(10)))
struct TransportAdaptorTests {
    private let latin1: [UInt8] = [0x63, 0x61, 0x66, 0xE9]

    private static func name(_ text: String) throws -> HTTPField.Name { try #require(HTTPField.Name(text)) }

    private static func bytes(_ body: HTTPBody?) async throws -> [UInt8] {
        var received: [UInt8] = []
        for try await chunk in try #require(body) { received += chunk }
        return received
    }

    // MARK: swift-http-types

    @Test("messages are converted both ways without a change, and bytes that are not UTF-8 survive")
    func messages() throws {
        var head = HTTPRequest(method: .post, scheme: "http", authority: "e.com:81", path: "/a%20b?c=%2F&c")
        head.headerFields.append(HTTPField(name: try Self.name("X-A"), value: "1"))
        head.headerFields.append(HTTPField(name: try Self.name("x-a"), value: latin1))
        let request = try PreparedRequest(head)
        #expect(request.target.absoluteString == "http://e.com:81/a%20b?c=%2F&c" && request.method == .post)
        #expect(request.header.map(\.valueBytes) == [Array("1".utf8), latin1])
        #expect(try HTTPRequest(request) == head)
        let target = try TargetURI("http://e.com/x")
        let response = ResponseHead(status: 404, header: request.header, target: target)
        #expect(try ResponseHead(HTTPResponse(response), target: target) == response)
    }

    @Test("bytes that are not UTF-8 survive a request and its response over sockets")
    func octets() async throws {
        let served = MockExecutor { request in
            MockResponse(status: 200, header: Header(request.header.filter { $0.name == "X-A" }))
        }
        try await withTestServer(serving: served) { server in
            var head = HTTPRequest(method: .get, scheme: nil, authority: nil, path: "/x")
            head.headerFields.append(HTTPField(name: try Self.name("X-A"), value: latin1))
            let (response, _) = try await RequestsTransport(SocketExecutor()).send(
                head, body: nil, baseURL: server.baseURL, operationID: "get")
            let values = response.headerFields.filter { $0.name.rawName == "X-A" }
            #expect(values.map { $0.withUnsafeBytesOfValue { Array($0) } } == [latin1])
        }
    }

    @Test("parts that the other package refuses are errors")
    func refused() throws {
        let target = try TargetURI("http://e.com/x")
        let name = PreparedRequest(target: target, header: [Field(name: "X Y", value: "1")])
        let method = PreparedRequest(method: "A B", target: target)
        let reasons = [name, method].map { request in
            #expect(throws: RequestError.self) { try HTTPRequest(request) }?.reason
        }
        #expect(reasons == [.invalidRequest(.invalidFieldName), .invalidRequest(.invalidMethod)])
        #expect(throws: RequestError.self) { try HTTPResponse(ResponseHead(status: 1000, target: target)) }
        let path = HTTPRequest(method: .get, scheme: "http", authority: "e.com", path: ".evil.example/x")
        #expect(throws: RequestError.self) { try PreparedRequest(path) }
    }

    @Test("middleware for swift-http-types changes the heads of a request and its response")
    func middleware() async throws {
        let signature = try Self.name("Signature")
        let mock = MockExecutor(.ok("x"))
        let executor = mock.intercepted(
            by: RequestInterceptors()
                .onRequest { request in
                    var request = request
                    var head = try HTTPRequest(request)
                    head.headerFields[signature] = "of \(head.path ?? "")"
                    try request.setHead(head)
                    return request
                }
                .onResponse { response, _ in
                    var response = response
                    var head = try HTTPResponse(response.head)
                    head.headerFields[signature] = "checked"
                    response.head = ResponseHead(head, target: response.head.target)
                    return response
                })
        let request = AnonymousRequestProvider("http://e.com").post(.text("b"), to: "/x", receiving: .text)
            .with(timeouts: Timeouts(total: .seconds(60)))
        let response = try await executor.response(for: request)
        let sent = mock.recordedRequests[0]
        #expect(response.header["Signature"] == "checked" && sent.header["Signature"] == "of /x")
        #expect(sent.body.knownLength == 1 && sent.timeouts.total == .seconds(60) && sent.pathTemplate == "/x")
    }

    // MARK: swift-openapi-runtime

    @Test("a transport of OpenAPI sends a request with a streamed body, and streams the response")
    func transport() async throws {
        let latin1 = latin1
        let mock = MockExecutor { request in
            guard case .bytes(let body) = request.body else { return .status(400) }
            return MockResponse(
                status: 201, header: [Field(name: "X-Seen", valueBytes: latin1)], body: [.bytes(body), .bytes(body)])
        }
        var fields = HTTPFields()
        fields.append(HTTPField(name: try Self.name("X-Sent"), value: latin1))
        let request = HTTPRequest(
            method: .put, scheme: nil, authority: nil, path: "/pets?limit=1", headerFields: fields)
        let chunks = AsyncStream { continuation in
            continuation.yield(ArraySlice("cat".utf8))
            continuation.yield([])
            continuation.finish()
        }
        let (response, body) = try await RequestsTransport(mock).send(
            request, body: HTTPBody(chunks, length: .known(3), iterationBehavior: .single),
            baseURL: URL("https://e.com:8443/v1"), operationID: "putPet")
        let received = try await Self.bytes(body)
        #expect(response.status.code == 201 && received == Array("catcat".utf8))
        #expect(
            response.headerFields.first { $0.name.rawName == "X-Seen" }?.withUnsafeBytesOfValue(Array.init) == latin1)
        let sent = mock.recordedRequests[0]
        #expect(sent.target.absoluteString == "https://e.com:8443/v1/pets?limit=1" && sent.method == .put)
        #expect(sent.header.first?.valueBytes == latin1 && sent.pathTemplate == "putPet")
    }

    @Test(
        "the path of an operation is appended to the base URL's path, with the query of both",
        arguments: [
            ("https://e.com", "/pets", "https://e.com/pets"), ("https://e.com/", "/pets", "https://e.com/pets"),
            ("https://e.com/v1/", "/pets?limit=1", "https://e.com/v1/pets?limit=1"),
            ("https://e.com/v1?key=a%2Fb", "/pets?limit=1", "https://e.com/v1/pets?key=a%2Fb&limit=1"),
            ("https://e.com/v1?key=a", "/pets", "https://e.com/v1/pets?key=a"),
            ("https://e.com/v1", nil, "https://e.com/v1"), ("https://e.com/v1/?a", nil, "https://e.com/v1/?a"),
            ("http://[::1]:8080/v1", "/a%2Fb?q=%20+", "http://[::1]:8080/v1/a%2Fb?q=%20+"),
        ] as [(String, String?, String)])
    func targets(base: String, path: String?, expected: String) async throws {
        let mock = MockExecutor(.ok("x"))
        let request = HTTPRequest(method: .get, scheme: nil, authority: nil, path: path)
        let url = try #require(URL(string: base))
        _ = try await RequestsTransport(mock).send(request, body: nil, baseURL: url, operationID: "get")
        #expect(mock.recordedRequests.map(\.target.absoluteString) == [expected])
    }

    @Test(
        "a base URL without a host, and a path without a slash, are errors",
        arguments: [("relative", "/x"), ("http://e.com", "@evil.example/x")])
    func malformed(base: String, path: String) async throws {
        let url = try #require(URL(string: base))
        let request = HTTPRequest(method: .get, scheme: nil, authority: nil, path: path)
        await #expect(throws: (any Error).self) {
            try await RequestsTransport(MockExecutor(.ok("x"))).send(request, body: nil, baseURL: url, operationID: "x")
        }
    }

    @Test("the transport for OpenAPI resends a body only if it can be read again")
    func bodies() async throws {
        let seen = Lock<[PreparedRequest]>([])
        let executor = MockExecutor(.ok("x")).intercepting { request, next in
            seen.withLock { $0.append(request) }
            return try await next.execute(request)
        }
        let request = HTTPRequest(method: .post, scheme: nil, authority: nil, path: "/pets")
        let chunks = AsyncStream<ArraySlice<UInt8>> { $0.finish() }
        let bodies = [IterationBehavior.single, .multiple].map {
            HTTPBody(chunks, length: .unknown, iterationBehavior: $0)
        }
        for body in bodies + [nil] {
            _ = try await RequestsTransport(executor).send(
                request, body: body, baseURL: URL("http://e.com"), operationID: "post")
        }
        let sent = seen.withLock(\.self)
        #expect(sent.map(\.body.isReplayable) == [false, true, true] && sent[2].body.isNone)
    }

    @Test("the transport for OpenAPI follows redirects, returns every status, and names the operation in metrics")
    func redirects() async throws {
        let measurements = Collected<RequestMetrics.Measurement>()
        let mock = MockExecutor { request in
            request.target.path == "/old" ? .redirect(to: "http://e.com/new") : .status(404)
        }
        let executor = mock.observing(.attempts, by: RequestMetrics { measurements.add($0) })
        let request = HTTPRequest(method: .get, scheme: nil, authority: nil, path: "/old")
        let (response, _) = try await RequestsTransport(executor).send(
            request, body: nil, baseURL: URL("http://e.com"), operationID: "getPet")
        #expect(response.status.code == 404 && mock.recordedRequests.map(\.target.path) == ["/old", "/new"])
        let templates = measurements.elements.filter { $0.instrument.name == "http.client.request.duration" }
            .map { $0.attributes.first { $0.name == "url.template" }?.value.description }
        #expect(templates == ["getPet", nil])
    }

    @Test("the transport for OpenAPI ends at its time limit, and throws CancellationError when it is cancelled")
    func limits() async throws {
        let request = HTTPRequest(method: .get, scheme: nil, authority: nil, path: "/x")
        var silent = MockResponse.ok("x")
        silent.delay = .endless
        let stalled = MockExecutor(silent)
        var transport = RequestsTransport(stalled)
        transport.timeouts.total = .milliseconds(1)
        let limited = transport
        let error = await #expect(throws: RequestError.self) {
            try await limited.send(request, body: nil, baseURL: URL("http://e.com"), operationID: "get")
        }
        #expect(error?.reason == .timedOut(.total))
        let task = Task {
            try await RequestsTransport(stalled).send(
                request, body: nil, baseURL: URL("http://e.com"), operationID: "get")
        }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
    }

    @Test("a response body of OpenAPI throws CancellationError when its reader is cancelled")
    func cancelledBody() async throws {
        let mock = MockExecutor(MockResponse(body: [.bytes(Data("a".utf8)), .pause(.endless)]))
        let request = HTTPRequest(method: .get, scheme: nil, authority: nil, path: "/x")
        let (_, body) = try await RequestsTransport(mock).send(
            request, body: nil, baseURL: URL("http://e.com"), operationID: "get")
        let task = Task { try await Self.bytes(body) }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
    }

    // MARK: swift-service-lifecycle

    @Test("a service closes its executor when the services shut down, and waits for running requests")
    func service() async throws {
        try await withTestServer(serving: MockExecutor(.chunks([Data("a".utf8)]))) { server in
            let executor = SocketExecutor()
            let api = AnonymousRequestProvider(baseURL: server.baseURL)
            let running = try await executor.perform(api.get(.chunks, from: "/x"))
            let shutdown = GracefulShutdown()
            let hasEnded = Lock(false)
            let service = Task {
                try await GracefulShutdown.$current.withValue(shutdown) { try await RequestsService(executor).run() }
                hasEnded.withLock { $0 = true }
            }
            #expect(try await executor.perform(api.get(.text, from: "/x")) == "a")
            shutdown.begin()
            var error: RequestError?
            while error == nil {
                error = await failure { () async throws(RequestError) in
                    try await executor.perform(api.get(.text, from: "/x"))
                }
            }
            #expect(error?.reason == .executorClosed && !hasEnded.withLock(\.self))
            for try await _ in running {}
            try await service.value
        }
    }
}
