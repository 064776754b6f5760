import RequestsHTTP2
import RequestsMock
import RequestsPOSIX
import RequestsTestServer
import TestSupport
import Testing

@Suite("Test server: HTTP/2 faults", .tags(.concurrent), .timeLimit(.minutes(10)))
struct HTTP2FaultTests {
    private let mock = MockExecutor { .ok($0.target.path == "/" ? "0123456789" : "other") }

    /// Returns the behavior of the first exchange only.
    private static func first(_ behavior: TestServer.Behavior) -> @Sendable (Int, Int) -> TestServer.Behavior {
        { connection, exchange in connection == 0 && exchange == 0 ? behavior : .standard }
    }

    @Test(
        "a fault of the connection ends it after the bytes that it names", .rows("PM-130"),
        arguments: [
            (.closeBeforeHead, nil, ""), (.resetBeforeHead, nil, ""), (.truncateHead(atByte: 0), nil, ""),
            (.truncateHead(atByte: 12), nil, ""), (.truncateHead(atByte: .max), 200, ""),
            (.truncateBody(atByte: 0), 200, ""), (.truncateBody(atByte: 4), 200, "0123"),
            (.truncateBody(atByte: 10), 200, "0123456789"), (.truncateBody(atByte: .max), 200, "0123456789"),
            (.resetBody(atByte: 3), 200, "012"), (.raw([]), nil, ""), (.garbage, nil, ""),
        ] as [(TestServer.Fault, Int?, String)])
    func connections(fault: TestServer.Fault, status: Int?, text: String) async throws {
        try await withTestServer(serving: mock, using: .http2, behaving: Self.first(.failing(fault))) { server in
            var client = try await HTTP2Client(server)
            let get = client.open("GET", "/")
            try await client.receive { _ in false }
            #expect(client[get].status?.code == status && client[get].text == text && !client[get].isOver)
            #expect(client.goAways.isEmpty && (client.error != nil) == (fault == .garbage))
            try await server.waitUntil { $0.openConnections == 0 && $0.openStreams == 0 }
            #expect(server.exchanges.map(\.status) == [nil])
        }
    }

    @Test(
        "a fault of a stream leaves the others", .rows("PM-130"),
        arguments: [
            (.stallBeforeHead, nil, "", nil), (.stallBody(atByte: 3), 200, "012", nil),
            (.resetStream(code: 7), nil, "", .refusedStream),
            (.resetStream(code: 0xFF, atByte: 0), 200, "", HTTP2ErrorCode(rawValue: 0xFF)),
            (.resetStream(code: 8, atByte: 4), 200, "0123", .cancel),
            (.resetStream(code: 2, atByte: 10), 200, "0123456789", .internalError),
            (.rawWithoutClosing(Array("\0\0\u{8}\u{6}\0\0\0\0\0pingping".utf8)), nil, "", nil),
        ] as [(TestServer.Fault, Int?, String, HTTP2ErrorCode?)])
    func streams(fault: TestServer.Fault, status: Int?, text: String, code: HTTP2ErrorCode?) async throws {
        try await withTestServer(serving: mock, using: .http2, behaving: Self.first(.failing(fault))) { server in
            var client = try await HTTP2Client(server)
            let (get, other) = (client.open("GET", "/"), client.open("GET", "/other"))
            try await client.receive { $0[other].isOver && ($0[get].isOver || code == nil && $0[get].text == text) }
            #expect(client[get].status?.code == status && client[get].text == text && !client[get].isComplete)
            #expect(client[get].reset?.code == code)
            #expect(client[other].text == "other" && client.error == nil)
            #expect(server.exchanges.map(\.status) == [nil, 200])
        }
    }

    @Test("a refused stream is not executed, and its body is not read", .rows("H-21"))
    func refusedStream() async throws {
        let behavior = TestServer.Behavior.failing(.resetStream(code: 7))
        try await withTestServer(serving: mock, using: .http2, behaving: Self.first(behavior)) { server in
            var client = try await HTTP2Client(server)
            let put = client.open("PUT", "/", body: [UInt8](repeating: 0, count: 8 << 20))
            try await client.receive { $0[put].isOver }
            #expect(client[put].reset?.code == .refusedStream && client[put].reset?.isUnprocessed == true)
            #expect(server.record.receivedBytes < 8 << 20)
        }
        #expect(mock.recordedRequests.isEmpty)
    }

