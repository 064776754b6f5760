package import Requests

/// Descriptors that one thread waits for at the same time: it wakes when any of them can be read.
///
/// Other threads may add and remove descriptors during the wait. A descriptor is reported as long as it has unread
/// bytes, so reports need not be requested and cannot be missed.
package struct ReadableSet: ~Copyable, Sendable {
    private let queue: ReadinessQueue

    /// Creates an empty set.
    package init() throws(SystemError) {
        queue = try ReadinessQueue(forks: ForkCount.current)
    }

    /// Adds a socket, which is reported as `number`; the number must be less than the largest one.
    package func add(_ socket: borrowing Socket, as number: UInt64) throws(SystemError) {
        try queue.addReadable(socket.number, token: SlotToken(bits: number))
    }

    /// Adds a signal, which ends all waits once it has been sent.
    package func add(_ signal: borrowing WakeSignal) throws(SystemError) {
        try queue.add(signal)
    }

    /// Removes a socket, which must be open.
    package func remove(_ socket: borrowing Socket) {
        queue.remove(socket.number)
    }

    /// Memory for the reports of one thread.
    package struct Reports: ~Copyable {
        fileprivate let events = ReadinessQueue.Events()

        package init() {}
    }

    /// Waits until a socket can be read or its peer is gone, or until the deadline, and reports the numbers of the
    /// sockets.
    ///
    /// Returns early, without reports, after a signal and if a signal of the system interrupts it.
    package func wait(by deadline: Deadline, into reports: borrowing Reports, _ report: (UInt64) -> Void) {
        queue.wait(into: reports.events, milliseconds: deadline.pollTimeout) { event in
            if event.token != .wakeSignal { report(event.token.bits) }
        }
    }
}
