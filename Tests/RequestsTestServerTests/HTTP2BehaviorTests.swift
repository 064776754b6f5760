import RequestsHTTP2
import RequestsMock
import RequestsTestServer
import TestSupport
import Testing

@Suite("Test server: HTTP/2 behaviors", .tags(.concurrent), .timeLimit(.minutes(10)))
struct HTTP2BehaviorTests {
    private func serve<Value>(
        _ mock: MockExecutor, _ behavior: TestServer.Behavior = .standard, limits: TestServer.Limits = .init(),
        _ body: (TestServer, inout HTTP2Client) async throws -> Value
    ) async throws -> Value {
        try await withTestServer(serving: mock, using: .http2, limits: limits, behaving: behavior) { server in
            var client = try await HTTP2Client(server)
            return try await body(server, &client)
        }
    }

    @Test("trailers arrive in both directions, also without a body", .rows("PM-130", "H-13"))
    func trailers() async throws {
        let mock = MockExecutor { request in
            guard case .bytes(let body) = request.body else { return .ok().with(trailers: ["X-Sum": "0"]) }
            return .data(body).with(trailers: ["X-Sum": "\(body.count)"])
        }
        try await serve(mock) { server, client in
            let trailers = [Field(name: "X-Sent", value: "1")]
            let streams = [
                client.open("PUT", "/", body: [1, 2, 3], trailers: trailers),
                client.open("PUT", "/", trailers: trailers),
                client.open("GET", "/"),
            ]
            try await client.receiveAll()
            #expect(streams.map { client[$0].trailers["X-Sum"] } == ["3", "0", "0"])
            #expect(streams.map { client[$0].body } == [[1, 2, 3], [], []])
            #expect(server.exchanges.map { $0.trailers["X-Sent"] } == ["1", "1", nil])
        }
    }

    @Test("interim responses and 100 (Continue) precede the response", .rows("PM-130", "H-12"))
    func interims() async throws {
        let expect = [Field(name: .expect, value: "100-continue")]
        for sendsContinue in [true, false] {
            let behavior = TestServer.Behavior(interim: [102, 103], sendsContinue: sendsContinue)
            try await serve(MockExecutor(.ok("done")), behavior) { _, client in
                let put = client.open("PUT", "/", expect, body: [1])
                let get = client.open("GET", "/")
                try await client.receiveAll()
                #expect(client[put].interims == (sendsContinue ? [100, 102, 103] : [102, 103]))
                #expect(client[get].interims == [102, 103] && client[get].text == "done")
            }
        }
    }

    @Test("responses to HEAD, and 204 and 304, have no body", .rows("PM-130", "H-10"))
    func bodiless() async throws {
        let mock = MockExecutor { request in
            .status(HTTPStatus(Int(request.target.path.dropFirst()) ?? 200), "body")
        }
        try await serve(mock) { server, client in
            let streams = [("HEAD", 200), ("GET", 204), ("GET", 304), ("GET", 200), ("HEAD", 404)].map {
                client.open($0.0, "/\($0.1)")
            }
            try await client.receiveAll()
            #expect(streams.map { client[$0].text } == ["", "", "", "body", ""])
            #expect(streams.map { client[$0].header[.contentLength] } == ["4", nil, nil, "4", "4"])
            #expect(streams.allSatisfy { client[$0].isComplete } && client.error == nil)
            #expect(server.exchanges.map(\.status) == [200, 204, 304, 200, 404])
        }
    }

