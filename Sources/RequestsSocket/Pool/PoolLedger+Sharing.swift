package import Requests

/// The result of an event in a ledger: calls to signal, and idle connections to close.
package struct PoolGrants<Waiter, Connection> {
    /// The calls that have received a grant; signal them.
    package fileprivate(set) var waiters: [Waiter] = []
    /// The idle connections to other origins that make room for waiting calls; close them.
    package fileprivate(set) var evicted: [Connection] = []
}

extension PoolLedger {
    package typealias Grants = PoolGrants<Waiter, Connection>

    /// The minimum time between two additional connections beside a pioneer, in nanoseconds: 500 ms.
    package static var extraInterval: Int64 { 500_000_000 }

    package var gatheringOrigins: Int { gatherings.count }

    /// Returns whether calls to `origin` wait for a connection that is being established.
    func gathers(_ origin: Origin) -> Bool {
        if case .pioneer = gatherings[origin] { true } else { false }
    }

    /// Returns whether a call in the queue waits for a connection that it could share, while none to its origin is
    /// established.
    ///
    /// Returns false if a connection to any origin is retired, because that one may lead to the origin of the call.
    package func awaitsFirstConnection(_ waiter: Waiter) -> Bool {
        guard waiter.mayShare, waiter.isWaiting, retired.isEmpty else { return false }
        return lane(of: waiter.origin).map { lanes[$0].shared.isEmpty } ?? false
    }

    private func isPioneer(_ number: Int, of origin: Origin) -> Bool {
        if case .pioneer(number, _) = gatherings[origin] { true } else { false }
    }

    /// Counts a connection that a call to `origin` will establish; see ``begin(_:exceedingBy:)``.
    ///
    /// It becomes the pioneer if the call may share it, and calls may wait for it.
    mutating func begin(_ origin: Origin, mayShare: Bool) -> SlotNumber? {
        guard let slot = begin(origin) else { return nil }
        if mayShare, gatherings[origin] == nil {
            gatherings[origin] = .pioneer(slot.number, nextExtra: Deadline(nanoseconds: .min))
        }
        return slot
    }
}

// MARK: Places

extension PoolLedger {
    /// Takes a place on a shared connection in use; returns nil if there is none.
    mutating func joinShared(in lane: Int) -> Connection? {
        // A lane without shared connections, the usual case, ends here.
        if lanes[lane].shared.isEmpty { return nil }
        guard let connection = lanes[lane].shared.first(where: \.hasPlace) else { return nil }
        connection.sharing?.used += 1
        return connection
    }

    /// Takes the first place on a shared connection that no call uses.
    mutating func join(_ connection: Connection) {
        connection.sharing?.used = 1
        lanes[connection.slotNumber.lane].shared.append(connection)
    }

    /// Takes back the place of a call, and returns the number of remaining calls.
    mutating func leave(_ connection: Connection) -> Int {
        connection.sharing?.used -= 1
        let used = connection.sharing?.used ?? 0
        if used == 0 { removeShared(connection) }
        return used
    }

    private mutating func removeShared(_ connection: Connection) {
        lanes[connection.slotNumber.lane].shared.removeAll { $0 === connection }
    }

    /// Returns whether a shared connection accepts no further calls.
    package func isRetired(_ connection: Connection) -> Bool {
        !retired.isEmpty && retired.contains(connection.slotNumber.number)
    }

    /// Returns the shared connection in `slot` that accepts calls, in use or idle.
    package func sharedConnection(in slot: SlotNumber) -> Connection? {
        let isHere = { (connection: Connection) in connection.slotNumber == slot && connection.sharing != nil }
        return lanes[slot.lane].shared.first(where: isHere) ?? lanes[slot.lane].idle.first(where: isHere)
    }

    /// Returns the number of calls that the peer of `slot` has last allowed at once on a connection; nil if it has not.
    package func lastPlaces(in slot: SlotNumber) -> Int? { lanes[slot.lane].places }

    /// The shared connections that are in use and accept calls.
    package var sharedInUse: [Connection] { lanes.flatMap(\.shared) }
}

extension PooledConnection {
    fileprivate var hasPlace: Bool { sharing.map { $0.used < $0.places } ?? false }
}

// MARK: Events

extension PoolLedger {
    /// Shares a connection that a call has just established, with a place for this call.
    package mutating func share(_ connection: Connection, places: Int) -> Grants {
        guard connection.sharing == nil else { return Grants() }
        recordUse(of: connection)
        connection.sharing = PoolSharing(used: 1, places: places)
        let lane = connection.slotNumber.lane
        lanes[lane].shared.append(connection)
        let origin = lanes[lane].origin
        // While the pioneer is still being established, calls continue to wait for it.
        if !gathers(origin) || isPioneer(connection.slotNumber.number, of: origin) { gatherings[origin] = nil }
        return serve()
    }

    /// Records that a connection that a call has just established carries one call at a time.
    package mutating func recordExclusive(_ connection: Connection) -> Grants {
        recordUse(of: connection)
        if gatherings.isEmpty { return Grants() }
        let origin = lanes[connection.slotNumber.lane].origin
        guard gathers(origin) else { return Grants() }
        gatherings[origin] = .off
        return serve()
    }

