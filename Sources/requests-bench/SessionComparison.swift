import Requests
import RequestsBench
import RequestsPOSIX
import RequestsSocket
import RequestsURLSession

/// A comparison of URLSession alone, its executor and the socket executor, interleaved, with a server in another
/// process.
struct SessionComparison: Sendable {
    let rounds: Int
    let times: Int
    /// The length of the download in megabytes.
    let megabytes: Int

    /// Measures the figures; memory is measured in separate processes.
    @concurrent
    func figures() async throws -> [Figure] {
        let server = try ChildServer()
        let bare = URLSession(configuration: .ephemeral)
        let (session, socket) = (URLSessionExecutor(configuration: .ephemeral), SocketExecutor())
        let request = try PreparedRequest(url: server.url)
        let plain = URLRequest(url: server.url)
        // Without a body, because the server takes an empty line as the end of a request.
        var post = request
        post.method = .post
        var plainPost = plain
        plainPost.httpMethod = "POST"
        var costs = [Costs](repeating: Costs(), count: 5)
        for _ in 0..<rounds {
            try await costs[0].measure(times) { _ = try await bare.data(for: plain) }
            try await costs[1].measure(times) { _ = try await session.execute(request) }
            try await costs[2].measure(times) { _ = try await socket.execute(request) }
            try await costs[3].measure(times) { [plainPost] in _ = try await bare.data(for: plainPost) }
            try await costs[4].measure(times) { [post] in _ = try await session.execute(post) }
        }
        return [
            .of("URLSession, bare data(for:)", "µs", costs[0].wall),
            .of("URLSession executor", "µs", costs[1].wall, to: costs[0].wall, "bare"),
            .of("socket executor, server elsewhere", "µs", costs[2].wall, to: costs[1].wall, "URLSession executor"),
            .of("URLSession, bare data(for:), CPU", "µs", costs[0].processor),
            .of("URLSession executor, CPU", "µs", costs[1].processor, to: costs[0].processor, "bare"),
            .of("socket executor, CPU", "µs", costs[2].processor, to: costs[1].processor, "URLSession executor"),
            .of("URLSession, bare POST, CPU", "µs", costs[3].processor),
            .of("URLSession executor, POST, CPU", "µs", costs[4].processor, to: costs[3].processor, "bare POST"),
            .of("URLSession, bare POST", "µs", costs[3].wall),
            .of("URLSession executor, POST", "µs", costs[4].wall, to: costs[3].wall, "bare POST"),
            .of("URLSession download, \(megabytes) MB: growth of peak memory", "MiB", [try growth("urlsession")]),
            .of("socket download, \(megabytes) MB: growth of peak memory", "MiB", [try growth("socket")]),
        ]
    }

    private func growth(_ executor: String) throws -> Double {
        let child = try ChildProcess(["download", executor, "\(megabytes)"])
        guard let text = child.firstLine, let growth = Double(text) else {
            throw BenchmarkError("the download printed no number")
        }
        return growth
    }

    /// The time of requests, and the processor time of this process.
    private struct Costs {
        var wall: [Double] = []
        var processor: [Double] = []

        mutating func measure(_ times: Int, _ request: () async throws -> Void) async throws {
            // Opens the connection and warms up before the measurement.
            for _ in 0..<20 { try await request() }
            let before = ProcessUsage.now()
            let start = ContinuousClock.now
            for _ in 0..<times { try await request() }
            wall.append((.now - start) / .microseconds(1) / Double(times))
            let after = ProcessUsage.now()
            let used = after.user + after.system - before.user - before.system
            processor.append(used / .microseconds(1) / Double(times))
        }
    }
}

/// A download of a file in this process that measures the growth of its peak memory.
struct DownloadRun {
    let executor: any RequestExecutor
    let megabytes: Int

