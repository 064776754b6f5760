import Requests
import RequestsBench
import RequestsSocket
import RequestsURLSession

/// What one call of `client.perform(endpoint)` with JSON takes, next to its transport and its decoder by themselves.
///
/// These two take turns, as they do in the call: a request that follows an answer at once often comes before the server
/// has gone to sleep, and then costs other changes of threads than one that follows some work.
struct CallRun: Sendable {
    /// Microseconds of the whole call.
    let whole: Double
    /// Microseconds of `execute` of the prepared request and `JSONDecoder` for its answer.
    let parts: Double

    var more: Double { whole - parts }

    /// Measures so many turns, of a hundred calls and a hundred times their parts.
    @concurrent
    init(over executor: some RequestExecutor, to url: URL, turns: Int) async throws {
        let client = Client(Catalogue(baseURL: url), executor: executor)
        let request = try client.prepared(.item(7))
        for _ in 0..<100 { _ = try await client.perform(.item(7)) }
        var (calls, others): (Duration, Duration) = (.zero, .zero)
        for _ in 0..<turns {
            let start = ContinuousClock.now
            for _ in 0..<100 { _ = try await client.perform(.item(7)) }
            let second = ContinuousClock.now
            for _ in 0..<100 {
                let response = try await executor.execute(request)
                guard case .bytes(let body) = response.body else { throw Mistake("no bytes came") }
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

// MARK: In a process of its own

extension CallRun {
    /// Understands `URL TURNS`, and measures over a socket.
    init(_ words: [String]) async throws {
        guard words.count == 2, let url = URL(string: words[0]), let turns = Int(words[1]), turns > 0 else {
            throw Mistake("whole-call takes URL TURNS")
        }
        try await self.init(over: SocketExecutor(), to: url, turns: turns)
    }

    /// What that process prints.
    var text: String { "\(whole) \(parts)" }

    private init(text: String) throws {
        let figures = text.split(whereSeparator: \.isWhitespace).compactMap { Double($0) }
        guard figures.count == 2 else { throw Mistake("no figures of a whole call: \(text)") }
        (whole, parts) = (figures[0], figures[1])
    }

    /// Runs, each in a process of its own, one after the other, on one core with their server.
    ///
    /// With a server on another core most of a call would be the waking of that core, which never takes the same time.
    static func overSocket(runs: Int, turns: Int) throws -> [CallRun] {
        let oneCore = Program.keptOnOneCore()
        let server = try ChildServer(before: oneCore)
        return try (0..<runs).map { _ in
            let child = try Child(["whole-call", server.url.absoluteString, "\(turns)"], before: oneCore)
            return try CallRun(text: child.firstLine ?? "nothing was printed")
        }
    }
}
