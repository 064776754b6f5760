package import Requests

/// The part of a connection that a ledger uses.
package protocol PooledConnection: AnyObject {
    var slotNumber: SlotNumber { get }
    /// The instant at which the pool closes the connection unless it is used before.
    var idleUntil: Deadline { get }
    /// Whether this was the only connection of its origin in use when it was taken.
    var wasAlone: Bool { get set }
    /// The calls that use the connection at once; nil if it carries one call at a time.
    var sharing: PoolSharing? { get set }
}

/// The number of a slot: the right to one connection, which a ledger counts.
package struct SlotNumber: Hashable, Sendable {
    /// The index of the lane of the connection's origin.
    package let lane: Int
    /// A number that no other slot of the ledger has.
    package let number: Int

    package init(lane: Int, number: Int) {
        self.lane = lane
        self.number = number
    }
}

/// The places on a connection that carries several calls at once.
package struct PoolSharing: Sendable {
    /// The number of calls that have a place.
    ///
    /// It can be higher than ``places``, which the peer may lower at any time.
    package internal(set) var used: Int
    /// The number of calls that the peer allows at once.
    package internal(set) var places: Int
    /// The number of the change that has set ``places``.
    var change = 0
}

package struct PoolLimits: Sendable {
    /// The maximum number of connections in total, at least 1.
    package let total: Int
    /// The maximum number of connections to one origin, at least 1.
    package let perOrigin: Int
    /// The maximum number of idle connections to one origin, at least 0.
    package let idlePerOrigin: Int

    /// Creates limits; values below a minimum are raised to it.
    package init(total: Int, perOrigin: Int, idlePerOrigin: Int) {
        self.total = max(1, total)
        self.perOrigin = max(1, perOrigin)
        self.idlePerOrigin = max(0, idlePerOrigin)
    }
}

/// The bookkeeping of a pool: its open connections, the idle ones among them, and the calls that wait.
///
/// It has no lock, clock or socket and is generic, so that a test can compare it with a model. Every origin has a lane
/// while a connection to it is open. Slots have the index of their lane, so only a new request has to look up its
/// origin.
package struct PoolLedger<Origin: Hashable & Sendable, Connection: PooledConnection, Signal: Sendable> {
    struct Lane {
        var origin: Origin
        /// The number of open connections.
        ///
        /// A lane with zero is vacant, and its origin has no meaning.
        var open = 0
        /// The idle connections, in the order in which they became idle; the last one is used first.
        var idle: [Connection] = []
        /// The shared connections that are in use and accept further calls.
        ///
        /// Shared connections without calls are idle.
        var shared: [Connection] = []
        /// The number of calls that the peer has last allowed at once on a connection; nil if it has not allowed any.
        var places: Int?
    }

    let limits: PoolLimits
    var lanes: [Lane] = []
    private var lanesByOrigin: [Origin: Int] = [:]
    private var vacantLanes: [Int] = []
    private var slots = 0
    /// The lane that was looked up last; it is usually needed next.
    private var recent = 0
    /// The calls that wait, in the order of their arrival; a call leaves the queue when it receives its grant.
    var queue: [Waiter] = []
    /// The origins whose calls wait for a pioneer, or no longer do; see ``Gathering``.
    var gatherings: [Origin: Gathering] = [:]
    /// The slots of shared connections that accept no further calls.
    var retired: Set<Int> = []
    package var closingPeers = ClosingPeers<Origin>()
    package var http10Peers = HTTP10Peers<Origin>()
    package var http1Peers = HTTP1Peers<Origin>()

    /// The number of connections that are open or being established.
    package private(set) var open = 0

    package init(_ limits: PoolLimits) {
        self.limits = limits
    }
}

// MARK: Counts

extension PoolLedger {
    package var isFull: Bool { open >= limits.total }

    package var idle: Int { lanes.reduce(0) { $0 + $1.idle.count } }

    package func open(to origin: Origin) -> Int { lanesByOrigin[origin].map { lanes[$0].open } ?? 0 }

    package func idle(to origin: Origin) -> Int { lanesByOrigin[origin].map { lanes[$0].idle.count } ?? 0 }

    /// Returns whether the limit for one origin allows another connection to `origin`.
    package func allows(_ origin: Origin) -> Bool { open(to: origin) < limits.perOrigin }

