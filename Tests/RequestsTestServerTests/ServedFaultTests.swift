import RequestsMock
import RequestsPOSIX
import RequestsTestServer
import TestSupport
import Testing

private let get = "GET / HTTP/1.1\r\nHost: a\r\n\r\n"
private let head = "HTTP/1.1 200 OK\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: 10\r\n\r\n"
private let chunkedHead = head.replacing("Content-Length: 10", with: "Transfer-Encoding: chunked")

@Suite("Test server: faults", .timeLimit(.minutes(10)))
struct ServedFaultTests {
    private let mock = MockExecutor(.ok("0123456789"))

    private func response(_ behavior: TestServer.Behavior, _ request: String = get) async throws -> String {
        var behavior = behavior
        behavior.date = { nil }
        return try await withTestServer(serving: mock, behaving: behavior) { server in
            let client = try await RawClient(server)
            try await client.send(request)
            client.endSending()
            return try await client.receive()
        }
    }

    @Test(
        "a fault determines the bytes that arrive", .rows("PM-130"),
        arguments: [
            (.closeBeforeHead, ""), (.stallBeforeHead, ""), (.truncateHead(atByte: 9), "HTTP/1.1 "),
            (.truncateHead(atByte: 0), ""), (.truncateBody(atByte: 4), head + "0123"),
            (.truncateBody(atByte: 0), head), (.truncateBody(atByte: 10), head + "0123456789"),
            (.stallBody(atByte: 3), head + "012"), (.garbage, "garbage, and not a status line\r\n\r\n"),
            (.raw([0, 255]), "\u{0}\u{FFFD}"), (.rawWithoutClosing([65]), "A"),
            (.unsolicitedBytes([65, 66]), head + "0123456789AB"), (.unannouncedClose, head + "0123456789"),
        ] as [(TestServer.Fault, String)])
    func faults(fault: TestServer.Fault, expected: String) async throws {
        #expect(try await response(.failing(fault)) == expected)
    }

    @Test(
        "a reset fault resets the connection",
        arguments: [
            TestServer.Fault.resetBeforeHead, .resetBody(atByte: 3), .resetStream(code: 7),
            .resetStream(code: 8, atByte: 3),
        ])
    func resets(fault: TestServer.Fault) async throws {
        let error = await #expect(throws: SystemError.self) { try await response(.failing(fault)) }
        #expect(error?.isReset == true)
    }

    @Test(
        "a behavior determines the framing of the body and the interim responses", .rows("PM-130"),
        arguments: [
            (
                TestServer.Behavior(framing: .chunked(sizes: [1, 4])),
                chunkedHead + "1\r\n0\r\n4\r\n1234\r\n4\r\n5678\r\n1\r\n9\r\n0\r\n\r\n"
            ),
            (
                TestServer.Behavior(framing: .chunked(sizes: []), fault: .truncateBody(atByte: 10)),
                chunkedHead + "a\r\n0123456789"
            ),
            (
                TestServer.Behavior(framing: .chunked(sizes: [4]), fault: .truncateBody(atByte: 5)),
                chunkedHead + "4\r\n0123\r\n4\r\n4"
            ),
            (
                TestServer.Behavior(framing: .untilClose),
                head.replacing("Content-Length: 10", with: "Connection: close") + "0123456789"
            ),
            (
                TestServer.Behavior(interim: [102, 103]),
                "HTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 103 Early Hints\r\n\r\n" + head + "0123456789"
            ),
        ])
    func framing(behavior: TestServer.Behavior, expected: String) async throws {
        #expect(try await response(behavior) == expected)
    }

    @Test("a slow response arrives whole, at its pace", .rows("PM-130"))
    func pace() async throws {
        let start = ContinuousClock.now
        let slow = TestServer.Behavior(pace: .drip(20, every: .milliseconds(5)), date: { nil })
        try await withTestServer(serving: mock, behaving: slow) { server in
            let client = try await RawClient(server)
            try await client.send(get)
            #expect(try await client.receive(head.utf8.count + 10) == head + "0123456789")
        }
        #expect(ContinuousClock.now - start >= .milliseconds(5 * (head.utf8.count / 20)))
    }

