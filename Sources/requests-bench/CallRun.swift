import Requests
import RequestsBench
import RequestsSocket
import RequestsURLSession

/// The time of one `client.perform(endpoint)` with JSON, and of its transport and its decoder alone.
///
/// The two alternate, as in a call: a request that directly follows a response often arrives before the server's thread
/// sleeps, and then causes other thread switches than one that follows some work.
struct CallRun: Sendable {
    /// The microseconds of the whole call.
    let whole: Double
    /// The microseconds of `execute` with the prepared request and `JSONDecoder` with its response.
    let parts: Double

    var difference: Double { whole - parts }

    /// Measures `turns` turns, each of a hundred calls and a hundred times their parts.
    @concurrent
    init(over executor: some RequestExecutor, to url: URL, turns: Int) async throws {
        let client = Client(Catalogue(baseURL: url), executor: executor)
        let request = try client.preparedRequest(for: .item(7))
        // Opens the connection and warms up before the measurement.
        for _ in 0..<100 { _ = try await client.perform(.item(7)) }
        var (calls, others): (Duration, Duration) = (.zero, .zero)
        for _ in 0..<turns {
            let start = ContinuousClock.now
            for _ in 0..<100 { _ = try await client.perform(.item(7)) }
            let second = ContinuousClock.now
            for _ in 0..<100 {
                let response = try await executor.execute(request)
                guard case .bytes(let body) = response.body else {
                    throw BenchmarkError("expected a collected body, got \(response.body)")
                }
                _ = try JSONDecoder().decode(Item.self, from: body)
            }
            calls += second - start
            others += .now - second
        }
        let unit = Duration.microseconds(1) * turns * 100
        whole = calls / unit
        parts = others / unit
    }
}

// MARK: Separate processes

extension CallRun {
    /// Parses `URL TURNS`, and measures over a socket.
    init(_ words: [String]) async throws {
        guard words.count == 2, let url = URL(string: words[0]), let turns = Int(words[1]), turns > 0 else {
            throw BenchmarkError("whole-call requires URL TURNS")
        }
        try await self.init(over: SocketExecutor(), to: url, turns: turns)
    }

    /// The line that the process prints.
    var text: String { "\(whole) \(parts)" }

    private init(text: String) throws {
        let figures = text.split(whereSeparator: \.isWhitespace).compactMap { Double($0) }
        guard figures.count == 2 else { throw BenchmarkError("expected two numbers from whole-call, got “\(text)”") }
        (whole, parts) = (figures[0], figures[1])
    }

    /// Runs the measurement in `runs` separate processes, one after the other, on one core with their server.
    ///
    /// With a server on another core, most of a call would be the time to wake that core, which varies.
    static func overSocket(runs: Int, turns: Int) throws -> [CallRun] {
        let pinning = Program.pinningToOneCore()
        let server = try ChildServer(before: pinning)
        return try (0..<runs).map { _ in
            let child = try ChildProcess(["whole-call", server.url.absoluteString, "\(turns)"], before: pinning)
            return try CallRun(text: child.firstLine ?? "")
        }
    }
}
