import RequestsMock
import RequestsTestServer
import Synchronization
import TestSupport
import Testing

private let get = "GET /a?b=1 HTTP/1.1\r\nHost: test.example\r\n\r\n"

enum ServerAddress: CaseIterable {
    case loopback, unixSocket

    var address: TestServer.Address { self == .loopback ? .loopback() : .temporarySocket() }
}

private enum CurrentTask {
    /// Whether the current task has a preferred executor.
    static var hasTaskExecutor: Bool { withUnsafeCurrentTask { $0?.unownedTaskExecutor != nil } }
}

@Suite("Test server: serving", .timeLimit(.minutes(10)))
struct ServingTests {
    @Test("an executor is served over TCP and over a unix socket", .rows("PM-130"), arguments: ServerAddress.allCases)
    func serves(on address: ServerAddress) async throws {
        let mock = MockExecutor { request in .ok("\(request.method) \(request.target)") }
        try await withTestServer(serving: mock, on: address.address, behaving: TestServer.Behavior(date: { nil })) {
            server in
            let client = try await RawClient(server)
            let expected = """
                HTTP/1.1 200 OK\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: 31\r\n\r\n\
                GET http://test.example/a?b=1
                """.replacing("31", with: "29")
            try await client.send(get)
            #expect(try await client.receive(expected.utf8.count) == expected)
        }
        #expect(mock.recordedRequests.map(\.header) == [.empty])
    }

