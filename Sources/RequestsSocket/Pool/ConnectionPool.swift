@_spi(Lock) import Requests
import RequestsHTTP1
import RequestsPOSIX

/// The connections of an executor: the pool counts the ones in use, and keeps idle ones.
///
/// Calls that find no connection wait in the order of their arrival. Connections are released outside the lock only,
/// because the slots of closed ones take it. Connections refer to the pool, and the pool to idle ones; ``PoolHandle``
/// breaks this cycle.
final class ConnectionPool: Sendable {
    let destination: SocketExecutor.Destination
    let configuration: SocketExecutor.Configuration
    /// The routes to the proxies; nil for most executors, which have no proxies.
    let proxies: ProxyRoutes?
    let security: Connector.Security
    /// The address from which connections are established; nil if the system chooses it.
    private let localAddress: Result<SocketAddress, RequestError>?
    private let idleNanoseconds: Int64
    let state: Lock<State>
    private let forks = ForkCount.current

    init(_ destination: SocketExecutor.Destination, _ configuration: SocketExecutor.Configuration) {
        self.destination = destination
        self.configuration = configuration
        let proxy = destination == .url ? configuration.proxy : nil
        proxies = proxy.flatMap { ProxyRoutes($0, configuration.wireLimits) }
        security = Connector.Security(
            origin: TLSSettings(configuration.tls, configuration.tlsContext(for: configuration.originVersion)),
            proxy: TLSSettings(configuration.proxyTLS, configuration.tlsContext(for: .http1)))
        localAddress = configuration.localAddress.map(Self.parseLocalAddress)
        idleNanoseconds = Deadline.nanoseconds(of: configuration.idleTimeout)
        let limits = PoolLimits(
            total: configuration.maximumConnections, perOrigin: configuration.maximumConnectionsPerOrigin,
            idlePerOrigin: configuration.maximumIdleConnectionsPerOrigin)
        state = Lock(State(ledger: PoolLedger(limits)))
    }

    private static func parseLocalAddress(_ text: String) -> Result<SocketAddress, RequestError> {
        if let address = SocketAddress(ipLiteral: text, port: 0) { return .success(address) }
        return .failure(RequestError(.invalidRequest(.invalidLocalAddress), detail: ErrorText.quoted(text)))
    }

    func connector(to origin: Origin, _ timeLimits: SocketTimeLimits) throws(RequestError) -> Connector {
        Connector(
            configuration: configuration, httpVersion: version(for: origin), localAddress: try localAddress?.get(),
            reactor: try reactor(), timeLimits: timeLimits, security: security)
    }

    /// Returns the origin for the connections of `request`, its proxy included; throws if the executor cannot reach it.
    func origin(of request: PreparedRequest) throws(RequestError) -> Origin {
        let target = request.target
        return try Origin(of: request, to: target, by: destination, through: try proxies?.route(to: target))
    }

    /// Whether this process was forked without exec, so that the connections belong to its parent.
    var isInherited: Bool { ForkCount.current != forks }

    /// Closes the idle connections, which refer to their pool.
    ///
    /// From now on, none is kept.
    func close(isDraining: Bool = false) {
        if isInherited { return closeInherited() }
        let (sweeper, idle) = state.withLock { state in
            state.isClosed = true
            state.isDraining = state.isDraining || isDraining
            return (state.sweeper.take(), state.ledger.takeIdle())
        }
        sweeper?.cancel()
        // The connections are closed here, outside the lock.
        _ = consume idle
    }

    /// Closes the descriptors of the idle connections, which stay open in the parent (decision 0019).
    private func closeInherited() {
        // Left open if a thread that does not exist in the child held the lock at the fork.
        let idle = state.withLockIfAvailable { state in
            state.isClosed = true
            return state.ledger.takeAll()
        }
        _ = consume idle
    }

    typealias Ledger = PoolLedger<Origin, Connection, WakeEvent>

