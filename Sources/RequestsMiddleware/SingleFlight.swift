@_spi(Lock) internal import Requests

/// Work that several calls need: one of them performs it, and the others wait for its outcome.
final class SingleFlight<Key: Hashable & Sendable, Outcome: Sendable>: Sendable {
    private typealias Wait = WaitingCall<Outcome?>

    private struct State: Sendable {
        /// The work in progress, with the calls that wait for it.
        var waiting: [Key: [UInt64: Wait.Continuation]] = [:]
        var lastCall: UInt64 = 0
        var endings = 0
    }

    private let state = Lock(State())

    /// The number of times that work has ended.
    var endings: Int { state.withLock { $0.endings } }

    /// The number of calls that wait for work to end.
    var waitingCount: Int { state.withLock { $0.waiting.values.reduce(0) { $0 + $1.count } } }

    /// Begins the work unless it is in progress, and returns whether it did; the caller must then call
    /// ``end(_:with:)``.
    func lead(_ key: Key) -> Bool {
        state.withLock { state in
            guard state.waiting[key] == nil else { return false }
            state.waiting[key] = [:]
            return true
        }
    }

    /// Waits for the end of the work.
    ///
    /// - Returns: The outcome; nil if the work is not in progress, or ended without an outcome.
    func outcome(of key: Key, until deadline: Deadline) async -> WaitingCall<Outcome?> {
        let call = state.withLock { state in
            state.lastCall += 1
            return state.lastCall
        }
        return await Wait.wait(until: deadline) { continuation in
            self.begin(call, key, continuation)
        } cancel: {
            self.state.withLock { $0.waiting[key]?.removeValue(forKey: call) }
        }
    }

    /// Stores the continuation of a waiting call, or returns the result of its wait.
    private func begin(_ call: UInt64, _ key: Key, _ continuation: Wait.Continuation) -> Wait? {
        state.withLock { state in
            // If the task is cancelled later, the handler finds the continuation.
            if Task.isCancelled { return .cancelled }
            // The work may have ended in the meantime.
            guard state.waiting[key] != nil else { return .granted(nil) }
            state.waiting[key]?[call] = continuation
            return nil
        }
    }

    /// Begins the work for `request` and returns nil, or waits for its end and returns its outcome.
    ///
    /// A call that receives nil must call ``end(_:with:)``.
    func join(_ key: Key, for request: PreparedRequest) async throws(RequestError) -> Outcome? {
        while !lead(key) {
            if let outcome = try await outcome(of: key, until: request.limit).value(for: request) { return outcome }
        }
        return nil
    }

    /// Ends the work that the caller began, and resumes the calls that wait for it.
    ///
    /// - Parameters:
    ///   - key: The key of the work.
    ///   - outcome: The outcome; nil if it does not concern the calls that wait, one of which begins the work again.
    func end(_ key: Key, with outcome: Outcome?) {
        let waiting = state.withLock { state in
            state.endings += 1
            return state.waiting.removeValue(forKey: key) ?? [:]
        }
        for continuation in waiting.values { continuation.resume(returning: .granted(outcome)) }
    }
}
