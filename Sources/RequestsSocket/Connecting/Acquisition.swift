import Requests
import RequestsPOSIX

/// The acquisition of a connection for one call, as a state machine that never waits: it takes an idle connection of
/// the pool, is in the queue of the pool, or establishes a new connection (decision 0041).
struct Acquisition: ConnectionSource, ~Copyable, Sendable {
    private enum Stage: Sendable {
        case beginning
        case queued(ConnectionPool.Ledger.Waiter)
        case establishing
    }

    private let pool: ConnectionPool
    private let origin: Origin
    private let timeLimits: SocketTimeLimits
    /// Whether the request continues a running call, so that it receives a connection of a pool that drains.
    private let isContinuation: Bool
    /// Whether the request can be sent again if a connection turns out to be closed.
    private let isIdempotent: Bool
    /// Whether the call runs on a thread that is blocked for it (decision 0018).
    private let isBlocking: Bool
    private var stage = Stage.beginning
    private var watch = StallWatch()
    private var new: NewConnection?

    init(
        from pool: ConnectionPool, to origin: Origin, _ timeLimits: SocketTimeLimits, isContinuation: Bool,
        isIdempotent: Bool, isBlocking: Bool
    ) {
        self.pool = pool
        self.origin = origin
        self.timeLimits = timeLimits
        self.isContinuation = isContinuation
        self.isIdempotent = isIdempotent
        self.isBlocking = isBlocking
    }

    private var limit: Deadline { min(timeLimits.connecting, timeLimits.total) }
}

extension Acquisition {
    mutating func advance() throws(RequestError) -> ConnectionStep {
        do throws(RequestError) {
            switch stage {
            case .beginning: return try begin()
            case .queued(let waiter):
                guard let lease = try pool.takeUp(waiter) else { return .needs(need(of: waiter)) }
                return try use(lease)
            case .establishing: return try establish()
            }
        } catch {
            throw error.beforeSending()
        }
    }

    mutating func fail(_ error: WaitError, _ need: ConnectionNeed) throws(RequestError) {
        guard case .queued(let waiter) = stage else {
            try new?.fail(error, need)
            return
        }
        if waiter.isBlocking, case .timedOut = error, !limit.hasPassed { return pool.intervene(for: waiter, &watch) }
        pool.withdraw(waiter)
        throw timeLimits.error(error, until: timeLimits.connecting, in: need.phase).beforeSending()
    }

    private mutating func begin() throws(RequestError) -> ConnectionStep {
        switch try pool.request(origin, timeLimits, isContinuation: isContinuation, isBlocking: isBlocking) {
        case .lease(let lease): return try use(lease)
        case .queued(let waiter):
            stage = .queued(waiter)
            return .needs(need(of: waiter))
        }
    }

    /// A blocked thread wakes often, to check for calls that cannot continue.
    private func need(of waiter: ConnectionPool.Ledger.Waiter) -> ConnectionNeed {
        let end = waiter.isBlocking ? min(limit, .after(StallWatch.interval)) : limit
        return .signal(waiter.signal, until: end, in: .waitingForConnection)
    }

    /// Whether a connection that has carried requests must not be used: the peer may be known to close connections
    /// after each response only since the call has waited.
    private var needsNewConnection: Bool { !isIdempotent && pool.closesAfterResponses(origin) }

    private mutating func use(_ lease: Lease) throws(RequestError) -> ConnectionStep {
        let slot: Slot
        switch lease {
        case .connection(let connection) where !needsNewConnection:
            connection.beginReuse()
            return .connected(connection)
        // A new connection takes the slot of an idle one that is not used, which is closed.
        case .connection(let connection): slot = connection.slot
        case .slot(let granted): slot = granted
        }
        new = NewConnection(to: origin, in: slot, with: try pool.connector(timeLimits, isBlocking: isBlocking))
        stage = .establishing
        return try establish()
    }

    private mutating func establish() throws(RequestError) -> ConnectionStep {
        guard let step = try new?.advance() else { preconditionFailure("the stage exists with a new connection only") }
        if case .connected(let connection) = step { pool.recordUse(of: connection) }
        return step
    }
}