    @Test("unsolicited bytes follow the response, and an unannounced close has no GOAWAY", .rows("PM-130"))
    func afterwards() async throws {
        for fault in [TestServer.Fault.unsolicitedBytes([0, 0, 0, 9, 9, 0, 0, 0, 1]), .unannouncedClose] {
            try await withTestServer(serving: mock, using: .http2, fault: fault) { server in
                var client = try await HTTP2Client(server)
                let get = client.open("GET", "/")
                try await client.receive { $0.isClosed || $0.error != nil }
                #expect(client[get].text == "0123456789" && client[get].isComplete && client.goAways.isEmpty)
                #expect((client.error != nil) == (fault != .unannouncedClose))
                #expect(server.exchanges.map(\.status) == [200])
            }
        }
    }

    @Test(
        "after an early response, the server treats the body as the behavior says", .rows("PM-130"),
        arguments: [200, 302, 413],
        TestServer.Behavior.EarlyResponse.Continuation.allCases)
    func earlyResponses(status: Int, next: TestServer.Behavior.EarlyResponse.Continuation) async throws {
        for announcesClose in [false, true] {
            var early = TestServer.Behavior.standard
            early.earlyResponse = .init(HTTPStatus(status), announcesClose: announcesClose, next: next)
            let behavior = Self.first(early)
            try await withTestServer(serving: mock, using: .http2, behaving: behavior) { server in
                var client = try await HTTP2Client(server)
                let put = client.open("PUT", "/", body: [UInt8](repeating: 0, count: 1 << 20))
                try await client.receive { $0[put].isComplete }
                #expect(client[put].status?.code == status && client[put].text == "early")
                #expect(client.goAways.map(\.lastStream) == (announcesClose ? [1] : []))
                if next == .reads { try await client.receive { $0.hasSentAll } }
                if next == .stopsReading, !announcesClose {
                    // The connection is usable without the stream, and more exchanges than its body would need windows.
                    for _ in 0..<30 {
                        let get = client.open("GET", "/other")
                        try await client.receive { $0[get].isComplete }
                        #expect(client[get].text == "other" && !client.hasSentAll)
                    }
                }
                if next == .stopsReading {
                    client.reset(put)
                    try await client.flush()
                }
                if next == .resets || announcesClose {
                    try await client.receive { _ in false }
                    #expect(client.isClosed == true)
                }
                try await server.waitUntil { $0.openStreams == 0 }
                // The whole body may arrive before the reset.
                if next == .reads { try await server.waitUntil { $0.exchanges.first?.isComplete == true } }
                if next == .stopsReading { #expect(!server.exchanges[0].isComplete) }
                if next == .stopsReading, !announcesClose { #expect(server.exchanges[0].body.count == 256 << 10) }
                #expect(server.exchanges[0].status?.code == status)
            }
        }
    }

    @Test(
        "GOAWAY excludes the streams above the last one, which are neither executed nor recorded", .rows("H-20"),
        arguments: [(nil, 2), (1, 1), (5, 3), (StreamID.largest, 4)] as [(UInt32?, Int)])
    func goAway(last: UInt32?, executed: Int) async throws {
        var behavior = TestServer.Behavior.standard
        behavior.goAway = .init(lastStream: last, code: 11, debugText: "too many")
        let goAway = behavior
        let mock = MockExecutor(.ok("a"))
        try await withTestServer(
            serving: mock, using: .http2, behaving: { _, exchange in exchange == 1 ? goAway : .standard }
        ) { server in
            var client = try await HTTP2Client(server)
            let streams = (0..<4).map { client.open("GET", "/\($0)") }
            let isEnd = executed < 4
            try await client.receive { client in !isEnd && streams.allSatisfy { client[$0].isOver } }
            let text = Array("too many".utf8)
            let frame = Frame.GoAway(lastStream: last ?? 3, code: .enhanceYourCalm, debugData: text)
            #expect(client.goAways == [frame] && client.isClosed == isEnd)
            #expect(streams.map { client[$0].isComplete } == (0..<4).map { $0 < executed })
            #expect(streams.dropFirst(executed).allSatisfy { client[$0].reset?.isUnprocessed == true })
            #expect(server.exchanges.count == executed)
        }
        #expect(mock.recordedRequests.count == executed)
    }
}