    /// Records the number of calls that the peer of the shared connection in `slot` allows at once, possibly zero.
    ///
    /// A change with a lower number than the last one has no effect.
    package mutating func setPlaces(in slot: SlotNumber, to count: Int, change: Int) -> Grants {
        guard let connection = sharedConnection(in: slot), let last = connection.sharing?.change, last < change else {
            return Grants()
        }
        connection.sharing?.places = count
        connection.sharing?.change = change
        if count > 0 { lanes[slot.lane].places = count }
        return serve()
    }

    /// Stops granting places on a shared connection, which remains open until its calls have ended.
    ///
    /// Has no effect on another connection, or one that is retired already.
    package mutating func retire(_ connection: Connection) {
        guard connection.sharing != nil, retired.insert(connection.slotNumber.number).inserted else { return }
        removeShared(connection)
        lanes[connection.slotNumber.lane].idle.removeAll { $0 === connection }
    }

    /// Records that the call that establishes a connection in `slot` was cancelled; call it before the slot is vacated.
    ///
    /// If the connection is a pioneer, one of the calls that wait for it establishes the next one, because a
    /// cancellation says nothing about the peer.
    package mutating func recordCancellation(in slot: SlotNumber) -> Grants {
        let origin = lanes[slot.lane].origin
        guard isPioneer(slot.number, of: origin) else { return Grants() }
        gatherings[origin] = nil
        return serve()
    }

    /// Removes a connection that has closed, or was never established, from the count.
    ///
    /// If it was a pioneer, all calls that wait for it establish connections themselves, as far as the limits allow.
    package mutating func end(_ slot: SlotNumber) -> Grants {
        if !retired.isEmpty { retired.remove(slot.number) }
        let origin = lanes[slot.lane].origin
        let wasPioneer = !gatherings.isEmpty && isPioneer(slot.number, of: origin)
        close(in: slot.lane)
        var grants = Grants()
        if wasPioneer {
            gatherings[origin] = .off
            grants = serve()
        } else if !isFull, let next = firstAllowed(), let slot = begin(next.origin, mayShare: next.mayShare) {
            give(.slot(slot), to: next)
            grants.waiters.append(next)
        }
        if !gatherings.isEmpty, open(to: origin) == 0 { gatherings[origin] = nil }
        makeRoom()
        return grants
    }

    /// Claims an additional connection for a call that has waited for the pioneer for a long time, unless another call
    /// has received one within ``extraInterval``.
    package mutating func hurry(_ waiter: Waiter, at now: Deadline) -> Claim {
        if let grant = waiter.grant { return .granted(grant) }
        let origin = waiter.origin
        guard waiter.mayShare, case .pioneer(let number, let nextExtra) = gatherings[origin], nextExtra <= now,
            allows(origin)
        else { return .full }
        if isFull, let oldest = takeOldestIdle() { return .evicted(oldest) }
        guard let slot = begin(origin) else { return .full }
        gatherings[origin] = .pioneer(number, nextExtra: now.advanced(byNanoseconds: Self.extraInterval))
        give(.slot(slot), to: waiter)
        return .granted(.slot(slot))
    }
}

// MARK: Serving the queue

extension PoolLedger {
    /// Grants all that is available to the waiting calls, in their order.
    private mutating func serve() -> Grants {
        var grants = Grants()
        // The origins for which connections are evicted; each eviction will grant a slot.
        var evictions: [Origin: Int] = [:]
        var refused: Waiter?
        for waiter in queue where !waiter.isLike(refused) {
            let origin = waiter.origin
            if let lane = lane(of: origin), let connection = joinShared(in: lane) {
                waiter.grant = .place(connection)
                grants.waiters.append(waiter)
                continue
            }
            guard canBegin(waiter, beside: evictions[origin] ?? 0) else {
                refused = waiter
                continue
            }
            if let slot = begin(origin, mayShare: waiter.mayShare) {
                waiter.grant = .slot(slot)
                grants.waiters.append(waiter)
            } else if let oldest = takeOldestIdle() {
                grants.evicted.append(oldest)
                evictions[origin, default: 0] += 1
            } else {
                refused = waiter
            }
        }
        if !grants.waiters.isEmpty { queue.removeAll { !$0.isWaiting } }
        makeRoom()
        return grants
    }

    /// Returns whether the pioneer and the limit of its origin allow `waiter` to establish a connection, in addition to
    /// `others` that will take the slots of evicted connections.
    private func canBegin(_ waiter: Waiter, beside others: Int) -> Bool {
        if waiter.mayShare, gathers(waiter.origin) || others > 0 && gatherings[waiter.origin] == nil { return false }
        return open(to: waiter.origin) + others < limits.perOrigin
    }

    /// Returns the first call in the queue that may establish a connection if the total limit is disregarded.
    func firstAllowed() -> Waiter? {
        var refused: Waiter?
        for waiter in queue where !waiter.isLike(refused) {
            if canBegin(waiter, beside: 0) { return waiter }
            refused = waiter
        }
        return nil
    }

    /// Retires a shared connection if the pool is full and a call waits whose origin has no connection.
    ///
    /// New calls would otherwise keep the connection in use forever.
    mutating func makeRoom() {
        guard isFull, retired.isEmpty else { return }
        guard queue.contains(where: { lane(of: $0.origin) == nil }) else { return }
        let candidates = lanes.lazy.flatMap(\.shared)
        let least = candidates.min { ($0.sharing?.used ?? 0) < ($1.sharing?.used ?? 0) }
        if let least { retire(least) }
    }
}
