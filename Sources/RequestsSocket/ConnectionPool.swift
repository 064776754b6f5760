@_spi(Lock) import Requests
import RequestsPOSIX

/// The connections of an executor: those in use are counted, the idle ones kept.
///
/// Calls that find no room wait in the order they came. Connections are dropped outside the lock only, since their
/// slots take it when they go. They refer to the pool, and it to those that are idle: ``PoolHandle`` ends that.
final class ConnectionPool: Sendable {
    let destination: SocketExecutor.Destination
    let configuration: SocketExecutor.Configuration
    /// The fields the executor adds to a request that has none of their names.
    let additions = [RequestHeadWriter.Addition(Field(name: .acceptEncoding, value: "identity"))]
    private let proxy: Result<ProxyRoute, RequestError>?
    private let idleNanoseconds: Int64
    private let state: Lock<State>

    init(_ destination: SocketExecutor.Destination, _ configuration: SocketExecutor.Configuration) {
        self.destination = destination
        self.configuration = configuration
        proxy = destination == .url ? configuration.proxy.map { [additions] in Self.route(to: $0, additions) } : nil
        idleNanoseconds = Deadline.nanoseconds(of: configuration.idleTimeout)
        state = Lock(State(ledger: PoolLedger(configuration)))
    }

    private static func route(
        to proxy: SocketExecutor.Proxy, _ additions: [RequestHeadWriter.Addition]
    ) -> Result<ProxyRoute, RequestError> {
        guard let route = ProxyRoute(proxy, adding: additions) else {
            return .failure(RequestError(.invalidRequest(.invalidProxy)).beforeSending())
        }
        return .success(route)
    }

    /// The proxy that a request for `host` goes to; nil when it goes to its origin.
    func route(to host: String) throws(RequestError) -> ProxyRoute? {
        guard let proxy else { return nil }
        let route = try proxy.get()
        return route.proxy.serves(host) ? route : nil
    }

    /// Closes the idle connections, which refer to their pool, and keeps no other from now on.
    func close() {
        let (sweeper, idle) = state.withLock { state in
            state.isClosed = true
            return (state.sweeper.take(), state.ledger.takeIdle())
        }
        sweeper?.cancel()
        // They close here, outside the lock.
        _ = consume idle
    }

    private struct State {
        var ledger: PoolLedger
        var waiters: [Waiter] = []
        var sweeper: Task<Void, Never>?
        /// Whether nobody is left who could ask for a connection.
        var isClosed = false
    }

    private enum Claim {
        case lease(Lease)
        /// An idle connection to another origin that makes room: drop it and claim again.
        case evicted(Connection)
        case full
    }

    /// Connections that are open or being made, those of them that are idle, and calls that wait; for tests.
    var counts: (open: Int, idle: Int, waiting: Int) {
        state.withLock { ($0.ledger.open, $0.ledger.idle, $0.waiters.count) }
    }
}

/// What those refer to who may ask for a connection; the pool closes with the last of them.
final class PoolHandle: Sendable {
    let pool: ConnectionPool

    init(_ pool: ConnectionPool) {
        self.pool = pool
    }

    deinit {
        pool.close()
    }
}

// MARK: Taking

extension ConnectionPool {
    /// An idle connection that lives; those that do not are closed.
    func takeIdle(_ origin: Origin, at now: Deadline) -> Connection? {
        while let connection = state.withLock({ $0.ledger.takeIdle(origin) }) {
            if connection.isUsable(at: now) { return connection }
        }
        return nil
    }

    /// An idle connection that lives, or the right to make one; waits for either in the order of the calls.
    func lease(_ origin: Origin, _ patience: Patience) async throws(RequestError) -> Lease {
        while true {
            switch claim(origin) {
            case .lease(let lease): return check(lease, at: patience.began)
            case .evicted: continue
            case .full:
                if let lease = try await wait(for: origin, patience) { return check(lease, at: .now) }
            }
        }
    }

    private func claim(_ origin: Origin) -> Claim {
        state.withLock { state in
            if let connection = state.ledger.takeIdle(origin) { return .lease(.connection(connection)) }
            if let place = state.ledger.begin(origin) { return .lease(.slot(Slot(origin, at: place, in: self))) }
            guard state.ledger.allows(origin) else { return .full }
            return state.ledger.takeOldestIdle().map { .evicted($0) } ?? .full
        }
    }

