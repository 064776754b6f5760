@_spi(Lock) import Requests
import RequestsPOSIX

/// An executor that responds in memory, from stubs or from a function, and records its requests.
///
/// ```swift
/// let mock = MockExecutor()
/// mock.on(Users.named("octocat"), return: User(login: "octocat"))
/// let github = Client(GitHub.production, executor: mock)
/// let user = try await github.perform(Users.named("octocat"))
/// try mock.verify()
/// ```
///
/// A request that no stub matches fails with a report; ``Unmatched`` has the alternatives. Of several stubs that match,
/// the newest responds. Copies of a mock share its stubs and its record. Two mocks share nothing, so tests
/// that create their own mock can run in parallel.
///
/// A mock fulfills the contract of ``/Requests/RequestExecutor``: it refuses invalid requests, reads and counts bodies,
/// and respects delivery, limits, timeouts and cancellation.
public struct MockExecutor: RequestExecutor {
    /// A function that responds to a request.
    ///
    /// The body of the request is in memory, whatever its kind was. An error of the function ends the exchange; it is
    /// converted as in `RequestError.wrapping(_:_:)`.
    public typealias Handler = @Sendable (PreparedRequest) async throws -> MockResponse

    let stubs: StubBook
    private let unmatched: Unmatched
    private let clock: (any Clock<Duration>)?
    private let record: Record

    /// Creates an executor without stubs.
    ///
    /// - Parameters:
    ///   - unmatched: The handling of a request that no stub matches.
    ///   - clock: The clock of the delays in responses, such as a ``MockClock``; nil for real time. With a clock, the
    ///     time limits of a request are compared with the delays, and not measured.
    public init(unmatched: Unmatched = .throwing, clock: (any Clock<Duration>)? = nil) {
        self.init(StubBook(), unmatched, clock, Recording())
    }

    /// Creates an executor that responds with the result of `handler` to requests that no stub matches.
    public init(_ handler: @escaping Handler) {
        self.init(StubBook(), Unmatched(kind: .responding(handler)), nil, Recording())
    }

    /// Creates an executor that responds with `response` to every request that no stub matches.
    public init(_ response: MockResponse) {
        self.init(StubBook(), Unmatched(kind: .constant(response.announcingLength())), nil, Recording())
    }

    private init(
        _ stubs: StubBook, _ unmatched: Unmatched, _ clock: (any Clock<Duration>)?, _ recording: Recording
    ) {
        self.stubs = stubs
        self.unmatched = unmatched
        self.clock = clock
        record = Record(recording)
    }

    /// The requests that were sent, oldest first, with their bodies in memory; copies of an executor share them.
    ///
    /// A request is recorded when its body has been read to the end, before the response is made. The newest requests
    /// are kept, within the limits of ``Recording``.
    public var recordedRequests: [PreparedRequest] { entries.map(\.request) }

    /// The number of requests that were sent, including those that ``recordedRequests`` no longer contains.
    public var recordedCount: Int { record.state.withLock { $0.entries.total } }

    /// Returns an executor with the same stubs and responses, and with its own empty record that has these limits.
    public func recording(_ recording: Recording) -> MockExecutor {
        MockExecutor(stubs, unmatched, clock, recording)
    }

    /// Limits on the requests that a mock keeps for ``MockExecutor/recordedRequests``.
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

    /// Returns the response to `request` without recording it.
    package func response(to request: PreparedRequest) async throws -> MockResponse {
        switch try reaction(to: request, by: try await stub(for: request), isRecorded: false) {
        case .response(let response): return response
        case .function(let make): return try await make()
        case .forward: throw RequestError(.other, detail: "the request passes through the mock")
        }
    }

    /// Records `request` and responds to it.
    ///
    /// - Throws: `RequestError` of the result, the limits or the request, or with the report on an unmatched request.
    public func execute(_ request: PreparedRequest) async throws(RequestError) -> RawResponse {
        do throws(RequestError) {
            var response = try await exchange(request)
            if response.request == nil { response.request = request }
            return response
        } catch {
            throw error.adding(request: request)
        }
    }

    private func exchange(_ request: PreparedRequest) async throws(RequestError) -> RawResponse {
        try request.validate()
        try request.checkTimeBeforeSending()
        try request.checkDelivery()
        let start = ContinuousClock.now
        var progress = ProgressReporter(request.progressHandler)
        let received = try await request.received(reportingTo: &progress)
        let stub = try await stub(for: received)
        return try await respond(to: request, try reaction(to: received, by: stub), progress, since: start)
    }

    private func respond(
        to request: PreparedRequest, _ reaction: Reaction, _ progress: ProgressReporter,
        since start: ContinuousClock.Instant
    ) async throws(RequestError) -> RawResponse {
        let response: MockResponse
        switch reaction {
        case .response(let made): response = made
        case .function(let make): response = try await RequestError.wrapping(.other, make)
        case .forward(let received, let executor):
            var forwarded = request
            // A body that can be read once has been read.
            if case .stream = request.body { forwarded.body = received.body }
            return try await executor.execute(forwarded)
        }
        let delay = ResponseDelay(request, clock)
        // Also without a delay, because this checks the deadline and cancellation.
        try await delay.wait(for: response.delay ?? .lasting(.zero), phase: .firstByte)
        var metrics = RawResponse.Metrics()
        metrics.timeToResponseHead = .now - start
        return try await response.delivered(to: request, delay: delay, progress: progress, metrics: metrics)
    }
}

