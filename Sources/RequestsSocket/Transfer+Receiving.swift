import Requests
import RequestsHTTP1
import RequestsPOSIX

// MARK: The head

extension Transfer {
    /// The head of the final response; interim ones are passed over.
    mutating func receiveHead() async throws(RequestError) -> ReceivedResponse {
        while true {
            if let answer { return answer }
            if !(try readHead()) { try await fill() }
        }
    }

    /// Reads on in what has been received; true when the final head is there.
    mutating func readHead() throws(RequestError) -> Bool {
        while answer == nil {
            let consumed: Int
            let event: ResponseReader.Event
            do throws(WireError) {
                (consumed, event) = try reader.next(in: connection.inbound.unread)
            } catch {
                throw RequestError(error)
            }
            connection.inbound.consume(consumed)
            switch event {
            case .interim(let line, let header):
                if line.status == .continue { hasContinued = true }
                onInterim?(line.status, header)
            case .head(let received):
                answer = received
                reporter.progress.totalToReceive = expectedLength
            case .needMore, .data, .end: return false
            }
        }
        return true
    }

    /// Receives more into the connection's buffer, waiting if need be.
    private mutating func fill() async throws(RequestError) {
        while true {
            let result: TransferResult
            do throws(SystemError) {
                result = try connection.fill()
            } catch {
                throw .lost(sendFailure ?? error)
            }
            switch result {
            case .bytes(let count): return try await rest(after: count)
            case .end: return try receiveEnd()
            case .wouldBlock: try await waitForBytes()
            }
        }
    }

    private mutating func waitForBytes() async throws(RequestError) {
        // What the peer said before sending failed is here already; nothing more is to come.
        if let sendFailure { throw .lost(sendFailure) }
        if !reader.awaitsResponse || !connection.inbound.isEmpty {
            let limit = patience.betweenBytes.map(Deadline.after) ?? .distantFuture
            return try await wait(for: .reading, until: limit, in: .betweenBytes)
        }
        let limit = firstByteLimit ?? patience.firstByte.map(Deadline.after) ?? .distantFuture
        firstByteLimit = limit
        try await wait(for: .reading, until: limit, in: .firstByte)
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
    /// Receives bytes of the body into `space`, straight from the kernel where the reader need not see them.
    ///
    /// Returns how many; 0 at the end of the body, or when `space` is empty.
    mutating func receiveBody(into space: UnsafeMutableRawBufferPointer) async throws(RequestError) -> Int {
        while !isAtEnd {
            if pending > 0 { return try await handOver(space) }
            if connection.inbound.isEmpty, reader.remaining > 0 {
                if space.isEmpty { return 0 }
                if let count = try await receiveDirectly(into: space) { return count }
            } else if !(try readBody()) {
                try await fill()
            }
        }
        return 0
    }

    /// Reads on in what has been received; false when more is needed.
    private mutating func readBody() throws(RequestError) -> Bool {
        let consumed: Int
        let event: ResponseReader.Event
        do throws(WireError) {
            (consumed, event) = try reader.next(in: connection.inbound.unread)
        } catch {
            throw RequestError(error)
        }
        switch event {
        case .data(let range):
            // The data stays in the buffer until it is handed over.
            connection.inbound.consume(range.lowerBound)
            pending = range.count
        case .end(let trailers):
            connection.inbound.consume(consumed)
            finish(trailers)
        case .needMore, .interim, .head:
            connection.inbound.consume(consumed)
            return false
        }
        return true
    }

    private mutating func handOver(_ space: UnsafeMutableRawBufferPointer) async throws(RequestError) -> Int {
        let count = min(pending, space.count)
        space.copyMemory(from: UnsafeRawBufferPointer(rebasing: connection.inbound.unread.prefix(count)))
        connection.inbound.consume(count)
        pending -= count
        note(count)
        return count
    }

    private mutating func receiveDirectly(
        into space: UnsafeMutableRawBufferPointer
    ) async throws(RequestError) -> Int? {
        let room = UnsafeMutableRawBufferPointer(rebasing: space.prefix(min(reader.remaining, 256 << 10)))
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
            try await rest(after: count)
            return count
        case .end: try receiveEnd()
        case .wouldBlock: try await waitForBytes()
        }
        return nil
    }

    private mutating func note(_ count: Int) {
        reporter.progress.received &+= count
        reporter.report()
    }
}
