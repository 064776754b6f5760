import Requests
import RequestsPOSIX
import RequestsSocket
import RequestsURLSession
import Synchronization

/// One client's part of a comparison: so many requests of one case over so many connections, as one JSON line.
struct ClientRun: Sendable {
    let kind: String
    let peer: String
    let count: Int
    let concurrency: Int
    let executor: any RequestExecutor
    let baseURL: URL
    let isBlocking: Bool

    /// Understands `CASE N CONCURRENCY ADDRESS [--executor NAME]`; ADDRESS is a port of 127.0.0.1 or `unix:/path`.
    init(_ arguments: [String]) throws(Mistake) {
        var words = arguments
        var name = "socket"
        if let option = words.firstIndex(of: "--executor"), option + 1 < words.count {
            name = words[option + 1]
            words.removeSubrange(option...option + 1)
        }
        guard words.count == 4, let count = Int(words[1]), count > 0, let concurrency = Int(words[2]), concurrency > 0
        else { throw Mistake("client takes CASE N CONCURRENCY ADDRESS") }
        isBlocking = name == "socket-blocking"
        guard Self.names.contains(name) else {
            throw Mistake("no executor is called \(name); there are: \(Self.names.joined(separator: ", "))")
        }
        guard !isBlocking || concurrency == 1 else { throw Mistake("socket-blocking does one request at a time") }
        guard Self.paths[words[0]] != nil else { throw Mistake("no case is called \(words[0])") }
        let isUnix = words[3].hasPrefix("unix:")
        guard let url = URL(string: "http://127.0.0.1" + (isUnix ? "" : ":\(words[3])")) else {
            throw Mistake("no address: \(words[3])")
        }
        kind = words[0]
        peer = name
        self.count = count
        self.concurrency = concurrency
        baseURL = url
        var limits = SocketExecutor.Configuration()
        limits.connectionsPerOrigin = concurrency
        limits.connections = concurrency
        limits.idleConnectionsPerOrigin = concurrency
        let session = URLSessionConfiguration.ephemeral
        session.httpMaximumConnectionsPerHost = concurrency
        executor =
            switch name {
            case "urlsession": URLSessionExecutor(configuration: session)
            case "urlsession-bare": BareSession(session: URLSession(configuration: session))
            default:
                SocketExecutor(isUnix ? .unix(path: String(words[3].dropFirst(5))) : .url, configuration: limits)
            }
    }

    private static let names = ["socket", "socket-blocking", "urlsession", "urlsession-bare"]

    /// What an app does without this library: one request, one `data(for:)`.
    private struct BareSession: RequestExecutor {
        let session: URLSession

        func execute(_ request: PreparedRequest) async throws(RequestError) -> RawResponse {
            try await RequestError.wrapping(.other) {
                let (data, response) = try await session.data(for: URLRequest(request))
                guard let response = response as? HTTPURLResponse else { throw RequestError(.protocolViolation) }
                let head = ResponseHead(status: HTTPStatus(response.statusCode), target: request.target)
                return RawResponse(head: head, body: .bytes(data))
            }
        }
    }

    private static let paths = [
        "small": "/small", "kb64": "/kb64", "chunked": "/chunked", "down16": "/mb16", "up": "/echo-len",
        "upchunked": "/echo-len",
    ]

    private static var uploadBytes: Int {
        (Terminal.environment("UP_MIB").flatMap(Int.init) ?? 64) << 20
    }

    /// The request of the case, made once: what is measured is performing it.
    private func request() throws(RequestError) -> PreparedRequest {
        let isUpload = kind.hasPrefix("up")
        var target = baseURL
        target.append(path: Self.paths[kind] ?? "/small")
        var request = try PreparedRequest(method: isUpload ? .post : .get, url: target)
        request.delivery = .collected(limit: 64 << 20)
        guard isUpload else {
            request.header = [Field(name: .accept, value: "application/json")]
            return request
        }
        request.body = kind == "up" ? .bytes(Data(count: Self.uploadBytes)) : Self.chunks(Self.uploadBytes)
        return request
    }

