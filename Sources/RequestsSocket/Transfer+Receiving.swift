import Requests
import RequestsHTTP1
import RequestsPOSIX

// MARK: The head

extension Transfer {
    /// Returns whether the head of the final response has arrived, or arrives without a wait; interim responses are
    /// skipped.
    mutating func hasHeadAtOnce() throws(RequestError) -> Bool {
        while true {
            if try readHead() { return true }
            guard try fill() else { return false }
        }
    }

    /// Reads the received bytes, and returns whether the final head is complete.
    mutating func readHead() throws(RequestError) -> Bool {
        while status == nil {
            switch try nextEvent() {
            case .interim(let line, let header):
                if line.status == .continue { hasContinued = true }
                onInterim?(line.status, header)
            case .head(let received):
                begin(received)
            case .needMore, .data, .end: return false
            }
        }
        return true
    }

    /// Receives more into the connection's buffer; false if nothing has arrived, or if other tasks should run first.
    private mutating func fill() throws(RequestError) -> Bool {
        if isBudgetSpent { return false }
        let isHead = status == nil
        return try hasReceived { (connection) throws(SystemError) in try connection.fill(isHead: isHead) }
    }

    /// Waits for a head by receiving for at most 10 ms, unless `deadline` is nearer; returns whether something has
    /// arrived (decision 0010).
    mutating func receiveInPlace(by deadline: Deadline) throws(RequestError) -> Bool {
        guard deadline > Deadline.now.advanced(byNanoseconds: 10_000_000) else { return false }
        return try hasReceived { (connection) throws(SystemError) in try connection.fillInPlace() }
    }

    /// Records what `receive` added to the connection's buffer; returns whether anything arrived, the end included.
    private mutating func hasReceived(
        _ receive: (Connection) throws(SystemError) -> TransferResult
    ) throws(RequestError) -> Bool {
        let result: TransferResult
        do throws(SystemError) {
            result = try receive(connection)
        } catch {
            throw .lost(sendFailure ?? error)
        }
        switch result {
        case .bytes(let count): recordWork(count)
        case .end: try receiveEnd()
        case .wouldBlock: return false
        }
        return true
    }

    /// Returns the reason why nothing more can be received at once.
    mutating func pause() throws(RequestError) -> Pause {
        if isBudgetSpent { return .yield }
        // All bytes that the peer sent before sending failed have been read; no more will arrive.
        if let sendFailure { throw .lost(sendFailure) }
        if !reader.awaitsResponse || !connection.inbound.isEmpty {
            return .wait(for: .reading, until: timeLimits.betweenBytes, in: .betweenBytes)
        }
        let limit = firstByteLimit ?? timeLimits.firstByte
        firstByteLimit = limit
        return .wait(for: .reading, until: limit, in: .firstByte)
    }

    /// Records that the peer has closed, which ends a body without a length and truncates any other message.
    mutating func receiveEnd() throws(RequestError) {
        do throws(WireError) {
            if case .end(let trailers) = try reader.receiveEnd() { finish(trailers) }
        } catch {
            throw RequestError(error, cause: sendFailure)
        }
    }
}

// MARK: The body

extension Transfer {
    /// Receives bytes of the body into `space`, and waits for them if necessary.
    ///
    /// Returns their number; 0 at the end of the body, or if `space` is empty.
    mutating func receiveBody(into space: UnsafeMutableRawBufferPointer) async throws(RequestError) -> Int {
        while true {
            if let count = try bodyAtOnce(into: space) { return count }
            try await take(pause())
        }
    }

    /// Receives bytes of the body without a wait, directly from the kernel if the reader need not see them; returns nil
    /// if none have arrived.
    mutating func bodyAtOnce(into space: UnsafeMutableRawBufferPointer) throws(RequestError) -> Int? {
        while !isAtEnd {
            if pending > 0 { return copyPending(into: space) }
            if connection.inbound.isEmpty, reader.remaining >= leastDirect {
                if space.isEmpty { return 0 }
                guard !isBudgetSpent, let count = try receiveDirectly(into: space) else { return nil }
                if count > 0 { return count }
            } else if !(try readBody()) {
                guard try fillBody() else { return nil }
            }
        }
        return 0
    }

