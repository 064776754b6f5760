@_spi(Lock) import Requests
import RequestsMock

/// A server that accepts one token, and its token endpoint.
final class TokenServer: Sendable {
    struct State: Sendable {
        var valid = "planted-1"
        var refreshes = 0
        /// The number of requests to hold before the first response; all of them are then rejected together.
        var held = 0
        var waiting: [CheckedContinuation<Void, Never>] = []
        var rejected = 0
    }

    let state = Lock(State())

    /// Returns the next token after counting the refresh.
    func renew() -> String {
        state.withLock { state in
            state.refreshes += 1
            state.valid = "planted-\(state.refreshes + 1)"
            return state.valid
        }
    }

    var refreshes: Int { state.withLock { $0.refreshes } }

    /// Waits until as many requests as are to be held have arrived.
    private func hold() async {
        await withCheckedContinuation { continuation in
            let released = state.withLock { state in
                state.waiting.append(continuation)
                guard state.waiting.count >= state.held else { return [CheckedContinuation<Void, Never>]() }
                state.held = 0
                defer { state.waiting = [] }
                return state.waiting
            }
            for waiting in released { waiting.resume() }
        }
    }

    var executor: MockExecutor {
        MockExecutor { [self] request in
            let sent = request.header[.authorization]
            let (isValid, isHeld) = state.withLock { ("Bearer \($0.valid)" == sent, $0.held > 0) }
            if isHeld { await hold() }
            if isValid { return .ok("in") }
            state.withLock { $0.rejected += 1 }
            return .status(401)
        }
    }
}

/// A gate that tasks wait at until it is opened.
final class RefreshGate: Sendable {
    private struct State: Sendable {
        var isOpen = false
        var waiters: [CheckedContinuation<Void, Never>] = []
    }

    private let state = Lock(State())

    var isWaited: Bool { state.withLock { !$0.waiters.isEmpty } }

    func wait() async {
        await withCheckedContinuation { continuation in
            let isOpen = state.withLock { state in
                if !state.isOpen { state.waiters.append(continuation) }
                return state.isOpen
            }
            if isOpen { continuation.resume() }
        }
    }

    func open() {
        let waiters = state.withLock { state in
            state.isOpen = true
            defer { state.waiters = [] }
            return state.waiters
        }
        for waiter in waiters { waiter.resume() }
    }
}
