package import Requests

package enum StreamOpening: Hashable, Sendable {
    case opened(StreamSlot)
    /// The peer allows no more streams now, or may be lost; ``ConnectionEvent/places(_:)`` follows.
    case full
    /// The connection takes no more streams.
    case draining
    /// The peer has announced that it does not accept a header list of that size (RFC 9113 §6.5.2).
    case headTooLarge(limit: Int)
}

extension ConnectionState {
    /// Opens a stream with the head of a request.
    ///
    /// - Parameters:
    ///   - fields: The fields; they are not validated again.
    ///   - respondsToHead: Whether the method is HEAD, whose response has no body.
    ///   - endsStream: Whether the request has neither a body nor trailers.
    ///   - now: The current instant.
    /// - Returns: The stream, or the reason why nothing was sent.
    package mutating func open(
        _ fields: OutgoingFields, respondsToHead: Bool = false, endsStream: Bool, at now: Deadline
    ) -> StreamOpening {
        guard !isDraining else { return .draining }
        noteFewerPlaces()
        guard freePlaces > 0 else { return .full }
        if let limit = peerSettings.maximumHeaderListSize, fields.listSize > limit {
            return .headTooLarge(limit: limit)
        }
        if let payload = liveness.pingAfterSilence(at: now) {
            queue.append { $0.ping(payload, isAcknowledgement: false) }
        }
        let index = insertStream(nextStream)
        // May exceed the largest number; the connection then drains. The addition cannot overflow 32 bits.
        nextStream += 2
        streams[index].length.isForbidden = respondsToHead
        streams[index].start = queue.written + queue.count
        sendBlock(fields, index, endsStream: endsStream)
        noteFewerPlaces()
        return .opened(streams.slot(at: index))
    }

    /// Sends the head of a response; an interim one does not end the stream.
    ///
    /// Does nothing if the stream has ended, or if its final head was sent.
    package mutating func respond(
        to slot: StreamSlot, _ fields: OutgoingFields, isInterim: Bool = false, endsStream: Bool = false
    ) {
        guard failure == nil, let index = streams.index(of: slot), streams[index].sending == .head else { return }
        guard !isInterim else {
            let block = encode(fields)
            return queue.append { $0.headers(block, on: slot.stream, endsStream: false) }
        }
        sendBlock(fields, index, endsStream: endsStream)
    }

    private mutating func sendBlock(_ fields: OutgoingFields, _ index: Int, endsStream: Bool) {
        let (id, block) = (streams[index].id, encode(fields))
        queue.append { $0.headers(block, on: id, endsStream: endsStream) }
        streams[index].sending = .body
        if endsStream { endSending(index) }
    }

    private mutating func encode(_ fields: OutgoingFields) -> [UInt8] {
        var block: [UInt8] = []
        // The size counts 32 bytes more for each field, so this suffices for nearly every block.
        block.reserveCapacity(fields.listSize)
        encoder.encode(fields, into: &block)
        return block
    }

    /// Returns whether a byte of the request's head may have been sent, so that the peer may act on it.
    ///
    /// `count` is the number of bytes of ``output()`` that may have been sent and were not passed to
    /// ``written(_:at:into:)`` yet.
    package func hasSentHead(of slot: StreamSlot, beside count: Int = 0) -> Bool {
        streams.index(of: slot).map { streams[$0].start < queue.written + count } ?? true
    }

    // MARK: Bodies

