package import Requests

/// The state of a stream number, which the table at ``StreamRecord`` explains.
enum StreamPlace {
    /// In the table, at this index.
    case active(Int)
    case idle
    case closed(ClosedStreams.Ending)
    /// Reset by us, or closed long ago.
    case forgotten
}

extension ConnectionState {
    func place(of id: StreamID) -> StreamPlace {
        if let index = streams.index(of: id) { return .active(index) }
        // Servers open no streams, because push is disabled.
        guard !id.isMultiple(of: 2), role == .client ? id < nextStream : id <= lastPeerStream else { return .idle }
        return closed.ending(of: id).map { .closed($0) } ?? .forgotten
    }

    /// Returns the stream `id` for a message frame, or nil for one that we or the peer have reset.
    ///
    /// A frame of a stream that the peer has reset counts once, however its parts arrive.
    ///
    /// - Throws: A connection error for an idle stream, and for one that the peer had ended.
    mutating func activeStream(
        _ id: StreamID, in type: FrameType, beginsFrame: Bool = true
    ) throws(HTTP2Error) -> Int? {
        switch place(of: id) {
        case .active(let index):
            // The frame shows that the peer has received everything sent before this stream was opened.
            if !heldPlaces.isEmpty { heldPlaces.removeAll { $0.next <= id } }
            return index
        case .idle:
            throw HTTP2Error(id.isMultiple(of: 2) ? .streamNumber : .idleStream, in: type, on: id)
        case .closed(.ended): throw HTTP2Error(.endedStream, in: type, on: id)
        case .closed(.reset):
            guard beginsFrame else { return nil }
            queue.append { $0.resetStream(id, HTTP2Violation.resetStream.code) }
            guard streamErrors.take() else { throw HTTP2Error(.manyStreamErrors, in: type, on: id) }
            return nil
        case .forgotten: return nil
        }
    }

    // MARK: Ends

    /// Removes a stream from the table.
    ///
    /// - Parameters:
    ///   - index: The index of the stream.
    ///   - ending: Whether the peer has ended or reset the stream; nil if we have reset it, or if GOAWAY has excluded
    ///     it.
    mutating func close(_ index: Int, as ending: ClosedStreams.Ending?) {
        endGrant(of: index)
        if streams[index].isQueued { turns.removeAll { $0.index == index } }
        streamWindows -= streams[index].receiveWindow.size
        if let ending { closed.record(streams[index].id, ending) } else { lateFrames += HTTP2Limits.lateFrames }
        // A request alone proves nothing: its stream can fail afterwards, at our cost (CVE-2025-8671).
        if role == .server, ending == .ended { streamErrors.restore(1) }
        streams.remove(at: index)
    }

    /// Records that the peer has sent the whole message.
    mutating func endReceiving(_ index: Int, into events: inout [ConnectionEvent]) {
        streams[index].receiving = .ended
        if role == .client { streamErrors.restore(1) }
        events.append(.ended(streams.slot(at: index)))
        if streams[index].sending == .ended { close(index, as: .ended) }
    }

    /// Records that we have queued the whole message.
    mutating func endSending(_ index: Int) {
        streams[index].sending = .ended
        streams[index].wantsCapacity = false
        if streams[index].receiving == .ended { close(index, as: .ended) }
    }

    /// Resets a stream, as for a cancelled call; does nothing if it has ended.
    ///
    /// Servers treat many cancellations as an attack. So after 500 cancellations the connection accepts no more
    /// streams; each second, 30 cancellations are forgotten.
    package mutating func reset(_ slot: StreamSlot, _ code: HTTP2ErrorCode, at now: Deadline) {
        guard failure == nil, let index = streams.index(of: slot) else { return }
        if role == .client, code == .cancel, !cancellations.add(at: now) { hasDrained = true }
        sendReset(index, code, at: now)
    }

    private mutating func sendReset(_ index: Int, _ code: HTTP2ErrorCode, at now: Deadline) {
        let id = streams[index].id
        queue.append { $0.resetStream(id, code) }
        close(index, as: nil)
        guard role == .client else { return }
        heldPlaces.append(HeldPlace(next: nextStream, until: now.advanced(by: liveness.resetDelay)))
    }

    /// Resets a stream because of a violation of the peer.
    ///
    /// - Throws: A connection error if too many streams have failed.
    mutating func failStream(
        _ index: Int, _ violation: HTTP2Violation, in type: FrameType, at now: Deadline,
        into events: inout [ConnectionEvent]
    ) throws(HTTP2Error) {
        let slot = streams.slot(at: index)
        let error = HTTP2Error(violation, in: type, on: slot.stream)
        // A server has not reported a stream whose request has no valid head.
        let isKnown = role == .client || streams[index].receiving != .head
        sendReset(index, error.code, at: now)
        if isKnown { events.append(.reset(slot, StreamReset(code: error.code, isUnprocessed: false, error: error))) }
        guard streamErrors.take() else { throw HTTP2Error(.manyStreamErrors, in: type, on: slot.stream) }
        try countPeerReset(in: type, on: slot.stream, at: now)
    }

    /// Counts a stream that the client of this server has reset, or has made the server reset.
    mutating func countPeerReset(in type: FrameType, on id: StreamID, at now: Deadline) throws(HTTP2Error) {
        guard role == .server else { return }
        guard peerResets.add(at: now) else { throw HTTP2Error(.manyResets, in: type, on: id) }
    }

    /// Handles a violation that concerns only the stream of the frame.
    mutating func receiveStreamError(
        _ error: HTTP2Error, at now: Deadline, into events: inout [ConnectionEvent]
    ) throws(HTTP2Error) {
        switch place(of: error.stream) {
        case .active(let index):
            try failStream(index, error.violation, in: error.frame ?? .priority, at: now, into: &events)
        // A stream that is idle cannot be reset (RFC 9113 §5.1).
        case .idle: throw error
        case .closed, .forgotten: try countEmptyFrame(error.frame, on: error.stream)
        }
    }

    /// Ends a stream that the peer has reset (RFC 9113 §6.4).
    mutating func receiveReset(
        of id: StreamID, _ code: HTTP2ErrorCode, at now: Deadline, into events: inout [ConnectionEvent]
    ) throws(HTTP2Error) {
        switch place(of: id) {
        case .active(let index):
            try countPeerReset(in: .resetStream, on: id, at: now)
            let slot = streams.slot(at: index)
            let isUnprocessed = (code == .refusedStream || code == .http11Required) && !streams[index].hasResponse
            close(index, as: .reset)
            events.append(.reset(slot, StreamReset(code: code, isUnprocessed: isUnprocessed, error: nil)))
        case .idle: throw HTTP2Error(.idleStream, in: .resetStream, on: id)
        case .closed, .forgotten: try countLateFrame(.resetStream, on: id)
        }
        // The peer may reset every further stream, because it counts what all of them have cost.
        if role == .client, code == .enhanceYourCalm { hasDrained = true }
    }
}