// MARK: Reactions

extension MockExecutor {
    private enum Reaction {
        case response(MockResponse)
        /// The function that makes the response, which can suspend.
        case function(@Sendable () async throws -> MockResponse)
        /// The request with its body in memory, and the executor that performs it.
        case forward(PreparedRequest, any RequestExecutor)
    }

    /// Returns the stub for `request`, whose body is in memory, and reads the bodies that it is compared with.
    private func stub(for request: PreparedRequest) async throws(RequestError) -> Stub? {
        let candidate = MatchContext(request)
        while true {
            let unread: ComparedBody
            do throws(UnreadBody) {
                return try stubs.stub(for: candidate)
            } catch {
                unread = error.body
            }
            try await unread.read()
        }
    }

    /// Records `request`, whose body is in memory, and returns the reaction: the request's own result, or the result of
    /// `stub`.
    private func reaction(
        to request: PreparedRequest, by stub: Stub?, isRecorded: Bool = true
    ) throws(RequestError) -> Reaction {
        let script = request.mockedScript
        let stub = script == nil ? stub : nil
        if isRecorded {
            let size = request.body.knownLength ?? 0
            record.state.withLock { $0.append(Entry(request: request.outsideOfCall, stub: stub?.number), size: size) }
        }
        if let script { return .function { try await script.response(to: request, call: 1) } }
        guard let stub else { return try reaction(toUnmatched: request) }
        let call = stub.beginCall(for: request)
        // Most results need no other function.
        if let response = try RequestError.wrapping(.other, { try stub.immediateResponse(to: request) }) {
            return .response(response)
        }
        return .function { try await response(of: stub, inCall: call, to: request) }
    }

    private func response(
        of stub: Stub, inCall call: Int, to request: PreparedRequest
    ) async throws -> MockResponse {
        do {
            return try await stub.response(to: request, call: call)
        } catch is ResultScript.Exhausted {
            stub.update { $0.isExhausted = true }
            if let status = interceptionStatus(of: request) {
                return .intercepted(status, "Mock sequence exhausted")
            }
            throw miss(of: request, exhausting: stub)
        }
    }

    private func reaction(toUnmatched request: PreparedRequest) throws(RequestError) -> Reaction {
        switch unmatched.resolved(for: request) {
        case .throwing, .choosing: throw miss(of: request, exhausting: nil)
        case .intercepting(let status): .response(.intercepted(status, "No mock found for URL."))
        case .passing(let executor): .forward(request, executor)
        case .constant(let response): .response(response)
        case .responding(let handler): .function { try await handler(request) }
        }
    }

    /// Returns the status of an intercepted request; nil if `request` would not be intercepted.
    private func interceptionStatus(of request: PreparedRequest) -> HTTPStatus? {
        if case .intercepting(let status) = unmatched.resolved(for: request) { status } else { nil }
    }

    /// Records that no stub responds to `request`, and returns the error.
    private func miss(of request: PreparedRequest, exhausting stub: Stub?) -> RequestError {
        let report = MissReport(request, exhausted: stub, stubs: stubs.stubs)
        stubs.record(report)
        // Permanent and before sending: middleware must not repeat the request.
        return RequestError(
            .other, detail: report.summary, underlying: UnmatchedRequest(description: report.text)
        ).explained(by: report.text).permanent().beforeSending()
    }
}

// MARK: Record

extension MockExecutor {
    /// A recorded request, and the number of the stub that responded to it.
    struct Entry: Sendable {
        let request: PreparedRequest
        let stub: Int?
    }

    /// Consecutive requests to which one stub responded.
    struct CallRun: Sendable {
        let stub: Int
        /// The numbers of the requests, counted from 0.
        var numbers: Range<Int>
    }

    private final class Record: Sendable {
        struct State: Sendable {
            var entries: BoundedRecord<Entry>
            /// The calls of stubs, oldest first; they are kept when their requests are removed.
            var runs: [CallRun] = []

            mutating func append(_ entry: Entry, size: Int) {
                let number = entries.append(entry, size: size)
                guard let stub = entry.stub else { return }
                // A stub that is called again and again takes no more memory.
                if let last = runs.indices.last, runs[last].stub == stub, runs[last].numbers.upperBound == number {
                    runs[last].numbers = runs[last].numbers.lowerBound..<number + 1
                } else {
                    runs.append(CallRun(stub: stub, numbers: number..<number + 1))
                }
            }
        }

        let state: Lock<State>

        init(_ recording: Recording) {
            state = Lock(State(entries: BoundedRecord(count: recording.requests, size: recording.bodyBytes)))
        }
    }

    var entries: [Entry] { record.state.withLock { $0.entries.elements } }

    var callRuns: [CallRun] { record.state.withLock { $0.runs } }

    func requests(of stub: Stub) -> [PreparedRequest] {
        entries.compactMap { $0.stub == stub.number ? $0.request : nil }
    }
}

extension MockExecutor: CustomStringConvertible, CustomReflectable {
    /// The name of the type, and the numbers of stubs and of requests that were sent.
    public var description: String { "MockExecutor (stubs: \(stubs.stubs.count), requests: \(recordedCount))" }

    /// The mirror that `dump` prints, without the stubs and requests of the executor.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
