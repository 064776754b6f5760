@_spi(Lock) import Requests

/// An observer that counts the running requests, as for a network activity indicator.
///
/// ```swift
/// let activity = ActivityCounter()
/// activity.handler = { count in indicator.isVisible = count > 0 }
/// let executor = SocketExecutor().retrying().observing(.calls, by: activity)
/// ```
///
/// A request runs from its beginning until its response is complete, a streamed body is read to its end or released, or
/// it fails or is cancelled. Outside `retrying()`, a request that is repeated counts once, during its delays too. A
/// redirect ends one request and begins another, so the count can decrease in between.
///
/// Several executors can share a counter. A request that must not count has `countingActivity(false)`.
public final class ActivityCounter: Observing.Observer {
    fileprivate struct State {
        var count = 0
        var handler: (@Sendable (Int) -> Void)?
        /// The count that the handler last received.
        var reported = 0
        /// Whether a thread is calling the handler; it also reports changes by other threads.
        var isReporting = false
        var continuations: [Int: AsyncStream<Int>.Continuation] = [:]
        var nextContinuation = 0
    }

    private let state = Lock(State())

    /// Creates a counter without a handler.
    public init() {}

    /// The number of running requests.
    public var count: Int { state.withLock { $0.count } }

    /// A function that receives the number of running requests after every change; nil for none.
    ///
    /// Its calls do not overlap and arrive in order. Of changes that occur during a call, only the last one is
    /// reported. A new function is called at once if the number is not 0. It may use this counter.
    public var handler: (@Sendable (Int) -> Void)? {
        get { state.withLock { $0.handler } }
        set {
            let former = state.withLock { state in
                // A new handler has received nothing, which is the same as 0.
                state.reported = 0
                return exchange(&state.handler, with: newValue)
            }
            // Released without the lock, because what it refers to may use this counter.
            withExtendedLifetime(former) {}
            report()
        }
    }

    /// The numbers of running requests from now on, the present one first; a slow reader receives only the newest.
    public var counts: AsyncStream<Int> {
        AsyncStream(bufferingPolicy: .bufferingNewest(1)) { continuation in
            let number = state.withLock { state in
                continuation.yield(state.count)
                state.nextContinuation += 1
                state.continuations[state.nextContinuation] = continuation
                return state.nextContinuation
            }
            continuation.onTermination = { [weak self] _ in
                self?.state.withLock { $0.continuations[number] = nil }
            }
        }
    }

    deinit {
        for continuation in state.withLock({ Array($0.continuations.values) }) { continuation.finish() }
    }

    /// Counts a request, unless it is excluded, and returns the function that ends it.
    public func begin(_ observation: inout Observing.Observation) -> Observing.Handler? {
        begin(observation.request) ? endHandler : nil
    }

    /// Counts a request, and returns whether it must be ended; false if it is excluded.
    func begin(_ request: PreparedRequest) -> Bool {
        guard !request.hasOwnAttributes || request.attributes[CountsActivity.self] ?? true else { return false }
        change(by: 1)
        return true
    }

    func end() { change(by: -1) }

    /// The handler that ends a request, for use with the handlers of other observers.
    var endHandler: Observing.Handler {
        { event in
            if case .end = event { self.end() }
        }
    }

    private func change(by difference: Int) {
        let mustReport = state.withLock { state in
            state.count += difference
            // Yielded under the lock, because the streams must receive the counts in order.
            if !state.continuations.isEmpty {
                for continuation in state.continuations.values { continuation.yield(state.count) }
            }
            return state.handler != nil
        }
        if mustReport { report() }
    }

    /// Calls the handler, outside the lock, until it has received the current count.
    private func report() {
        while let (handler, count) = state.withLock({ $0.takeReport() }) {
            handler(count)
            state.withLock { $0.isReporting = false }
        }
    }
}

extension ActivityCounter.State {
    /// Returns the handler and the count to report.
    ///
    /// The result is nil if nothing has changed, or if another thread reports it.
    fileprivate mutating func takeReport() -> (@Sendable (Int) -> Void, Int)? {
        guard let handler, !isReporting, reported != count else { return nil }
        isReporting = true
        reported = count
        return (handler, count)
    }
}

/// The attribute that excludes a request from activity counters.
private enum CountsActivity: RequestAttributes.Key {
    typealias Value = Bool
}

extension Request {
    /// Returns this request with a mark whether an ``ActivityCounter`` counts it.
    public consuming func countingActivity(_ counts: Bool = true) -> Self {
        setting(attribute: CountsActivity.self, to: counts)
    }
}