    /// Returns the lane of `origin`; nil if no connection to it is open.
    package func lane(of origin: Origin) -> Int? { lanesByOrigin[origin] }

    /// Returns whether the connections of `lane` exceed a limit.
    func isSurplus(in lane: Int) -> Bool { lanes[lane].open > limits.perOrigin || open > limits.total }
}

// MARK: Opening and closing

extension PoolLedger {
    /// Counts a connection that will be established, and returns its slot; nil if a limit forbids it.
    ///
    /// Each limit may be exceeded by `excess`.
    mutating func begin(_ origin: Origin, exceedingBy excess: Int = 0) -> SlotNumber? {
        guard open < limits.total + excess, open(to: origin) < limits.perOrigin + excess else { return nil }
        let lane = makeLane(for: origin)
        lanes[lane].open += 1
        open += 1
        slots += 1
        return SlotNumber(lane: lane, number: slots)
    }

    private mutating func makeLane(for origin: Origin) -> Int {
        if let lane = lanesByOrigin[origin] { return lane }
        let lane = vacantLanes.popLast() ?? lanes.count
        if lane == lanes.count { lanes.append(Lane(origin: origin)) } else { lanes[lane] = Lane(origin: origin) }
        lanesByOrigin[origin] = lane
        return lane
    }

    /// Removes a connection that has closed, or was never established, from the count.
    mutating func close(in lane: Int) {
        open -= 1
        lanes[lane].open -= 1
        guard lanes[lane].open == 0 else { return }
        lanesByOrigin[lanes[lane].origin] = nil
        vacantLanes.append(lane)
    }
}

// MARK: Idle connections

extension PoolLedger {
    /// Takes a place on a shared connection in use, or else the connection to `origin` that became idle last.
    package mutating func take(_ origin: Origin) -> Grant? {
        // A vacant lane keeps its former origin, so a match counts only with an open connection.
        if recent >= lanes.count || lanes[recent].open == 0 || lanes[recent].origin != origin {
            guard let lane = lanesByOrigin[origin] else { return nil }
            recent = lane
        }
        if let connection = joinShared(in: recent) { return .place(connection) }
        guard let connection = lanes[recent].idle.popLast() else { return nil }
        recordUse(of: connection)
        if connection.sharing != nil { join(connection) }
        return .connection(connection)
    }

    /// Records whether a connection that was taken or established is its origin's only one in use.
    func recordUse(of connection: Connection) {
        let lane = connection.slotNumber.lane
        connection.wasAlone = lanes[lane].open == lanes[lane].idle.count + 1
    }

    /// Keeps an idle connection; returns false if its origin has as many as the limit allows.
    mutating func keep(_ connection: Connection) -> Bool {
        let lane = connection.slotNumber.lane
        guard lanes[lane].idle.count < limits.idlePerOrigin else { return false }
        lanes[lane].idle.append(connection)
        return true
    }

    /// Takes the oldest idle connection of the lane in which one is due first.
    mutating func takeOldestIdle() -> Connection? {
        let oldest = lanes.lazy.compactMap(\.idle.first).min { $0.idleUntil < $1.idleUntil }
        guard let oldest else { return nil }
        return lanes[oldest.slotNumber.lane].idle.removeFirst()
    }

    package mutating func takeIdle() -> [Connection] {
        lanes.indices.flatMap { lane in
            defer { lanes[lane].idle = [] }
            // The caller may put one back, which ends one use.
            for connection in lanes[lane].idle { connection.sharing?.used = 1 }
            return lanes[lane].idle
        }
    }

    /// Takes all idle connections and the shared ones in use; from then on, only their calls refer to the shared ones.
    package mutating func takeAll() -> [Connection] {
        let shared = sharedInUse
        for lane in lanes.indices { lanes[lane].shared = [] }
        return takeIdle() + shared
    }

    /// Takes the idle connections that are overdue at `now`, and returns when the next one is due.
    package mutating func takeOverdue(at now: Deadline) -> (overdue: [Connection], next: Deadline?) {
        var overdue: [Connection] = []
        var next: Deadline?
        for lane in lanes.indices where !lanes[lane].idle.isEmpty {
            overdue += lanes[lane].idle.filter { $0.idleUntil <= now }
            lanes[lane].idle.removeAll { $0.idleUntil <= now }
            for connection in lanes[lane].idle { next = min(next ?? .distantFuture, connection.idleUntil) }
        }
        return (overdue, next)
    }
}
