import Requests
import RequestsMock
import RequestsPOSIX
import TestSupport
import Testing

@testable import RequestsTestServer

private func get(_ path: String) -> String { "GET \(path) HTTP/1.1\r\nHost: a\r\n\r\n" }

/// The number of threads in this process that serve connections, for all servers; nil if the system does not show it.
private func servingThreads() throws -> Int? {
    let folder = "/proc/self/task"
    guard FileManager.default.fileExists(atPath: folder) else { return nil }
    return try FileManager.default.contentsOfDirectory(atPath: folder).count { thread in
        (try? String(contentsOfFile: "\(folder)/\(thread)/comm", encoding: .utf8)) == "test-serve\n"
    }
}

@Suite("Test server: threads", .timeLimit(.minutes(10)))
struct ServiceThreadTests {
    /// The ways in which a handler occupies its thread until it is released.
    enum Occupation: CaseIterable {
        case blocking, computing, suspending
    }

    @Test(
        "handlers that block, compute or suspend delay no other client", .rows("R-73"), arguments: Occupation.allCases)
    func occupied(occupation: Occupation) async throws {
        let gate = HandlerGate()
        let mock = MockExecutor { request in
            guard request.target.path == "/held" else { return .ok("free") }
            switch occupation {
            case .blocking: gate.block()
            case .computing: gate.compute()
            case .suspending: await gate.suspend()
            }
            return .ok("held")
        }
        try await withTestServer(serving: mock) { server in
            // More than the idle threads that are kept; the free client is served while each of them is held.
            let free = try await RawClient(server)
            var held: [RawClient] = []
            for number in 1...8 {
                held.append(try await RawClient(server))
                try await held.last?.send(get("/held"))
                while gate.arrived < number { await Task.yield() }
                try await free.send(get("/free"))
                #expect(try await Self.response(free).hasSuffix("free"))
            }
            gate.open()
            for client in held { #expect(try await Self.response(client).hasSuffix("held")) }
            // The connections are served again afterwards, by whichever thread.
            for client in held {
                try await client.send(get("/again"))
                #expect(try await Self.response(client).hasSuffix("free"))
            }
        }
    }

    @Test("a client that reads nothing, and bodies that do not arrive, delay no other client", .rows("R-73"))
    func slowClients() async throws {
        let body = Data(count: 8 << 20)
        let mock = MockExecutor { request in request.target.path == "/long" ? .data(body) : .ok("free") }
        try await withTestServer(serving: mock) { server in
            var slow: [RawClient] = []
            for _ in 0..<6 {
                slow.append(try await RawClient(server))
                try await slow.last?.send(get("/long"))
                slow.append(try await RawClient(server))
                try await slow.last?.send("PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nabc")
            }
            try await server.waitUntil { $0.stalledWrites >= 6 }
            let free = try await RawClient(server)
            try await free.send(get("/free"))
            #expect(try await Self.response(free).hasSuffix("free"))
            #expect(server.record.openConnections == slow.count + 1)
        }
    }

    @Test("many connections without a request in progress need no threads, and each is served", .rows("R-73"))
    func idleConnections() async {
        await #expect(processExitsWith: .success) {
            try await withTestServer(serving: MockExecutor(.ok("x"))) { server in
                let bytes = Array(get("/").utf8)
                var (clients, sent) = ([RawClient](), 0)
                for number in 0..<400 {
                    clients.append(try await RawClient(server))
                    // Nothing, or heads as far as they have arrived.
                    let start = bytes[..<(number % bytes.count)]
                    try await clients.last?.send(Array(start))
                    sent += start.count
                }
                let expected = sent
                try await server.waitUntil { $0.acceptedConnections == 400 && $0.receivedBytes == expected }
                // On a busy machine, leaders that came late were replaced; at most 4 threads without work are kept.
                if let threads = try servingThreads() { #expect(threads <= 6) }
                for (number, client) in clients.enumerated() {
                    try await client.send(Array(bytes[(number % bytes.count)...]))
                    #expect(try await ServiceThreadTests.response(client).hasSuffix("x"))
                }
                #expect(server.record.requestCount == 400)
            }
        }
    }

    @Test("a silent client is disconnected although each request of another one passes the lead on", .rows("R-73"))
    func silentClient() async throws {
        let mock = MockExecutor { _ in
            // Suspends, so that another thread leads from then on.
            await Task.yield()
            return .ok("x")
        }
        var limits = TestServer.Limits()
        limits.idleTime = .milliseconds(400)
        try await withTestServer(serving: mock, limits: limits) { server in
            let silent = try await RawClient(server)
            var busy = try await RawClient(server)
            let end = Deadline.after(.seconds(60))
            var isClosed = false
            // Hardly any term of a leader lasts until its next check.
            while !isClosed, !end.hasPassed {
                try? await busy.send(get("/"))
                if let response = try? await Self.response(busy), !response.isEmpty {
                    #expect(response.hasSuffix("x"))
                    isClosed = server.record.openConnections == 1
                } else {
                    // On a busy machine the pause between two requests can be as long as the limit.
                    busy = try await RawClient(server)
                }
            }
            #expect(isClosed)
            withExtendedLifetime(silent) {}
        }
    }

    @Test("a leader is slow if it serves few connections between two checks, and does not wait between them")
    func progress() {
        let rows: [(rounds: Int, services: Int, isSlow: Bool)] = [
            (1, 1, true), (1, 3, true), (1, 15, true), (1, 17, false), (2, 1, false), (2, 3, false), (1, 2, false),
        ]
        let earlier = LeaderTerm.Progress(rounds: 1, services: 1)
        for row in rows {
            let progress = LeaderTerm.Progress(rounds: row.rounds, services: row.services)
            #expect(progress.isSlow(since: earlier) == row.isSlow, "\(row)")
        }
        let waiting = LeaderTerm.Progress(rounds: 1, services: 0)
        #expect(!LeaderTerm.Progress(rounds: 1, services: 1).isSlow(since: waiting))
    }

    /// Receives one response whose body has a Content-Length, or the bytes that arrive before the connection ends.
    fileprivate static func response(_ client: RawClient) async throws -> String {
        var text = ""
        while true {
            let bytes = try await client.receive(1)
            if bytes.isEmpty { return text }
            text += bytes
            let parts = text.split(separator: "\r\n\r\n", maxSplits: 1, omittingEmptySubsequences: false)
            guard parts.count == 2 else { continue }
            let length = parts[0].split(separator: "Content-Length: ").last.flatMap { Int($0.prefix { $0.isNumber }) }
            if parts[1].utf8.count >= length ?? 0 { return text }
        }
    }
}
