import RequestsMock
import RequestsTestServer
import TestSupport
import Testing

private func post(_ body: String) -> String {
    "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)"
}

@Suite("Test server: recording", .timeLimit(.minutes(10)))
struct RecordingTests {
    /// Serves `requests` on one connection, and returns the record and the bodies that the executor received.
    private func record(
        of requests: [String], _ recording: TestServer.Recording
    ) async throws -> (record: TestServer.Record, served: [Data?]) {
        let mock = MockExecutor(.status(204))
        let limits = TestServer.Limits(recording: recording)
        let record = try await withTestServer(serving: mock, limits: limits) { server in
            let client = try await RawClient(server)
            try await client.send(requests.joined())
            client.endSending()
            let statuses = try RawClient.statuses(in: try await client.receiveBytes(), to: [])
            #expect(statuses == requests.map { _ in 204 })
            return server.record
        }
        return (record, mock.recordedRequests.map(\.body.bytes))
    }

    @Test("by default a request is recorded whole", .rows("R-73", "PM-130"))
    func standard() async throws {
        let body = String(repeating: "0123456789", count: 200_000)
        let chunked = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\nX: y\r\n\r\n"
        let (record, served) = try await record(of: [post(body), chunked], TestServer.Recording())
        #expect(record.exchanges.map(\.body) == [Data(body.utf8), Data("a".utf8)])
        #expect(record.exchanges.map(\.isBodyCut) == [false, false])
        #expect(record.exchanges.map(\.isComplete) == [true, true])
        #expect(record.exchanges.map(\.trailers) == [.empty, [Field(name: "X", value: "y")]])
        #expect(served == [Data(body.utf8), Data("a".utf8)])
    }

    @Test("a long body is cut and marked in the record, and reaches the executor whole", .rows("R-73"))
    func cutBodies() async throws {
        let (record, served) = try await record(
            of: [post("1234"), post("12345"), post(""), post("abcdefgh")], TestServer.Recording(bodyBytes: 4))
        #expect(record.exchanges.map(\.body) == ["1234", "1234", "", "abcd"].map { Data($0.utf8) })
        #expect(record.exchanges.map(\.isBodyCut) == [false, true, false, true])
        #expect(record.exchanges.allSatisfy { $0.isComplete })
        #expect(served == ["1234", "12345", "", "abcdefgh"].map { Data($0.utf8) })
    }

