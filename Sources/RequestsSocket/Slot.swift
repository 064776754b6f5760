import RequestsPOSIX

/// The right to one connection in the pool, taken before the connection is established.
///
/// It is returned to the pool when the last reference is released, which is when its connection closes: an exchange can
/// end in many ways, and none of them has to update the count.
final class Slot: Sendable {
    let origin: Origin
    /// The index of its origin's lane in the pool's ledger.
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

/// A connection, or the right to establish one, that the pool grants to a call.
enum Lease: Sendable {
    /// An idle connection.
    case connection(Connection)
    /// The right to establish one.
    case slot(Slot)
}
