import Foundation
import RequestsPOSIX
import RequestsTestServer
import TestSupport
import Testing

/// The number of hostile clients; `REQUESTS_HOSTILE_CLIENTS` sets another.
private let clientCount = ProcessInfo.processInfo.environment["REQUESTS_HOSTILE_CLIENTS"].flatMap(Int.init) ?? 240

private let get = "GET / HTTP/1.1\r\nHost: a\r\n\r\n"

/// An executor whose response has as many zero bytes as the path states, and that records nothing.
private struct ZerosExecutor: RequestExecutor {
    func execute(_ request: PreparedRequest) async throws(RequestError) -> RawResponse {
        let count = Int(
            request.target.path.utf8.dropFirst().reduce(into: "") { $0.unicodeScalars.append(Unicode.Scalar($1)) })
        let body = Data(count: count ?? 2)
        let header: Header = [Field(name: .contentLength, value: String(body.count))]
        return RawResponse(
            head: ResponseHead(status: 200, header: header, target: request.target), body: .bytes(body))
    }
}

// Tests that measure memory run in a child process. They run one at a time, because each uses the whole processor.
@Suite("Test server: hostile clients", .serialized, .timeLimit(.minutes(10)))
struct HostileClientTests {
    @Test(
        "of 400 MiB of bodies only the limit of the record stays in memory", .rows("R-73"),
        .notInstrumented("its bodies only take long"))
    func bodies() async {
        await #expect(processExitsWith: .success) {
            try await expectMemory(mebibytes: 192) {
                try await withTestServer(serving: ZerosExecutor()) { server in
                    let body = [UInt8](repeating: 97, count: 1 << 20)
                    try await inParallel(400) { number in
                        let client = try await RawClient(server)
                        try await client.send("PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: \(body.count)\r\n\r\n")
                        try await client.send(body)
                        client.endSending()
                        #expect(try await client.receive().hasPrefix("HTTP/1.1 200 "))
                    }
                    #expect(server.record.requestCount == 400)
                    let kept = server.exchanges.reduce(0) { $0 + $1.body.count }
                    #expect(kept <= 64 << 20 && kept >= 48 << 20)
                    #expect(server.exchanges.allSatisfy { !$0.isBodyCut })
                }
            }
        }
    }

    @Test(
        "many long bodies at once, complete or not, occupy the memory of the limits and no more", .rows("R-73"),
        .notInstrumented("its bodies only take long"))
    func longBodies() async {
        await #expect(processExitsWith: .success) {
            // Bodies in progress occupy at most 128 MiB and recorded ones 64 MiB; the remainder is for threads and
            // buffers.
            try await expectMemory(mebibytes: 256) {
                try await withTestServer(serving: ZerosExecutor()) { server in
                    let body = [UInt8](repeating: 97, count: 8_000_000)
                    try await inParallel(160) { _ in
                        let client = try await RawClient(server)
                        try await client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: \(body.count)\r\n\r\n")
                        // The server closes the connection if all bodies together are over the limit.
                        try? await client.send(body)
                        client.endSending()
                        _ = try? await client.receive()
                    }
                    let piece = [UInt8](repeating: 97, count: 1_000_000)
                    try await inParallel(24) { _ in
                        let client = try await RawClient(server)
                        try await client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 60000000\r\n\r\n")
                        for _ in 0..<59 { try? await client.send(piece) }
                    }
                    try await server.waitUntil { $0.openConnections == 0 }
                    #expect(server.exchanges.reduce(0) { $0 + $1.body.count } <= 64 << 20)
                    #expect(server.exchanges.contains { !$0.isComplete && !$0.body.isEmpty })
                }
            }
        }
    }

    @Test("the total size of the bodies in memory is limited, and released with their requests", .rows("R-73"))
    func heldBodies() async throws {
        var limits = TestServer.Limits()
        limits.totalBodyBytes = 1_000
        limits.drainTime = .milliseconds(10)
        try await withTestServer(serving: ZerosExecutor(), limits: limits) { server in
            let head = "PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 600\r\n\r\n"
            let first = try await RawClient(server)
            try await first.send(head + String(repeating: "a", count: 599))
            // Not the received bytes, which are counted before their memory is.
            try await server.waitUntil { $0.exchanges.first?.body.count == 599 }
            let second = try await RawClient(server)
            try await second.send(head + String(repeating: "b", count: 600))
            #expect(try await second.receive().hasPrefix("HTTP/1.1 503 "))
            try await first.send("a")
            first.endSending()
            #expect(try await first.receive().hasPrefix("HTTP/1.1 200 "))
            try await server.waitUntil { $0.openConnections == 0 }
            let third = try await RawClient(server)
            try await third.send(head + String(repeating: "c", count: 600))
            third.endSending()
            #expect(try await third.receive().hasPrefix("HTTP/1.1 200 "))
        }
    }

    @Test("a client that keeps sending after an error response receives it", .rows("R-73", "R-45"))
    func receivesError() async throws {
        var limits = TestServer.Limits(bodyBytes: 8)
        limits.drainTime = .seconds(600)
        try await withTestServer(serving: ZerosExecutor(), limits: limits) { server in
            let client = try await RawClient(server)
            try await client.send("PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 80000\r\n\r\n")
            try await client.send([UInt8](repeating: 0, count: 80_000))
            client.endSending()
            #expect(try await client.receive().hasPrefix("HTTP/1.1 413 "))
            try await server.waitUntil { $0.openConnections == 0 }
            #expect(server.record.receivedBytes >= 80_000)
        }
    }

    @Test("after an error response the server reads at most the limit of further bytes", .rows("R-73"))
    func draining() async throws {
        var limits = TestServer.Limits(bodyBytes: 8)
        limits.drainedBytes = 100_000
        limits.drainTime = .milliseconds(300)
        try await withTestServer(serving: ZerosExecutor(), limits: limits) { server in
            let head = "PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 9999999999\r\n\r\n"
            let client = try await RawClient(server)
            try await client.send(head)
            // Sends until the server closes the connection.
            await #expect(throws: (any Error).self) {
                while true { try await client.send([UInt8](repeating: 0, count: 65_536)) }
            }
            try await server.waitUntil { $0.openConnections == 0 }
            #expect(server.record.receivedBytes <= head.utf8.count + 100_000 + 32_768)
        }
    }

    @Test("after an error response an idle connection is closed when the drain time ends", .rows("R-73"))
    func lingering() async throws {
        var limits = TestServer.Limits(methods: [.put])
        limits.drainTime = .milliseconds(50)
        try await withTestServer(serving: ZerosExecutor(), limits: limits) { server in
            let client = try await RawClient(server)
            try await client.send(get)
            try await server.waitUntil { $0.acceptedConnections == 1 && $0.openConnections == 0 }
            #expect(try await client.receive().hasPrefix("HTTP/1.1 405 "))
        }
    }

    @Test(
        "clients that never read, and clients that keep sending to a stalled server, cost little memory", .rows("R-73"),
        .notInstrumented("its bodies only take long"))
    func unread() async {
        await #expect(processExitsWith: .success) {
            try await expectMemory(mebibytes: 128) {
                try await withTestServer(serving: ZerosExecutor()) { server in
                    var clients: [RawClient] = []
                    for _ in 0..<100 {
                        clients.append(try await RawClient(server))
                        try await clients.last?.send("GET /8000000 HTTP/1.1\r\nHost: a\r\n\r\n")
                    }
                    try await server.waitUntil { $0.stalledWrites >= 100 }
                    #expect(server.record.openConnections == clients.count)
                }
                try await withTestServer(serving: ZerosExecutor(), fault: .stallBeforeHead) { server in
                    let flood = [UInt8](repeating: 97, count: 1 << 20)
                    try await inParallel(8) { _ in
                        let client = try await RawClient(server)
                        try await client.send(get)
                        for _ in 0..<64 { try await client.send(flood) }
                    }
                    try await server.waitUntil { $0.receivedBytes >= 8 * 64 << 20 }
                }
            }
        }
    }

    @Test("connections beyond the limit wait until another one ends", .rows("R-73"))
    func connections() async throws {
        var limits = TestServer.Limits()
        limits.connections = 2
        try await withTestServer(serving: ZerosExecutor(), limits: limits) { server in
            let holders = [try await RawClient(server), try await RawClient(server)]
            try await server.waitUntil { $0.openConnections == 2 }
            let waiting = try await RawClient(server)
            try await waiting.send(get)
            try await holders[0].send(get)
            #expect(try await holders[0].receive(12).hasPrefix("HTTP/1.1 200"))
            #expect(server.record.acceptedConnections == 2)
            holders[1].endSending()
            #expect(try await waiting.receive(12).hasPrefix("HTTP/1.1 200"))
        }
    }

    @Test("with many hostile clients a valid one is served, and no descriptor or thread remains", .rows("R-73"))
    func storm() async {
        await #expect(processExitsWith: .success) {
            try await exchange(with: ZerosExecutor())
            let before = try descriptors()
            try await expectMemory(mebibytes: 256) {
                // Limited by the descriptors of the system, one here and one in the server.
                let count = min(clientCount, descriptorLimit() / 2 - 200)
                var limits = TestServer.Limits(bodyBytes: 64 << 10)
                limits.drainTime = .milliseconds(100)
                limits.connections = count + 200
                try await withTestServer(serving: ZerosExecutor(), limits: limits) { server in
                    var attached: [RawClient] = []
                    for number in 0..<count {
                        attached.append(try await RawClient(server))
                        // Heads that never end, of every length, and every fourth client sends nothing.
                        if number % 4 != 0 {
                            try await attached.last?.send(String(get.prefix(number % get.utf8.count)))
                        }
                    }
                    try await inParallel(clientCount) { number in
                        try? await Attack.all[number % Attack.all.count](server)
                    }
                    let valid = try await RawClient(server)
                    try await valid.send(get)
                    #expect(try await valid.receive(12).hasPrefix("HTTP/1.1 200"))
                    #expect(server.record.openConnections > attached.count)
                    // The scope ends while all of them are connected.
                }
            }
            // A thread reports its end shortly before it ends.
            while try threads(named: "test-") > 0 || descriptors() > before {
                try Task.checkCancellation()
                await Task.yield()
            }
        }
    }
}

