import RequestsHTTP2
import RequestsMock
import RequestsPOSIX
import RequestsTestServer
import TestSupport
import Testing

@Suite("Test server: HTTP/2", .tags(.concurrent), .timeLimit(.minutes(10)))
struct HTTP2ServingTests {
    @Test(
        "requests are served and recorded over TCP and over a unix socket", .rows("PM-130"),
        arguments: ServerAddress.allCases)
    func serves(on address: ServerAddress) async throws {
        let mock = MockExecutor { request in
            guard case .bytes(let body) = request.body else { return .ok("\(request.method) \(request.target)") }
            return .data(body)
        }
        let behavior = TestServer.Behavior(date: { Date(timeIntervalSince1970: 0) })
        try await withTestServer(serving: mock, on: address.address, using: .http2, behaving: behavior) { server in
            var client = try await HTTP2Client(server)
            let bodies = [1, 16_384, 16_385, 300_000].map { [UInt8](repeating: UInt8($0 & 0xFF), count: $0) }
            let get = client.open("GET", "/a?b=1", [Field(name: "X-Case", value: "1")])
            let puts = bodies.map { client.open("PUT", "/\($0.count)", body: $0) }
            let options = client.open("OPTIONS", "*")
            try await client.receiveAll()
            #expect(client[get].text == "GET http://test.example/a?b=1" && client[get].status == 200)
            #expect(client[get].header[.date] == "Thu, 01 Jan 1970 00:00:00 GMT")
            #expect(client[get].header[.contentLength] == "29")
            for (put, body) in zip(puts, bodies) { #expect(client[put].body == body) }
            #expect(client[options].text == "OPTIONS http://test.example/")
            let exchanges = server.exchanges
            #expect(exchanges.map { [$0.connection, $0.index] } == (0..<6).map { [0, $0] })
            #expect(exchanges.map(\.target) == ["/a?b=1", "/1", "/16384", "/16385", "/300000", "*"])
            #expect(exchanges[0].header[.host] == "test.example" && exchanges[0].header["X-Case"] == "1")
            #expect(exchanges.allSatisfy { $0.isComplete && $0.status == 200 && $0.tls == nil })
            #expect(exchanges[1...4].map { Array($0.body) } == bodies)
        }
        #expect(mock.recordedRequests.count == 6)
    }

    @Test("one connection has many exchanges at the same time, also with handlers that block", .rows("R-73"))
    func atOnce() async throws {
        let arrived = SharedCounter()
        let mock = MockExecutor { request in
            let number = Int(request.target.path.dropFirst()) ?? 0
            arrived.add()
            while arrived.value < 50 {
                if number.isMultiple(of: 2) { await Task.yield() } else { DetachedThread.yield() }
            }
            return .ok(String(repeating: "\(number) ", count: number))
        }
        try await withTestServer(serving: mock, using: .http2) { server in
            var client = try await HTTP2Client(server)
            let streams = (0..<50).map { client.open("GET", "/\($0)") }
            try await client.receiveAll()
            for (number, stream) in streams.enumerated() {
                #expect(client[stream].text == String(repeating: "\(number) ", count: number))
            }
            #expect(server.record.acceptedConnections == 1)
        }
    }

    @Test(
        "a request that the limits forbid receives 405, 413 or 417, and the connection serves the next one",
        .rows("PM-130", "R-73"),
        arguments: [
            ("CONNECT", [], nil, 405), ("FROB", [], nil, 405),
            ("PUT", [Field(name: .contentLength, value: "9")], 9, 413), ("PUT", [], 9, 413),
            ("PUT", [Field(name: .expect, value: "tea")], 1, 417), ("GET", [Field(name: "X", value: "y")], nil, 200),
        ] as [(String, [Field], Int?, Int)])
    func refusals(method: String, fields: [Field], bodyLength: Int?, status: Int) async throws {
        let mock = MockExecutor(.ok())
        let limits = TestServer.Limits(bodyBytes: 8, methods: [.get, .put])
        try await withTestServer(serving: mock, using: .http2, limits: limits) { server in
            var client = try await HTTP2Client(server)
            let refused = client.open(method, "/a", fields, body: bodyLength.map { [UInt8](repeating: 0, count: $0) })
            try await client.receiveAll()
            #expect(client[refused].status?.code == status)
            let other = client.open("GET", "/")
            try await client.receiveAll()
            #expect(client[other].status == 200 && server.record.acceptedConnections == 1)
        }
    }

    @Test(
        "a large head or a lost connection resets its own stream only; invalid requests and responses are 400 and 500",
        .rows("R-73"))
    func errors() async throws {
        let mock = MockExecutor { request in
            switch request.target.path {
            case "/lost": throw RequestError(.connectionLost)
            case "/invalid": throw RequestError(.invalidRequest(.invalidHost))
            case "/field": return .ok().adding(headerField: Field(name: "X", value: "a\r\nb"))
            default: return .ok()
            }
        }
        let limits = TestServer.Limits(headBytes: 1_000)
        try await withTestServer(serving: mock, using: .http2, limits: limits) { server in
            var client = try await HTTP2Client(server)
            let large = client.open("GET", "/", [Field(name: "X", value: String(repeating: "x", count: 2_000))])
            let streams = ["/lost", "/invalid", "/field", "/"].map { client.open("GET", $0) }
            try await client.receiveAll()
            #expect(client[large].reset?.code == .protocolError && client[large].status == nil)
            #expect(client[streams[0]].reset?.code == .internalError && client[streams[0]].status == nil)
            #expect(streams.dropFirst().map { client[$0].status } == [400, 500, 200])
            #expect(server.exchanges.count == 4 && server.record.openConnections == 1)
        }
    }

    @Test("a body that is refused midway is not read, and its response is whole", .rows("R-73"))
    func midwayRefusal() async throws {
        let limits = TestServer.Limits(bodyBytes: 100_000)
        try await withTestServer(serving: MockExecutor(.ok()), using: .http2, limits: limits) { server in
            var client = try await HTTP2Client(server)
            let put = client.open("PUT", "/", body: [UInt8](repeating: 0, count: 8 << 20))
            try await client.receive { $0[put].isOver }
            try await client.receive { $0[put].reset != nil }
            #expect(client[put].status == 413 && client[put].isComplete)
            #expect(client[put].reset?.code == .noError)
            #expect(server.exchanges[0].status == 413 && !server.exchanges[0].isComplete)
            let other = client.open("GET", "/")
            try await client.receiveAll()
            #expect(client[other].status == 200 && server.record.acceptedConnections == 1)
        }
    }

    @Test("no status is recorded for a stream that was reset before its response", .rows("PM-132"))
    func resetBeforeResponse() async throws {
        let released = SharedCounter()
        let mock = MockExecutor { request in
            while released.value == 0 { DetachedThread.yield() }
            return request.target.path == "/a" ? .ok("a") : .status(204)
        }
        let ended = try await withTestServer(serving: mock, using: .http2) { server in
            var client = try await HTTP2Client(server)
            let streams = [client.open("GET", "/a"), client.open("GET", "/b"), client.open("HEAD", "/a")]
            try await client.flush()
            try await server.waitUntil { $0.openStreams == 3 }
            for stream in streams { client.reset(stream) }
            try await client.flush()
            try await server.waitUntil { $0.openStreams == 0 }
            released.add()
            return server
        }
        #expect(ended.exchanges.map(\.status) == [nil, nil, nil])
    }

    @Test("a client without HTTP/2 is disconnected", .rows("R-73"))
    func otherProtocol() async throws {
        var limits = TestServer.Limits()
        limits.drainTime = .milliseconds(10)
        try await withTestServer(serving: MockExecutor(.ok()), using: .http2, limits: limits) { server in
            let client = try await RawClient(server)
            try await client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
            let received = try await client.receiveBytes()
            #expect(received.contains(Array("does not begin with the HTTP/2 preface".utf8)))
            try await server.waitUntil { $0.openConnections == 0 }
            #expect(server.exchanges.isEmpty)
        }
    }

    @Test("a reset stream, the end of the connection, and the end of the scope cancel handlers", .rows("R-73"))
    func cancellation() async throws {
        let started = SharedCounter()
        let cancelled = SharedCounter()
        let mock = MockExecutor { _ in
            started.add()
            do {
                try await Task.sleep(for: .seconds(3_600))
            } catch {
                cancelled.add()
                throw error
            }
            return .ok()
        }
        func wait(until counter: SharedCounter, is value: Int) async {
            while counter.value < value { await Task.yield() }
        }
        try await withTestServer(serving: mock, using: .http2) { server in
            do {
                var client = try await HTTP2Client(server)
                let streams = [client.open("GET", "/1"), client.open("GET", "/2")]
                try await client.flush()
                await wait(until: started, is: 2)
                client.reset(streams[0])
                try await client.flush()
                await wait(until: cancelled, is: 1)
                #expect(server.record.openConnections == 1)
            }
            await wait(until: cancelled, is: 2)
            try await server.waitUntil { $0.openConnections == 0 }
            var client = try await HTTP2Client(server)
            _ = client.open("GET", "/3")
            try await client.flush()
            await wait(until: started, is: 3)
        }
        #expect(cancelled.value == 3)
    }
}

extension [UInt8] {
    fileprivate func contains(_ other: [UInt8]) -> Bool {
        indices.contains { self[$0...].starts(with: other) }
    }
}
