import Requests

/// The way in which calls that may share a connection establish connections to an origin.
///
/// Normally the first connection is a pioneer: the other calls wait until it is established.
enum Gathering {
    /// The pioneer is being established in the slot with this number, and calls wait for it.
    ///
    /// From `nextExtra` on, a call that has waited for a long time may establish another connection.
    case pioneer(Int, nextExtra: Deadline)
    /// Each call establishes a connection: the last pioneer has failed, or carries one call at a time.
    case off
}