    struct State {
        var ledger: Ledger
        var sweeper: Task<Void, Never>?
        /// Whether connections are no longer kept: the last copy of the executor was released, or it drains.
        var isClosed = false
        /// Whether the executor accepts no new requests.
        var isDraining = false
        /// The events of the tasks that wait until no connection is open.
        var drains: [WakeEvent] = []
    }

    /// The numbers of connections (`open` includes the ones being established) and of waiting calls; for tests.
    var counts: (open: Int, idle: Int, waiting: Int) {
        state.withLock { ($0.ledger.open, $0.ledger.idle, $0.ledger.waiting) }
    }

    /// The connections, by origin; connections to a proxy that forwards requests count for the proxy.
    var countsByOrigin: [ConnectionCount] {
        state.withLock { state in
            state.ledger.lanes.filter { $0.open > 0 }.map { lane in
                // A shared connection counts once.
                ConnectionCount(lane.origin.peer, active: lane.open - lane.idle.count, idle: lane.idle.count)
            }
        }
    }
}

/// The reference to a pool that the executor's copies and calls share; releasing the last one closes the pool.
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
    /// Takes a usable idle connection or a place on a shared one, and closes unusable ones; returns nil if there is
    /// none.
    func takeIdle(_ origin: Origin, at now: Deadline) -> Connection? {
        // Checked before the lock, which may have been held at the fork by a thread that does not exist in the child.
        if isInherited { return nil }
        while let grant = state.withLock({ $0.isDraining ? nil : $0.ledger.take(origin) }) {
            if let connection = usableConnection(of: grant, at: now) { return connection }
        }
        return nil
    }

    /// Requests a usable idle connection, a place on a shared one, or the right to establish one; calls wait for them
    /// in the order of their arrival.
    ///
    /// While the executor drains, only requests that continue a running call, such as the next one after a redirect,
    /// receive a connection.
    func request(
        _ origin: Origin, _ timeLimits: SocketTimeLimits, isContinuation: Bool
    ) throws(RequestError) -> PoolResponse<Lease, Ledger.Waiter> {
        if isInherited { throw .notConnected(.forkedChild).beforeSending() }
        let isNew = !isContinuation
        let mayShare = mayShare(origin)
        let now = isContinuation ? .now : timeLimits.began
        if let lease = try claim(isNew: isNew, origin, at: now, { $0.claim(origin, mayShare: mayShare) }) {
            return .lease(lease)
        }
        let occupiesTask = CallingThread.current?.occupiesTask == true
        let waiter = Ledger.Waiter(
            for: origin, occupiesTask: occupiesTask, mayShare: mayShare, WakeEvent(on: try reactor()))
        if let lease = try claim(isNew: isNew, origin, at: now, { $0.enter(waiter) }) {
            return .lease(lease)
        }
        return .queued(waiter)
    }

    func takeUp(_ waiter: Ledger.Waiter) -> Lease? {
        guard let grant = state.withLock({ $0.ledger.takeUp(waiter) }) else { return nil }
        if let lease = lease(grant, waiter.origin, at: .now) { return lease }
        // The shared connection has ended since it was granted.
        let claim = try? claim(isNew: false, waiter.origin, at: .now) { $0.enter(waiter) }
        return claim ?? nil
    }

    /// Returns a lease if one is available without a wait; nil if the limits are reached.
    func leaseAtOnce(_ origin: Origin, _ timeLimits: SocketTimeLimits) throws(RequestError) -> Lease? {
        if isInherited { throw .notConnected(.forkedChild).beforeSending() }
        let mayShare = mayShare(origin)
        return try claim(isNew: true, origin, at: timeLimits.began) { $0.claim(origin, mayShare: mayShare) }
    }

    /// Repeats the claim until it evicts no further idle connection; returns nil if the limits are reached.
    private func claim(
        isNew: Bool, _ origin: Origin, at now: Deadline, _ claim: (inout Ledger) -> Ledger.Claim
    ) throws(RequestError) -> Lease? {
        while true {
            // Checked under the lock of the claim, so that a drain misses no connection.
            switch state.withLock({ isNew && $0.isDraining ? nil : claim(&$0.ledger) }) {
            case nil: throw RequestError(.executorClosed).beforeSending()
            case .granted(let grant)?: if let lease = lease(grant, origin, at: now) { return lease }
            // The evicted connection is closed here, outside the lock.
            case .evicted?: continue
            case .full?: return nil
            }
        }
    }

    /// Returns the lease for a grant; nil if it was for a connection that has ended.
    ///
    /// An idle connection that is not usable is replaced with another one, or with its slot.
    private func lease(_ grant: Ledger.Grant, _ origin: Origin, at now: Deadline) -> Lease? {
        var grant = grant
        while true {
            if case .slot(let number) = grant { return .slot(Slot(origin, number, of: self)) }
            if let connection = usableConnection(of: grant, at: now) { return .connection(connection) }
            // Other calls may use the slot of a shared connection.
            guard case .connection(let connection) = grant, !connection.isShared else { return nil }
            guard let next = state.withLock({ $0.ledger.take(origin) }) else { return .slot(connection.slot) }
            grant = next
        }
    }

    /// Returns the connection of a grant, if it can carry another request.
    ///
    /// If the peer has closed an idle connection, that is recorded.
    private func usableConnection(of grant: Ledger.Grant, at now: Deadline) -> Connection? {
        switch grant {
        case .slot: return nil
        case .connection(let connection):
            let idleState = isSuitable(connection) ? connection.idleState(at: now) : .unusable
            if idleState == .usable { return connection }
            if idleState == .closed { recordClosing(by: connection.slot.origin) }
            if connection.isShared { retire(connection) }
        case .place(let connection):
            if connection.http2?.isUsable == true, isSuitable(connection) { return connection }
            retire(connection)
        }
        return nil
    }

    /// Returns whether a new connection would have the same settings, and might use the same version of HTTP.
    private func isSuitable(_ connection: Connection) -> Bool {
        isCurrent(connection) && (connection.http2 == nil || version(for: connection.slot.origin) != .http1Only)
    }

    /// Removes a call from the queue; a grant that was made in the meantime goes to the next call.
    func withdraw(_ waiter: Ledger.Waiter) {
        switch state.withLock({ $0.ledger.withdraw(waiter) }) {
        case nil: return
        case .connection(let connection), .place(let connection): putBack(connection)
        case .slot(let slot):
            recordCancellation(in: slot)
            end(slot)
        }
    }

    func exceedLimits(for waiter: Ledger.Waiter) {
        // Evicted connections are closed here, outside the lock.
        while case .evicted = state.withLock({ $0.ledger.exceed(for: waiter) }) {}
    }

    func hurry(_ waiter: Ledger.Waiter) {
        // Evicted connections are closed here, outside the lock.
        while case .evicted = state.withLock({ $0.ledger.hurry(waiter, at: .now) }) {}
    }

    func reactor() throws(RequestError) -> Reactor {
        do throws(SystemError) {
            let current = SocketTaskExecutor.currentReactor
            let reactor = if let current { current } else { try Reactor.shared() }
            try reactor.checkProcess()
            return reactor
        } catch {
            throw .notConnected(error).beforeSending()
        }
    }
}

