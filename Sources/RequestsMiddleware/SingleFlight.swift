@_spi(Lock) internal import Requests

/// Work that calls with the same key share: the first call performs it, and the others wait for its outcome.
final class SingleFlight<Key: Hashable & Sendable, Outcome: Sendable>: Sendable {
    /// The part of a call in the work.
    enum Role: Sendable {
        /// The call performs the work, and must call ``SingleFlight/end(_:with:)``.
        case leading
        /// Another call has performed the work, with this outcome.
        case joined(Outcome)
    }

    private typealias Wait = WaitingCall<Role>

    private struct State: Sendable {
        /// The work in progress, with the calls that wait for it.
        var waiting: [Key: [UInt64: Wait.Continuation]] = [:]
        var lastCall: UInt64 = 0

        /// Begins the work unless it is in progress, and returns whether it did.
        mutating func lead(_ key: Key) -> Bool {
            guard waiting[key] == nil else { return false }
            waiting[key] = [:]
            return true
        }
    }

    private let state = Lock(State())

    /// Begins the work, or waits until the call that performs it has ended it.
    func join(_ key: Key, until deadline: Deadline) async -> WaitingCall<Role> {
        let call = state.withLock { state -> UInt64? in
            if state.lead(key) { return nil }
            state.lastCall += 1
            return state.lastCall
        }
        guard let call else { return .granted(.leading) }
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
            if state.lead(key) { return .granted(.leading) }
            state.waiting[key]?[call] = continuation
            return nil
        }
    }

    /// Ends the work that the caller performs, and resumes the calls that wait for it.
    func end(_ key: Key, with outcome: Outcome) {
        let waiting = state.withLock { $0.waiting.removeValue(forKey: key) } ?? [:]
        for continuation in waiting.values { continuation.resume(returning: .granted(.joined(outcome))) }
    }
}
