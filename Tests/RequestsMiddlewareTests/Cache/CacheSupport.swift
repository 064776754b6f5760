@_spi(Lock) import Requests
import RequestsMiddleware
import RequestsMock

/// A cache before a mock, with a clock that only the test moves.
final class CacheUnderTest: Sendable {
    /// A date that a test moves.
    private final class MovableDate: Sendable {
        private let date = Lock(Date(timeIntervalSince1970: 1_800_000_000))

        var now: Date { date.withLock { $0 } }

        func advance(_ seconds: Double) { date.withLock { $0 += seconds } }
    }

    private let clock: MovableDate
    let mock: MockExecutor
    let caching: Caching
    let executor: any RequestExecutor

    init(
        in store: any CacheStore = Caching.MemoryStore(), partition: Caching.Partition = .own,
        rules: Caching.Rules = Caching.Rules(), _ handler: @escaping MockExecutor.Handler
    ) {
        let clock = MovableDate()
        self.clock = clock
        mock = MockExecutor(handler)
        caching = Caching(in: store, partition: partition, rules: rules) { clock.now }
        executor = mock.intercepted(by: caching)
    }

    /// A cache whose server responds with the number of the request and a header.
    convenience init(
        in store: any CacheStore = Caching.MemoryStore(), partition: Caching.Partition = .own,
        rules: Caching.Rules = Caching.Rules(), header: Header
    ) {
        let count = Lock(0)
        self.init(in: store, partition: partition, rules: rules) { _ in
            let number = count.withLock { count in
                count += 1
                return count
            }
            return MockResponse(header: header, body: [.bytes(Data("\(number)".utf8))])
        }
    }

    func advance(_ seconds: Double) { clock.advance(seconds) }

    /// The number of requests that reached the server.
    var contacts: Int { mock.recordedCount }

    func request(
        _ path: String = "/", _ header: Header = [], method: HTTPMethod = .get,
        policy: PreparedRequest.CachePolicy = .useProtocolCachePolicy,
        delivery: ResponseBody.Delivery = .collected(limit: 1 << 20)
    ) throws -> PreparedRequest {
        var request = PreparedRequest(
            method: method, target: try TargetURI("http://e.com\(path)"), header: header, delivery: delivery)
        request.cachePolicy = policy
        return request
    }

    /// Sends a request and returns its response.
    func send(
        _ path: String = "/", _ header: Header = [], method: HTTPMethod = .get,
        policy: PreparedRequest.CachePolicy = .useProtocolCachePolicy,
        delivery: ResponseBody.Delivery = .collected(limit: 1 << 20)
    ) async throws -> RawResponse {
        try await execute(request(path, header, method: method, policy: policy, delivery: delivery))
    }

    func execute(_ request: PreparedRequest) async throws -> RawResponse { try await executor.execute(request) }

    /// Waits until no validation runs in the background.
    func finishValidations() async {
        while caching.activeRevalidations > 0 { await Task.yield() }
    }
}

extension RawResponse {
    /// The body as text; nil for another form of body.
    var text: String? {
        if case .bytes(let data) = body { String(decoding: data, as: UTF8.self) } else { nil }
    }

    /// The body as bytes; nil for another form of body.
    var data: Data? {
        if case .bytes(let data) = body { data } else { nil }
    }

    var isHit: Bool { metrics.cacheStatus?.isHit ?? false }
}

extension Header {
    /// A header with one Cache-Control field.
    static func caching(_ value: String) -> Header { [Field(name: .cacheControl, value: value)] }
}