    /// Parses `EXECUTOR MEGABYTES`.
    init(_ words: [String]) throws(BenchmarkError) {
        guard words.count == 2, let megabytes = Int(words[1]), megabytes > 0,
            ["socket", "urlsession"].contains(words[0])
        else { throw BenchmarkError("download requires EXECUTOR MEGABYTES") }
        executor = words[0] == "socket" ? SocketExecutor() : URLSessionExecutor(configuration: .ephemeral)
        self.megabytes = megabytes
    }

    @concurrent
    func report() async throws -> String {
        let server = try ChildServer(bytes: megabytes * 1_000_000)
        let small = try ChildServer()
        _ = try await executor.execute(PreparedRequest(url: small.url))
        let path = FileManager.default.temporaryDirectory.appending(path: "requests-bench-\(UUID())").path
        defer { try? FileManager.default.removeItem(atPath: path) }
        let before = ProcessUsage.peakResidentKiB ?? 0
        var request = try PreparedRequest(url: server.url)
        request.delivery = .file(path: path)
        let response = try await executor.execute(request)
        guard case .file = response.body else { throw BenchmarkError("expected a file body, got \(response.body)") }
        return "\((Double(ProcessUsage.peakResidentKiB ?? 0) - Double(before)) / 1024)"
    }
}

/// This program in a separate process, which ends when this value is released.
final class ChildProcess {
    private let process = Process()
    private let input = Pipe()
    private let output = Pipe()
    /// The first line of the standard output.
    let firstLine: String?

    /// Starts the program with `arguments`, through the command `before` if it is not empty.
    init(_ arguments: [String], before: [String] = []) throws {
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = before + [Bundle.main.executableURL?.path ?? "requests-bench"] + arguments
        process.standardInput = input
        process.standardOutput = output
        try process.run()
        var text = Data()
        while !text.contains(UInt8(ascii: "\n")), let byte = try output.fileHandleForReading.read(upToCount: 1),
            !byte.isEmpty
        {
            text += byte
        }
        firstLine = String(decoding: text, as: UTF8.self).split(separator: "\n").first.map(String.init)
    }

    deinit {
        // The process ends at the end of its input.
        try? input.fileHandleForWriting.close()
        process.waitUntilExit()
    }
}

/// A server in a separate process, whose time and memory are not counted here.
struct ChildServer {
    let url: URL
    private let child: ChildProcess

    /// Starts a server that sends the small body, or one of `bytes` bytes.
    init(bytes: Int = 0, before: [String] = []) throws {
        child = try ChildProcess(["serve", "\(bytes)"], before: before)
        guard let line = child.firstLine, let url = URL(string: line) else {
            throw BenchmarkError("the server printed no URL")
        }
        self.url = url
    }

    /// Runs the server in its process: prints its URL and serves until the end of the input.
    static func serve(_ words: [String]) throws {
        let server = try ReferenceServer(bytes: words.first.flatMap { Int($0) } ?? 0)
        print(server.url.absoluteString)
        fflush(nil)
        while readLine() != nil {}
        server.stop()
    }
}

/// URLSession as an app uses it without this library: one request, one `data(for:)`.
struct BareSession: RequestExecutor {
    let session: URLSession

    func execute(_ request: PreparedRequest) async throws(RequestError) -> RawResponse {
        try await RequestError.wrapping(.other) {
            let (data, response) = try await session.data(for: URLRequest(request))
            guard let response = response as? HTTPURLResponse else { throw RequestError(.protocolViolation) }
            let head = ResponseHead(status: HTTPStatus(response.statusCode), target: request.target)
            return RawResponse(head: head, body: .bytes(data))
        }
    }

    /// The executors over URLSession with which a client can be measured.
    static let executors: [String: ClientRun.MakeExecutor] = [
        "urlsession": { URLSessionExecutor(configuration: configuration($0)) },
        "urlsession-bare": { BareSession(session: URLSession(configuration: configuration($0))) },
    ]

    private static func configuration(_ connections: Int) -> URLSessionConfiguration {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.httpMaximumConnectionsPerHost = connections
        return configuration
    }
}
