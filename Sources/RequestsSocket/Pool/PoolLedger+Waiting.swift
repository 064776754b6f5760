/// A connection, or the right to establish one, that a ledger grants to a call.
package enum PoolGrant<Connection> {
    /// An idle connection.
    case connection(Connection)
    /// A place on a connection that other calls use, too.
    case place(Connection)
    case slot(SlotNumber)
}

/// A call that waits for a connection.
///
/// Only the ledger changes its variables.
// Unchecked, because the lock that guards the ledger guards them, and the compiler cannot see that.
package final class PoolWaiter<Origin: Sendable, Connection, Signal: Sendable>: @unchecked Sendable {
    package let origin: Origin
    /// Whether the call blocks a thread of the task pool, so that other tasks may be unable to run.
    package let occupiesTask: Bool
    /// Whether the call can share a connection that another call establishes.
    package let mayShare: Bool
    package let signal: Signal
    /// The grant that the call has not taken yet.
    package internal(set) var grant: PoolGrant<Connection>?
    /// Whether the call has waited so long that it may exceed the limits by one connection.
    package fileprivate(set) var mayExceed = false

    package init(for origin: Origin, occupiesTask: Bool, mayShare: Bool, _ signal: Signal) {
        self.origin = origin
        self.occupiesTask = occupiesTask
        self.mayShare = mayShare
        self.signal = signal
    }

    package var isWaiting: Bool { grant == nil }
}

extension PoolWaiter where Origin: Equatable {
    /// Returns whether the two calls can receive the same grants.
    func isLike(_ other: PoolWaiter?) -> Bool {
        guard let other else { return false }
        return mayShare == other.mayShare && origin == other.origin
    }
}

extension PoolLedger {
    package typealias Waiter = PoolWaiter<Origin, Connection, Signal>
    package typealias Grant = PoolGrant<Connection>

    package enum Claim {
        case granted(Grant)
        /// An idle connection to another origin; close it and claim again.
        case evicted(Connection)
        /// Nothing is available: the call waits.
        case full
    }

    package enum Return {
        /// The connection, or a place on it, was granted to this call; signal it.
        case granted(Waiter)
        case kept
        /// Other calls use the connection.
        case used
        /// The connection is not needed; close it.
        case refused
    }

    package var waiting: Int { queue.count }

    /// Takes an idle connection to `origin`, a place on a shared one, or the right to establish one.
    ///
    /// A call that may share does not establish a connection while another call does.
    package mutating func claim(_ origin: Origin, mayShare: Bool) -> Claim {
        if let grant = take(origin) { return .granted(grant) }
        if mayShare, gathers(origin) { return .full }
        if let slot = begin(origin, mayShare: mayShare) { return .granted(.slot(slot)) }
        guard allows(origin), let oldest = takeOldestIdle() else { return .full }
        return .evicted(oldest)
    }

    /// Claims for `waiter`, which joins the queue if nothing is available.
    package mutating func enter(_ waiter: Waiter) -> Claim {
        let claim = claim(waiter.origin, mayShare: waiter.mayShare)
        if case .full = claim {
            queue.append(waiter)
            makeRoom()
        }
        return claim
    }

    /// Takes the grant of `waiter`; nil if there is none yet.
    package mutating func takeUp(_ waiter: Waiter) -> Grant? {
        defer { waiter.grant = nil }
        return waiter.grant
    }

    /// Removes a call that no longer waits, and returns its grant, which the pool must give to another call.
    package mutating func withdraw(_ waiter: Waiter) -> Grant? {
        if waiter.isWaiting { leave(waiter) }
        return takeUp(waiter)
    }

    /// Gives `grant` to a call, which leaves the queue.
    mutating func give(_ grant: Grant, to waiter: Waiter) {
        waiter.grant = grant
        leave(waiter)
    }

    private mutating func leave(_ waiter: Waiter) {
        if let index = queue.firstIndex(where: { $0 === waiter }) { queue.remove(at: index) }
    }
}

// MARK: Returning connections

extension PoolLedger {
    /// Takes back an idle connection, or a place on a shared one.
    ///
    /// Grants it to the call that has waited longest for its origin, or keeps an idle connection if `keepsIdle`.
    package mutating func putBack(_ connection: Connection, keepsIdle: Bool = true) -> Return {
        // Nil for a connection that is not shared, the usual case.
        let used = connection.sharing.map { _ in leave(connection) }
        if used != nil, isRetired(connection) { return .refused }
        let isIdle = used ?? 0 == 0
        let isSurplus = isIdle && isSurplus(in: connection.slotNumber.lane)
        if !queue.isEmpty {
            if let next = firstWaiter(for: connection, isSurplus: isSurplus) {
                grant(connection, to: next)
                return .granted(next)
            }
            // A call for another origin can only continue in place of this connection.
            if isIdle, isFull, firstAllowed() != nil { return .refused }
        }
        if !isIdle { return .used }
        return keepsIdle && !isSurplus && keep(connection) ? .kept : .refused
    }

    /// Returns the first call in the queue that can use a connection; nil if the connection is full.
    private func firstWaiter(for connection: Connection, isSurplus: Bool) -> Waiter? {
        if let sharing = connection.sharing, sharing.used > 0, sharing.used >= sharing.places { return nil }
        let origin = lanes[connection.slotNumber.lane].origin
        return queue.first { (!isSurplus || $0.mayExceed) && $0.origin == origin }
    }

    private mutating func grant(_ connection: Connection, to waiter: Waiter) {
        switch connection.sharing?.used {
        case nil:
            connection.wasAlone = false
            give(.connection(connection), to: waiter)
        case 0:
            join(connection)
            give(.place(connection), to: waiter)
        default:
            connection.sharing?.used += 1
            give(.place(connection), to: waiter)
        }
    }
}

// MARK: Exceeding the limits

extension PoolLedger {
    /// Claims a connection for a call that has waited for a long time; it may exceed each limit by one.
    package mutating func exceed(for waiter: Waiter) -> Claim {
        waiter.mayExceed = true
        if let grant = waiter.grant { return .granted(grant) }
        guard open(to: waiter.origin) <= limits.perOrigin else { return .full }
        // If more connections are open than the total limit allows, none is idle.
        if isFull, let oldest = takeOldestIdle() { return .evicted(oldest) }
        guard let slot = begin(waiter.origin, exceedingBy: 1) else { return .full }
        give(.slot(slot), to: waiter)
        return .granted(.slot(slot))
    }
}
