/// A connection, or the right to establish one, that the pool grants to a call.
enum Lease: Sendable {
    /// An idle connection.
    case connection(Connection)
    /// The right to establish one.
    case slot(Slot)
}
