package import Requests

extension ConnectionState {
    /// Records that the owner of a stream has taken `count` bytes of its body, so that the peer may send as many more.
    ///
    /// One WINDOW_UPDATE returns the bytes once they are half of the window that the peer knows. Nothing happens if the
    /// peer has sent the whole message.
    package mutating func consumed(_ slot: StreamSlot, _ count: Int, at now: Deadline) {
        guard failure == nil, count > 0, let index = streams.index(of: slot), streams[index].receiving != .ended
        else { return }
        streams[index].receiveWindow.release(count)
        guard isUpdateDue(streams[index].receiveWindow) else { return }
        if isWindowTooSmall(index, at: now) {
            growWindow(of: index, to: 2 * streams[index].receiveWindow.size, at: now)
        }
        returnWindow(of: index, at: now)
    }

    /// Whether half of the window that the peer knows is consumed.
    private func isUpdateDue(_ window: ReceiveWindow) -> Bool {
        window.isUpdateDue || window.unreturned > 0 && window.unreturned >= (limits.announcedWindow ?? .max) / 2
    }

    /// Enlarges the window of a stream to the size of its body, which is collected.
    ///
    /// The window grows to the declared length, or to 1 MiB if that is unknown, but not beyond `limit`. Its maximum is
    /// 1 MiB, or the largest window so far if the round trip has made a stream of this connection need more.
    ///
    /// - Returns: The declared length of the body in bytes; nil if it is unknown, or if the message has ended.
    package mutating func widen(_ slot: StreamSlot, upTo limit: Int, at now: Deadline) -> Int? {
        guard failure == nil, let index = streams.index(of: slot), streams[index].receiving != .ended
        else { return nil }
        let size = streams[index].receiveWindow.size
        let length = streams[index].length.isForbidden ? 0 : streams[index].length.expected
        growWindow(of: index, to: min(length ?? HTTP2Limits.collectingWindow, limit, collectingWindow), at: now)
        if streams[index].receiveWindow.size > size { returnWindow(of: index, at: now) }
        return length
    }

    /// Returns whether the peer waits for the window: two updates are less than two round trips apart.
    ///
    /// Windows do not grow if the round trip is below 1 ms, or unknown.
    private func isWindowTooSmall(_ index: Int, at now: Deadline) -> Bool {
        guard let roundTrip = liveness.roundTrip, roundTrip >= .milliseconds(1),
            let updated = streams[index].receiveWindow.updated
        else { return false }
        return updated.advanced(by: roundTrip * 2) > now
    }

    /// Enlarges the window of a stream and, with it, the connection's, within the limit of all windows.
    private mutating func growWindow(of index: Int, to newSize: Int, at now: Deadline) {
        let size = streams[index].receiveWindow.size
        let others = streamWindows - size
        let newSize = min(newSize, HTTP2Limits.largestStreamWindow, HTTP2Limits.allStreamWindows - others)
        guard newSize > size else { return }
        streamWindows += newSize - size
        collectingWindow = max(collectingWindow, newSize)
        streams[index].receiveWindow.grow(to: newSize)
        receiveWindow.grow(to: newSize)
        if receiveWindow.isUpdateDue { returnConnectionWindow(at: now) }
    }

    private mutating func returnWindow(of index: Int, at now: Deadline) {
        let (id, increment) = (streams[index].id, streams[index].receiveWindow.update(at: now))
        queue.append { $0.windowUpdate(id, increment: increment) }
    }

    mutating func returnConnectionWindow(at now: Deadline) {
        let increment = receiveWindow.update(at: now)
        queue.append { $0.windowUpdate(0, increment: increment) }
    }

    /// Adds the increment of a WINDOW_UPDATE (RFC 9113 §6.9.1).
    mutating func receiveWindowUpdate(
        of id: StreamID, _ increment: Int, at now: Deadline, into events: inout [ConnectionEvent]
    ) throws(HTTP2Error) {
        // Sending bytes restores the budget, so only updates that allow nothing to be sent are a flood.
        try countEmptyFrame(.windowUpdate, on: id)
        guard id != 0 else {
            guard sendWindow + increment <= WindowSize.largest else {
                throw HTTP2Error(.windowOverflow, in: .windowUpdate)
            }
            sendWindow += increment
            return
        }
        switch place(of: id) {
        case .active(let index):
            guard streams[index].sendWindow + increment <= WindowSize.largest else {
                return try failStream(index, .windowOverflow, in: .windowUpdate, at: now, into: &events)
            }
            streams[index].sendWindow += increment
            queueTurn(of: index)
        case .idle: throw HTTP2Error(.idleStream, in: .windowUpdate, on: id)
        case .closed, .forgotten: break
        }
    }
}