/// The attacks of hostile clients.
///
/// Each ends with an error when the server closes the connection.
private enum Attack {
    static let all: [@Sendable (TestServer) async throws -> Void] = [
        { _ = try await RawClient($0) },
        { try await RawClient($0).send("GET / HT") },
        { try await RawClient($0).send("PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nabc") },
        { try await endlessly($0, after: "GET /", String(repeating: "a", count: 1_000)) },
        {
            try await endlessly(
                $0, after: "GET / HTTP/1.1\r\nHost: a\r\n", "A: \(String(repeating: "b", count: 90))\r\n")
        },
        { try await endlessly($0, after: "GET / HTTP/1.1\r\nHost: a\r\nA: ", String(repeating: "b", count: 1_000)) },
        { try await endlessly($0, after: chunkedHead + "1;", String(repeating: "x", count: 1_000)) },
        { try await endlessly($0, after: chunkedHead, "1\r\na\r\n") },
        { try await endlessly($0, after: chunkedHead, String(repeating: "0", count: 1_000)) },
        { try await endlessly($0, after: chunkedHead + "0\r\n", "A: b\r\n") },
        { try await endlessly($0, after: "PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 999999999999\r\n\r\n", "abc") },
        { try await endlessly($0, after: chunkedHead + "7fffffffffffffff\r\n", String(repeating: "x", count: 4_000)) },
        { try await endlessly($0, after: "", get, atMost: 20_000) },
        { try await RawClient($0).send([UInt8](repeating: 0, count: 100_000)) },
        { server in
            let client = try await RawClient(server)
            try await client.send("GET /1000000 HTTP/1.1\r\nHost: a\r\n\r\n")
            _ = try await client.receive(1_000)
        },
        { server in
            let numbers = ["9223372036854775807", "9223372036854775808", "18446744073709551616", "-1", "1e9", "0x10"]
            for number in numbers + [String(repeating: "9", count: 400)] {
                let client = try await RawClient(server)
                try await client.send("PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: \(number)\r\n\r\n")
                let expected = number == "9223372036854775807" ? "HTTP/1.1 413" : "HTTP/1.1 400"
                #expect(try await client.receive(12).hasPrefix(expected))
            }
        },
    ]