    /// Queues up; nil when there was room in the meantime and the call should claim again.
    private func wait(for origin: Origin, _ patience: Patience) async throws(RequestError) -> Lease? {
        let waiter = Waiter(for: origin, on: try reactor())
        let isFull = state.withLock { state in
            // Claimed once more, under the lock that queues: else a place that became free in between is missed.
            if let connection = state.ledger.takeIdle(origin) {
                waiter.give(.connection(connection))
            } else if let place = state.ledger.begin(origin) {
                waiter.give(.slot(Slot(origin, at: place, in: self)))
            } else if state.ledger.allows(origin), state.ledger.idle > 0 {
                return false
            } else {
                state.waiters.append(waiter)
            }
            return true
        }
        guard isFull else { return nil }
        do throws(WaitError) {
            try await waiter.wait(by: min(patience.connecting, patience.total))
        } catch {
            withdraw(waiter)
            throw patience.error(error, until: patience.connecting, in: .waitingForConnection)
        }
        return waiter.take()
    }

    /// Leaves the queue; what was given in the meantime goes to the next.
    private func withdraw(_ waiter: Waiter) {
        state.withLock { $0.waiters.removeAll { $0 === waiter } }
        if case .connection(let connection) = waiter.take() { putBack(connection) }
    }

    /// Replaces an idle connection that does not live by another one, or by its slot.
    private func check(_ lease: Lease, at now: Deadline) -> Lease {
        var lease = lease
        while case .connection(let connection) = lease, !connection.isUsable(at: now) {
            let next = state.withLock { $0.ledger.takeIdle(connection.slot.origin) }
            lease = next.map { .connection($0) } ?? .slot(connection.slot)
        }
        return lease
    }

    /// The reactor that waits are made on.
    func reactor() throws(RequestError) -> Reactor {
        do throws(SystemError) {
            let reactor = try Reactor.shared()
            try reactor.checkProcess()
            return reactor
        } catch {
            throw .notConnected(error).beforeSending()
        }
    }
}

// MARK: Giving back

extension ConnectionPool {
    /// Keeps a connection whose exchange has ended well, for at most `lifetime` when the server named one.
    func park(_ connection: Connection, at now: Deadline, seconds lifetime: Int?) {
        let timeout = min(idleNanoseconds, lifetime.map { Int64(min($0, 1_000_000_000)) * 1_000_000_000 } ?? .max)
        guard timeout > 0 else { return }
        connection.idleUntil = now.advanced(byNanoseconds: timeout)
        connection.inbound.shrink()
        putBack(connection)
    }

    /// Hands a connection to who waits for one, or keeps it; drops it when there are enough.
    private func putBack(_ connection: Connection) {
        let waiter: Waiter? = state.withLock { state in
            if state.isClosed { return nil }
            if !state.waiters.isEmpty {
                let origin = connection.slot.origin
                if let place = state.waiters.firstIndex(where: { $0.origin == origin }) {
                    return state.waiters.remove(at: place)
                }
                // Who waits for another origin needs its place more.
                if state.ledger.isFull { return nil }
            }
            if state.ledger.keep(connection), state.sweeper == nil {
                state.sweeper = sweeper(on: connection.channel.reactor)
            }
            return nil
        }
        waiter?.give(.connection(connection))
    }

    /// The connection at `place` has closed, or was never made: whoever has waited longest gets what it leaves.
    func vacate(_ place: Int) {
        let granted: (waiter: Waiter, slot: Slot)? = state.withLock { state in
            state.ledger.end(at: place)
            for (number, waiter) in state.waiters.enumerated() {
                guard let place = state.ledger.begin(waiter.origin) else { continue }
                state.waiters.remove(at: number)
                return (waiter, Slot(waiter.origin, at: place, in: self))
            }
            return nil
        }
        guard let granted else { return }
        granted.waiter.give(.slot(granted.slot))
    }
}

// MARK: Idle time

extension ConnectionPool {
    /// Looks after the idle connections for as long as there are any; one task a pool, off every call's path.
    private func sweeper(on reactor: Reactor) -> Task<Void, Never> {
        Task.detached { [self] in
            while let next = sweep() {
                do throws(WaitError) {
                    try await reactor.sleep(until: next)
                } catch {
                    return
                }
            }
        }
    }

    /// Closes the connections whose time is over and says when to look again; nil when none is idle.
    private func sweep() -> Deadline? {
        let (overdue, next) = state.withLock { state in
            let (overdue, next) = state.ledger.takeOverdue(at: .now)
            if next == nil { state.sweeper = nil }
            return (overdue, next)
        }
        // They close here, outside the lock.
        _ = consume overdue
        return next
    }
}
