import Requests
import RequestsPOSIX

/// The pool from which a call acquires a connection, or a script for tests.
protocol ConnectionSupply: Sendable {
    associatedtype Network: ConnectionNetwork
    typealias Waiter = PoolWaiter<Origin, Network.Connection, Network.Event>
    typealias Lease = ConnectionLease<Network.Connection>

    /// Requests a usable idle connection, a place on a shared one, or the right to establish one.
    func request(
        _ origin: Origin, _ timeLimits: SocketTimeLimits, isContinuation: Bool
    ) throws(RequestError) -> PoolResponse<Lease, Waiter>

    /// Returns the lease that was granted to a call in the queue; nil if there is none yet.
    func takeUp(_ waiter: Waiter) -> Lease?

    /// Returns whether a call in the queue waits for a connection that it could share, while none to its origin is
    /// established.
    func awaitsFirstConnection(_ waiter: Waiter) -> Bool

    func withdraw(_ waiter: Waiter)

    /// Opens a connection beyond the limits for a call that has waited for long (decision 0072).
    func exceedLimits(for waiter: Waiter)

    /// Opens a connection for a call that has waited for 500 ms for the connection of another call, unless a third call
    /// has just received one in this way.
    func hurry(_ waiter: Waiter)

    /// Returns whether a request that cannot be sent again needs a new connection to `origin`.
    func closesAfterResponses(_ origin: Origin) -> Bool

    func connector(to origin: Origin, _ timeLimits: SocketTimeLimits) throws(RequestError) -> Network

    /// Records that a new connection is established, which other calls may be able to share.
    func recordUse(of connection: Network.Connection)
}

extension ConnectionPool: ConnectionSupply {
    typealias Network = Connector
}

/// A state machine that acquires a connection for one call, and never waits (decision 0031).
///
/// It takes an idle connection of the pool, stays in the pool's queue, or establishes a new connection.
struct Acquisition<Pool: ConnectionSupply, Stream: ConnectingStream & ~Copyable>: ConnectionSource, ~Copyable, Sendable
where Pool.Network == Stream.Network {
    typealias Network = Pool.Network

    private enum Stage: Sendable {
        case beginning
        case queued(Pool.Waiter)
        case establishing
    }

    private let pool: Pool
    private let origin: Origin
    private let timeLimits: SocketTimeLimits
    /// Whether the request continues a running call.
    ///
    /// A draining pool still grants it a connection.
    private let isContinuation: Bool
    /// Whether the request can be sent again if a connection turns out to be closed.
    private let isIdempotent: Bool
    private var stage = Stage.beginning
    private var new: NewConnection<Stream>?

    init(
        from pool: Pool, to origin: Origin, _ timeLimits: SocketTimeLimits, isContinuation: Bool,
        isIdempotent: Bool
    ) {
        self.pool = pool
        self.origin = origin
        self.timeLimits = timeLimits
        self.isContinuation = isContinuation
        self.isIdempotent = isIdempotent
    }

    /// Whether the connection was established for this call.
    var hasEstablished: Bool { new != nil }

    private var limit: Deadline { min(timeLimits.connecting, timeLimits.total) }
}

extension Acquisition where Stream: ~Copyable {
    mutating func advance() throws(RequestError) -> ConnectionStep<Network> {
        do throws(RequestError) {
            switch stage {
            case .beginning: return try begin()
            case .queued(let waiter):
                guard let lease = pool.takeUp(waiter) else { return .needs(need(of: waiter)) }
                return try use(lease)
            case .establishing: return try establish()
            }
        } catch {
            throw error.beforeSending()
        }
    }

    mutating func fail(_ error: WaitError, _ need: ConnectionNeed<Network>) throws(RequestError) {
        guard case .queued(let waiter) = stage else {
            try new?.fail(error, need)
            return
        }
        if case .timedOut = error, !limit.hasPassed {
            return waiter.occupiesTask ? pool.exceedLimits(for: waiter) : pool.hurry(waiter)
        }
        let awaitsFirst = pool.awaitsFirstConnection(waiter)
        pool.withdraw(waiter)
        let failure = timeLimits.error(error, until: timeLimits.connecting, in: need.phase).beforeSending()
        if case .timedOut = error, awaitsFirst {
            throw failure.adding(advice: "no connection to the server is established")
        }
        throw failure
    }

    private mutating func begin() throws(RequestError) -> ConnectionStep<Network> {
        switch try pool.request(origin, timeLimits, isContinuation: isContinuation) {
        case .lease(let lease): return try use(lease)
        case .queued(let waiter):
            stage = .queued(waiter)
            return .needs(need(of: waiter))
        }
    }

    private func need(of waiter: Pool.Waiter) -> ConnectionNeed<Network> {
        let end: Deadline =
            if waiter.occupiesTask {
                // The calls that hold the connections may be tasks for which no thread is left (decision 0072).
                min(limit, .after(.milliseconds(250)))
            } else if waiter.mayShare {
                // The connection that the call waits for may not be established in time.
                min(limit, .after(.milliseconds(500)))
            } else {
                limit
            }
        return .signal(waiter.signal, until: end, in: .waitingForConnection)
    }

    /// Whether a connection that has carried requests must not be used.
    ///
    /// Checked again for each lease: the peer may have closed connections while the call waited.
    private var needsNewConnection: Bool { !isIdempotent && pool.closesAfterResponses(origin) }

    private mutating func use(_ lease: Pool.Lease) throws(RequestError) -> ConnectionStep<Network> {
        let slot: Network.Connection.Slot
        switch lease {
        case .connection(let connection) where connection.isShared || !needsNewConnection:
            connection.beginReuse()
            return .connected(connection)
        // The idle connection is closed, and a new one takes its slot.
        case .connection(let connection): slot = connection.slot
        case .slot(let granted): slot = granted
        }
        new = NewConnection(to: origin, in: slot, over: try pool.connector(to: origin, timeLimits))
        stage = .establishing
        return try establish()
    }

    private mutating func establish() throws(RequestError) -> ConnectionStep<Network> {
        guard let step = try new?.advance() else { preconditionFailure("the stage exists with a new connection only") }
        if case .connected(let connection) = step { pool.recordUse(of: connection) }
        return step
    }
}

typealias SocketAcquisition = Acquisition<ConnectionPool, SocketStream>
