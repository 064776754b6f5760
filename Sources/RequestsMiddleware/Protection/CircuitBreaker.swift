@_spi(Lock) internal import Requests
import Synchronization

/// Middleware that sends no requests to an origin that fails repeatedly, until probes succeed.
///
/// ```swift
/// let executor = SocketExecutor().breakingCircuit()
/// ```
///
/// After ``Policy/failures`` consecutive failures, the circuit of the origin is open: requests fail at once with
/// ``ProtectionError/circuitOpen(_:)``. After a pause, ``Policy/probes`` requests are sent. If they succeed, the
/// circuit is closed; if one fails, it is open again, for twice as long. Errors of the exchange or of its body, and
/// statuses from 500 on, except for 501 and 505, are failures; cancellations, and errors before anything could be sent
/// to the server, are neither failures nor successes. A probe whose response is streamed succeeds with its head,
/// because a stream can have no end; a failure of its body then counts as that of any other request.
///
/// Copies share the state. Add it before `retrying(_:budget:clock:)`, so that each attempt counts; the error of an open
/// circuit is not retried.
public struct CircuitBreaker: Middleware {
    /// The numbers and times of a circuit breaker.
    public struct Policy: Hashable, Sendable {
        /// The number of consecutive failures that open the circuit; at least 1.
        public var failures: Int
        /// The time for which the circuit is open at first.
        public var pause: Duration
        /// The longest time for which the circuit is open.
        public var longestPause: Duration
        /// The number of probes at the same time, all of which must succeed; at least 1.
        public var probes: Int

        /// Creates a policy; numbers below 1 count as 1, negative times as 0, and times above a day as a day.
        public init(
            failures: Int = 5, pause: Duration = .seconds(10), longestPause: Duration = .seconds(300), probes: Int = 1
        ) {
            let day = Duration.seconds(86_400)
            self.failures = max(1, failures)
            self.pause = min(max(.zero, pause), day)
            self.longestPause = min(max(.zero, longestPause), day)
            self.probes = max(1, probes)
        }
    }

    private final class Settings: Sendable {
        let policy: Policy
        let now: @Sendable () -> ContinuousClock.Instant
        private let circuits = Lock(OriginTable<CircuitState>())
        /// Whether there are circuits, read without the lock; without failures there are none.
        private let hasCircuits = Atomic(false)

        init(_ policy: Policy, _ now: @escaping @Sendable () -> ContinuousClock.Instant) {
            self.policy = policy
            self.now = now
        }

        var isEmpty: Bool { !hasCircuits.load(ordering: .acquiring) }

        /// Changes the circuit of the origin of a request, and returns the result of `change`.
        func change<Result: Sendable>(
            of request: PreparedRequest, _ change: (inout CircuitState, Deadline) -> Result
        ) -> Result {
            let now = Deadline(now())
            return circuits.withLock { circuits in
                defer { hasCircuits.store(!circuits.isEmpty, ordering: .releasing) }
                return circuits.change(request.originKey, new: CircuitState(policy)) { change(&$0, now) }
            }
        }
    }

    private let settings: Settings

    /// Creates the middleware with new circuits.
    ///
    /// - Parameters:
    ///   - policy: The numbers and times.
    ///   - clock: The source of time.
    public init(_ policy: Policy = Policy(), clock: Retrying.Clock = .system) {
        settings = Settings(policy, clock.now)
    }

    /// Performs `request` with `next` unless the circuit of its origin is open.
    ///
    /// - Throws: The `RequestError` of `next`, or one with ``ProtectionError/circuitOpen(_:)``.
    @inline(__always)  // saves a frame: the witness of the protocol is another function
    public func intercept(
        _ request: PreparedRequest, next: any RequestExecutor
    ) async throws(RequestError) -> RawResponse {
        try await interceptInStages(request, next: next)
    }

    private func admission(of request: PreparedRequest) -> CircuitState.Admission {
        // Without failures, neither the origin is looked up nor the clock read.
        if settings.isEmpty { return .admitted(0) }
        return settings.change(of: request) { $0.admit(at: $1) }
    }

    /// Records the head of a streamed response, and returns the number with which to record the end of its body.
    private func recordHead(of request: PreparedRequest, _ number: UInt64) -> UInt64? {
        if settings.isEmpty { return number }
        return settings.change(of: request) { $0.recordHead(admittedAs: number, at: $1) }
    }

    private func record(_ outcome: CircuitState.Outcome, of request: PreparedRequest, _ number: UInt64) {
        if outcome != .failure, settings.isEmpty { return }
        settings.change(of: request) { $0.record(outcome, admittedAs: number, at: $1) }
    }
}

extension CircuitBreaker: StagedMiddleware {
    /// Keeps the number of the state in which the request is admitted.
    package func begin(_ request: PreparedRequest) throws(RequestError) -> StageBeginning {
        switch admission(of: request) {
        case .admitted(let number): return .passed(KeptValues(number: number))
        case .rejected(let delay): throw RequestError(.circuitOpen(delay), for: request)
        }
    }