    var isChunked: Bool { framing == .chunked }

    /// Receives more of a body that the reader has to see.
    private mutating func fillBody() throws(RequestError) -> Bool {
        if isChunked { connection.inbound.widen() }
        return try fill()
    }

    /// Returns the number of bytes of a chunked body, chunk lines included, in the buffer, after a try to receive some
    /// if it was empty; nil if none have arrived.
    mutating func chunkedBytesAtOnce() throws(RequestError) -> Int? {
        if connection.inbound.isEmpty { guard try fillBody() else { return nil } }
        return connection.inbound.unread.count
    }

    /// The number of bytes from which it is worth bypassing the buffer: the end of a chunk is best received with what
    /// follows.
    private var leastDirect: Int { isChunked ? 64 << 10 : 1 }

    /// Returns whether the received bytes end the body, all of which has been delivered.
    mutating func endsAtOnce() throws(RequestError) -> Bool {
        while !isAtEnd, pending == 0, reader.remaining == 0 {
            guard try readBody() else { return false }
        }
        return isAtEnd
    }

    /// Returns a body with Content-Length that has arrived whole with its head; nil if it has not, or exceeds `limit`.
    mutating func wholeBodyAtOnce(_ limit: Int) throws(RequestError) -> Data? {
        guard !isAtEnd, let length = expectedLength, length <= limit, connection.inbound.unread.count >= length
        else { return nil }
        let bytes = connection.inbound.unread
        let body = bytes.baseAddress.map { Data(bytes: $0, count: length) } ?? Data()
        connection.inbound.consume(length)
        reader.advance(length)
        countReceived(length)
        return try readBody() && isAtEnd ? body : nil
    }

    /// Reads the received bytes; returns false if more are needed.
    private mutating func readBody() throws(RequestError) -> Bool {
        switch try nextEvent() {
        case .data(let range): pending = range.count
        case .end(let trailers): finish(trailers)
        case .needMore, .interim, .head: return false
        }
        return true
    }

    /// Returns the next event in the received bytes; bytes of the body stay in the buffer until they are delivered.
    private mutating func nextEvent() throws(RequestError) -> ResponseReader.Event {
        var consumed = 0
        do throws(WireError) {
            let event = try reader.next(in: connection.inbound.unread, consumed: &consumed)
            if case .data(let range) = event { consumed = range.lowerBound }
            connection.inbound.consume(consumed)
            return event
        } catch {
            throw RequestError(error)
        }
    }

    private mutating func copyPending(into space: UnsafeMutableRawBufferPointer) -> Int {
        let count = min(pending, space.count)
        space.copyMemory(from: UnsafeRawBufferPointer(rebasing: connection.inbound.unread.prefix(count)))
        connection.inbound.consume(count)
        pending -= count
        countReceived(count)
        return count
    }

    /// Receives directly into `space`; returns 0 if the peer has closed, nil if nothing has arrived.
    private mutating func receiveDirectly(
        into space: UnsafeMutableRawBufferPointer
    ) throws(RequestError) -> Int? {
        let room = UnsafeMutableRawBufferPointer(rebasing: space.prefix(min(reader.remaining, 1 << 20)))
        let result: TransferResult
        do throws(SystemError) {
            result = try connection.channel.read(into: room)
        } catch {
            throw .lost(sendFailure ?? error)
        }
        switch result {
        case .bytes(let count):
            reader.advance(count)
            countReceived(count)
            recordWork(count)
            return count
        case .end:
            try receiveEnd()
            return 0
        case .wouldBlock: return nil
        }
    }

    private mutating func countReceived(_ count: Int) {
        reporter.addReceived(count)
    }
}