// MARK: Peers that close

extension ConnectionPool {
    func recordClosing(by origin: Origin) {
        state.withLock { $0.ledger.closingPeers.recordClosing(by: origin, at: .now) }
    }

    func closesAfterResponses(_ origin: Origin) -> Bool {
        if isInherited { return false }
        return state.withLock { !$0.ledger.closingPeers.isEmpty && $0.ledger.closingPeers.contains(origin, at: .now) }
    }
}

// MARK: Returning connections

extension ConnectionPool: SlotOwner {
    /// Keeps a new connection, or one after a successful exchange, for a shorter time than the server permits.
    ///
    /// Has no effect on a shared connection: each stream returns its place itself.
    func park(_ connection: Connection, at now: Deadline) {
        if connection.isShared { return }
        let keepAlive = connection.response.keepAlive
        guard keepAlive?.max != 0 else { return }
        let timeout = min(idleNanoseconds, keepAlive?.timeout.map(KeepAlive.usableNanoseconds(ofSeconds:)) ?? .max)
        guard timeout > 0, isCurrent(connection) else { return }
        connection.idleUntil = now.advanced(byNanoseconds: timeout)
        let isHTTP11 = connection.response.version.map { $0 >= .http11 } ?? false
        putBack(connection, afterReuse: connection.isReused, afterHTTP11: isHTTP11)
    }

