import Requests
import RequestsBench
import RequestsHTTP1
import RequestsMock
import RequestsURLSession

/// The cost of a call beyond its transport and its decoder, of parsing a head, and of starting a program.
struct WholeCall: Sendable {
    let rounds: Int
    let scale: Double

    @concurrent
    func figures() async throws -> [Figure] {
        try await calls() + parsing() + starting()
    }

    private func times(_ count: Int) -> Int { max(1, Int(Double(count) * scale)) }

    // MARK: Calls

    /// Measures `client.perform(endpoint)`, and its transport and its decoder, in turns of a hundred.
    private func calls() async throws -> [Figure] {
        let turns = times(100)
        let server = URL("https://api.example.com/v1")
        let mock = MockExecutor(.data(ReferenceServer.body, contentType: .json))
        var inMemory: [CallRun] = []
        for _ in 0..<rounds { inMemory.append(try await CallRun(over: mock, to: server, turns: turns)) }
        return Self.figures(of: try CallRun.overSocket(runs: rounds, turns: turns), "socket")
            + Self.figures(of: inMemory, "mock")
    }

    private static func figures(of runs: [CallRun], _ name: String) -> [Figure] {
        let (whole, parts) = (runs.map(\.whole), runs.map(\.parts))
        return [
            .of("\(name), perform(endpoint) with JSON", "µs", whole, to: parts, "transport and JSONDecoder"),
            .of("  beyond transport and JSONDecoder", "µs", runs.map(\.difference), goal: "≤ 3 µs"),
        ]
    }

    // MARK: Parsing

    /// A head of a typical size: 659 bytes and 17 fields.
    private static let head = Array(
        """
        HTTP/1.1 200 OK\r
        Date: Thu, 19 Nov 2026 08:12:31 GMT\r
        Content-Type: application/json; charset=utf-8\r
        Content-Length: 0\r
        Connection: keep-alive\r
        Server: nginx\r
        Cache-Control: private, max-age=60, s-maxage=60\r
        Vary: Accept, Authorization, Cookie, Accept-Encoding\r
        ETag: "0f3e9a2d1b7c64a8e5d2f1c0b9a87766"\r
        Last-Modified: Wed, 18 Nov 2026 21:05:07 GMT\r
        X-RateLimit-Limit: 5000\r
        X-RateLimit-Remaining: 4987\r
        X-RateLimit-Reset: 1795079551\r
        X-Request-Id: 8E4C:2F1A:1D5B3C:22F7A9:6740ABCD\r
        Strict-Transport-Security: max-age=31536000; includeSubdomains; preload\r
        X-Content-Type-Options: nosniff\r
        X-Frame-Options: deny\r
        Content-Security-Policy: default-src 'none'\r
        \r

        """.utf8)

    /// Measures the parsing of a head, and a search for the line ends in the same bytes.
    private func parsing() throws -> [Figure] {
        var (reader, scan): ([Double], [Double]) = ([], [])
        let count = times(50000)
        let megabytes = Double(count * Self.head.count) / 1e6
        for _ in 0..<rounds {
            let start = ContinuousClock.now
            for _ in 0..<count { try Self.read() }
            let second = ContinuousClock.now
            var lines = 0
            for _ in 0..<count { lines += Self.countLines() }
            guard lines == count * 19 else { throw BenchmarkError("expected \(count * 19) line ends, found \(lines)") }
            scan.append(megabytes / ((.now - second) / .seconds(1)))
            reader.append(megabytes / ((second - start) / .seconds(1)))
        }
        return [
            .of("memchr over a head of \(Self.head.count) bytes: the bound", "MB/s", scan),
            .of("response reader, the same head", "MB/s", reader, to: scan, "memchr", goal: "≥ 500 MB/s"),
        ]
    }

    private static func read() throws {
        var reader = ResponseReader(answering: .get)
        guard case .head = try reader.next(in: head.span).event else {
            throw BenchmarkError("the response reader did not return the head")
        }
    }

    private static func countLines() -> Int {
        head.withUnsafeBytes { bytes in
            var (count, position) = (0, 0)
            while position < bytes.count, let start = bytes.baseAddress,
                let found = memchr(start + position, 0x0A, bytes.count - position)
            {
                count += 1
                position = UnsafeRawPointer(found) - start + 1
            }
            return count
        }
    }

    // MARK: Starting

    /// Measures three programs from start to end.
    ///
    /// One links only sockets and sends one GET, one does nothing, and one is the first without shared libraries, if it
    /// has been built.
    private func starting() throws -> [Figure] {
        let server = try ChildServer()
        let path = Program.sibling("requests-socket-only")
        guard FileManager.default.fileExists(atPath: path) else { return [] }
        let staticSize = try? FileManager.default.attributesOfItem(atPath: Self.staticPath)[.size] as? Int
        var (socketOnly, staticallyLinked, empty): ([Double], [Double], [Double]) = ([], [], [])
        for _ in 0..<rounds {
            for _ in 0..<times(20) {
                empty.append(try Program.lifetime(of: "/bin/true", []) / 1000)
                socketOnly.append(try Program.lifetime(of: path, [server.url.absoluteString]) / 1000)
                guard staticSize != nil else { continue }
                staticallyLinked.append(try Program.lifetime(of: Self.staticPath, [server.url.absoluteString]) / 1000)
            }
        }
        let figures: [Figure] = [
            .of("a process that does nothing", "ms", empty),
            .of("a socket-only program: start, GET, end", "ms", socketOnly, goal: "≤ 6 ms"),
        ]
        guard let staticSize else { return figures }
        return figures + [
            .of("the same, statically linked: start, GET, end", "ms", staticallyLinked, goal: "≤ 6 ms"),
            .of("the same, statically linked", "MB", [Double(staticSize) / 1e6], goal: "≤ 25 MB"),
        ]
    }

    /// The path of the statically linked program; Docs/Performance.md describes how to build it.
    private static let staticPath = ".build/static/release/requests-socket-only"
}
