/// The state of a connection that carries no exchange.
enum IdleState {
    /// It can carry an exchange.
    case usable
    /// The peer has closed it.
    case closed
    /// It was idle for too long, or the peer has ended it or sent bytes that belong to no response.
    case unusable
}
