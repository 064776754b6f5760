import RequestsPOSIX

/// A place in the pool for one connection, taken before the connection is established.
///
/// It is given back when the last reference is released, which is when its connection closes: nothing has to be counted
/// at the many ends an exchange can have.
final class Slot: Sendable {
    let origin: Origin
    /// The number of its origin's lane in the pool's ledger.
    let place: Int
    let pool: ConnectionPool
    let holding: Holding

    init(_ origin: Origin, at place: Int, in pool: ConnectionPool) {
        self.origin = origin
        self.place = place
        self.pool = pool
        holding = Holding(place: place)
    }

    deinit {
        pool.vacate(place, holding)
    }
}

/// What a call receives from the pool.
enum Lease: Sendable {
    /// An idle connection.
    case connection(Connection)
    /// The right to establish one.
    case slot(Slot)
}
