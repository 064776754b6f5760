import Requests
import RequestsPOSIX

/// The connections of an executor: those in use are counted, the idle ones kept.
///
/// Calls that find no room wait in the order they came. Connections are dropped outside the lock only, since their
/// slots take it when they go.
final class ConnectionPool: Sendable {
    let destination: SocketExecutor.Destination
    let configuration: SocketExecutor.Configuration
    private let state = Lock(State())

    init(_ destination: SocketExecutor.Destination, _ configuration: SocketExecutor.Configuration) {
        self.destination = destination
        self.configuration = configuration
    }

    deinit {
        state.withLock { $0.sweeper }?.cancel()
    }

    /// What is open to one origin.
    private struct Lane {
        var open = 0
        /// In the order they became idle; the last is used first.
        var idle: [Connection] = []
    }

    private struct State {
        var lanes: [Origin: Lane] = [:]
        var open = 0
        var waiters: [Waiter] = []
        var sweeper: Task<Void, Never>?

        mutating func takeIdle(_ origin: Origin) -> Connection? {
            lanes[origin]?.idle.popLast()
        }

        /// The connection that has been idle longest, of all origins.
        mutating func takeOldestIdle() -> Connection? {
            let oldest = lanes.lazy.compactMap { $0.value.idle.first }.min { $0.idleUntil < $1.idleUntil }
            guard let oldest else { return nil }
            return lanes[oldest.slot.origin]?.idle.removeFirst()
        }

        mutating func vacate(_ origin: Origin) {
            open -= 1
            lanes[origin]?.open -= 1
            if lanes[origin]?.open == 0 { lanes[origin] = nil }
        }
    }

    private enum Claim {
        case lease(Lease)
        /// An idle connection to another origin that makes room: drop it and claim again.
        case evicted(Connection)
        case full
    }
}

// MARK: Taking

extension ConnectionPool {
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
            if let connection = state.takeIdle(origin) { return .lease(.connection(connection)) }
            if let slot = open(origin, &state) { return .lease(.slot(slot)) }
            guard state.lanes[origin]?.open ?? 0 < configuration.openLimit else { return .full }
            return state.takeOldestIdle().map { .evicted($0) } ?? .full
        }
    }

    /// A slot for `origin` when there is room.
    private func open(_ origin: Origin, _ state: inout State) -> Slot? {
        guard state.open < max(1, configuration.connections) else { return nil }
        guard state.lanes[origin]?.open ?? 0 < configuration.openLimit else { return nil }
        state.open += 1
        state.lanes[origin, default: Lane()].open += 1
        return Slot(origin, in: self)
    }

    /// Queues up; nil when there was room in the meantime and the call should claim again.
    private func wait(for origin: Origin, _ patience: Patience) async throws(RequestError) -> Lease? {
        let waiter = Waiter(for: origin, on: try reactor())
        let isFull = state.withLock { state in
            let lane = state.lanes[origin]
            let hasRoom = lane?.open ?? 0 < configuration.openLimit
            if lane?.idle.isEmpty == false { return false }
            if hasRoom, state.open < max(1, configuration.connections) { return false }
            if hasRoom, state.lanes.contains(where: { !$0.value.idle.isEmpty }) { return false }
            state.waiters.append(waiter)
            return true
        }
        guard isFull else { return nil }
        do throws(WaitError) {
            try await waiter.wait(by: min(patience.connecting, patience.total))
        } catch {
            // What was given in the meantime goes back when it is dropped, or is put back.
            withdraw(waiter)
            throw patience.error(error, until: patience.connecting, in: .waitingForConnection)
        }
        return waiter.take()
    }

    private func withdraw(_ waiter: Waiter) {
        state.withLock { $0.waiters.removeAll { $0 === waiter } }
        if case .connection(let connection) = waiter.take() { putBack(connection) }
    }

    /// Replaces an idle connection that does not live by another one, or by its slot.
    private func check(_ lease: Lease, at now: Deadline) -> Lease {
        var lease = lease
        while case .connection(let connection) = lease, !connection.isUsable(at: now) {
            let next = state.withLock { $0.takeIdle(connection.slot.origin) }
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
    func park(_ connection: Connection, lifetime: Duration?) {
        let timeout = min(configuration.idleTimeout, lifetime ?? configuration.idleTimeout)
        guard timeout > .zero else { return }
        connection.idleUntil = .after(timeout)
        connection.isReused = true
        connection.inbound.shrink()
        putBack(connection)
    }

    /// Hands a connection to who waits for one, or keeps it; drops it when there are enough.
    private func putBack(_ connection: Connection) {
        let origin = connection.slot.origin
        let waiter: Waiter? = state.withLock { state in
            if let place = state.waiters.firstIndex(where: { $0.origin == origin }) {
                return state.waiters.remove(at: place)
            }
            guard state.waiters.isEmpty || state.open < max(1, configuration.connections) else { return nil }
            guard let idle = state.lanes[origin]?.idle.count, idle < configuration.idleConnectionsPerOrigin else {
                return nil
            }
            state.lanes[origin]?.idle.append(connection)
            if state.sweeper == nil { state.sweeper = sweeper(on: connection.channel.reactor) }
            return nil
        }
        waiter?.give(.connection(connection))
    }

    /// A connection to `origin` has closed, or was never made: whoever has waited longest gets its place.
    func vacate(_ origin: Origin) {
        let granted: (waiter: Waiter, slot: Slot)? = state.withLock { state in
            state.vacate(origin)
            for (place, waiter) in state.waiters.enumerated() {
                guard let slot = open(waiter.origin, &state) else { continue }
                state.waiters.remove(at: place)
                return (waiter, slot)
            }
            return nil
        }
        guard let granted else { return }
        granted.waiter.give(.slot(granted.slot))
    }

    /// Connections that are open or being made, and those of them that are idle; for tests.
    var counts: (open: Int, idle: Int) {
        state.withLock { ($0.open, $0.lanes.values.reduce(0) { $0 + $1.idle.count }) }
    }

    /// Calls that wait; for tests.
    var waiting: Int { state.withLock { $0.waiters.count } }
}

// MARK: Idle time

extension ConnectionPool {
    /// Looks after the idle connections for as long as there are any; one task a pool, off every call's path.
    private func sweeper(on reactor: Reactor) -> Task<Void, Never> {
        Task.detached { [weak self] in
            while let next = self?.sweep() {
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
        let now = Deadline.now
        let (overdue, next) = state.withLock { state in
            var overdue: [Connection] = []
            var next: Deadline?
            for origin in state.lanes.keys {
                guard let idle = state.lanes[origin]?.idle, !idle.isEmpty else { continue }
                overdue += idle.filter { $0.idleUntil <= now }
                let rest = idle.filter { $0.idleUntil > now }
                state.lanes[origin]?.idle = rest
                next = rest.reduce(next) { min($0 ?? .distantFuture, $1.idleUntil) }
            }
            if next == nil { state.sweeper = nil }
            return (overdue, next)
        }
        // Dropped here, outside the lock.
        _ = consume overdue
        return next
    }
}

extension SocketExecutor.Configuration {
    /// Connections to one origin, at least one.
    fileprivate var openLimit: Int { max(1, connectionsPerOrigin) }
}
