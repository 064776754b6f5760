package import Requests
import RequestsPOSIX
import RequestsSocket
import Synchronization

/// One client's part of a comparison: so many requests of one case over so many connections, as one JSON line.
///
/// The connections stand before the clock starts, as those of the other clients do.
package struct ClientRun: Sendable {
    let kind: ClientCase
    let peer: String
    let count: Int
    let concurrency: Int
    let executor: any RequestExecutor
    let baseURL: URL
    let face: Face

    /// How the requests are performed.
    enum Face: Sendable {
        /// Awaited, each a request that was prepared once.
        case awaited
        /// By one thread, each a whole call of a request that is described once.
        case blocking
        /// By one thread, each a request that was prepared once.
        case blockingExchange
    }

    /// Makes an executor that opens at most so many connections.
    package typealias MakeExecutor = @Sendable (_ connections: Int) -> any RequestExecutor

    /// Understands `CASE N CONCURRENCY ADDRESS [--executor NAME]`; ADDRESS is a port of 127.0.0.1 or `unix:/path`.
    ///
    /// There is `socket`, `socket-blocking`, `socket-blocking-exchange`, `bare-wait`, `bare-file` and what
    /// `others` names.
    package init(_ arguments: [String], others: [String: MakeExecutor] = [:]) throws(Mistake) {
        let (words, name) = Self.executor(in: arguments)
        guard words.count == 4, let count = Int(words[1]), count > 0, let concurrency = Int(words[2]), concurrency > 0
        else { throw Mistake("client takes CASE N CONCURRENCY ADDRESS") }
        guard let kind = ClientCase.all.first(where: { $0.name == words[0] }) else {
            throw Mistake("no case is called \(words[0])")
        }
        face =
            switch name {
            case "socket-blocking": .blocking
            case "socket-blocking-exchange": .blockingExchange
            default: .awaited
            }
        guard face == .awaited || concurrency == 1 && kind.delivery != .streamed && kind.method == .get else {
            throw Mistake("\(name) gets one response at a time, and collects it")
        }
        let path = words[3].hasPrefix("unix:") ? String(words[3].dropFirst(5)) : nil
        guard let url = URL(string: "http://127.0.0.1" + (path == nil ? ":\(words[3])" : "")) else {
            throw Mistake("no address: \(words[3])")
        }
        self.kind = kind
        peer = name
        self.count = count
        self.concurrency = concurrency
        baseURL = url
        if let make = others[name] {
            executor = make(concurrency)
        } else if name == "bare-wait" {
            guard kind.name == "small", concurrency == 1, path == nil else {
                throw Mistake("bare-wait does small ones, one at a time, over TCP")
            }
            executor = BareWait()
        } else if name == "bare-file" {
            guard kind.name == "upfile1g", concurrency == 1, path == nil else {
                throw Mistake("bare-file sends files, one at a time, over TCP")
            }
            executor = BareFile()
        } else if name == "socket" || face != .awaited {
            var limits = SocketExecutor.Configuration()
            limits.connectionsPerOrigin = concurrency
            limits.connections = concurrency
            limits.idleConnectionsPerOrigin = concurrency
            executor = SocketExecutor(path.map { .unix(path: $0) } ?? .url, configuration: limits)
        } else {
            throw Mistake("no executor is called \(name)")
        }
    }

    /// The executor's name that `arguments` give, and the rest of them.
    package static func executor(in arguments: [String]) -> (rest: [String], name: String) {
        guard let option = arguments.firstIndex(of: "--executor"), option + 1 < arguments.count else {
            return (arguments, "socket")
        }
        var rest = arguments
        rest.removeSubrange(option...option + 1)
        return (rest, arguments[option + 1])
    }

    /// Performs the requests and gives the JSON line.
    @concurrent
    package func report() async throws -> String {
        let file = try kind.file()
        let request = try kind.request(to: baseURL, sending: file)
        if face != .awaited { return try blockingReport(of: request) }
        let first = try await firstPeak(request)
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

    /// Opens every connection, and tells the peak of memory with the first of them alone.
    private func firstPeak(_ request: PreparedRequest) async throws -> Int? {
        guard concurrency > 1 else { return nil }
        _ = try await executor.execute(request)
        let peak = ProcessUsage.peakResidentKiB
        var held = request
        // A response that is not read keeps its connection from the others.
        held.delivery = .streamed
        let responses = try await withThrowingTaskGroup(of: RawResponse.self) { group in
            for _ in 0..<concurrency { group.addTask { [held] in try await executor.execute(held) } }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        for response in responses { _ = try await response.length() }
        return peak
    }

    /// The same, every request made by this thread.
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
        let described = AnonymousRequestProvider(baseURL: baseURL)
            .get(.data, from: RequestPath(kind.path)).with(header: request.header)
        while counter.take() {
            let start = Deadline.now
            if face == .blocking {
                samples.add(try executor.performAndWait(described).count, since: start)
            } else {
                let response = try executor.executeAndWait(request)
                guard case .bytes(let body) = response.body, response.head.status == .ok else {
                    throw Mistake("status \(response.head.status)")
                }
                samples.add(body.count, since: start)
            }
        }
        return samples
    }

    private struct Samples {
        /// In nanoseconds.
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
        private let left: Atomic<Int>

        init(_ count: Int) { left = Atomic(count) }

        func take() -> Bool { left.subtract(1, ordering: .relaxed).oldValue > 0 }
    }

    private func samples(of request: PreparedRequest, sharing counter: Counter) async throws -> Samples {
        var samples = Samples()
        samples.latencies.reserveCapacity(count / concurrency + 1)
        while counter.take() {
            let start = Deadline.now
            let response = try await executor.execute(request)
            guard response.head.status == .ok else { throw Mistake("status \(response.head.status)") }
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
        let rest = figures.map { "\"\($0)\":\(($1 * 1000).rounded() / 1000)" }.joined(separator: ",")
        return "{\"peer\":\"requests-\(peer)\",\"case\":\"\(kind.name)\",\(rest)}"
    }
}

extension RawResponse {
    /// The bytes of the body, read to its end.
    fileprivate func length() async throws -> Int {
        switch body {
        case .bytes(let data): return data.count
        case .stream(let stream):
            var count = 0
            while let chunk = try await stream.next() { count += chunk.count }
            return count
        case .file: throw Mistake("a file came")
        }
    }
}

/// What is wrong with a command line or a run.
package struct Mistake: Error, CustomStringConvertible {
    package let description: String

    package init(_ description: String) { self.description = description }
}
