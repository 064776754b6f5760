/// An API without paths of its own, at the address of a scenario's server.
struct Probe: RequestProviding {
    let baseURL: URL
}

/// The executor under test, with the server that answers it.
struct ScenarioClient: Sendable {
    /// The executor under test.
    let executor: any RequestExecutor

    /// Where the server is.
    let baseURL: URL

    /// The server, or nil in memory.
    let server: TestServer?

    private let mock: MockExecutor

    init(executor: any RequestExecutor, baseURL: URL, server: TestServer?, mock: MockExecutor) {
        self.executor = executor
        self.baseURL = baseURL
        self.server = server
        self.mock = mock
    }

    static let memoryURL: URL = {
        guard let url = URL(string: "http://api.example.com") else { preconditionFailure("the text is a URL") }
        return url
    }()

    /// The whole pipeline over the executor.
    var client: Client<Probe> { Client(Probe(baseURL: baseURL), executor: executor) }

    /// A request to a path of the server, its waits limited to what a test can bear.
    func request(
        _ method: HTTPMethod = .get, _ path: String = "/", header: Header = .empty, body: RequestBody = .none,
        delivery: Delivery = .collected(limit: 64 << 20)
    ) throws -> PreparedRequest {
        let base = baseURL.absoluteString
        let target = try TargetURI((base.hasSuffix("/") ? String(base.dropLast()) : base) + path)
        return PreparedRequest(method: method, target: target, header: header, body: body, delivery: delivery)
    }

    /// Performs one exchange.
    func send(_ request: PreparedRequest) async throws(RequestError) -> RawResponse {
        try await executor.execute(request)
    }

    /// Performs one exchange and gives the body, which is to be collected.
    func bytes(_ request: PreparedRequest) async throws -> Data {
        try await executor.execute(request).collected
    }

    /// Performs one exchange of which the body is text.
    func text(_ request: PreparedRequest) async throws -> String {
        String(decoding: try await bytes(request), as: UTF8.self)
    }

    /// The requests that have arrived to their end.
    var received: [Received] {
        guard let server else { return mock.recorded.map(Received.init) }
        return server.exchanges.filter(\.isComplete).map(Received.init)
    }

    /// Which connection and which place on it each exchange had; empty in memory.
    var places: [[Int]] { server?.exchanges.map { [$0.connection, $0.index] } ?? [] }

    /// Waits until so many requests have arrived to their end.
    func waitUntilReceived(_ count: Int) async throws {
        if let server {
            try await server.waitUntil { $0.exchanges.count { $0.isComplete } >= count }
        } else {
            while mock.recorded.count < count {
                try Task.checkCancellation()
                await Task.yield()
            }
        }
    }

    /// Waits until the client has closed all connections but so many; in memory there are none.
    func waitUntilOpen(_ count: Int) async throws {
        try await server?.waitUntil { $0.openConnections == count }
    }
}

/// A request as it arrived, in memory or over a connection.
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
    /// The body of a response that was to be collected.
    var collected: Data {
        get throws {
            guard case .bytes(let data) = body else { throw ConformanceFailure("the body is not collected: \(body)") }
            return data
        }
    }

    /// The body of a response that was to be streamed.
    var streamed: ResponseStream {
        get throws {
            guard case .stream(let stream) = body else { throw ConformanceFailure("the body is no stream: \(body)") }
            return stream
        }
    }
}

/// Chunks of a request's body, one after the other, and perhaps an error at the end.
struct Chunks: RequestBodySource {
    struct Broken: Error {}

    private var rest: ArraySlice<Data>
    private let isFailing: Bool

    init(_ chunks: [Data], failing isFailing: Bool = false) {
        rest = chunks[...]
        self.isFailing = isFailing
    }

    init(_ texts: String..., failing isFailing: Bool = false) {
        self.init(texts.map { Data($0.utf8) }, failing: isFailing)
    }

    mutating func next() async throws -> Data? {
        if let chunk = rest.popFirst() { return chunk }
        if isFailing { throw Broken() }
        return nil
    }

    /// A body of these texts that can be sent again.
    static func body(_ texts: String..., length: Int? = nil, failing isFailing: Bool = false) -> RequestBody {
        let data = texts.map { Data($0.utf8) }
        return .stream(length: length, replayable: true) { Chunks(data, failing: isFailing) }
    }
}

/// Runs `body` with the path of a folder that is there for its time only.
func withFolder(_ body: (_ path: String) async throws -> Void) async throws {
    let name = "requests-\(String(UInt64.random(in: .min ... .max), radix: 36))"
    let path = FileManager.default.temporaryDirectory.appending(path: name).path
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: path) }
    try await body(path)
}