    @Test("a body that ends early is recorded as far as it arrived, up to the limit", .rows("R-73"))
    func partialBodies() async throws {
        for (count, limit) in [(1_000, 500_000), (200_000, 500_000), (200_000, 100_000), (200_000, 10)] {
            let limits = TestServer.Limits(recording: TestServer.Recording(bodyBytes: limit))
            for method in ["PUT", "GET"] {
                try await withTestServer(serving: MockExecutor(.status(204)), limits: limits) { server in
                    let client = try await RawClient(server)
                    let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 % 251) }
                    try await client.send("\(method) / HTTP/1.1\r\nHost: a\r\nContent-Length: 300000\r\n\r\n")
                    try await client.send(bytes)
                    client.endSending()
                    #expect(try await client.receive().hasPrefix("HTTP/1.1 400 "))
                    try await server.waitUntil { $0.openConnections == 0 }
                    let exchange = try #require(server.exchanges.first)
                    #expect(exchange.body == Data(bytes.prefix(limit)) && !exchange.isComplete)
                    #expect(exchange.isBodyCut == (count > limit))
                }
            }
        }
    }

    @Test("beyond the maximum number of requests the oldest are removed, and all are counted", .rows("R-73"))
    func count() async throws {
        let requests = (0..<50).map { "GET /\($0) HTTP/1.1\r\nHost: a\r\n\r\n" }
        let (record, _) = try await record(of: requests, TestServer.Recording(requests: 8))
        #expect(record.exchanges.map(\.target) == (42..<50).map { "/\($0)" })
        #expect(record.exchanges.map(\.index) == Array(42..<50))
        #expect(record.requestCount == 50)
    }

    @Test("beyond the maximum total size the oldest requests are removed, whatever their number", .rows("R-73"))
    func size() async throws {
        let body = String(repeating: "x", count: 10_000)
        let (record, _) = try await record(
            of: (0..<50).map { _ in post(body) }, TestServer.Recording(totalBytes: 100_000))
        #expect(record.requestCount == 50)
        #expect((7...9).contains(record.exchanges.count))
        #expect(record.exchanges.last?.index == 49)
        #expect(record.exchanges.allSatisfy { $0.body.count == 10_000 && $0.isComplete })
    }

    @Test("a request that is removed from the record while its body arrives is served", .rows("R-73"))
    func removedInside() async throws {
        let mock = MockExecutor(.status(204))
        let limits = TestServer.Limits(recording: TestServer.Recording(requests: 1))
        try await withTestServer(serving: mock, limits: limits) { server in
            let slow = try await RawClient(server)
            try await slow.send("PUT /slow HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nab")
            try await server.waitUntil { $0.exchanges.last?.body.count == 2 }
            let quick = try await RawClient(server)
            try await quick.send("GET /quick HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
            _ = try await quick.receive()
            try await slow.send("cd")
            slow.endSending()
            #expect(try await slow.receive().hasPrefix("HTTP/1.1 204 "))
            #expect(server.exchanges.map(\.target) == ["/quick"] && server.record.requestCount == 2)
        }
        #expect(mock.recordedRequests.map(\.body.bytes) == [nil, Data("abcd".utf8)])
    }

    @Test("without recording, requests are served and counted", .rows("R-73"))
    func off() async throws {
        let (record, served) = try await record(of: [post("abc"), post("d")], .none)
        #expect(record.exchanges.isEmpty && record.requestCount == 2)
        #expect(served == ["abc", "d"].map { Data($0.utf8) })
    }

    @Test(
        "a client that has the whole response finds its status in the record", .rows("PM-132", "R-73"),
        arguments: [
            TestServer.Behavior.standard, TestServer.Behavior(framing: .chunked(sizes: [3])),
            TestServer.Behavior(framing: .untilClose),
        ])
    func statuses(behavior: TestServer.Behavior) async throws {
        // A body in parts ends before the part that would follow it is requested.
        let mock = MockExecutor { request in
            request.target.path == "/whole" ? .ok("12345") : .chunks([Data("12".utf8), Data("345".utf8)])
        }
        try await withTestServer(serving: mock, behaving: behavior) { server in
            for number in 0..<500 {
                let client = try await RawClient(server)
                try await client.send("GET /\(number % 2 == 0 ? "whole" : "parts") HTTP/1.1\r\nHost: a\r\n\r\n")
                var response = ""
                // To the last byte and no further: a counted body, the last chunk, or the end of the connection.
                while !response.hasSuffix("0\r\n\r\n"),
                    !(response.contains("Content-Length") && response.hasSuffix("12345"))
                {
                    let part = try await client.receive(1)
                    if part.isEmpty { break }
                    response += part
                }
                #expect(server.exchanges.last?.status == 200, "call \(number)")
            }
        }
    }

    @Test(
        "a response that a fault ends has no status in the record", .rows("R-73"),
        arguments: [
            TestServer.Fault.truncateHead(atByte: 5), .truncateBody(atByte: 2), .truncateBody(atByte: 4),
            .resetBody(atByte: 4),
            .closeBeforeHead,
        ])
    func faults(fault: TestServer.Fault) async throws {
        try await withTestServer(serving: MockExecutor(.ok("1234")), fault: fault) { server in
            let client = try await RawClient(server)
            try await client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
            _ = try? await client.receive()
            try await server.waitUntil { $0.openConnections == 0 }
            #expect(server.exchanges.map(\.status) == [nil])
        }
    }
}

extension RequestBody {
    fileprivate var bytes: Data? { if case .bytes(let data) = self { data } else { nil } }
}
