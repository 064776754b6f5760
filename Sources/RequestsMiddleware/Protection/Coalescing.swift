@_spi(Lock) internal import Requests

/// Middleware that sends identical requests only once while the first one runs, and returns its response for each of
/// them.
///
/// ```swift
/// let executor = SocketExecutor().coalescing()
/// ```
///
/// It applies to GET and HEAD without a body and without attributes or a progress handler, whose response is collected
/// in memory. Requests are identical if all that is sent is equal, credentials and cookies included, and if they have
/// the same limits. Only traceparent and tracestate may differ; those of the request that is sent are used. So add it
/// before middleware that adds credentials or cookies: added after them, it would return the response for one user to
/// another. Add it after ``MemoryBudget``, which requests streams.
///
/// All receive the response or the error of the exchange. If the call that sends the request is cancelled, or its
/// deadline passes, one of the others sends it again.
///
/// Copies share the exchanges.
public struct Coalescing: Middleware {
    private typealias Wait = WaitingCall<Outcome>

    /// The result of an exchange for the calls that wait for it.
    private enum Outcome: Sendable {
        case result(Result<RawResponse, RequestError>)
        /// The call ended before the exchange did.
        case abandoned
    }

    /// A request as the key of its exchange, compared without the context of its span, with which no two requests would
    /// be identical.
    struct Key: Hashable, Sendable {
        fileprivate let request: PreparedRequest
        /// The hash of the target, computed once.
        private let ownHash: Int

        init(_ request: PreparedRequest) {
            self.request = request
            // Not 0, which marks requests without a key.
            let hash = request.targetHash
            ownHash = hash == 0 ? 1 : hash
        }

        /// Creates the key of a request from its kept values; nil if the request has no key.
        init?(_ request: PreparedRequest, _ kept: KeptValues) {
            guard kept.number != 0 else { return nil }
            self.request = request
            ownHash = Int(truncatingIfNeeded: kept.number)
        }

        var kept: KeptValues { KeptValues(number: UInt64(truncatingIfNeeded: ownHash)) }

        static func == (left: Self, right: Self) -> Bool {
            guard left.ownHash == right.ownHash else { return false }
            return left.request.isSame(as: right.request) || left.compared == right.compared
        }

        private var compared: PreparedRequest {
            guard request.header.contains(where: \.name.isTraceContext) else { return request }
            var compared = request
            compared.header.removeAll(where: \.name.isTraceContext)
            return compared
        }

        func hash(into hasher: inout Hasher) { hasher.combine(ownHash) }

        /// Returns the hash for a table, which is not hashed a second time.
        func _rawHashValue(seed: Int) -> Int { ownHash ^ seed }
    }

    /// The calls that share an exchange with the one that sends its request.
    private struct Exchange {
        var waiting = [UInt64: Wait.Continuation]()
        /// The calls that will wait.
        var joining: Set<UInt64> = []
    }

    private struct State {
        var exchanges: [Key: Exchange] = [:]
        var lastCall: UInt64 = 0
        /// The outcomes for calls that have not begun to wait yet.
        var early: [UInt64: Outcome] = [:]

        /// Begins an exchange unless an identical one is running, and returns whether it did.
        mutating func lead(_ key: Key) -> Bool {
            guard exchanges[key] == nil else { return false }
            exchanges[key] = Exchange()
            return true
        }
    }

    private final class Exchanges: Sendable {
        let state = Lock(State())
    }

    private let exchanges = Exchanges()

    /// Creates the middleware.
    public init() {}

    /// Performs `request` with `next`, or waits for an identical request.
    ///
    /// - Throws: The `RequestError` of the exchange, or one for a deadline or a cancellation while it waits.
    @inline(__always)  // saves a frame: the witness of the protocol is another function
    public func intercept(
        _ request: PreparedRequest, next: any RequestExecutor
    ) async throws(RequestError) -> RawResponse {
        try await interceptInStages(request, next: next)
    }

    /// Begins an exchange unless an identical one is running, and returns whether it did.
    private func lead(_ key: Key) -> Bool {
        exchanges.state.withLock { $0.lead(key) }
    }

    /// Returns the number of a call that waits for a running exchange; nil if the call begins one.
    private func join(_ key: Key) -> UInt64? {
        exchanges.state.withLock { state in
            if state.lead(key) { return nil }
            state.lastCall += 1
            state.exchanges[key]?.joining.insert(state.lastCall)
            return state.lastCall
        }
    }

    private func finish(_ key: Key, _ outcome: @autoclosure () -> Outcome) {
        let exchange = exchanges.state.withLock { state in
            guard let exchange = state.exchanges.removeValue(forKey: key) else { return Exchange() }
            for call in exchange.joining { state.early[call] = outcome() }
            return exchange
        }
        for continuation in exchange.waiting.values { continuation.resume(returning: .granted(outcome())) }
    }

    private func wait(_ call: UInt64, _ key: Key) async -> Wait {
        let exchanges = exchanges
        return await Wait.wait(until: key.request.limit) { continuation in
            exchanges.state.withLock { state in
                if let outcome = state.early.removeValue(forKey: call) { return .granted(outcome) }
                state.exchanges[key]?.joining.remove(call)
                if Task.isCancelled { return .cancelled }
                state.exchanges[key]?.waiting[call] = continuation
                return nil
            }
        } cancel: {
            exchanges.state.withLock { $0.exchanges[key]?.waiting.removeValue(forKey: call) }
        }
    }
}

extension Coalescing: StagedMiddleware {
    /// Begins an exchange unless an identical one is running, and keeps its key; a request without a key is only passed
    /// on.
    package func begin(_ request: PreparedRequest) -> StageBeginning {
        guard request.canBeCoalesced else { return .passed(KeptValues()) }
        let key = Key(request)
        return lead(key) ? .passed(key.kept) : .mustSuspend
    }

    package func interceptSuspending(
        _ request: PreparedRequest, next: any RequestExecutor
    ) async throws(RequestError) -> RawResponse {
        let key = Key(request)
        while let call = join(key) {
            // If the exchange was abandoned, this call, or another one that waited, sends the request.
            if case .result(let result) = try await wait(call, key).value(for: request) { return try result.get() }
        }
        return try await perform(request, key.kept, with: next)
    }

    package func end(_ response: inout RawResponse, _ request: PreparedRequest, _ kept: KeptValues) -> Bool {
        if let key = Key(request, kept) { finish(key, .result(.success(response))) }
        return true
    }

    package func fail(
        _ error: RequestError, _ request: PreparedRequest, _ kept: KeptValues
    ) throws(RequestError) -> RawResponse {
        guard let key = Key(request, kept) else { throw error }
        // Neither says anything about the other calls.
        let isOwn = error.isCancellation || error.reason == .timedOut(.total)
        finish(key, isOwn ? .abandoned : .result(.failure(error)))
        throw error
    }
}

extension PreparedRequest {
    /// Whether an identical request has the same response.
    fileprivate var canBeCoalesced: Bool {
        guard hasMethod(.get) || hasMethod(.head), !hasBody, case .collected = delivery, !hasOwnAttributes else {
            return false
        }
        return progressHandler == nil
    }
}

extension RequestExecutor {
    /// Returns this executor with middleware that sends identical requests only once while the first one runs.
    public func coalescing() -> Intercepted<Self, Coalescing> { intercepted(by: Coalescing()) }

    /// Returns this executor with middleware that sends identical requests only once while the first one runs, for an
    /// executor of an unknown type.
    @_disfavoredOverload
    public func coalescing() -> any RequestExecutor { intercepted(by: Coalescing()) }
}
