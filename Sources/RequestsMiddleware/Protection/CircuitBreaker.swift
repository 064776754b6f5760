@_spi(Lock) internal import Requests

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
/// because a stream can have no end; if its body then fails, that counts like the failure of any other request.
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
        /// The maximum time for which the circuit is open.
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

    private final class Circuits: Sendable {
        let table = Lock(OriginTable<CircuitState>())
    }

    private let policy: Policy
    private let clock: Retrying.Clock
    private let circuits = Circuits()

    /// Creates the middleware with new circuits.
    ///
    /// - Parameters:
    ///   - policy: The numbers and times.
    ///   - clock: The source of time.
    public init(_ policy: Policy = Policy(), clock: Retrying.Clock = .system) {
        self.policy = policy
        self.clock = clock
    }

    /// Performs `request` with `next` unless the circuit of its origin is open.
    ///
    /// - Throws: The `RequestError` of `next`, or one with ``ProtectionError/circuitOpen(_:)``.
    public func intercept(
        _ request: PreparedRequest, next: any RequestExecutor
    ) async throws(RequestError) -> RawResponse {
        let number = try admit(request)
        do throws(RequestError) {
            let response = try await next.execute(request)
            return recording(response, to: request, admittedAs: number)
        } catch {
            record(error.outcome, of: request, admittedAs: number)
            throw error
        }
    }

    /// Returns the number of the state in which the request was admitted.
    private func admit(_ request: PreparedRequest) throws(RequestError) -> UInt64 {
        switch change(of: request, { $0.admit(at: $1) }) {
        case .admitted(let number): return number
        case .rejected(let delay): throw RequestError(.circuitOpen(delay), for: request)
        }
    }

    /// Records the status of a response, or how its body ends if it is streamed.
    private func recording(
        _ response: RawResponse, to request: PreparedRequest, admittedAs number: UInt64
    ) -> RawResponse {
        if response.status.isServerFailure {
            record(.failure, of: request, admittedAs: number)
            return response
        }
        guard case .stream = response.body else {
            record(.success, of: request, admittedAs: number)
            return response
        }
        guard let number = change(of: request, { $0.recordHead(admittedAs: number, at: $1) }) else { return response }
        return response.reportingEnd(to: request) { end in record(end.outcome, of: request, admittedAs: number) }
    }

    private func record(_ outcome: CircuitState.Outcome, of request: PreparedRequest, admittedAs number: UInt64) {
        change(of: request) { $0.record(outcome, admittedAs: number, at: $1) }
    }

    /// Changes the circuit of a request's origin, and returns the result of `change`.
    private func change<Result: Sendable>(
        of request: PreparedRequest, _ change: (inout CircuitState, Deadline) -> Result
    ) -> Result {
        let now = clock.deadline
        return circuits.table.withLock { table in
            table.change(request.originKey, new: CircuitState(policy)) { change(&$0, now) }
        }
    }
}

extension BodyEnd {
    fileprivate var outcome: CircuitState.Outcome {
        switch self {
        case .complete: .success
        case .failed(let error): error.outcome
        case .released: .neutral
        }
    }
}

extension HTTPStatus {
    /// Whether the server could not fulfill a request that it may fulfill later.
    fileprivate var isServerFailure: Bool { code >= 500 && code != 501 && code != 505 }
}

extension RequestError {
    fileprivate var outcome: CircuitState.Outcome { isServerFailure ? .failure : .neutral }

    /// Whether the server failed, or the connection to it.
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
    static var limit: Int { 1_024 }

    private var states: [TargetURI.OriginKey: State] = [:]

    var count: Int { states.count }

    /// Changes the state of an origin, and returns the result of `change`.
    ///
    /// Initial states are not stored. Beyond the limit, states that can be forgotten are removed first.
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

    /// Removes at least an eighth of the states, so that this rarely happens.
    private mutating func removeSome() {
        let removable = states.filter { $0.value.isForgettable }.keys
        for origin in removable { states[origin] = nil }
        for origin in states.keys.prefix(max(0, states.count - Self.limit * 7 / 8)) { states[origin] = nil }
    }
}

/// A state of an origin that a table can forget.
protocol OriginState: Sendable {
    /// Whether the state equals the state of an origin without requests.
    var isInitial: Bool { get }
    /// Whether the state may be removed before others.
    var isForgettable: Bool { get }
}

extension CircuitState: OriginState {
    var isForgettable: Bool { isClosed }
}

extension RequestExecutor {
    /// Returns this executor with middleware that sends no requests to an origin that fails repeatedly.
    public func breakingCircuit(
        _ policy: CircuitBreaker.Policy = CircuitBreaker.Policy(), clock: Retrying.Clock = .system
    ) -> Intercepted {
        intercepted(by: CircuitBreaker(policy, clock: clock))
    }
}
