/// A connection, or the right to establish one, that a pool grants to a call.
enum ConnectionLease<Connection: PlacedConnection>: Sendable {
    /// An idle connection, or a shared one with a place for the call.
    case connection(Connection)
    case slot(Connection.Slot)
}

/// The result of ``ConnectionSupply/request(_:_:isContinuation:)``.
enum PoolResponse<Lease, Waiter> {
    case lease(Lease)
    /// A place in the queue. When the waiter is signalled, the call takes the lease that was granted to it.
    case queued(Waiter)
}
