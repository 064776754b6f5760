@_spi(Lock) import Requests
import RequestsPOSIX

extension ConnectionPool {
    /// The maximum number of calls on a shared connection whose peer has not announced how many it allows.
    ///
    /// If another connection to the origin allows fewer, this one probably does, too.
    private static let initialPlaces = 100

    /// Returns whether a call to `origin` can share a connection that another call establishes.
    func mayShare(_ origin: Origin) -> Bool {
        switch version(for: origin) {
        case .http1, .http1Only: false
        case .http2: true
        case .negotiated: state.withLock { $0.ledger.http1Peers.reason(for: origin) } == nil
        }
    }

    func awaitsFirstConnection(_ waiter: Ledger.Waiter) -> Bool {
        if isInherited { return false }
        return mayShare(waiter.origin) && state.withLock { $0.ledger.awaitsFirstConnection(waiter) }
    }

    /// Records that a call has established a connection, for which other calls may be waiting.
    func recordUse(of connection: Connection) {
        if isInherited { return }
        let origin = connection.slot.origin
        let negotiates = negotiates(origin)
        let grants = state.withLock { state in
            switch connection.http2 {
            case _ where !negotiates: break
            case nil: state.ledger.http1Peers.record(origin, .selected)
            default: state.ledger.http1Peers.forget(origin)
            }
            guard connection.isShared else { return state.ledger.recordExclusive(connection) }
            let last = state.ledger.lastPlaces(in: connection.slotNumber) ?? Self.initialPlaces
            return state.ledger.share(connection, places: min(last, Self.initialPlaces))
        }
        resume(grants)
    }

    func recordCancellation(in slot: SlotNumber) {
        if isInherited { return }
        let grants = state.withLock { $0.ledger.recordCancellation(in: slot) }
        resume(grants)
    }

    /// Stops granting places on a shared connection that is draining, failed or outdated.
    func retire(_ connection: Connection) {
        state.withLock { $0.ledger.retire(connection) }
    }

    /// Signals the calls that have received grants; the caller releases the evicted connections.
    func resume(_ grants: borrowing Ledger.Grants) {
        for waiter in grants.waiters { waiter.signal.signal() }
    }

    func returnPlace(in slot: SlotNumber) {
        if isInherited { return }
        // Released outside the lock.
        let (waiter, connection) = state.withLock { state in
            let connection = state.ledger.sharedConnection(in: slot)
            return (connection.flatMap { putBack($0, in: &state) }, connection)
        }
        _ = consume connection
        waiter?.signal.signal()
    }

    func setPlaces(in slot: SlotNumber, to count: Int, change: Int) {
        if isInherited { return }
        let grants = state.withLock { $0.ledger.setPlaces(in: slot, to: count, change: change) }
        resume(grants)
    }

    func retire(_ slot: SlotNumber) {
        if isInherited { return }
        // Released outside the lock.
        let connection = state.withLock { state in
            let connection = state.ledger.sharedConnection(in: slot)
            if let connection { state.ledger.retire(connection) }
            return connection
        }
        _ = consume connection
    }
}
