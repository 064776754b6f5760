/// A connection, or the right to establish one, that a ledger grants to a call.
package enum PoolGrant<Connection> {
    /// An idle connection.
    case connection(Connection)
    /// The right to establish a connection in this lane.
    case place(Int)
}

/// A call that waits for a connection.
///
/// Its variables belong to the ledger.
// Unchecked, because the lock that guards the ledger guards them, and the compiler cannot see that.
package final class PoolWaiter<Origin: Sendable, Connection, Signal: Sendable>: @unchecked Sendable {
    package let origin: Origin
    /// Whether the call blocks a thread of the task pool, so that other tasks may be unable to run.
    package let occupiesTask: Bool
    /// The signal that resumes the call.
    package let signal: Signal
    /// The grant that the call has not taken yet.
    package fileprivate(set) var grant: PoolGrant<Connection>?
    /// Whether the call has waited so long that it may exceed the limits by one connection.
    package fileprivate(set) var mayExceed = false

    package init(for origin: Origin, occupiesTask: Bool, _ signal: Signal) {
        self.origin = origin
        self.occupiesTask = occupiesTask
        self.signal = signal
    }

    package var isWaiting: Bool { grant == nil }
}

extension PoolLedger {
    package typealias Waiter = PoolWaiter<Origin, Connection, Signal>

    package enum Claim {
        case granted(PoolGrant<Connection>)
        /// An idle connection to another origin; close it and claim again.
        case evicted(Connection)
        case full
    }

    package enum Return {
        /// The connection was granted to this call; signal it.
        case granted(Waiter)
        case kept
        /// The connection is not needed; close it.
        case refused
    }

    package var waiting: Int { queue.count }

    /// Takes an idle connection to `origin`, or the right to establish one.
    package mutating func claim(_ origin: Origin) -> Claim {
        if let connection = takeIdle(origin) { return .granted(.connection(connection)) }
        if let place = begin(origin) { return .granted(.place(place)) }
        guard allows(origin), let oldest = takeOldestIdle() else { return .full }
        return .evicted(oldest)
    }

    /// Claims for `waiter`, which joins the queue if nothing is available.
    package mutating func enter(_ waiter: Waiter) -> Claim {
        let claim = claim(waiter.origin)
        if case .full = claim { queue.append(waiter) }
        return claim
    }

    /// Takes the grant of `waiter`, which then leaves the queue; nil if there is none yet.
    package mutating func takeUp(_ waiter: Waiter) -> PoolGrant<Connection>? {
        guard let grant = waiter.grant else { return nil }
        leave(waiter)
        return grant
    }

    /// Removes a call that no longer waits, and returns its grant, which the pool must give to another call.
    package mutating func withdraw(_ waiter: Waiter) -> PoolGrant<Connection>? {
        defer { leave(waiter) }
        return waiter.grant
    }

    private mutating func leave(_ waiter: Waiter) {
        waiter.grant = nil
        if let index = queue.firstIndex(where: { $0 === waiter }) { queue.remove(at: index) }
    }
}

// MARK: Returning connections

extension PoolLedger {
    /// Grants a connection that is idle again to the call that has waited longest for its origin, or keeps it.
    package mutating func putBack(_ connection: Connection) -> Return {
        let place = connection.place
        let isSurplus = isSurplus(at: place)
        if !queue.isEmpty {
            let origin = lanes[place].origin
            let next = queue.first {
                $0.isWaiting && (!isSurplus || $0.mayExceed) && $0.origin == origin
            }
            if let next {
                connection.wasAlone = false
                next.grant = .connection(connection)
                return .granted(next)
            }
            // A call for another origin can only continue in place of this connection.
            if isFull, firstAllowed() != nil { return .refused }
        }
        return !isSurplus && keep(connection) ? .kept : .refused
    }

    /// Removes a connection from the count.
    ///
    /// Returns the call that may establish another one, which must be signalled.
    package mutating func end(at place: Int) -> Waiter? {
        close(at: place)
        guard !isFull, let next = firstAllowed(), let place = begin(next.origin) else { return nil }
        next.grant = .place(place)
        return next
    }

    /// Returns the first call in the queue whose origin may have another connection.
    private func firstAllowed() -> Waiter? {
        var refused: Origin?
        for waiter in queue where waiter.isWaiting && waiter.origin != refused {
            if allows(waiter.origin) { return waiter }
            refused = waiter.origin
        }
        return nil
    }
}

// MARK: Exceeding the limits

extension PoolLedger {
    /// Claims a connection for a call that has waited for long; it may exceed each limit by one.
    package mutating func exceed(for waiter: Waiter) -> Claim {
        waiter.mayExceed = true
        if let grant = waiter.grant { return .granted(grant) }
        guard open(to: waiter.origin) <= limits.perOrigin else { return .full }
        // If more connections are open than the total limit allows, none is idle.
        if isFull, let oldest = takeOldestIdle() { return .evicted(oldest) }
        guard let place = begin(waiter.origin, exceedingBy: 1) else { return .full }
        waiter.grant = .place(place)
        return .granted(.place(place))
    }
}
