package import Requests
import RequestsPOSIX
import RequestsSocket
import Synchronization

/// One client's measurement in a comparison: a number of requests of one case, reported as one JSON line.
///
/// All connections are open before the measurement starts, as for the other clients.
package struct ClientRun: Sendable {
    let kind: ClientCase
    let peer: String
    let count: Int
    let concurrency: Int
    let executor: any RequestExecutor
    let baseURL: URL
    let callStyle: CallStyle

    /// A style of performing the requests.
    enum CallStyle: Sendable {
        /// Awaited exchanges of a request that is prepared once.
        case awaited
        /// Awaited exchanges as well, in tasks on the thread that waits for the sockets.
        case awaitedOnReactor
        /// Blocking calls of one thread, of a request that is described once.
        case blocking
    }

    /// A function that makes an executor with at most `connections` connections.
    package typealias MakeExecutor = @Sendable (_ connections: Int) -> any RequestExecutor

    /// Parses `CASE N CONCURRENCY ADDRESS [--executor NAME]`; ADDRESS is a ``BenchmarkAddress``.
    ///
    /// For a server with TLS, BENCH_CA in the environment names the file with the trusted certificate.
    ///
    /// NAME is `socket`, `socket-tasks`, `socket-blocking` or a key of `others`.
    package init(_ arguments: [String], others: [String: MakeExecutor] = [:]) throws(BenchmarkError) {
        let (words, name) = Self.executor(in: arguments)
        guard words.count == 4, let count = Int(words[1]), count > 0, let concurrency = Int(words[2]), concurrency > 0
        else { throw BenchmarkError("client requires CASE N CONCURRENCY ADDRESS") }
        guard let kind = ClientCase.all.first(where: { $0.name == words[0] }) else {
            throw BenchmarkError("unknown case “\(words[0])”")
        }
        callStyle =
            switch name {
            case "socket-tasks": .awaitedOnReactor
            case "socket-blocking": .blocking
            default: .awaited
            }
        guard callStyle != .blocking || concurrency == 1 && kind.delivery != .streamed && kind.method == .get else {
            throw BenchmarkError("\(name) supports only collected GET responses with CONCURRENCY 1")
        }
        let address = try BenchmarkAddress(words[3])
        self.kind = kind
        peer = name
        self.count = count
        self.concurrency = concurrency
        baseURL = address.baseURL
        if let make = others[name] {
            guard address.version == .http1 else { throw BenchmarkError("\(name) does not support HTTP/2") }
            executor = make(concurrency)
        } else if name == "socket" || callStyle != .awaited {
            var limits = SocketExecutor.Configuration()
            limits.maximumConnectionsPerOrigin = concurrency
            limits.maximumConnections = concurrency
            limits.maximumIdleConnectionsPerOrigin = kind.connections == .kept ? concurrency : 0
            limits.httpVersion = address.version
            limits.resumesTLSSessions = kind.connections != .new
            if let trusted = Terminal.environment("BENCH_CA") { limits.tls.trust = .certificates(atPath: trusted) }
            executor = SocketExecutor(address.destination, configuration: limits)
        } else {
            throw BenchmarkError("unknown executor “\(name)”")
        }
    }

    /// Returns the executor that `arguments` name, and the other arguments.
    package static func executor(in arguments: [String]) -> (others: [String], name: String) {
        guard let option = arguments.firstIndex(of: "--executor"), option + 1 < arguments.count else {
            return (arguments, "socket")
        }
        var others = arguments
        others.removeSubrange(option...option + 1)
        return (others, arguments[option + 1])
    }

    /// Performs the requests and returns the JSON line.
    @concurrent
    package func report() async throws -> String {
        let file = try kind.file()
        let request = try kind.request(to: baseURL, sending: file)
        if callStyle == .blocking { return try blockingReport(of: request) }
        guard callStyle == .awaitedOnReactor else { return try await report(of: request) }
        return try await withTaskExecutorPreference(SocketTaskExecutor.shared) { try await report(of: request) }
    }

    private func report(of request: PreparedRequest) async throws -> String {
        let first = try await firstPeak(request)
        // Requests that warm up the connection and are not measured.
        if concurrency == 1 { _ = try await samples(of: request, sharing: Counter(min(500, count / 10))) }
        let counter = Counter(count)
        let before = ProcessUsage.now()
        let start = ContinuousClock.now
        let samples = try await withThrowingTaskGroup(of: Samples.self) { group in
            for _ in 0..<concurrency { group.addTask { try await self.samples(of: request, sharing: counter) } }
            return try await group.reduce(into: Samples()) { $0.add($1) }
        }
        let wall = ContinuousClock.now - start
        return line(samples, wall: wall, from: before, to: .now(), firstPeak: first)
    }

    /// Opens all connections, and returns the peak memory with only the first one open; nil for one connection.
    private func firstPeak(_ request: PreparedRequest) async throws -> Int? {
        guard concurrency > 1 else { return nil }
        _ = try await executor.execute(request)
        let peak = ProcessUsage.peakResidentKiB
        var unread = request
        // A response that has not been read keeps its connection.
        unread.delivery = .streamed
        let responses = try await withThrowingTaskGroup(of: RawResponse.self) { group in
            for _ in 0..<concurrency { group.addTask { [unread] in try await executor.execute(unread) } }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        for response in responses { _ = try await response.length() }
        return peak
    }

    /// Performs the requests on this thread and returns the JSON line.
    private func blockingReport(of request: PreparedRequest) throws -> String {
        _ = try samplesInPlace(of: request, sharing: Counter(min(500, count / 10)))
        let before = ProcessUsage.now()
        let start = ContinuousClock.now
        let samples = try samplesInPlace(of: request, sharing: Counter(count))
        let wall = ContinuousClock.now - start
        return line(samples, wall: wall, from: before, to: .now(), firstPeak: nil)
    }

    private func samplesInPlace(of request: PreparedRequest, sharing counter: Counter) throws -> Samples {
        var samples = Samples()
        samples.latencies.reserveCapacity(count)
        let client = Client(AnonymousRequestProvider(baseURL: baseURL), executor: executor)
        let typedRequest = client.api.get(.data, from: RequestPath(kind.path)).with(header: request.header)
        while counter.take() {
            let start = Deadline.now
            samples.add(try client.performAndWait { _ in typedRequest }.count, since: start)
        }
        return samples
    }

    private struct Samples {
        /// The latency of each request in nanoseconds.
        var latencies: [Int64] = []
        var bytes = 0

        mutating func add(_ bytes: Int, since start: Deadline) {
            latencies.append(Deadline.now.nanoseconds - start.nanoseconds)
            self.bytes = bytes
        }

        mutating func add(_ other: Samples) {
            latencies += other.latencies
            bytes = max(bytes, other.bytes)
        }
    }

    private final class Counter: Sendable {
        private let remaining: Atomic<Int>

        init(_ count: Int) { remaining = Atomic(count) }

        func take() -> Bool { remaining.subtract(1, ordering: .relaxed).oldValue > 0 }
    }

    private func samples(of request: PreparedRequest, sharing counter: Counter) async throws -> Samples {
        var samples = Samples()
        samples.latencies.reserveCapacity(count / concurrency + 1)
        while counter.take() {
            let start = Deadline.now
            let response = try await executor.execute(request)
            guard response.head.status == .ok else {
                throw BenchmarkError("expected status 200, got \(response.head.status)")
            }
            samples.add(try await response.length(), since: start)
        }
        return samples
    }

    private func line(
        _ samples: Samples, wall: Duration, from: ProcessUsage, to: ProcessUsage, firstPeak: Int?
    ) -> String {
        let sorted = samples.latencies.sorted()
        let seconds = wall / .seconds(1)
        let requests = Double(count)
        let user = (to.user - from.user) / .microseconds(1)
        let cpu = user + (to.system - from.system) / .microseconds(1)
        let bytes = Double(kind.uploadBytes > 0 ? kind.uploadBytes : samples.bytes)
        let peak = ProcessUsage.peakResidentKiB ?? 0
        var figures: [(String, Double)] = [
            ("n", requests), ("conc", Double(concurrency)), ("wall_s", seconds), ("req_s", requests / seconds),
            ("us_req", seconds * 1e6 / requests), ("p50_us", Double(sorted[sorted.count / 2]) / 1000),
            ("p99_us", Double(sorted[min(sorted.count * 99 / 100, sorted.count - 1)]) / 1000),
            ("cpu_us_req", cpu / requests), ("user_us_req", user / requests),
            ("csw_req", Double(to.contextSwitches - from.contextSwitches) / requests),
            ("mb_s", bytes * requests / seconds / 1e6), ("rss_kb", Double(peak)),
        ]
        if let firstPeak {
            figures.append(("kib_conn", Double(peak - firstPeak) / Double(concurrency - 1)))
        }
        let others = figures.map { "\"\($0)\":\(($1 * 1000).rounded() / 1000)" }.joined(separator: ",")
        return "{\"peer\":\"requests-\(peer)\",\"case\":\"\(kind.name)\",\(others)}"
    }
}

extension RawResponse {
    /// Reads the body to its end and returns its length in bytes.
    fileprivate func length() async throws -> Int {
        switch body {
        case .bytes(let data): return data.count
        case .stream(let stream):
            var count = 0
            while let chunk = try await stream.next() { count += chunk.count }
            return count
        case .file: throw BenchmarkError("expected a body in memory or a stream, got a file")
        }
    }
}

/// The error of a command line or a run.
package struct BenchmarkError: Error, CustomStringConvertible {
    package let description: String

    package init(_ description: String) { self.description = description }
}
