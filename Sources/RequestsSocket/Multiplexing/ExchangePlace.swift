import Requests
import RequestsHTTP2
import RequestsPOSIX

/// The place of an exchange on an HTTP/2 connection: its stream, its arrivals, and its wait.
// Unchecked, because the lock of the session guards the variables, and the compiler cannot see that.
final class ExchangePlace: @unchecked Sendable {
    /// Whether the request is a HEAD, whose response has no body.
    let isHEAD: Bool
    /// The maximum length of a collected body; nil if the body is not collected.
    let collectingLimit: Int?
    /// The stream, once it is open.
    var stream: StreamSlot?
    /// Whether the stream was opened before the server's SETTINGS had arrived.
    var isEarly = false
    var arrivals = StreamArrivals()
    /// The free part of the memory in which the exchange receives its body; nil unless it is receiving.
    private var destination: UnsafeMutableRawBufferPointer?
    /// The event that ends the waits of the exchange; nil before the first one.
    var event: WakeEvent?
    /// The wait of the exchange; nil if it does not wait.
    var wait: Wait?
    /// Whether the exchange depends on the reports of the socket: it has paused, or waits for its event.
    var isResting = false
    /// Whether the exchange was notified while it did not wait, so that its next wait ends at once.
    var isNotified = false
    /// The beginning of the first wait since the exchange last took arrivals or queued a part of its request; nil if it
    /// has not waited since then.
    var waitStart: Deadline?
    /// The index of this place in the session; nil before the exchange joins it, and after it has left it.
    var index: Int?

    /// A wait of an exchange.
    struct Wait {
        /// The directions in which the exchange transfers when it resumes.
        let wanted: Interest
        let caller: WaitingCaller

        init(for wanted: Interest, _ caller: WaitingCaller) {
            self.wanted = wanted
            self.caller = caller
        }

        /// Whether the exchange receives when it resumes.
        var receives: Bool { !wanted.isEmpty }
    }

    init(isHEAD: Bool, collectingUpTo collectingLimit: Int?) {
        self.isHEAD = isHEAD
        self.collectingLimit = collectingLimit
    }

    /// Calls `receive`, and returns the number of body bytes that it has stored in `space` instead of in the arrivals.
    func receiveBody(into space: UnsafeMutableRawBufferPointer?, _ receive: () -> Void) -> Int {
        destination = space
        receive()
        let remaining = destination.take()
        return (space?.count ?? 0) - (remaining?.count ?? 0)
    }

    /// Adds body bytes that have arrived.
    func addBody(_ bytes: UnsafeRawBufferPointer) {
        var bytes = bytes
        // Earlier bytes that the exchange has not taken must be read before these.
        if let space = destination, arrivals.body.isEmpty {
            let count = min(space.count, bytes.count)
            space.copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes.prefix(count)))
            destination = UnsafeMutableRawBufferPointer(rebasing: space.dropFirst(count))
            bytes = UnsafeRawBufferPointer(rebasing: bytes.dropFirst(count))
        }
        if !bytes.isEmpty { arrivals.add(bytes) }
    }
}

/// The kind of caller that waits for an exchange.
enum WaitingCaller: Sendable {
    /// A thread that the call blocks.
    case thread
    /// A task on no actor, so on the cooperative pool or another task executor.
    case task
    /// A task on an actor, which may be busy.
    case actor
}
