import CRequestsPOSIX

extension Socket {
    /// Blocks the calling thread until the socket is ready: poll(2) in place, no other thread is involved.
    ///
    /// Inside a task, cancellation is noticed within 100 ms. `signal`, when given, ends the wait with `.closed`; it
    /// stays set. What is ready is reported even when the deadline has passed.
    package func waitInPlace(
        for direction: Direction, by deadline: Deadline? = nil
    ) throws(WaitError) {
        try Self.poll(number, nil, direction, deadline)
    }

    /// The same, ended with `.closed` once `signal` is given.
    package func waitInPlace(
        for direction: Direction, by deadline: Deadline? = nil, orUntil signal: borrowing WakeSignal
    ) throws(WaitError) {
        try Self.poll(number, signal.reading.number, direction, deadline)
    }

    private static func poll(
        _ number: Int32, _ signal: Int32?, _ direction: Direction, _ deadline: Deadline?
    ) throws(WaitError) {
        let deadline = deadline ?? .distantFuture
        let isInTask = withUnsafeCurrentTask { $0 != nil }
        let wanted = Int16(direction == .reading ? POLLIN : POLLOUT)
        while true {
            if isInTask, Task.isCancelled { throw .cancelled }
            let timeout = deadline.pollTimeout
            let slice = isInTask && (timeout < 0 || timeout > 100) ? 100 : timeout
            // A negative descriptor is passed over by poll.
            var watched = (
                pollfd(fd: number, events: wanted, revents: 0),
                pollfd(fd: signal ?? -1, events: Int16(POLLIN), revents: 0)
            )
            let count = withUnsafeMutableBytes(of: &watched) { bytes in
                CRequestsPOSIX.poll(bytes.assumingMemoryBound(to: pollfd.self).baseAddress, 2, slice)
            }
            if count < 0 {
                let error = SystemError.last("poll")
                guard error.code == EINTR || error.code == EAGAIN else { throw .failed(error) }
            } else if watched.1.revents != 0 {
                throw .closed
            } else if count > 0 {
                return
            } else if timeout >= 0, deadline.hasPassed {
                throw .timedOut
            }
        }
    }
}

extension Channel {
    /// Blocks the calling thread until bytes can be read or the peer has closed.
    package func waitReadableInPlace(by deadline: Deadline? = nil) throws(WaitError) {
        if isAbandoned { throw .closed }
        try socket.waitInPlace(for: .reading, by: deadline)
    }

    /// Blocks the calling thread until bytes can be written, connecting has ended, or the peer is gone.
    package func waitWritableInPlace(by deadline: Deadline? = nil) throws(WaitError) {
        if isAbandoned { throw .closed }
        try socket.waitInPlace(for: .writing, by: deadline)
    }
}