    @Test(
        "streamed bodies arrive while the executor makes them, and a body that fails resets its stream only",
        .rows("PM-130"))
    func streams() async throws {
        let gate = MockResponse(body: [.bytes(Data("first".utf8)), .pause(.endless)])
        let failing = MockResponse(body: [.bytes(Data("part".utf8)), .failure(RequestError(.connectionLost))])
        let mock = MockExecutor { request in
            switch request.target.path {
            case "/endless": gate
            case "/failing": failing
            default: MockResponse(body: [.chunks(count: 100) { Data(repeating: UInt8($0), count: 10_000) }])
            }
        }
        try await serve(mock) { server, client in
            let (endless, failing) = (client.open("GET", "/endless"), client.open("GET", "/failing"))
            let long = client.open("GET", "/long")
            try await client.receive { $0[endless].text == "first" && $0[failing].isOver && $0[long].isOver }
            #expect(client[failing].reset?.code == .internalError && client[failing].text == "part")
            #expect(client[long].body == (0..<100).flatMap { [UInt8](repeating: $0, count: 10_000) })
            #expect(server.record.openConnections == 1)
        }
    }

    @Test("chunks and a pace determine the sizes of DATA frames", .rows("PM-130"))
    func frames() async throws {
        let behaviors = [
            (TestServer.Behavior(framing: .chunked(sizes: [1, 4])), 4, nil),
            (TestServer.Behavior(pace: .drip(2, every: .milliseconds(1))), 5, "10"),
        ]
        for (behavior, parts, length) in behaviors {
            try await serve(MockExecutor(.ok("0123456789")), behavior) { _, client in
                let get = client.open("GET", "/")
                try await client.receiveAll()
                #expect(client[get].text == "0123456789" && client[get].parts == parts)
                #expect(client[get].header[.contentLength] == length)
            }
        }
    }

    @Test("Connection: close and a body until the end of the connection result in GOAWAY", .rows("PM-130"))
    func closing() async throws {
        let closing = MockResponse.ok("a").adding(headerField: Field(name: .connection, value: "close"))
        let behaviors: [(MockResponse, TestServer.Behavior.Framing)] = [(closing, .automatic), (.ok("a"), .untilClose)]
        for (response, framing) in behaviors {
            try await serve(MockExecutor(response), TestServer.Behavior(framing: framing)) { server, client in
                let get = client.open("GET", "/")
                try await client.receive { _ in false }
                #expect(client[get].text == "a" && client[get].isComplete && client[get].header[.connection] == nil)
                #expect(client.goAways == [Frame.GoAway(lastStream: 1, code: .noError)] && client.isClosed)
            }
        }
    }

    @Test("a client that does not read holds up only its own stream", .rows("R-73"))
    func windows() async throws {
        let body = Data(count: 2 << 20)
        let mock = MockExecutor { $0.target.path == "/long" ? .data(body) : .ok("short") }
        try await serve(mock) { server, client in
            client.consumes = false
            let long = client.open("GET", "/long")
            try await client.receive { $0[long].body.count == 256 << 10 }
            try await server.waitUntil { $0.stalledWrites > 0 }
            client.consumes = true
            let short = client.open("GET", "/short")
            try await client.receive { $0[short].isComplete }
            #expect(client[long].body.count == 256 << 10 && server.exchanges.map(\.status) == [nil, 200])
        }
    }

    @Test("bodies, idle connections and clients that do not begin have time limits", .rows("R-73"))
    func timeLimits() async throws {
        var limits = TestServer.Limits()
        limits.bodyTime = .milliseconds(20)
        try await serve(MockExecutor(.ok()), limits: limits) { server, client in
            client.sendsBodies = false
            let put = client.open("PUT", "/", body: [1])
            try await client.receive { $0[put].isOver }
            #expect(client[put].status == 408)
        }
        limits.bodyTime = nil
        limits.idleTime = .milliseconds(20)
        try await serve(MockExecutor(.ok()), limits: limits) { server, client in
            let get = client.open("GET", "/")
            try await client.receive { _ in false }
            // On a busy machine the connection may have been idle before the request.
            #expect(client[get].status == 200 || client[get].status == nil)
            #expect(client.isClosed && client.goAways.map(\.code) == [.noError])
        }
        limits.idleTime = nil
        limits.headTime = .milliseconds(20)
        try await withTestServer(serving: MockExecutor(.ok()), using: .http2, limits: limits) { server in
            let client = try await RawClient(server)
            try await client.send("PRI * HTTP/2")
            _ = try await client.receiveBytes()
        }
    }
}
