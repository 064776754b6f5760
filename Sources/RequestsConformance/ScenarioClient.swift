/// An API without paths, at the address of a scenario's server.
struct Probe: RequestProviding {
    let baseURL: URL
}

/// The executor under test, with the server that responds to it.
struct ScenarioClient: Sendable {
    /// The executor under test.
    let executor: any RequestExecutor

    let baseURL: URL

    /// The server; nil in memory.
    let server: TestServer?

    private let mock: MockExecutor

    /// Whether an exchange that ends early ends its HTTP/2 stream, and not its connection.
    private let sharesConnections: Bool

    init(
        executor: any RequestExecutor, baseURL: URL, server: TestServer?, mock: MockExecutor, sharesConnections: Bool
    ) {
        self.sharesConnections = sharesConnections
        self.executor = executor
        self.baseURL = baseURL
        self.server = server
        self.mock = mock
    }

    static let memoryURL: URL = {
        guard let url = URL(string: "http://api.example.com") else { preconditionFailure("invalid URL literal") }
        return url
    }()

    var client: Client<Probe> { Client(Probe(baseURL: baseURL), executor: executor) }

    func request(
        _ method: HTTPMethod = .get, _ path: String = "/", header: Header = .empty, body: RequestBody = .none,
        delivery: ResponseBody.Delivery = .collected(limit: 64 << 20)
    ) throws -> PreparedRequest {
        let base = baseURL.absoluteString
        let target = try TargetURI((base.hasSuffix("/") ? String(base.dropLast()) : base) + path)
        return PreparedRequest(method: method, target: target, header: header, body: body, delivery: delivery)
    }

    /// Performs one exchange and returns the response.
    func send(_ request: PreparedRequest) async throws(RequestError) -> RawResponse {
        try await executor.execute(request)
    }

    /// Performs one exchange and returns its collected body.
    func bytes(_ request: PreparedRequest) async throws -> Data {
        try await executor.execute(request).collected
    }

    /// Performs one exchange and returns its body as text.
    func text(_ request: PreparedRequest) async throws -> String {
        String(decoding: try await bytes(request), as: UTF8.self)
    }

    /// The requests that have arrived completely.
    var received: [Received] {
        guard let server else { return mock.recordedRequests.map(Received.init) }
        return server.exchanges.filter(\.isComplete).map(Received.init)
    }

    /// For each exchange, its connection and its index on that connection; empty in memory.
    var positions: [[Int]] { server?.exchanges.map { [$0.connection, $0.index] } ?? [] }

    /// Waits until `count` requests have arrived completely.
    func waitUntilReceived(_ count: Int) async throws {
        if let server {
            try await server.waitUntil { $0.exchanges.count { $0.isComplete } >= count }
        } else {
            // A mock does not report changes of its record.
            let deadline = Deadline.after(.seconds(60))
            while mock.recordedRequests.count < count {
                try Task.checkCancellation()
                try expect(!deadline.hasPassed, "\(count) requests arrive within 60 seconds")
                await Task.yield()
            }
        }
    }

    /// The connection and the index on it of the exchange that follows one that has ended early.
    var secondPosition: [Int] { sharesConnections ? [0, 1] : [1, 0] }

    /// Waits until the client has ended all exchanges: their connections, or their HTTP/2 streams.
    ///
    /// Returns at once in memory.
    func waitUntilEnded() async throws {
        let sharesConnections = sharesConnections
        try await server?.waitUntil { (sharesConnections ? $0.openStreams : $0.openConnections) == 0 }
    }
}

/// A received request, in memory or over a connection.
struct Received: Sendable {
    let method: HTTPMethod
    let target: String
    let header: Header
    let body: Data
    let trailers: Header

    fileprivate init(_ exchange: TestServer.Exchange) {
        method = exchange.method
        target = exchange.target
        header = exchange.header
        body = exchange.body
        trailers = exchange.trailers
    }

    fileprivate init(_ request: PreparedRequest) {
        method = request.method
        target = request.target.requestTarget
        header = request.header
        body = if case .bytes(let data) = request.body { data } else { Data() }
        trailers = (try? request.trailers?.header()) ?? .empty
    }
}

extension RawResponse {
    /// The body, which must be collected.
    var collected: Data {
        get throws {
            guard case .bytes(let data) = body else {
                throw ConformanceFailure("expected a collected body, got \(body)")
            }
            return data
        }
    }

    /// The body, which must be streamed.
    var streamed: ResponseStream {
        get throws {
            guard case .stream(let stream) = body else {
                throw ConformanceFailure("expected a streamed body, got \(body)")
            }
            return stream
        }
    }
}

/// A source of a request body that produces given chunks, and optionally an error at the end.
struct Chunks: RequestBody.Source {
    struct SourceError: Error {}

    private var remainder: ArraySlice<Data>
    private let isFailing: Bool

    init(_ chunks: [Data], failing isFailing: Bool = false) {
        remainder = chunks[...]
        self.isFailing = isFailing
    }

    init(_ texts: String..., failing isFailing: Bool = false) {
        self.init(texts.map { Data($0.utf8) }, failing: isFailing)
    }

    mutating func next() async throws -> Data? {
        if let chunk = remainder.popFirst() { return chunk }
        if isFailing { throw SourceError() }
        return nil
    }

    /// Returns a body of `texts` that can be sent again.
    static func body(_ texts: String..., length: Int? = nil, failing isFailing: Bool = false) -> RequestBody {
        let data = texts.map { Data($0.utf8) }
        return .stream(length: length, isReplayable: true) { Chunks(data, failing: isFailing) }
    }
}

/// Runs `body` with the path of a temporary directory, which is removed afterwards.
func withTemporaryDirectory(_ body: (_ path: String) async throws -> Void) async throws {
    let name = "requests-\(String(UInt64.random(in: .min ... .max), radix: 36))"
    let path = FileManager.default.temporaryDirectory.appending(path: name).path
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: path) }
    try await body(path)
}
