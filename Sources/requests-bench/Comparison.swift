import Requests
import RequestsBench
import RequestsURLSession

/// A comparison of the socket executor with a plain send/recv loop in C, interleaved and paired round by round.
///
/// The C programs, a `server` and a `limit_client`, are in a folder that the caller names. Both clients and the server
/// run in separate processes, all on one core if one is given.
struct Comparison: Sendable {
    let folder: String
    let rounds: Int
    let core: Int?
    let scale: Double

    /// The figures that one run prints, by name.
    private typealias Run = [String: Double]

    private struct Row {
        let title: String
        let kind: String
        var limitKind: String?
        let count: Int
        var concurrency = 1
        var executor = "socket"
        var isUnix = false
        let goal: String

        var isBulk: Bool { !["small", "kb64", "chunked"].contains(kind) }
    }

    private static let small = [
        Row(
            title: "100-byte GET, blocking, TCP", kind: "small", count: 12000, executor: "socket-blocking",
            goal: "–"),
        Row(
            title: "100-byte GET, blocking, unix", kind: "small", count: 12000, executor: "socket-blocking",
            isUnix: true, goal: "–"),
        Row(title: "100-byte GET, async, TCP", kind: "small", count: 12000, goal: "–"),
        Row(title: "100-byte GET, 64 at once", kind: "small", count: 24000, concurrency: 64, goal: "–"),
        Row(title: "100-byte GET, 1,000 at once", kind: "small", count: 24000, concurrency: 1000, goal: "–"),
        Row(title: "64 KiB, async", kind: "kb64", count: 6000, goal: "–"),
        Row(title: "64 KiB, blocking", kind: "kb64", count: 6000, executor: "socket-blocking", goal: "–"),
        Row(title: "64 KiB in chunks, async", kind: "chunked", count: 6000, goal: "–"),
    ]

    private static let bulk = [
        Row(title: "16 MiB download, collected", kind: "down16", count: 30, goal: "≥ 0.92"),
        Row(title: "16 MiB download, streamed", kind: "down16s", limitKind: "down16", count: 30, goal: "≥ 0.92"),
        Row(title: "64 MiB upload from memory", kind: "up", count: 6, goal: "≥ 0.92"),
        Row(title: "64 MiB upload in chunks", kind: "upchunked", count: 6, goal: "–"),
    ]

    private static let files = [
        Row(title: "1 GiB upload from a file", kind: "upfile1g", limitKind: "up", count: 2, goal: "≥ 0.92")
    ]

    private static let gibibyte =
        Row(title: "1 GiB download, streamed", kind: "down1g", limitKind: "down16", count: 2, goal: "≥ 0.92")

    /// Measures the executor's figures, which takes some minutes.
    func figures() throws -> [Figure] {
        let path = FileManager.default.temporaryDirectory.appending(path: "requests-bench-\(UUID()).sock").path
        defer { try? FileManager.default.removeItem(atPath: path) }
        let port = "\(Int.random(in: 20000..<30000))"
        let server = try Program(pinned(["\(folder)/server", port, path]))
        defer { server.end() }
        try server.waitUntilListening(at: path)
        var figures: [Figure] = []
        for row in Self.small + Self.bulk { figures += try compare(row, at: row.isUnix ? "unix:\(path)" : port) }
        // The file is written before the rows, which do not include it.
        let file = try ScratchFile(bytes: 1 << 30)
        for row in Self.files { figures += try compare(row, at: port, sending: file) }
        let long = try ChildServer(bytes: 1 << 30, before: pinned([]))
        figures += try compare(Self.gibibyte, at: "\(long.url.port ?? 0)")
        let servers = ServedRequests(folder: folder, rounds: rounds, core: core, scale: scale)
        return figures + (try allocations(at: port)) + (try servers.figures())
    }

    private func compare(_ row: Row, at address: String, sending file: ScratchFile? = nil) throws -> [Figure] {
        var (ours, limits): ([Run], [Run]) = ([], [])
        let arguments = ["\(max(1, Int(Double(row.count) * scale)))", "\(row.concurrency)", address]
        // The C loop uploads as many bytes.
        let environment = file.map { ["UP_MIB": "1024", "UP_FILE": $0.path] } ?? [:]
        let limit = pinned(["\(folder)/limit_client", row.limitKind ?? row.kind] + arguments)
        let own = pinned(
            [Program.sibling("requests-bench-client"), row.kind] + arguments + ["--executor", row.executor])
        for round in 0..<rounds {
            for isLimit in round.isMultiple(of: 2) ? [true, false] : [false, true] {
                let run = try Program.measurement(isLimit ? limit : own, environment)
                if isLimit { limits.append(run) } else { ours.append(run) }
            }
        }
        let key = row.isBulk ? "mb_s" : "us_req"
        var figures = [
            Figure.of(
                row.title, key == "mb_s" ? "MB/s" : "µs", ours.values(of: key), to: limits.values(of: key), "C loop",
                goal: row.goal)
        ]
        if row.concurrency == 1000 {
            figures += [
                .of(
                    "  99th percentile", "µs", ours.values(of: "p99_us"), to: limits.values(of: "p99_us"),
                    "C loop", goal: "≤ 2.5"),
                .of("  memory per connection", "KiB", ours.values(of: "kib_conn"), goal: "≤ 16 KiB"),
            ]
        }
        if row.kind.hasSuffix("1g"), row.executor == "socket" {
            figures.append(
                .of("  peak memory", "MiB", ours.values(of: "rss_kb").map { $0 / 1024 }, goal: "≤ 16 MiB"))
        }
        return figures
    }

    /// Measures the allocations per small request, from two lengths of a run, if the folder has the library that counts
    /// them.
    private func allocations(at port: String) throws -> [Figure] {
        let counter = "\(folder)/mallocount.so"
        guard FileManager.default.fileExists(atPath: counter) else { return [] }
        return try [("socket-blocking", "≤ 8"), ("socket", "≤ 10")].map { executor, goal in
            let counts = try [6000, 8000].map { count in
                let program = try Program(
                    pinned([
                        Program.sibling("requests-bench-client"), "small", "\(count)", "1", port, "--executor",
                        executor,
                    ]), ["LD_PRELOAD": counter, "MALLOCOUNT": "1"])
                let line = program.errors.split(separator: "\n").last { $0.hasPrefix("MALLOCS ") }
                guard let count = line?.split(separator: " ").dropFirst().first.flatMap({ Double($0) }) else {
                    throw BenchmarkError("the client printed no count of allocations")
                }
                return count
            }
            return .of("allocations per small GET, \(executor)", "", [(counts[1] - counts[0]) / 2000], goal: goal)
        }
    }

    private func pinned(_ command: [String]) -> [String] {
        core.map { ["taskset", "-c", "\($0)"] + command } ?? command
    }
}

extension [[String: Double]] {
    fileprivate func values(of key: String) -> [Double] { compactMap { $0[key] } }
}
