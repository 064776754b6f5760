@_spi(Lock) import Requests

/// An executor without a network: a function from request to response, and a record of what it was asked.
///
/// ```swift
/// let mock = MockExecutor { request in .ok("hello") }
/// let github = Client(GitHub.production, executor: mock)
/// #expect(try await github.perform(Users.me) == …)
/// #expect(mock.recorded.count == 1)
/// ```
///
/// It keeps the contract of ``RequestExecutor``: a request that could not be written is refused, bodies are read and
/// counted, delivery, limits, timeouts and cancellation are honoured.
public struct MockExecutor: RequestExecutor {
    /// The shape of the function; what it throws ends the exchange, mapped as ``RequestError/wrapping(_:_:)`` does.
    ///
    /// The request it is given has its body as bytes, whatever kind of body was sent.
    public typealias Handler = @Sendable (PreparedRequest) async throws -> MockResponse

    private let handler: Handler
    private let record: Record

    /// An executor that answers what `handler` gives.
    public init(_ handler: @escaping Handler) {
        self.init(handler, Recording())
    }

    private init(_ handler: @escaping Handler, _ recording: Recording) {
        self.handler = handler
        record = Record(recording)
    }

    /// An executor that answers every request with `response`.
    public init(_ response: MockResponse) {
        self.init { _ in response }
    }

    /// The requests that were sent, oldest first, their bodies as bytes; copies of an executor share them.
    ///
    /// A request is recorded once its body has been read to the end, before it is answered. The newest requests are kept,
    /// within the limits of ``Recording``.
    public var recorded: [PreparedRequest] { record.requests.withLock { $0.elements } }

    /// The number of requests that were sent, those included that ``recorded`` no longer has.
    public var recordedCount: Int { record.requests.withLock { $0.total } }

    /// An executor that answers as this one does, with a record of its own, which starts empty and has these limits.
    public func recording(_ recording: Recording) -> MockExecutor {
        MockExecutor(handler, recording)
    }

    /// How many of the requests sent a mock keeps for ``MockExecutor/recorded``.
    ///
    /// Beyond a limit the oldest requests are removed, a tenth of the limit at a time; ``MockExecutor/recordedCount`` counts
    /// them all. Negative limits count as 0.
    public struct Recording: Hashable, Sendable {
        /// Requests, 10,000.
        public var requests: Int
        /// Bytes of the bodies of all requests, 64 MiB; the newest request is kept in any case, whole.
        public var bodyBytes: Int

        /// A recording of the limits given.
        public init(requests: Int = 10_000, bodyBytes: Int = 64 << 20) {
            self.requests = requests
            self.bodyBytes = bodyBytes
        }

        /// Nothing is kept; requests are counted.
        public static let none = Recording(requests: 0, bodyBytes: 0)
    }

    /// What the function gives for `request`; nothing is recorded.
    package func response(to request: PreparedRequest) async throws -> MockResponse {
        try await handler(request)
    }

    /// Answers `request` and records it.
    public func execute(_ request: PreparedRequest) async throws(RequestError) -> RawResponse {
        do throws(RequestError) {
            return try await exchange(request)
        } catch {
            throw error.adding(request: request)
        }
    }

    private func exchange(_ request: PreparedRequest) async throws(RequestError) -> RawResponse {
        try request.validate()
        if Task.isCancelled { throw RequestError(.cancelled).beforeSending() }
        if let deadline = request.deadline, deadline <= .now { throw RequestError(.timedOut(.total)).beforeSending() }
        let start = ContinuousClock.now
        var progress = ProgressReporter(request.onProgress)
        let received = try await request.received(telling: &progress)
        let size = received.body.knownLength ?? 0
        record.requests.withLock { _ = $0.append(received, size: size) }
        let response = try await RequestError.wrapping(.other) { try await handler(received) }
        let waiting = Waiting(request)
        try await waiting.wait(for: response.delay ?? .lasting(.zero), phase: .firstByte)
        var metrics = RawResponse.Metrics()
        metrics.untilHead = .now - start
        return try await response.delivered(to: request, waiting: waiting, progress: progress, metrics: metrics)
    }

    private final class Record: Sendable {
        let requests: Lock<BoundedRecord<PreparedRequest>>

        init(_ recording: Recording) {
            requests = Lock(BoundedRecord(count: recording.requests, size: recording.bodyBytes))
        }
    }
}