    /// Closes the idle connections whose TLS settings have been replaced, and retires such shared ones.
    func retireOutdated() {
        let (idle, shared) = state.withLock { ($0.ledger.takeIdle(), $0.ledger.sharedInUse) }
        for connection in idle where isCurrent(connection) { putBack(connection) }
        for connection in shared where !isCurrent(connection) { retire(connection) }
    }

    /// Grants a connection to the next call that waits for one, or keeps it, or closes it if there are enough.
    ///
    /// - Parameters:
    ///   - connection: The connection.
    ///   - afterReuse: Whether it was reused successfully, so its peer no longer counts as one that closes connections
    ///     after responses.
    ///   - afterHTTP11: Whether the peer responded with HTTP/1.1, so it supports chunks.
    func putBack(_ connection: Connection, afterReuse: Bool = false, afterHTTP11: Bool = false) {
        let waiter: Ledger.Waiter? = state.withLock { state in
            if afterReuse { state.ledger.closingPeers.recordReuse(by: connection.slot.origin) }
            if afterHTTP11 { state.ledger.http10Peers.forget(connection.slot.origin) }
            return putBack(connection, in: &state)
        }
        waiter?.signal.signal()
    }

    /// Takes back a connection under the lock, and returns the call to signal.
    func putBack(_ connection: Connection, in state: inout State) -> Ledger.Waiter? {
        if let sharing = connection.sharing {
            if sharing.used == 1 { connection.idleUntil = .now.advanced(byNanoseconds: idleNanoseconds) }
        } else if state.isClosed {
            // A place on a shared connection can still serve a call that waits.
            return nil
        }
        switch state.ledger.putBack(connection, keepsIdle: !state.isClosed && idleNanoseconds > 0) {
        case .granted(let waiter): return waiter
        case .kept:
            if state.sweeper == nil { state.sweeper = sweeper(from: connection) }
            return nil
        case .used, .refused: return nil
        }
    }

    /// Gives the slot of a connection that has closed, or was never established, to the next call that can use it.
    func vacate(_ slot: SlotNumber) {
        if isInherited { return }
        end(slot)
    }

    /// Ends the use of `slot`.
    ///
    /// Signals the calls that can continue, and completes drains if no connection is open.
    private func end(_ slot: SlotNumber) {
        let (grants, drains) = state.withLock { state in
            let grants = state.ledger.end(slot)
            return (grants, state.ledger.open == 0 ? state.drains : [])
        }
        resume(grants)
        for event in drains { event.signal() }
    }
}

// MARK: Idle time

extension ConnectionPool {
    /// Starts the pool's one task that closes overdue idle connections, and runs as long as there are idle connections.
    ///
    /// The task first sleeps until `first` is overdue. If it checked at once, `first` could be in use again. The task
    /// would then end, and the next connection that becomes idle would start another task.
    private func sweeper(from first: Connection) -> Task<Void, Never> {
        let (reactor, due) = (first.channel.reactor, first.idleUntil)
        return Task.detached { [self] in
            var next: Deadline? = due
            while let due = next {
                do throws(WaitError) {
                    try await reactor.sleep(until: due)
                } catch {
                    return
                }
                next = sweep()
            }
        }
    }

    /// Closes the overdue idle connections, and returns when to check again; nil if none is idle.
    private func sweep() -> Deadline? {
        let (overdue, next) = state.withLock { state in
            let (overdue, next) = state.ledger.takeOverdue(at: .now)
            if next == nil { state.sweeper = nil }
            return (overdue, next)
        }
        // The connections are closed here, outside the lock.
        _ = consume overdue
        return next
    }
}
