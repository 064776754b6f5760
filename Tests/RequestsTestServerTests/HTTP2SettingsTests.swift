import RequestsHTTP2
import RequestsMock
import RequestsTestServer
import TestSupport
import Testing

@Suite("Test server: HTTP/2 settings", .tags(.concurrent), .timeLimit(.minutes(10)))
struct HTTP2SettingsTests {
    private func settings(_ values: [(UInt16, Int)]) -> [UInt8] {
        var writer = FrameWriter()
        writer.settings(values.map { (id: $0.0, value: $0.1) })
        return writer.bytes
    }

    @Test(
        "the server announces how many requests a client may have open, which can be 0 and can change", .rows("PM-130"))
    func streams() async throws {
        let mock = MockExecutor(.ok("a"))
        try await withTestServer(serving: mock, using: .http2(.init(maximumStreams: 0))) { server in
            var client = try await HTTP2Client(server)
            try await client.receive { $0.isSettled }
            #expect(client.open("GET", "/") == nil)
            for count in [1, 3, 2] {
                server.send(settings([(SettingID.maximumConcurrentStreams, count)]))
                try await client.receive { $0.places == count }
                for _ in 0..<count { #expect(client.open("GET", "/") != nil) }
                #expect(client.open("GET", "/") == nil)
                try await client.receiveAll()
            }
            #expect(server.record.requestCount == 6 && server.record.maximumStreams <= 3)
            try await server.waitUntil { $0.openStreams == 0 }
        }
    }

    @Test(
        "a window of 0 stays closed until other settings are sent, and the credit of small windows is returned",
        .rows("PM-130"))
    func windows() async throws {
        let body = [UInt8](repeating: 7, count: 100_000)
        for window in [0, 1, 1_000, 65_535] {
            try await withTestServer(
                serving: MockExecutor(.ok()), using: .http2(.init(initialWindow: window))
            ) { server in
                var client = try await HTTP2Client(server)
                try await client.receive { $0.isSettled }
                let put = client.open("PUT", "/", body: window == 1 ? Array(body[..<100]) : body)
                try await client.flush()
                try await server.waitUntil { $0.requestCount == 1 }
                if window == 0 {
                    let get = client.open("GET", "/")
                    try await client.receive { $0[get].isComplete }
                    #expect(server.exchanges[0].body.isEmpty && !client[put].isOver)
                    server.send(settings([(SettingID.initialWindowSize, 500)]))
                }
                try await client.receiveAll()
                #expect(client[put].status == 200 && server.exchanges[0].body.count == (window == 1 ? 100 : 100_000))
            }
        }
    }

    @Test(
        "a connection is closed after any number of bytes, and each response is whole or not complete", .rows("PM-130"))
    func closing() async throws {
        let mock = MockExecutor { .ok(String(repeating: $0.target.path, count: 10)).with(trailers: ["X": "y"]) }
        func exchange(closingAfter count: Int?) async throws -> Int {
            try await withTestServer(serving: mock, using: .http2(.init(closesAfterByte: count))) { server in
                var client = try await HTTP2Client(server)
                let streams = [client.open("GET", "/a"), client.open("GET", "/b")]
                if count == nil { try await client.receiveAll() } else { try await client.receive { _ in false } }
                for (stream, path) in zip(streams, ["/a", "/b"]) where client[stream].isComplete {
                    #expect(client[stream].text == String(repeating: path, count: 10))
                    #expect(client[stream].trailers["X"] == "y")
                }
                #expect(client.error == nil && client.goAways.isEmpty)
                if let count { #expect(client.receivedCount == count) }
                return client.receivedCount
            }
        }
        let total = try await exchange(closingAfter: nil)
        for count in 0..<total { _ = try await exchange(closingAfter: count) }
    }
}
