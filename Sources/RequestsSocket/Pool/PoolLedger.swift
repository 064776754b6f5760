package import Requests

/// The part of a connection that a ledger uses.
package protocol PooledConnection: AnyObject {
    /// The index of the connection's lane in the ledger.
    var place: Int { get }
    /// The instant at which the pool closes the connection unless it is used before.
    var idleUntil: Deadline { get }
    /// Whether this was the only connection of its origin in use when it was taken.
    var wasAlone: Bool { get set }
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
/// while a connection to it is open. Connections store the index of their lane, so only a new request has to look up
/// its origin.
package struct PoolLedger<Origin: Hashable & Sendable, Connection: PooledConnection, Signal: Sendable> {
    struct Lane {
        var origin: Origin
        /// The number of open connections.
        ///
        /// A lane with zero is vacant, and its origin has no meaning.
        var open = 0
        /// The idle connections, in the order in which they became idle; the last one is used first.
        var idle: [Connection] = []
    }

    let limits: PoolLimits
    private(set) var lanes: [Lane] = []
    private var places: [Origin: Int] = [:]
    private var vacantPlaces: [Int] = []
    /// The lane that was looked up last; it is usually needed next.
    private var recent = 0
    /// The calls that wait, in the order of their arrival; a call stays until it takes its grant.
    var queue: [Waiter] = []
    /// The peers that close their connections after each response.
    package var closingPeers = ClosingPeers<Origin>()
    /// The peers that have responded with HTTP/1.0.
    package var http10Peers = HTTP10Peers<Origin>()

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

    package func open(to origin: Origin) -> Int { places[origin].map { lanes[$0].open } ?? 0 }

    package func idle(to origin: Origin) -> Int { places[origin].map { lanes[$0].idle.count } ?? 0 }

    /// Returns whether the limit for one origin allows another connection to `origin`.
    package func allows(_ origin: Origin) -> Bool { open(to: origin) < limits.perOrigin }

    /// Returns the lane of `origin`; nil if no connection to it is open.
    package func place(of origin: Origin) -> Int? { places[origin] }

    /// Returns whether the connections at `place` exceed a limit.
    func isSurplus(at place: Int) -> Bool { lanes[place].open > limits.perOrigin || open > limits.total }
}

// MARK: Opening and closing

extension PoolLedger {
    /// Counts a connection that will be established, and returns its lane; nil if a limit forbids it.
    ///
    /// Each limit may be exceeded by `excess`.
    mutating func begin(_ origin: Origin, exceedingBy excess: Int = 0) -> Int? {
        guard open < limits.total + excess, open(to: origin) < limits.perOrigin + excess else { return nil }
        let place = makePlace(for: origin)
        lanes[place].open += 1
        open += 1
        return place
    }

    private mutating func makePlace(for origin: Origin) -> Int {
        if let place = places[origin] { return place }
        let place = vacantPlaces.popLast() ?? lanes.count
        if place == lanes.count { lanes.append(Lane(origin: origin)) } else { lanes[place].origin = origin }
        places[origin] = place
        return place
    }

    /// Removes a connection that has closed, or was never established, from the count.
    mutating func close(at place: Int) {
        open -= 1
        lanes[place].open -= 1
        guard lanes[place].open == 0 else { return }
        places[lanes[place].origin] = nil
        vacantPlaces.append(place)
    }
}

// MARK: Idle connections

extension PoolLedger {
    /// Takes the connection to `origin` that became idle last.
    package mutating func takeIdle(_ origin: Origin) -> Connection? {
        // A vacant lane keeps its former origin, so a match counts only with an open connection.
        if recent >= lanes.count || lanes[recent].open == 0 || lanes[recent].origin != origin {
            guard let place = places[origin] else { return nil }
            recent = place
        }
        guard let connection = lanes[recent].idle.popLast() else { return nil }
        recordUse(of: connection)
        return connection
    }

    /// Records whether a connection that was taken or established is its origin's only one in use.
    package func recordUse(of connection: Connection) {
        let lane = lanes[connection.place]
        connection.wasAlone = lane.open == lane.idle.count + 1
    }

    /// Keeps an idle connection; returns false if its origin has as many as the limit allows.
    mutating func keep(_ connection: Connection) -> Bool {
        let place = connection.place
        guard lanes[place].idle.count < limits.idlePerOrigin else { return false }
        lanes[place].idle.append(connection)
        return true
    }

    /// Takes the oldest idle connection of the lane in which one is due first.
    mutating func takeOldestIdle() -> Connection? {
        let oldest = lanes.lazy.compactMap(\.idle.first).min { $0.idleUntil < $1.idleUntil }
        guard let oldest else { return nil }
        return lanes[oldest.place].idle.removeFirst()
    }

    package mutating func takeIdle() -> [Connection] {
        lanes.indices.flatMap { place in
            defer { lanes[place].idle = [] }
            return lanes[place].idle
        }
    }

    /// Takes the idle connections that are overdue at `now`, and returns when the next one is due.
    package mutating func takeOverdue(at now: Deadline) -> (overdue: [Connection], next: Deadline?) {
        var overdue: [Connection] = []
        var next: Deadline?
        for place in lanes.indices where !lanes[place].idle.isEmpty {
            overdue += lanes[place].idle.filter { $0.idleUntil <= now }
            lanes[place].idle.removeAll { $0.idleUntil <= now }
            for connection in lanes[place].idle { next = min(next ?? .distantFuture, connection.idleUntil) }
        }
        return (overdue, next)
    }
}
