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
    private let forks = ForkCount.current

    init(_ destination: SocketExecutor.Destination, _ configuration: SocketExecutor.Configuration) {
        self.destination = destination
        self.configuration = configuration
        proxy = destination == .url ? configuration.proxy.map { [additions] in Self.route(to: $0, additions) } : nil
        idleNanoseconds = Deadline.nanoseconds(of: configuration.idleTimeout)
        let limits = PoolLimits(
            total: configuration.connections, perOrigin: configuration.connectionsPerOrigin,
            idlePerOrigin: configuration.idleConnectionsPerOrigin)
        state = Lock(State(ledger: PoolLedger(limits)))
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

    /// Whether this is a child that was forked without exec, and the connections are its parent's.
    private var isInherited: Bool { ForkCount.current != forks }

    /// Closes the idle connections, which refer to their pool, and keeps no other from now on.
    func close() {
        if isInherited { return closeInherited() }
        let (sweeper, idle) = state.withLock { state in
            state.isClosed = true
            return (state.sweeper.take(), state.ledger.takeIdle())
        }
        sweeper?.cancel()
        // They close here, outside the lock.
        _ = consume idle
    }

    /// Closes the descriptors of the idle connections, which stay open in the parent.
    private func closeInherited() {
        let idle = state.withLockIfAvailable { state in
            state.isClosed = true
            return state.ledger.takeIdle()
        }
        _ = consume idle
    }

    typealias Ledger = PoolLedger<Origin, Connection, WakeEvent>

    private struct State {
        var ledger: Ledger
        /// Of the slots there are.
        var holdings: [Holding] = []
        var sweeper: Task<Void, Never>?
        /// Whether the last handle of the executor was released.
        var isClosed = false
    }

    /// Connections that are open or being made, those of them that are idle, and calls that wait; for tests.
    var counts: (open: Int, idle: Int, waiting: Int) {
        state.withLock { ($0.ledger.open, $0.ledger.idle, $0.ledger.waiting) }
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
        // Before the lock, which a thread may have held that a forked child does not have.
        if isInherited { return nil }
        while let connection = state.withLock({ $0.ledger.takeIdle(origin) }) {
            if connection.isUsable(at: now) { return connection }
        }
        return nil
    }

    /// An idle connection that is alive, or the right to establish one; waits for either in the order of the calls.
    func lease(_ origin: Origin, _ patience: Patience) async throws(RequestError) -> Lease {
        if isInherited { throw .notConnected(.forkedChild).beforeSending() }
        if let lease = claim({ $0.claim(origin) }, origin) { return check(lease, at: patience.began) }
        // A blocked thread runs this call: it can continue when no other one can be run.
        let waiter = Ledger.Waiter(
            for: origin, isBlocking: CallingThread.current != nil, WakeEvent(on: try reactor()))
        if let lease = claim({ $0.enter(waiter) }, origin) { return check(lease, at: patience.began) }
        return check(try await wait(waiter, patience), at: .now)
    }

    /// Claims until no more idle connections have to make room; nil when there is nothing to be had.
    private func claim(_ claim: (inout Ledger) -> Ledger.Claim, _ origin: Origin) -> Lease? {
        while true {
            switch state.withLock({ claim(&$0.ledger) }) {
            case .granted(.connection(let connection)): return .connection(connection)
            case .granted(.place(let place)): return .slot(makeSlot(origin, at: place))
            // It closes here, outside the lock.
            case .evicted: continue
            case .full: return nil
            }
        }
    }

    private func makeSlot(_ origin: Origin, at place: Int) -> Slot {
        let slot = Slot(origin, at: place, in: self)
        state.withLock { $0.holdings.append(slot.holding) }
        return slot
    }

    private func wait(_ waiter: Ledger.Waiter, _ patience: Patience) async throws(RequestError) -> Lease {
        let limit = min(patience.connecting, patience.total)
        var watch = StallWatch()
        while true {
            do throws(WaitError) {
                try await waiter.signal.wait(by: waiter.isBlocking ? min(limit, .after(StallWatch.interval)) : limit)
            } catch .timedOut where waiter.isBlocking && !limit.hasPassed {
                intervene(for: waiter, &watch)
            } catch {
                withdraw(waiter)
                throw patience.error(error, until: patience.connecting, in: .waitingForConnection)
            }
            if let lease = claim({ $0.takeUp(waiter) }, waiter.origin) { return lease }
        }
    }

    /// Leaves the queue; what was granted in the meantime goes to the next call.
    private func withdraw(_ waiter: Ledger.Waiter) {
        switch state.withLock({ $0.ledger.withdraw(waiter) }) {
        case nil: return
        case .connection(let connection): putBack(connection)
        case .place(let place): state.withLock { $0.ledger.end(at: place) }?.signal.signal()
        }
    }

    /// Looks for connections that calls have which are not being run, on behalf of a blocked thread.
    private func intervene(for waiter: Ledger.Waiter, _ watch: inout StallWatch) {
        let origin = waiter.origin
        let (next, holdings, oldestUntaken, grants) = state.withLock { state in
            let next = state.ledger.takeOver(origin, upTo: watch.grants)
            // With the limit of its origin reached, no other connection is in the way.
            let place = state.ledger.allows(origin) ? nil : state.ledger.place(of: origin)
            let holdings = state.holdings.filter { place == nil || $0.place == place }
            return (next, holdings, state.ledger.oldestUntaken, state.ledger.grants)
        }
        next?.signal.signal()
        let isStalled = watch.check(holdings, oldestUntaken: oldestUntaken, grants: grants, at: .now)
        while case .evicted = state.withLock({ state -> Ledger.Claim in
            waiter.mayExceed = isStalled
            return isStalled ? state.ledger.exceed(for: waiter) : .full
        }) {}
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

    /// Grants a connection to the next call that waits for one, or keeps it; drops it when there are enough.
    private func putBack(_ connection: Connection) {
        let waiter: Ledger.Waiter? = state.withLock { state in
            if state.isClosed { return nil }
            switch state.ledger.putBack(connection) {
            case .granted(let waiter): return waiter
            case .kept:
                if state.sweeper == nil { state.sweeper = sweeper(on: connection.channel.reactor) }
                return nil
            case .refused: return nil
            }
        }
        waiter?.signal.signal()
    }

    /// Counts out the connection at `place`, which has closed or was never established: the call that has waited longest
    /// of those that can use its place receives it.
    func vacate(_ place: Int, _ holding: Holding) {
        if isInherited { return }
        let waiter = state.withLock { state in
            state.holdings.removeAll { $0 === holding }
            return state.ledger.end(at: place)
        }
        waiter?.signal.signal()
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
