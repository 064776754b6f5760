import Requests
import RequestsHTTP2
import RequestsPOSIX

/// The place of an exchange on a connection of HTTP/2: its stream, what has arrived for it, and its wait.
// Unchecked, because the lock of the session guards the variables, and the compiler cannot see that.
final class ExchangePlace: @unchecked Sendable {
    /// Whether the request is a HEAD, whose response has no body.
    let isHEAD: Bool
    /// The maximum length of a collected body; nil if the body is not collected.
    let collectingLimit: Int?
    /// The stream, once it is open.
    var stream: StreamSlot?
    var arrivals = StreamArrivals()
    /// The event that ends the waits of the exchange; nil before the first one.
    var event: WakeEvent?
    /// The wait of the exchange; nil if it does not wait.
    var wait: Wait?
    /// Whether the exchange was notified while it did not wait, so that its next wait ends at once.
    var isNotified = false
    /// The instant at which the exchange began to wait for an arrival; nil if it does not.
    var waitStart: Deadline?
    /// The index of this place in its session; nil outside.
    var index: Int?

    /// A wait of an exchange.
    struct Wait {
        /// Whether the exchange receives when it resumes.
        let receives: Bool
        let caller: WaitingCaller

        init(receives: Bool, _ caller: WaitingCaller) {
            self.receives = receives
            self.caller = caller
        }
    }

    init(isHEAD: Bool, collectingUpTo collectingLimit: Int?) {
        self.isHEAD = isHEAD
        self.collectingLimit = collectingLimit
    }
}

/// The caller of an exchange that waits.
enum WaitingCaller: Sendable {
    /// A thread that it blocks.
    case thread
    /// A task of the pool, or of another executor.
    case task
    /// A task on an actor, which may be busy.
    case actor
}
