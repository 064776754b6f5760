/// A connection, or the right to establish one, that a pool grants to a call.
enum ConnectionLease<Connection: PlacedConnection>: Sendable {
    /// An idle connection.
    case connection(Connection)
    /// The right to establish one.
    case slot(Connection.Slot)
}

/// The response of a pool to a request for a connection.
enum PoolResponse<Lease, Waiter> {
    case lease(Lease)
    /// A place in the queue; when it is signalled, the call takes up the lease that was granted to it.
    case queued(Waiter)
}
