@_spi(Lock) import Requests

/// An executor that responds from a function, without a network, and records its requests.
///
/// ```swift
/// let mock = MockExecutor { request in .ok("hello") }
/// let github = Client(GitHub.production, executor: mock)
/// #expect(try await github.perform(Users.me) == …)
/// #expect(mock.recordedRequests.count == 1)
/// ```
///
/// It fulfills the contract of ``/Requests/RequestExecutor``: an invalid request is refused, bodies are read and
/// counted, and delivery, limits, timeouts and cancellation are respected.
public struct MockExecutor: RequestExecutor {
    /// A function that responds to a request.
    ///
    /// The body of the request is in memory, whatever its kind was. An error of the function ends the exchange,
    /// converted as in `RequestError.wrapping(_:_:)`.
    public typealias Handler = @Sendable (PreparedRequest) async throws -> MockResponse

    private let handler: Handler
    private let record: Record

    /// Creates an executor that responds with the result of `handler`.
    public init(_ handler: @escaping Handler) {
        self.init(handler, Recording())
    }

    private init(_ handler: @escaping Handler, _ recording: Recording) {
        self.handler = handler
        record = Record(recording)
    }

    /// Creates an executor that responds to every request with `response`.
    public init(_ response: MockResponse) {
        self.init { _ in response }
    }

    /// The requests that were sent, oldest first, with their bodies in memory; copies of an executor share them.
    ///
    /// A request is recorded when its body has been read to the end, before the response is made. The newest requests
    /// are kept, within the limits of ``Recording``.
    public var recordedRequests: [PreparedRequest] { record.requests.withLock { $0.elements } }

    /// The number of requests that were sent, including those that ``recordedRequests`` no longer contains.
    public var recordedCount: Int { record.requests.withLock { $0.total } }

    /// Returns an executor with the same responses and its own record, which is empty and has these limits.
    public func recording(_ recording: Recording) -> MockExecutor {
        MockExecutor(handler, recording)
    }

    /// The limits of the requests that a mock keeps for ``MockExecutor/recordedRequests`` (decision 0026).
    ///
    /// Beyond a limit, the oldest requests are removed, a tenth of the limit at a time; ``MockExecutor/recordedCount``
    /// counts all requests. Negative limits count as 0.
    public struct Recording: Hashable, Sendable {
        /// The maximum number of requests; the default is 10,000.
        public var requests: Int
        /// The maximum total size of all bodies in bytes; the default is 64 MiB.
        ///
        /// The newest request is always kept whole, unless ``requests`` is 0.
        public var bodyBytes: Int

        /// Creates a recording with these limits.
        public init(requests: Int = 10_000, bodyBytes: Int = 64 << 20) {
            self.requests = requests
            self.bodyBytes = bodyBytes
        }

        /// A recording that keeps nothing; requests are counted.
        public static let none = Recording(requests: 0, bodyBytes: 0)
    }

    /// Returns the result of the function for `request` without recording it.
    package func response(to request: PreparedRequest) async throws -> MockResponse {
        try await handler(request)
    }

    /// Records `request` and responds to it.
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
        var progress = ProgressReporter(request.progressHandler)
        let received = try await request.received(reportingTo: &progress)
        let size = received.body.knownLength ?? 0
        record.requests.withLock { _ = $0.append(received, size: size) }
        let response = try await RequestError.wrapping(.other) { try await handler(received) }
        let delay = ResponseDelay(request)
        // Without a delay of the head, too: this checks the deadline and cancellation.
        try await delay.wait(for: response.delay ?? .lasting(.zero), phase: .firstByte)
        var metrics = RawResponse.Metrics()
        metrics.timeToResponseHead = .now - start
        return try await response.delivered(to: request, delay: delay, progress: progress, metrics: metrics)
    }

    private final class Record: Sendable {
        let requests: Lock<BoundedRecord<PreparedRequest>>

        init(_ recording: Recording) {
            requests = Lock(BoundedRecord(count: recording.requests, size: recording.bodyBytes))
        }
    }
}
