@_spi(Lock) internal import Requests
import Synchronization

/// A limited quantity that calls share, such as permits or bytes, and the calls that wait for a part of it.
final class Shares: Sendable {
    private typealias Wait = WaitingCall<Void>

    private struct State {
        var ledger: ShareLedger
        var waiting: [UInt64: Wait.Continuation] = [:]
        /// The calls that have been granted a share but have not begun to wait yet.
        var granted: Set<UInt64> = []

        /// Returns the continuations of `calls`, which have a share now.
        mutating func continuations(of calls: [UInt64]) -> [Wait.Continuation] {
            calls.compactMap { call in
                let continuation = waiting.removeValue(forKey: call)
                if continuation == nil { granted.insert(call) }
                return continuation
            }
        }
    }

    private let state: Lock<State>

    init(total: Int, perOrigin: Int) {
        state = Lock(State(ledger: ShareLedger(total: total, perOrigin: perOrigin)))
    }

    var used: Int { state.withLock { $0.ledger.used } }

    /// A part of the quantity, until it is released.
    final class Share: Sendable {
        private let shares: Shares
        private let origin: TargetURI.OriginKey
        private let size: Atomic<Int>

        fileprivate init(_ shares: Shares, _ origin: TargetURI.OriginKey, _ count: Int) {
            self.shares = shares
            self.origin = origin
            size = Atomic(count)
        }

        /// The size, which one call changes.
        var count: Int { size.load(ordering: .relaxed) }

        /// Increases the size without waiting, and returns whether there was enough.
        func grow(by count: Int) -> Bool {
            let own = self.count
            guard shares.state.withLock({ $0.ledger.grow(origin, own, by: count) }) else { return false }
            size.add(count, ordering: .relaxed)
            return true
        }

        /// Returns the part to the quantity; has no effect the second time.
        ///
        /// It is called at the latest when the last reference is released.
        func release() {
            let count = size.exchange(0, ordering: .relaxed)
            if count > 0 { shares.leave(count, of: origin) }
        }

        deinit { release() }
    }

    /// Returns a part of size 0, which can grow.
    func emptyShare(of origin: TargetURI.OriginKey) -> Share { Share(self, origin, 0) }

    /// Takes a part of the quantity, waiting for it if too little is free.
    ///
    /// - Parameters:
    ///   - count: The size of the part, from 0 to the whole quantity.
    ///   - origin: The origin of the call.
    ///   - deadline: The instant at which to stop waiting.
    /// - Returns: The part, or why the call has none.
    func share(of count: Int, to origin: TargetURI.OriginKey, until deadline: Deadline) async -> WaitingCall<Share> {
        guard count > 0, let call = state.withLock({ $0.ledger.enter(origin, count) }) else {
            return .granted(Share(self, origin, count))
        }
        let result = await Wait.wait(until: deadline) { continuation in
            self.begin(call, continuation)
        } cancel: {
            self.cancel(call)
        }
        return switch result {
        case .granted: .granted(Share(self, origin, count))
        case .timedOut: .timedOut
        case .cancelled: .cancelled
        }
    }

    /// Stores the continuation of a waiting call, or returns the result of its wait.
    private func begin(_ call: UInt64, _ continuation: Wait.Continuation) -> Wait? {
        let (result, others) = state.withLock { state -> (Wait?, [Wait.Continuation]) in
            if state.granted.remove(call) != nil { return (.granted(()), []) }
            if Task.isCancelled, let granted = state.ledger.cancel(call) {
                return (.cancelled, state.continuations(of: granted))
            }
            state.waiting[call] = continuation
            return (nil, [])
        }
        Self.resume(others)
        return result
    }

    /// Removes a waiting call and returns its continuation.
    ///
    /// Calls that waited behind it may then have a share.
    private func cancel(_ call: UInt64) -> Wait.Continuation? {
        let (continuation, others) = state.withLock { state -> (Wait.Continuation?, [Wait.Continuation]) in
            guard let continuation = state.waiting.removeValue(forKey: call) else { return (nil, []) }
            let granted = state.ledger.cancel(call) ?? []
            return (continuation, state.continuations(of: granted))
        }
        Self.resume(others)
        return continuation
    }

    private func leave(_ count: Int, of origin: TargetURI.OriginKey) {
        Self.resume(
            state.withLock { state in
                let granted = state.ledger.leave(origin, count)
                return state.continuations(of: granted)
            })
    }

    private static func resume(_ continuations: [Wait.Continuation]) {
        for continuation in continuations { continuation.resume(returning: .granted(())) }
    }
}
