import CRequestsPOSIX

extension Socket {
    /// Blocks the calling thread until the socket is ready: poll(2) in place, no other thread is involved.
    ///
    /// Inside a task, cancellation is noticed within 100 ms. `signal`, when given, ends the wait with `.closed`; it
    /// stays set. What is ready is reported even when the deadline has passed.
    package func waitInPlace(
        for direction: Direction, by deadline: Deadline? = nil
    ) throws(WaitError) {
        try Self.poll(number, nil, direction == .reading ? .reading : .writing, deadline, slice: 100)
    }

    /// The same, ended with `.closed` once `signal` is given.
    package func waitInPlace(
        for direction: Direction, by deadline: Deadline? = nil, orUntil signal: borrowing WakeSignal
    ) throws(WaitError) {
        try Self.poll(number, signal.reading.number, direction == .reading ? .reading : .writing, deadline, slice: 100)
    }

    /// Blocks the calling thread until the connection has ended in both directions, whatever has arrived and was not read.
    package func waitForHangUpInPlace(
        by deadline: Deadline, orUntil signal: borrowing WakeSignal
    ) throws(WaitError) {
        try Self.poll(number, signal.reading.number, [], deadline, slice: 100)
    }

    /// Whether something can be sent, or connecting has ended, at this moment.
    var isWritable: Bool { rp_poll(number, Interest.writing.pollEvents, -1, 0) > 0 }

    /// In a task it looks every `slice` milliseconds whether that was cancelled: nobody tells a thread that is blocked.
    fileprivate static func poll(
        _ number: Int32, _ signal: Int32?, _ wanted: Interest, _ deadline: Deadline?, slice longest: Int32
    ) throws(WaitError) {
        let deadline = deadline ?? .distantFuture
        if Task.isCancelled { throw .cancelled }
        // The first look is always a short one: whether this is a task is asked only when it was in vain.
        var isInTask = true
        while true {
            let timeout = deadline.pollTimeout
            let slice = isInTask && (timeout < 0 || timeout > longest) ? longest : timeout
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
    /// What poll(2) is asked for.
    var pollEvents: Int16 {
        Int16((contains(.reading) ? POLLIN : 0) | (contains(.writing) ? POLLOUT : 0))
    }
}

extension Channel {
    /// Blocks the calling thread until what is wanted is ready, or the peer is gone; inside a task, cancellation is
    /// noticed within 10 ms.
    package func waitInPlace(for wanted: Interest, by deadline: Deadline) throws(WaitError) {
        if let error = faults?.nextWaitError() { throw .failed(error) }
        if isAbandoned { throw .closed }
        try Socket.poll(socket.number, nil, wanted, deadline, slice: 10)
    }

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