    private static let chunkedHead = "PUT / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"

    /// Sends `more` repeatedly until the server closes the connection, or `limit` bytes are sent.
    private static func endlessly(
        _ server: TestServer, after start: String, _ more: String, atMost limit: Int = .max
    ) async throws {
        let client = try await RawClient(server)
        try await client.send(start)
        let more = Array(String(repeating: more, count: max(1, 4_000 / more.utf8.count)).utf8)
        var sent = 0
        while sent < limit {
            try await client.send(more)
            sent += more.count
        }
    }
}

/// Performs one valid exchange, which creates the resources that exist as long as the process.
private func exchange(with executor: some RequestExecutor) async throws {
    try await withTestServer(serving: executor) { server in
        let client = try await RawClient(server)
        try await client.send(get)
        #expect(try await client.receive(12).hasPrefix("HTTP/1.1 200"))
    }
}

/// Runs `body` for each number, 32 at a time.
private func inParallel(_ count: Int, _ body: @escaping @Sendable (Int) async throws -> Void) async throws {
    try await withThrowingTaskGroup(of: Void.self) { group in
        for number in 0..<count {
            if number >= 32 { try await group.next() }
            group.addTask { try await body(number) }
        }
        try await group.waitForAll()
    }
}

/// Expects that the peak memory of the process grows by less than `mebibytes` MiB while `body` runs.
private func expectMemory(mebibytes: Int, _ body: () async throws -> Void) async throws {
    let before = try #require(ProcessUsage.peakResidentKiB)
    try await body()
    let peak = try #require(ProcessUsage.peakResidentKiB)
    print("peak resident memory: \(peak >> 10) MiB, \(before >> 10) MiB before the test")
    // The sanitizer uses additional memory, which grows at any time.
    let isSanitized = ProcessInfo.processInfo.environment["TSAN_OPTIONS"] != nil
    #expect(isSanitized || peak - before < mebibytes << 10)
}

private func descriptors() throws -> Int {
    try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count
}

private func descriptorLimit() -> Int {
    var limit = rlimit()
    guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return 256 }
    return Int(clamping: limit.rlim_cur)
}

/// Returns how many threads of the process have names that begin with `prefix`.
private func threads(named prefix: String) throws -> Int {
    try FileManager.default.contentsOfDirectory(atPath: "/proc/self/task").count { thread in
        let name = try? String(contentsOfFile: "/proc/self/task/\(thread)/comm", encoding: .utf8)
        return name?.hasPrefix(prefix) == true
    }
}
