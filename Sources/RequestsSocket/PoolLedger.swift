import RequestsPOSIX

/// The pool's books: how many connections are open to whom, and which of them are idle.
///
/// A value without lock or clock. Every origin has a lane for as long as something is open to it; a lane is known by its
/// place, so that only the arrival of a request has to look an origin up.
struct PoolLedger {
    private struct Lane {
        var origin: Origin
        var open = 0
        /// In the order they became idle; the last is used first.
        var idle: [Connection] = []
    }

    private let limit: Int
    private let limitPerOrigin: Int
    private let idleLimitPerOrigin: Int
    private var places: [Origin: Int] = [:]
    private var lanes: [Lane] = []
    private var vacantPlaces: [Int] = []
    /// Of the lane asked for last, which most often is the one asked for next.
    private var recent = 0

    /// Connections that are open or being made.
    private(set) var open = 0

    init(_ configuration: SocketExecutor.Configuration) {
        limit = max(1, configuration.connections)
        limitPerOrigin = max(1, configuration.connectionsPerOrigin)
        idleLimitPerOrigin = max(0, configuration.idleConnectionsPerOrigin)
    }

    /// Whether all connections there may be are open.
    var isFull: Bool { open >= limit }

    /// Connections that are idle.
    var idle: Int { lanes.reduce(0) { $0 + $1.idle.count } }

    /// Whether another connection to `origin` is allowed as far as that origin is concerned.
    func allows(_ origin: Origin) -> Bool {
        guard let place = places[origin] else { return true }
        return lanes[place].open < limitPerOrigin
    }

    /// Counts a connection to `origin` that will be made; gives its lane, or nil when there is no room.
    mutating func begin(_ origin: Origin) -> Int? {
        guard !isFull, allows(origin) else { return nil }
        let place = place(for: origin)
        lanes[place].open += 1
        open += 1
        return place
    }

    private mutating func place(for origin: Origin) -> Int {
        if let place = places[origin] { return place }
        let place = vacantPlaces.popLast() ?? lanes.count
        if place == lanes.count { lanes.append(Lane(origin: origin)) } else { lanes[place].origin = origin }
        places[origin] = place
        return place
    }

    /// A connection of the lane at `place` is no longer.
    mutating func end(at place: Int) {
        open -= 1
        lanes[place].open -= 1
        guard lanes[place].open == 0 else { return }
        places[lanes[place].origin] = nil
        vacantPlaces.append(place)
    }

    /// Keeps an idle connection, unless its origin has enough of them.
    mutating func keep(_ connection: Connection) -> Bool {
        let place = connection.slot.place
        guard lanes[place].idle.count < idleLimitPerOrigin else { return false }
        lanes[place].idle.append(connection)
        return true
    }

    /// The connection to `origin` that became idle last.
    mutating func takeIdle(_ origin: Origin) -> Connection? {
        if recent >= lanes.count || lanes[recent].origin != origin {
            guard let place = places[origin] else { return nil }
            recent = place
        }
        guard let connection = lanes[recent].idle.popLast() else { return nil }
        connection.wasAlone = lanes[recent].open == lanes[recent].idle.count + 1
        return connection
    }

    /// The connection, to whomever, whose idle time ends first of those at the front of their lanes.
    mutating func takeOldestIdle() -> Connection? {
        let oldest = lanes.lazy.compactMap(\.idle.first).min { $0.idleUntil < $1.idleUntil }
        guard let oldest else { return nil }
        return lanes[oldest.slot.place].idle.removeFirst()
    }

    /// All idle connections.
    mutating func takeIdle() -> [Connection] {
        lanes.indices.flatMap { place in
            defer { lanes[place].idle = [] }
            return lanes[place].idle
        }
    }

    /// The idle connections whose time is over, and when that will be true of the next; nil when none is left.
    mutating func takeOverdue(at now: Deadline) -> (overdue: [Connection], next: Deadline?) {
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
