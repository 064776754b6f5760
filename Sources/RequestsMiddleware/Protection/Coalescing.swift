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

    /// A request as the key of its exchange, without the context of its span, with which no two requests would be
    /// identical.
    private struct Key: Hashable, Sendable {
        let request: PreparedRequest

        init(_ request: PreparedRequest) {
            var request = request
            request.header.removeAll(where: \.name.isTraceContext)
            self.request = request
        }

        func hash(into hasher: inout Hasher) { hasher.combine(request.target) }
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
    public func intercept(
        _ request: PreparedRequest, next: any RequestExecutor
    ) async throws(RequestError) -> RawResponse {
        guard request.canBeCoalesced else { return try await next.execute(request) }
        let key = Key(request)
        while let call = join(key) {
            // If the exchange was abandoned, this call, or another one that waited, sends the request.
            if case .result(let result) = try await wait(call, key).value(for: request) { return try result.get() }
        }
        do throws(RequestError) {
            let response = try await next.execute(request)
            finish(key, .result(.success(response)))
            return response
        } catch {
            // Neither says anything about the other calls.
            let isOwn = error.isCancellation || error.reason == .timedOut(.total)
            finish(key, isOwn ? .abandoned : .result(.failure(error)))
            throw error
        }
    }

    /// Returns the number of a call that waits for a running exchange; nil if the call begins one.
    private func join(_ key: Key) -> UInt64? {
        exchanges.state.withLock { state in
            guard state.exchanges[key] != nil else {
                state.exchanges[key] = Exchange()
                return nil
            }
            state.lastCall += 1
            state.exchanges[key]?.joining.insert(state.lastCall)
            return state.lastCall
        }
    }

    private func finish(_ key: Key, _ outcome: Outcome) {
        let exchange = exchanges.state.withLock { state in
            guard let exchange = state.exchanges.removeValue(forKey: key) else { return Exchange() }
            for call in exchange.joining { state.early[call] = outcome }
            return exchange
        }
        for continuation in exchange.waiting.values { continuation.resume(returning: .granted(outcome)) }
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
