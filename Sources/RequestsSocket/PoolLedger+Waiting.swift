/// What a call receives from the ledger of a pool.
package enum PoolGrant<Connection> {
    /// A connection that was idle.
    case connection(Connection)
    /// The right to establish a connection in this lane.
    case place(Int)
}

/// A call that waits for a connection.
///
/// Its variables belong to the ledger, and the lock that guards the ledger guards them.
package final class PoolWaiter<Origin: Sendable, Connection, Signal: Sendable>: @unchecked Sendable {
    package let origin: Origin
    /// Whether the call runs on a thread that is blocked for it, and so needs no other thread to continue.
    package let isBlocking: Bool
    /// Resumes the call.
    package let signal: Signal
    /// What the call was granted and has not taken yet.
    package fileprivate(set) var grant: PoolGrant<Connection>?
    /// The number of that grant.
    fileprivate var number = 0
    /// Whether a grant was taken away from it, since it has not run to take it: it claims again once it runs.
    fileprivate var isLate = false
    /// Whether it has found that a call which holds a connection is not being run.
    package var mayExceed = false

    package init(for origin: Origin, isBlocking: Bool, _ signal: Signal) {
        self.origin = origin
        self.isBlocking = isBlocking
        self.signal = signal
    }

    /// Whether it can be granted something.
    package var isWaiting: Bool { grant == nil && !isLate }
}

extension PoolLedger {
    package typealias Waiter = PoolWaiter<Origin, Connection, Signal>

    /// The result of asking for a connection.
    package enum Claim {
        case granted(PoolGrant<Connection>)
        /// An idle connection to another origin that has to make room: close it, then claim again.
        case evicted(Connection)
        case full
    }

    /// What happened to a connection that came back.
    package enum Return {
        /// The call that it was granted to has to be signalled.
        case granted(Waiter)
        case kept
        /// There is no use for it: close it.
        case refused
    }

    /// Calls that wait.
    package var waiting: Int { queue.count }

    /// Takes an idle connection to `origin`, or the right to establish one.
    package mutating func claim(_ origin: Origin) -> Claim {
        if let connection = takeIdle(origin) { return .granted(.connection(connection)) }
        if let place = begin(origin) { return .granted(.place(place)) }
        guard allows(origin), let oldest = takeOldestIdle() else { return .full }
        return .evicted(oldest)
    }

    /// Claims for `waiter`, which joins the queue when there is nothing for it.
    package mutating func enter(_ waiter: Waiter) -> Claim {
        let claim = claim(waiter.origin)
        if case .full = claim { queue.append(waiter) }
        return claim
    }

    /// Takes what `waiter` was granted; when that was taken away from it, claims again, and it keeps its turn.
    package mutating func takeUp(_ waiter: Waiter) -> Claim {
        waiter.isLate = false
        let claim = waiter.grant.map { .granted($0) } ?? claim(waiter.origin)
        if case .granted = claim { leave(waiter) }
        return claim
    }

    /// Removes a call that waits no longer; what it was granted has to be given back.
    package mutating func withdraw(_ waiter: Waiter) -> PoolGrant<Connection>? {
        defer { leave(waiter) }
        return waiter.grant
    }

    private mutating func leave(_ waiter: Waiter) {
        waiter.grant = nil
        if let index = queue.firstIndex(where: { $0 === waiter }) { queue.remove(at: index) }
    }

    private mutating func give(_ grant: PoolGrant<Connection>, to waiter: Waiter) {
        grants += 1
        waiter.number = grants
        waiter.grant = grant
    }
}

// MARK: Giving back

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
                give(.connection(connection), to: next)
                return .granted(next)
            }
            // A call for another origin can only continue in its place.
            if isFull, firstAllowed() != nil { return .refused }
        }
        return !isSurplus && keep(connection) ? .kept : .refused
    }

    /// Counts out the connection at `place`; returns the call that may establish another one, which has to be signalled.
    package mutating func end(at place: Int) -> Waiter? {
        close(at: place)
        guard !isFull, let next = firstAllowed(), let place = begin(next.origin) else { return nil }
        give(.place(place), to: next)
        return next
    }

    /// The call that has waited longest of those which the limit of their origin allows another connection.
    private func firstAllowed() -> Waiter? {
        var refused: Origin?
        for waiter in queue where waiter.isWaiting && waiter.origin != refused {
            if allows(waiter.origin) { return waiter }
            refused = waiter.origin
        }
        return nil
    }
}

// MARK: Calls that are not being run

extension PoolLedger {
    /// The number of the oldest grant that a call which needs a thread has not taken; nil when there is none.
    package var oldestUntaken: Int? {
        queue.lazy.filter { !$0.isBlocking && $0.grant != nil }.map(\.number).min()
    }

    /// Takes a grant to `origin`, made as number `limit` or before, away from a call that has not taken it, and grants it
    /// to the blocked thread that has waited longest, which has to be signalled.
    ///
    /// The other call keeps its turn.
    package mutating func takeOver(_ origin: Origin, upTo limit: Int) -> Waiter? {
        let late = queue.first {
            !$0.isBlocking && $0.number <= limit && $0.grant != nil && $0.origin == origin
        }
        guard let late, let grant = late.grant,
            let next = queue.first(where: { $0.isBlocking && $0.isWaiting && $0.origin == origin })
        else { return nil }
        late.grant = nil
        late.isLate = true
        give(grant, to: next)
        return next
    }

    /// Claims a connection beyond the limits for `waiter`, each of which can be exceeded by one.
    package mutating func exceed(for waiter: Waiter) -> Claim {
        if let grant = waiter.grant { return .granted(grant) }
        guard open(to: waiter.origin) <= limits.perOrigin else { return .full }
        // No connection is idle while more are open than the total limit allows.
        if isFull, let oldest = takeOldestIdle() { return .evicted(oldest) }
        guard let place = begin(waiter.origin, exceedingBy: 1) else { return .full }
        give(.place(place), to: waiter)
        return .granted(.place(place))
    }
}