    package func end(_ response: inout RawResponse, _ request: PreparedRequest, _ kept: KeptValues) -> Bool {
        let number = kept.number
        guard case .stream(let stream) = response.body, !response.head.status.isServerFailure else {
            record(response.head.status.isServerFailure ? .failure : .success, of: request, number)
            return true
        }
        guard let number = recordHead(of: request, number) else { return true }
        let end = CircuitBody.End { record($0, of: request, number) }
        response.body = .stream(
            ResponseStream(length: stream.length, PulledBody(CircuitBody(stream, end), request, response.head)))
        return true
    }

    package func fail(
        _ error: RequestError, _ request: PreparedRequest, _ kept: KeptValues
    ) throws(RequestError) -> RawResponse {
        record(error.outcome, of: request, kept.number)
        throw error
    }
}

/// A streamed body whose end is the outcome of its request.
private struct CircuitBody: PulledSource, ~Copyable {
    /// The end of the body, which is recorded once; a body that is released before is neither success nor failure.
    final class End: Sendable {
        private let record: Lock<(@Sendable (CircuitState.Outcome) -> Void)?>

        init(_ record: @escaping @Sendable (CircuitState.Outcome) -> Void) { self.record = Lock(record) }

        func occur(_ outcome: CircuitState.Outcome) { record.withLock { $0.take() }?(outcome) }

        deinit { occur(.neutral) }
    }

    private let stream: ResponseStream
    private let end: End
    private(set) var trailers: Header?

    init(_ stream: ResponseStream, _ end: End) {
        self.stream = stream
        self.end = end
    }

    var metrics: RawResponse.Metrics? { stream.metrics }

    mutating func next() async throws(RequestError) -> Data? {
        do throws(RequestError) {
            if let chunk = try await stream.next() { return chunk }
        } catch {
            end.occur(error.outcome)
            throw error
        }
        trailers = stream.trailers
        end.occur(.success)
        return nil
    }
}

extension HTTPStatus {
    /// Whether the server could not fulfill a request that it may fulfill later.
    fileprivate var isServerFailure: Bool { code >= 500 && code != 501 && code != 505 }
}

extension RequestError {
    /// The outcome of the request for the circuit of its server.
    fileprivate var outcome: CircuitState.Outcome { isServerFailure ? .failure : .neutral }

    /// Whether the server, or the way to it, failed.
    fileprivate var isServerFailure: Bool {
        switch reason {
        case .hostNotFound, .connectionFailed, .proxyRefused, .tlsFailed, .connectionLost, .protocolViolation: true
        // The limit of the whole call can pass without any fault of the server.
        case .timedOut(let phase): phase != .total && phase != .waitingForConnection
        default: false
        }
    }
}

/// The states of a limited number of origins.
struct OriginTable<State: OriginState>: Sendable {
    /// The largest number of origins.
    static var limit: Int { 1_024 }

    private var states: [TargetURI.OriginKey: State] = [:]

    var count: Int { states.count }
    var isEmpty: Bool { states.isEmpty }

    /// Changes the state of an origin, and returns the result of `change`.
    ///
    /// Initial states are not stored. Beyond the limit, those that can be forgotten are removed first.
    mutating func change<Result>(
        _ origin: TargetURI.OriginKey, new: @autoclosure () -> State, _ change: (inout State) -> Result
    )
        -> Result
    {
        if let index = states.index(forKey: origin) {
            let result = change(&states.values[index])
            if states.values[index].isInitial { states.remove(at: index) }
            return result
        }
        var state = new()
        let result = change(&state)
        guard !state.isInitial else { return result }
        if states.count >= Self.limit { removeSome() }
        states[origin] = state
        return result
    }

    /// Removes an eighth of the states or more, so that this is rare.
    private mutating func removeSome() {
        let removable = states.filter { $0.value.isForgettable }.keys
        for origin in removable { states[origin] = nil }
        for origin in states.keys.prefix(max(0, states.count - Self.limit * 7 / 8)) { states[origin] = nil }
    }
}

/// A state of an origin that a table can forget.
protocol OriginState: Sendable {
    /// Whether the state is that of an unknown origin.
    var isInitial: Bool { get }
    /// Whether the state matters less than others.
    var isForgettable: Bool { get }
}

extension CircuitState: OriginState {
    var isForgettable: Bool { isClosed }
}

extension RequestExecutor {
    /// Returns this executor with middleware that sends no requests to an origin that fails repeatedly.
    public func breakingCircuit(
        _ policy: CircuitBreaker.Policy = CircuitBreaker.Policy(), clock: Retrying.Clock = .system
    ) -> Intercepted<Self, CircuitBreaker> {
        intercepted(by: CircuitBreaker(policy, clock: clock))
    }

    /// Returns this executor with middleware that sends no requests to an origin that fails repeatedly, for an executor
    /// of an unknown type.
    @_disfavoredOverload
    public func breakingCircuit(
        _ policy: CircuitBreaker.Policy = CircuitBreaker.Policy(), clock: Retrying.Clock = .system
    ) -> any RequestExecutor {
        intercepted(by: CircuitBreaker(policy, clock: clock))
    }
}