    private static func chunks(_ bytes: Int) -> RequestBody {
        .stream(length: nil, replayable: true) { Chunks(chunk: Data(count: 256 << 10), left: bytes / (256 << 10)) }
    }

    private struct Chunks: RequestBodySource {
        let chunk: Data
        var left: Int

        mutating func next() async throws -> Data? {
            guard left > 0 else { return nil }
            left -= 1
            return chunk
        }
    }

    /// Performs the requests and gives the JSON line.
    @concurrent
    func report() async throws -> String {
        let request = try request()
        if isBlocking { return try blockingReport(of: request) }
        if concurrency == 1 { _ = try await samples(of: request, sharing: Counter(min(500, count / 10))) }
        let counter = Counter(count)
        let before = ProcessUsage.now()
        let start = ContinuousClock.now
        let samples = try await withThrowingTaskGroup(of: Samples.self) { group in
            for _ in 0..<concurrency { group.addTask { try await self.samples(of: request, sharing: counter) } }
            return try await group.reduce(into: Samples()) { $0.add($1) }
        }
        let wall = ContinuousClock.now - start
        return line(samples, wall: wall, from: before, to: .now())
    }

    /// The same, every request made by this thread.
    private func blockingReport(of request: PreparedRequest) throws -> String {
        _ = try samplesInPlace(of: request, sharing: Counter(min(500, count / 10)))
        let before = ProcessUsage.now()
        let start = ContinuousClock.now
        let samples = try samplesInPlace(of: request, sharing: Counter(count))
        let wall = ContinuousClock.now - start
        return line(samples, wall: wall, from: before, to: .now())
    }

    private func samplesInPlace(of request: PreparedRequest, sharing counter: Counter) throws -> Samples {
        var samples = Samples()
        samples.latencies.reserveCapacity(count)
        while counter.take() {
            let start = ContinuousClock.now
            let response = try executor.executeAndWait(request)
            try samples.add(response, since: start, uploading: request.body.isNone ? nil : Self.uploadBytes)
        }
        return samples
    }

    private struct Samples {
        var latencies: [Double] = []
        var bytes = 0

        mutating func add(
            _ response: RawResponse, since start: ContinuousClock.Instant, uploading uploaded: Int?
        ) throws(Mistake) {
            latencies.append((ContinuousClock.now - start) / .microseconds(1))
            guard case .bytes(let body) = response.body, response.head.status == 200 else {
                throw Mistake("status \(response.head.status)")
            }
            bytes = uploaded ?? body.count
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
            let start = ContinuousClock.now
            let response = try await executor.execute(request)
            try samples.add(response, since: start, uploading: request.body.isNone ? nil : Self.uploadBytes)
        }
        return samples
    }

    private func line(_ samples: Samples, wall: Duration, from: ProcessUsage, to: ProcessUsage) -> String {
        let sorted = samples.latencies.sorted()
        let seconds = wall / .seconds(1)
        let requests = Double(count)
        let user = (to.user - from.user) / .microseconds(1)
        let cpu = user + (to.system - from.system) / .microseconds(1)
        let figures: [(String, Double)] = [
            ("n", requests), ("conc", Double(concurrency)), ("wall_s", seconds), ("req_s", requests / seconds),
            ("us_req", seconds * 1e6 / requests), ("p50_us", sorted[sorted.count / 2]),
            ("p99_us", sorted[min(sorted.count * 99 / 100, sorted.count - 1)]), ("cpu_us_req", cpu / requests),
            ("user_us_req", user / requests),
            ("csw_req", Double(to.contextSwitches - from.contextSwitches) / requests),
            ("mb_s", Double(samples.bytes) * requests / seconds / 1e6),
            ("rss_kb", Double(ProcessUsage.peakResidentKiB ?? 0)),
        ]
        let rest = figures.map { "\"\($0)\":\(($1 * 1000).rounded() / 1000)" }.joined(separator: ",")
        return "{\"peer\":\"requests-\(peer)\",\"case\":\"\(kind)\",\(rest)}"
    }
}

/// What is wrong with a command line or a run.
struct Mistake: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}