    @Test("a pace of less than one byte is one byte at a time", .rows("PM-130"), arguments: [0, -1, .min])
    func noPace(bytes: Int) async throws {
        var pace = TestServer.Behavior.Pace.drip(1, every: .zero)
        pace.bytes = bytes
        try await withTestServer(serving: mock, behaving: TestServer.Behavior(pace: pace, date: { nil })) { server in
            let client = try await RawClient(server)
            try await client.send(get)
            #expect(try await client.receive(head.utf8.count + 10) == head + "0123456789")
        }
    }

    @Test("a body of unknown length is chunked with trailers, or ends with the connection in HTTP/1.0", .rows("PM-130"))
    func unknownLength() async throws {
        let mock = MockExecutor { _ in
            MockResponse(
                body: [.chunks(count: 2) { Data("\($0)".utf8) }], trailers: [Field(name: "X-Sum", value: "1")])
        }
        try await withTestServer(serving: mock, behaving: TestServer.Behavior(date: { nil })) { server in
            let client = try await RawClient(server)
            try await client.send(get)
            try await client.send("GET / HTTP/1.0\r\n\r\n")
            #expect(
                try await client.receive() == """
                    HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n0\r\n1\r\n1\r\n0\r\nX-Sum: 1\r\n\r\n\
                    HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n01
                    """)
        }
    }

    @Test("a body that fails in the executor is truncated on the wire", .rows("R-20"))
    func failingBody() async throws {
        var response = MockResponse(body: [.bytes(Data("abc".utf8)), .failure(RequestError(.connectionLost))])
        response.header = [Field(name: .contentLength, value: "64")]
        try await withTestServer(serving: MockExecutor(response), behaving: TestServer.Behavior(date: { nil })) {
            server in
            let client = try await RawClient(server)
            try await client.send(get)
            #expect(try await client.receive() == "HTTP/1.1 200 OK\r\nContent-Length: 64\r\n\r\nabc")
        }
    }

    @Test("after raw bytes, the connection is open for further requests", .rows("PM-130"))
    func rawTwice() async throws {
        try await withTestServer(serving: mock, behaving: .failing(.rawWithoutClosing([65]))) { server in
            let client = try await RawClient(server)
            try await client.send(get + get)
            client.endSending()
            #expect(try await client.receive() == "AA")
            #expect(server.exchanges.map(\.index) == [0, 1])
        }
    }

    @Test("a behavior can depend on the connection and the exchange")
    func chosen() async throws {
        let behavior: @Sendable (Int, Int) -> TestServer.Behavior = { connection, exchange in
            TestServer.Behavior(
                fault: connection == 0 && exchange == 1 ? .closeBeforeHead : nil, date: { nil })
        }
        try await withTestServer(serving: mock, behaving: behavior) { server in
            let client = try await RawClient(server)
            try await client.send(get + get)
            #expect(try await client.receive() == head + "0123456789")
            let other = try await RawClient(server)
            try await other.send(get + get)
            other.endSending()
            #expect(try await other.receive() == head + "0123456789" + head + "0123456789")
        }
    }

    @Test("one port refuses connections, and another does not complete them", .rows("PM-130"))
    func unresponsive() async throws {
        try await withRefusingPort { port in
            let error = await #expect(throws: WaitError.self) { try await connect(to: port, within: .seconds(30)) }
            let reason: SystemError? = if case .failed(let reason) = error { reason } else { nil }
            #expect(reason?.isRefused == true)
        }
        try await withFullBacklogPort { port in
            await #expect(throws: WaitError.timedOut) { try await connect(to: port, within: .milliseconds(300)) }
        }
    }

    private func connect(to port: Int, within limit: Duration) async throws {
        let address = SocketAddress.loopback(port: UInt16(clamping: port))
        let channel = Channel(try Socket(for: address), reactor: try Reactor.shared())
        try await channel.connect(to: address, by: .after(limit))
    }
}
