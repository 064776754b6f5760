package enum OutputPiece: Hashable, Sendable {
    case frames(ArraySlice<UInt8>)
    /// The next `count` bytes of a body, which the owner of the stream keeps until they are written.
    case body(StreamSlot, count: Int)
}

/// The frames that wait to be sent, and the places of body bytes between them.
struct OutputQueue: ~Copyable, Sendable {
    /// Consecutive frames in the writer, and the body bytes after them.
    private struct Part {
        var frames: Range<Int>
        var slot: StreamSlot?
        var bodyCount = 0
        var acknowledgements = 0

        var count: Int { frames.count + bodyCount }
        /// The room that the body bytes take.
        ///
        /// A small frame takes more than its size, which limits the number of parts.
        var room: Int { bodyCount > 0 ? max(bodyCount, HTTP2Limits.frameRoom) : 0 }
    }

    private var writer = FrameWriter()
    private var parts: [Part] = []
    /// The number of bytes of the first part that were written.
    private var begun = 0
    /// The number of bytes that were written.
    private(set) var written = 0
    /// The number of bytes that wait.
    private(set) var count = 0
    /// The part of ``HTTP2Limits/queuedBody`` that the waiting body bytes take.
    private(set) var bodyRoom = 0
    /// The number of acknowledgements that wait.
    private(set) var acknowledgements = 0
    /// The number of parts at the front that ``pieces()`` has returned, so their bytes may have been sent.
    private var handedOut = 0

    /// Returns the pieces that follow the written bytes.
    ///
    /// Nothing is inserted before the last of them until ``remove(_:)`` is called.
    mutating func pieces() -> [OutputPiece] {
        handedOut = parts.count
        var pieces: [OutputPiece] = []
        for (position, part) in parts.enumerated() {
            let done = position == 0 ? begun : 0
            let frames = part.frames.dropFirst(done)
            if !frames.isEmpty { pieces.append(.frames(writer.bytes[frames])) }
            let body = part.bodyCount - max(0, done - part.frames.count)
            if let slot = part.slot, body > 0 { pieces.append(.body(slot, count: body)) }
        }
        return pieces
    }

    mutating func append(acknowledgements: Int = 0, _ write: (inout FrameWriter) -> Void) {
        let start = writer.bytes.count
        write(&writer)
        let end = writer.bytes.count
        count += end - start
        self.acknowledgements += acknowledgements
        // A part that is being written is not extended, so that its acknowledgements are counted until it is written.
        if let last = parts.last, last.slot == nil, last.frames.upperBound == start,
            parts.count > max(handedOut, begun > 0 ? 1 : 0)
        {
            parts[parts.count - 1].frames = last.frames.lowerBound..<end
            parts[parts.count - 1].acknowledgements += acknowledgements
        } else {
            parts.append(Part(frames: start..<end, acknowledgements: acknowledgements))
        }
    }

    /// Appends a DATA frame, whose content is `length` bytes of the owner of `slot`.
    mutating func appendData(_ length: Int, of slot: StreamSlot, endsStream: Bool) {
        append { $0.data(length, on: slot.stream, endsStream: endsStream) }
        guard length > 0 else { return }
        parts[parts.count - 1].slot = slot
        parts[parts.count - 1].bodyCount = length
        count += length
        bodyRoom += parts[parts.count - 1].room
    }

    /// Inserts a PING acknowledgement before all frames that are not being written (RFC 9113 §6.7).
    ///
    /// The first part, which contains the preface and SETTINGS, precedes every frame (RFC 9113 §3.4).
    mutating func insertAcknowledgement(ofPing opaque: [UInt8]) {
        let start = writer.bytes.count
        writer.ping(opaque, isAcknowledgement: true)
        let part = Part(frames: start..<writer.bytes.count, acknowledgements: 1)
        count += part.count
        acknowledgements += 1
        parts.insert(part, at: max(handedOut, begun > 0 || written == 0 ? 1 : 0))
    }

    /// Removes the first `length` bytes, which were written; at most as many as wait.
    mutating func remove(_ length: Int) {
        handedOut = 0
        let length = min(max(length, 0), count)
        written += length
        count -= length
        begun += length
        var finished = 0
        while finished < parts.count, begun >= parts[finished].count {
            begun -= parts[finished].count
            bodyRoom -= parts[finished].room
            acknowledgements -= parts[finished].acknowledgements
            finished += 1
        }
        // Usually all were written, and `removeAll` is faster.
        if finished == parts.count { parts.removeAll(keepingCapacity: true) } else { parts.removeFirst(finished) }
        compact()
    }

    /// Releases the memory of frames that were written.
    private mutating func compact() {
        if parts.isEmpty { return writer.replaceAll(with: []) }
        guard writer.bytes.count > 65_536 else { return }
        // Only when most of the memory is unused, so that the copies take linear time.
        guard parts.reduce(0, { $0 + $1.frames.count }) < writer.bytes.count / 2 else { return }
        var start = 0
        var bytes: [UInt8] = []
        for index in parts.indices {
            bytes += writer.bytes[parts[index].frames]
            parts[index].frames = start..<bytes.count
            start = bytes.count
        }
        writer.replaceAll(with: bytes)
    }
}
