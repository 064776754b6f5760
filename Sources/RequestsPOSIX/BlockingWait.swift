import CRequestsPOSIX
package import Requests

extension Socket {
    /// Blocks the calling thread until the socket is ready, with poll(2) and without another thread.
    ///
    /// In a task, cancellation ends the wait within 100 ms. Readiness that exists already ends it even if the deadline
    /// has passed.
    package func waitInPlace(
        for direction: Direction, by deadline: Deadline? = nil
    ) throws(WaitError) {
        try Self.poll(number, nil, direction == .reading ? .reading : .writing, deadline)
    }

    /// Blocks the calling thread like ``waitInPlace(for:by:)``; `signal`, which stays set, also ends the wait, with
    /// `.closed`.
    package func waitInPlace(
        for direction: Direction, by deadline: Deadline? = nil, orUntil signal: borrowing WakeSignal
    ) throws(WaitError) {
        try Self.poll(number, signal.reading.number, direction == .reading ? .reading : .writing, deadline)
    }

    /// Blocks the calling thread like ``waitInPlace(for:by:orUntil:)``, until any direction of `wanted` is ready.
    package func waitInPlace(
        forAny wanted: Interest, by deadline: Deadline, orUntil signal: borrowing WakeSignal
    ) throws(WaitError) {
        try Self.poll(number, signal.reading.number, wanted, deadline)
    }

    /// Blocks the calling thread until the connection has ended in both directions, even if unread bytes have arrived.
    package func waitForHangUpInPlace(
        by deadline: Deadline, orUntil signal: borrowing WakeSignal
    ) throws(WaitError) {
        try Self.poll(number, signal.reading.number, [], deadline)
    }

    /// Whether the peer has ended its sending side or reset the connection, even if unread bytes have arrived.
    package var isEndedByPeer: Bool { rp_poll(number, rp_poll_ended, -1, 0) > 0 }

    /// Whether bytes can be sent, or connecting has ended, at this moment.
    var isWritable: Bool { rp_poll(number, Interest.writing.pollEvents, -1, 0) > 0 }

    /// Polls in slices of 100 ms if the thread runs a task, to check for cancellation: nothing wakes a blocked thread.
    private static func poll(
        _ number: Int32, _ signal: Int32?, _ wanted: Interest, _ deadline: Deadline?
    ) throws(WaitError) {
        let deadline = deadline ?? .distantFuture
        if Task.isCancelled { throw .cancelled }
        // The first slice is short, because the check whether this is a task follows it, and is rarely needed.
        var isInTask = true
        while true {
            let timeout = deadline.pollTimeout
            let slice = isInTask && (timeout < 0 || timeout > 100) ? 100 : timeout
            let ready = rp_poll(number, wanted.pollEvents, signal ?? -1, slice)
            if ready < 0 {
                let error = SystemError.last("poll")
                guard error.code == EINTR || error.code == EAGAIN else { throw .failed(error) }
            } else if ready & 2 != 0 {
                throw .closed
            } else if ready != 0 {
                return
            } else if timeout >= 0, deadline.hasPassed {
                throw .timedOut
            }
            isInTask = withUnsafeCurrentTask { $0 != nil }
            if isInTask, Task.isCancelled { throw .cancelled }
        }
    }
}

extension Interest {
    /// The events for poll(2).
    var pollEvents: Int16 {
        Int16((contains(.reading) ? POLLIN : 0) | (contains(.writing) ? POLLOUT : 0))
    }
}

extension Channel {
    /// Blocks the calling thread for at most 10 ms, or until `deadline`, and returns whether a direction of `wanted` is
    /// ready.
    package func becomesReady(for wanted: Interest, by deadline: Deadline) -> Bool {
        // The faults of a test end waits.
        if faults != nil { return false }
        let timeout = deadline.pollTimeout
        return rp_poll(socket.number, wanted.pollEvents, -1, timeout < 0 ? 10 : min(timeout, 10)) > 0
    }
}

extension Deadline {
    /// Throws if the current task is cancelled or the instant has passed, in place of a wait.
    ///
    /// `check()` is the same check for a call, whose error names the limit of the call.
    package func checkTurn() throws(WaitError) {
        if Task.isCancelled { throw .cancelled }
        if hasPassed { throw .timedOut }
    }
}
