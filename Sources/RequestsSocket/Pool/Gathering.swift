import Requests

/// The way in which calls that may share a connection establish connections to an origin.
///
/// Normally the next one to be established is a pioneer, for which the other calls wait.
enum Gathering {
    /// A connection is being established in the slot with this number, and calls wait for it.
    ///
    /// A call that has waited for long may establish another one from `nextExtra` on.
    case pioneer(Int, nextExtra: Deadline)
    /// Each call establishes a connection: the last pioneer has failed, or carries one call at a time.
    case off
}
