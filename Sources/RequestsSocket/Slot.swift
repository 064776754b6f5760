@_spi(Lock) import Requests
import RequestsPOSIX

/// A place in the pool for one connection, taken before the connection is made.
///
/// It is given back when the last reference goes away, which is when its connection closes: nothing has to be counted
/// at the many ends an exchange can have.
final class Slot: Sendable {
    let origin: Origin
    /// Of its origin's lane in the pool's ledger.
    let place: Int
    let pool: ConnectionPool

    init(_ origin: Origin, at place: Int, in pool: ConnectionPool) {
        self.origin = origin
        self.place = place
        self.pool = pool
    }

    deinit {
        pool.vacate(place)
    }
}

/// What a call gets from the pool.
enum Lease: Sendable {
    /// An idle connection.
    case connection(Connection)
    /// The right to make one.
    case slot(Slot)
}

/// A call that waits for its lease.
final class Waiter: Sendable {
    let origin: Origin
    private let event: WakeEvent
    private let lease = Lock<Lease?>(nil)

    init(for origin: Origin, on reactor: Reactor) {
        self.origin = origin
        event = WakeEvent(on: reactor)
    }

    func give(_ lease: Lease) {
        self.lease.withLock { $0 = lease }
        event.signal()
    }

    func take() -> Lease? {
        lease.withLock { $0.take() }
    }

    func wait(by deadline: Deadline) async throws(WaitError) {
        try await event.wait(by: deadline)
    }
}