    @Test("a port that TCP does not have is an error", .rows("PM-130"), arguments: [-1, 65_536, .max, .min])
    func ports(port: Int) async {
        let error = await #expect(throws: (any Error).self) {
            try await withTestServer(serving: MockExecutor(.ok()), on: .loopback(port: port)) { _ in }
        }
        #expect(error.map { "\($0)" } == "invalid port \(port): ports are numbers from 0 to 65535")
    }

    @Test("an exchange is recorded with the numbers of its connection and its position", .rows("PM-130"))
    func keepAlive() async throws {
        try await withTestServer(serving: MockExecutor(.status(204))) { server in
            let first = try await RawClient(server)
            try await first.send(get + get)
            try await first.send(get.replacing("\r\n\r\n", with: "\r\nConnection: close\r\n\r\n"))
            let response = try await first.receiveBytes()
            #expect(try RawClient.statuses(in: response, to: []) == [204, 204, 204])
            let second = try await RawClient(server)
            try await second.send(get)
            try await server.waitUntil { $0.exchanges.count == 4 && $0.openConnections == 1 }
            #expect(server.exchanges.map { [$0.connection, $0.index] } == [[0, 0], [0, 1], [0, 2], [1, 0]])
            #expect(server.record.acceptedConnections == 2)
            #expect(server.exchanges[0].target == "/a?b=1")
        }
    }

    @Test("bodies of both framings, trailers, Expect and HTTP/1.0 are supported", .rows("PM-130"))
    func bodies() async throws {
        let mock = MockExecutor { request in
            guard case .bytes(let data) = request.body else { return .status(400) }
            return .data(data)
        }
        try await withTestServer(serving: mock) { server in
            let client = try await RawClient(server)
            try await client.send("PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n")
            #expect(try await client.receive(25) == "HTTP/1.1 100 Continue\r\n\r\n")
            try await client.send("abcPOST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n")
            try await client.send("2;x=1\r\nde\r\n1\r\nf\r\n0\r\nX-Sum: 3\r\n\r\n")
            try await client.send("POST / HTTP/1.0\r\nContent-Length: 1\r\n\r\ng")
            let response = try await client.receive()
            #expect(response.split(separator: "\r\n\r\n").compactMap(\.first) == ["H", "a", "d", "g"])
            #expect(server.exchanges.map(\.body) == ["abc", "def", "g"].map { Data($0.utf8) })
            #expect(server.exchanges[1].trailers["X-Sum"] == "3")
        }
    }

    @Test(
        "an invalid or unsupported request gets its status, and the connection closes", .rows("PM-130", "R-73"),
        arguments: [
            ("GET /\r\n\r\n", 400), ("GET / HTTP/2.0\r\n\r\n", 505), ("GET / HTTP/1.1\r\n\r\n", 400),
            ("CONNECT a:1 HTTP/1.1\r\nHost: a:1\r\n\r\n", 405), ("FROB / HTTP/1.1\r\nHost: a\r\n\r\n", 405),
            ("PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\n", 413),
            ("PUT / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n9\r\n123456789\r\n0\r\n\r\n", 413),
            ("PUT / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", 501),
            ("PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", 400),
            ("PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", 400),
            ("GET / HTTP/1.1\r\nHost: a\r\nX: \(String(repeating: "x", count: 2000))\r\n\r\n", 431),
            ("PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nExpect: tea\r\n\r\n", 417),
            ("GET / HTTP/1.1\r\nHost: a b\r\n\r\n", 400), ("GET / HT", 400),
            ("GET /a#b HTTP/1.1\r\nHost: a\r\n\r\n", 400), ("GET * HTTP/1.1\r\nHost: a\r\n\r\n", 400),
            ("GET http://a/#b HTTP/1.1\r\nHost: a\r\n\r\n", 400), ("GET a:80 HTTP/1.1\r\nHost: a\r\n\r\n", 400),
            ("CONNECT / HTTP/1.1\r\nHost: a\r\n\r\n", 400), ("GET / HTTP/1.1\r\nHost: a/b\r\n\r\n", 400),
            ("GET / HTTP/1.1\r\nHost: u@a\r\n\r\n", 400), ("GET http://u@a/ HTTP/1.1\r\nHost: a\r\n\r\n", 400),
        ])
    func errors(request: String, status: Int) async throws {
        let mock = MockExecutor(.ok())
        let limits = TestServer.Limits(bodyBytes: 8, headBytes: 1000, methods: [.get, .put, .connect])
        try await withTestServer(serving: mock, limits: limits, behaving: { _, _ in .standard }) { server in
            let client = try await RawClient(server)
            try await client.send(request)
            if request.hasSuffix("HT") { client.endSending() }
            let response = try await client.receive()
            #expect(response.hasPrefix("HTTP/1.1 \(status) "))
            #expect(response.contains("\r\nConnection: close\r\n"))
        }
        #expect(mock.recordedRequests.isEmpty)
    }

    @Test(
        "every form of a request target reaches the executor as its URI", .rows("PM-130", "R-73"),
        arguments: [
            ("GET /b?c", "http://a/b?c"), ("GET //b", "http://a//b"), ("OPTIONS *", "http://a/"),
            ("GET http://B:8080/c", "http://b:8080/c"), ("GET http://b?c", "http://b/?c"),
        ])
    func targets(line: String, expected: String) async throws {
        let mock = MockExecutor { request in .ok("\(request.target)") }
        try await withTestServer(serving: mock) { server in
            let client = try await RawClient(server)
            try await client.send("\(line) HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
            #expect(try await client.receive().hasSuffix("\r\n\r\n\(expected)"))
        }
    }

    @Test("responses to HEAD, and 204 and 304, have no body", .rows("PM-130"))
    func bodiless() async throws {
        let mock = MockExecutor { request in
            .status(HTTPStatus(Int(request.target.path.dropFirst()) ?? 200), "body")
        }
        try await withTestServer(serving: mock) { server in
            let client = try await RawClient(server)
            for (method, status) in [("HEAD", 200), ("GET", 204), ("GET", 304), ("GET", 200)] {
                try await client.send("\(method) /\(status) HTTP/1.1\r\nHost: a\r\n\r\n")
            }
            try await client.send("HEAD /404 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
            let response = try await client.receiveBytes()
            let statuses = try RawClient.statuses(in: response, to: [.head, .get, .get, .get, .head])
            #expect(statuses == [200, 204, 304, 200, 404])
            #expect(String(decoding: response, as: UTF8.self).ranges(of: "body").count == 1)
            #expect(String(decoding: response, as: UTF8.self).ranges(of: "Content-Length: 4").count == 3)
        }
    }

    @Test("a response has the current date, its own Date field, the behavior's date, or none", .rows("PM-130"))
    func dates() async throws {
        let mock = MockExecutor { request in
            guard request.target.path != "/own" else {
                return .ok().adding(headerField: Field(name: .date, value: "x"))
            }
            return request.target.path == "/none" ? .status(304) : .ok()
        }
        func dates(_ paths: [String], _ behavior: TestServer.Behavior) async throws -> [String?] {
            try await withTestServer(serving: mock, behaving: behavior) { server in
                let client = try await RawClient(server)
                for path in paths { try await client.send("GET \(path) HTTP/1.1\r\nHost: a\r\n\r\n") }
                client.endSending()
                let heads = try await client.receive().split(separator: "HTTP/1.1 ")
                return heads.map { head in
                    head.split(separator: "\r\n").first { $0.hasPrefix("Date: ") }.map { String($0.dropFirst(6)) }
                }
            }
        }
        let before = HTTPDate(Date())
        let current = try await dates(["/", "/own", "/none", "bad"], .standard)
        #expect(current.count == 4 && current[1] == "x")
        // Errors of the server itself, too.
        for index in [0, 2, 3] {
            let date = try #require(current[index].flatMap { HTTPDate($0) })
            #expect(date >= before && date <= HTTPDate(Date()))
        }
        let second = Atomic(0)
        let behavior = TestServer.Behavior(date: {
            Date(timeIntervalSince1970: Double(second.add(1, ordering: .relaxed).oldValue / 2))
        })
        let start = "Thu, 01 Jan 1970 00:00:0"
        let virtual = try await dates(["/", "/", "/own", "/"], behavior)
        #expect(virtual == ["\(start)0 GMT", "\(start)0 GMT", "x", "\(start)1 GMT"])
        #expect(try await dates(["/", "/own"], TestServer.Behavior(date: { nil })) == [nil, "x"])
    }

    @Test("the executor runs on the thread of the connection, not on the pool", .rows("R-73"))
    func ownThreads() async throws {
        let mock = MockExecutor { _ in
            // Suspends, so that the rest of the function runs where the task resumes.
            await Task.yield()
            return .ok(String(CurrentTask.hasTaskExecutor))
        }
        try await withTestServer(serving: mock) { server in
            let client = try await RawClient(server)
            try await client.send(get.replacing("\r\n\r\n", with: "\r\nConnection: close\r\n\r\n"))
            #expect(try await client.receive().hasSuffix("true"))
        }
    }

    @Test("the condition of a wait may use the server itself", .rows("PM-132"))
    func conditions() async throws {
        try await withTestServer(serving: MockExecutor(.ok())) { server in
            async let arrived: Void = server.waitUntil { _ in server.exchanges.first?.status != nil }
            let client = try await RawClient(server)
            try await client.send(get)
            try await arrived
            try await server.waitUntil { record in record.requestCount == server.record.requestCount }
        }
    }

    @Test("a wait for a request ends when it arrives or when the task is cancelled", .rows("PM-132"))
    func waiting() async throws {
        try await withTestServer(serving: MockExecutor(.ok())) { server in
            async let arrival: Void = server.waitUntil {
                $0.exchanges.contains { $0.target == "/a?b=1" && $0.isComplete }
            }
            let client = try await RawClient(server)
            try await client.send(get)
            try await arrival
            let cancelled = Task { try await server.waitUntil { $0.exchanges.count == 1_000 } }
            cancelled.cancel()
            await #expect(throws: CancellationError.self) { try await cancelled.value }
        }
    }

    @Test("the end of the scope cancels a waiting executor, and the error of the scope is rethrown")
    func ends() async {
        struct ScopeFailure: Error {}
        let mock = MockExecutor(.ok().delayed(by: .endless))
        await #expect(throws: ScopeFailure.self) {
            try await withTestServer(serving: mock) { server in
                let client = try await RawClient(server)
                try await client.send(get)
                try await server.waitUntil { $0.exchanges.last?.isComplete == true }
                throw ScopeFailure()
            }
        }
    }

    /// Responses that a server can send without a task, and others.
    private static let responses: [MockResponse] = [
        .ok("text"), .ok(), .status(204), .status(304, "text"), .status(404, "x"), .redirect(to: "/b"),
        MockResponse(header: [Field(name: .contentLength, value: "2")], body: [.bytes(Data("cut".utf8))]),
        MockResponse(header: [Field(name: .contentLength, value: "2")]),
        MockResponse(header: ["Connection": "close", "Date": "x"], body: [.bytes(Data("text".utf8))]),
        MockResponse(body: [.bytes(Data()), .bytes(Data("text".utf8))]), .ok("text").with(trailers: ["X": "y"]),
        MockResponse(body: [.chunks(count: 3, { Data("\($0)".utf8) })]), .ok("text").delayed(by: .milliseconds(1)),
        MockResponse(body: [.bytes(Data("a".utf8)), .failure(RequestError(.connectionLost))]),
        .data(Data(repeating: 0x61, count: 300 << 10)),
    ]

    @Test(
        "a constant response is sent like a function's, with any framing and fault",
        .rows("PM-130", "R-73"),
        arguments: [
            TestServer.Behavior(), TestServer.Behavior(framing: .chunked(sizes: [3])),
            TestServer.Behavior(framing: .untilClose), .failing(.truncateBody(atByte: 2)),
            TestServer.Behavior(interim: [103]),
        ])
    func constants(behavior: TestServer.Behavior) async throws {
        var behavior = behavior
        behavior.date = { nil }
        for (number, response) in Self.responses.enumerated() {
            let stubbed = MockExecutor()
            stubbed.on(nil, "/a", respond: .response(response))
            var received: [[[UInt8]]] = []
            for mock in [MockExecutor { _ in response }, MockExecutor(response), stubbed] {
                try await withTestServer(serving: mock, behaving: behavior) { server in
                    var bytes: [[UInt8]] = []
                    for method in ["GET", "HEAD", "POST"] {
                        let client = try await RawClient(server)
                        try await client.send("\(method) /a HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
                        bytes.append(try await client.receiveBytes())
                    }
                    received.append(bytes)
                }
                #expect(mock.recordedRequests.map(\.method) == [.get, .head, .post])
            }
            #expect(received[0].allSatisfy { !$0.isEmpty })
            #expect(received[1] == received[0] && received[2] == received[0], "response \(number)")
        }
    }
}