    /// Queues a DATA frame for the next bytes of a body.
    ///
    /// If it returns less than `count`, call it again with the remainder until it returns 0; then wait for
    /// ``ConnectionEvent/capacity(_:)``. Streams that wait for the connection's window take turns, with one frame each.
    ///
    /// - Parameters:
    ///   - slot: The stream.
    ///   - count: The number of bytes that are available.
    ///   - endsStream: Whether they are the last of the message.
    /// - Returns: The number of bytes queued; keep them until they are written.
    package mutating func write(_ slot: StreamSlot, _ count: Int, endsStream: Bool = false) -> Int {
        guard failure == nil, count > 0, let index = streams.index(of: slot), streams[index].sending == .body else {
            return 0
        }
        let room = room(for: index)
        endGrant(of: index)
        let allowed = min(count, streams[index].sendWindow, room, FrameReader.maximumPayload)
        guard allowed > 0 else {
            streams[index].wantsCapacity = true
            queueTurn(of: index)
            return 0
        }
        streams[index].sendWindow -= allowed
        sendWindow -= allowed
        emptyFrames.restore(allowed)
        let isLast = endsStream && allowed == count
        queue.appendData(allowed, of: slot, endsStream: isLast)
        if isLast { endSending(index) }
        return allowed
    }

    /// Ends the message, with trailers if there are any.
    package mutating func end(_ slot: StreamSlot, trailers: OutgoingFields? = nil) {
        guard failure == nil, let index = streams.index(of: slot), streams[index].sending == .body else { return }
        endGrant(of: index)
        if let trailers {
            sendBlock(trailers, index, endsStream: true)
        } else {
            queue.appendData(0, of: slot, endsStream: true)
            endSending(index)
        }
    }

    /// Returns whether ``write(_:_:endsStream:)`` would accept bytes of a stream now.
    package func hasRoom(for slot: StreamSlot) -> Bool {
        guard failure == nil, let index = streams.index(of: slot), streams[index].sending == .body else { return false }
        return streams[index].sendWindow > 0 && room(for: index) > 0
    }

    /// The number of bytes that all streams together can queue now.
    private var room: Int { min(sendWindow, HTTP2Limits.queuedBody - queue.bodyRoom) }

    /// The number of bytes that a stream can queue now; one without a turn leaves the room of those that have it.
    private func room(for index: Int) -> Int {
        if streams[index].isGranted { return room }
        return turns.isEmpty ? room - grants * FrameReader.maximumPayload : 0
    }

    /// Queues a stream for its turn if it waits for the connection only, and not for its own window.
    mutating func queueTurn(of index: Int) {
        guard streams[index].wantsCapacity, streams[index].sendWindow > 0, !streams[index].isQueued else { return }
        streams[index].isQueued = true
        turns.append(streams.slot(at: index))
    }

    /// Ends the turn of the stream, if it has one.
    mutating func endGrant(of index: Int) {
        guard streams[index].isGranted else { return }
        streams[index].isGranted = false
        guard streams[index].reservesRoom else { return }
        streams[index].reservesRoom = false
        grants -= 1
        if grants == 0 { grantsExpire = .distantFuture }
    }

    /// Ends the reservations of streams that have not written in time; the streams keep their turn.
    private mutating func endReservations() {
        for index in streams.indices { streams[index].reservesRoom = false }
        (grants, grantsExpire) = (0, .distantFuture)
    }

    /// Notifies the streams whose turn it is: as many as there is room for frames.
    ///
    /// Room for one frame of each is reserved for a short time. A stream that does not write in that time delays the
    /// others only once, and may still write later.
    mutating func grantTurns(at now: Deadline, into events: inout [ConnectionEvent]) {
        if grantsExpire <= now { endReservations() }
        var granted = 0
        while granted < turns.count, room - grants * FrameReader.maximumPayload > 0 {
            let slot = turns[granted]
            granted += 1
            let index = slot.index
            streams[index].isQueued = false
            // SETTINGS may have closed its window, and WINDOW_UPDATE queues it again; its message may have ended.
            guard streams[index].wantsCapacity, streams[index].sendWindow > 0 else { continue }
            streams[index].wantsCapacity = false
            (streams[index].isGranted, streams[index].reservesRoom) = (true, true)
            if grants == 0 { grantsExpire = now.advanced(by: HTTP2Limits.grantTime) }
            grants += 1
            events.append(.capacity(slot))
        }
        turns.removeFirst(granted)
    }
}
