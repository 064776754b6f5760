import Requests
import RequestsHTTP1
import RequestsPOSIX

// MARK: The head

extension Transfer {
    /// Whether the head of the final response is here, or comes without a wait; interim ones are passed over.
    mutating func hasHeadAtOnce() throws(RequestError) -> Bool {
        while true {
            if try readHead() { return true }
            guard try fill() else { return false }
        }
    }

    /// Reads on in what has been received; true when the final head is there.
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

    /// Receives more into the connection's buffer; false when nothing has come yet, or when others should run first.
    private mutating func fill() throws(RequestError) -> Bool {
        if isTired { return false }
        let isHead = status == nil
        return try hasReceived { (connection) throws(SystemError) in try connection.fill(isHead: isHead) }
    }

    /// Waits for a head in receiving it, for at most 10 ms, where `deadline` is not nearer than that; whether something
    /// has come.
    mutating func receiveInPlace(by deadline: Deadline) throws(RequestError) -> Bool {
        guard deadline > Deadline.now.advanced(byNanoseconds: 10_000_000) else { return false }
        return try hasReceived { (connection) throws(SystemError) in try connection.fillInPlace() }
    }

    /// Takes note of what `receive` put into the connection's buffer; whether anything came, the end included.
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
        case .bytes(let count): work(count)
        case .end: try receiveEnd()
        case .wouldBlock: return false
        }
        return true
    }

    /// Why nothing more can be received at once.
    mutating func pause() throws(RequestError) -> Pause {
        if isTired { return .rest }
        // What the peer said before sending failed is here already; nothing more is to come.
        if let sendFailure { throw .lost(sendFailure) }
        if !reader.awaitsResponse || !connection.inbound.isEmpty {
            return .wait(for: .reading, until: patience.betweenBytes, in: .betweenBytes)
        }
        let limit = firstByteLimit ?? patience.firstByte
        firstByteLimit = limit
        return .wait(for: .reading, until: limit, in: .firstByte)
    }

    /// The peer has closed: the end of a body that runs until then, else a truncation.
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
    /// Receives bytes of the body into `space`, waiting for them if need be.
    ///
    /// Returns how many; 0 at the end of the body, or when `space` is empty.
    mutating func receiveBody(into space: UnsafeMutableRawBufferPointer) async throws(RequestError) -> Int {
        while true {
            if let count = try bodyAtOnce(into: space) { return count }
            try await take(pause())
        }
    }

    /// The same without a wait, straight from the kernel where the reader need not see the bytes; nil when there are
    /// none yet.
    mutating func bodyAtOnce(into space: UnsafeMutableRawBufferPointer) throws(RequestError) -> Int? {
        while !isAtEnd {
            if pending > 0 { return handOver(space) }
            if connection.inbound.isEmpty, reader.remaining >= leastDirect {
                if space.isEmpty { return 0 }
                guard !isTired, let count = try receiveDirectly(into: space) else { return nil }
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

    /// How many bytes, chunk lines among them, are here of a chunked body, after a try to have some; nil when there are
    /// none yet.
    mutating func chunkedBytesAtOnce() throws(RequestError) -> Int? {
        if connection.inbound.isEmpty { guard try fillBody() else { return nil } }
        return connection.inbound.unread.count
    }

    /// From how many bytes on it is worth receiving them past the buffer: what follows a chunk is better had with it.
    private var leastDirect: Int { isChunked ? 64 << 10 : 1 }

    /// Whether what has been received ends the body, all of which has been handed over.
    mutating func endsAtOnce() throws(RequestError) -> Bool {
        while !isAtEnd, pending == 0, reader.remaining == 0 {
            guard try readBody() else { return false }
        }
        return isAtEnd
    }

    /// A counted body that has come whole with its head; nil when it has not, or is longer than `limit`.
    mutating func wholeBodyAtOnce(_ limit: Int) throws(RequestError) -> Data? {
        guard !isAtEnd, let length = expectedLength, length <= limit, connection.inbound.unread.count >= length
        else { return nil }
        let bytes = connection.inbound.unread
        let body = bytes.baseAddress.map { Data(bytes: $0, count: length) } ?? Data()
        connection.inbound.consume(length)
        reader.advance(length)
        note(length)
        return try readBody() && isAtEnd ? body : nil
    }

    /// Reads on in what has been received; false when more is needed.
    private mutating func readBody() throws(RequestError) -> Bool {
        switch try nextEvent() {
        case .data(let range): pending = range.count
        case .end(let trailers): finish(trailers)
        case .needMore, .interim, .head: return false
        }
        return true
    }

    /// What comes next of what has been received; bytes of the body stay in the buffer until they are handed over.
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

    private mutating func handOver(_ space: UnsafeMutableRawBufferPointer) -> Int {
        let count = min(pending, space.count)
        space.copyMemory(from: UnsafeRawBufferPointer(rebasing: connection.inbound.unread.prefix(count)))
        connection.inbound.consume(count)
        pending -= count
        note(count)
        return count
    }

    /// 0 when the peer has closed, nil when nothing has come yet.
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
            note(count)
            work(count)
            return count
        case .end:
            try receiveEnd()
            return 0
        case .wouldBlock: return nil
        }
    }

    private mutating func note(_ count: Int) {
        reporter.addReceived(count)
    }
}
