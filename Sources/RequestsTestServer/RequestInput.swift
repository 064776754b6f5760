import RequestsHTTP1
import RequestsPOSIX

/// The requests that arrive on one connection.
struct RequestInput {
    private let connection: ServerConnection
    private let state: ServerState
    private var buffer: [UInt8] = []
    private var start = 0
    private var reader: RequestReader
    /// Whether a byte of the request has arrived.
    private var hasStarted = false
    /// The instant by which the expected bytes must have arrived.
    private(set) var deadline: Deadline
    /// Whether bytes may have arrived that the socket has not reported.
    private var mayHaveBytes = false
    private var isAtEnd = false

    /// The number of bytes that are read ahead during a pause; more stay in the socket (decision 0026).
    private static var readAhead: Int { 256 << 10 }
    /// The capacity that a buffer keeps while its connection waits for a request.
    private static var keptCapacity: Int { 4 << 10 }

    init(_ connection: ServerConnection, _ state: ServerState) {
        self.connection = connection
        self.state = state
        reader = RequestReader(limits: state.wireLimits)
        deadline = Self.deadline(after: state.limits.idleTime)
    }

    /// Begins to wait for a request.
    mutating func begin() {
        reader = RequestReader(limits: state.wireLimits)
        hasStarted = false
        deadline = Self.deadline(after: state.limits.idleTime)
    }

    /// Records that the socket can be read.
    mutating func expectBytes() { mayHaveBytes = true }

    /// Whether no byte of the next request is available until the socket reports one.
    var isExhausted: Bool {
        start == buffer.count && !mayHaveBytes && !isAtEnd && connection.waitsForBytes
            && buffer.capacity <= Self.keptCapacity
    }

    /// Reads the next request to its end; returns nil if the client closes the connection instead.
    ///
    /// - Parameters:
    ///   - onHead: A function that is called with the head before the body is read; its error refuses the request.
    ///   - onBody: A function that is called with the bytes of the body as they arrive; its error refuses the request.
    /// - Returns: The request and its trailers; nil at the end of the connection.
    /// - Throws: The end of the connection, or the refusal of the request. `waiting` if the head has not arrived: the
    ///   next call continues.
    mutating func next(
        onHead: (ReceivedRequest) throws(ConnectionEnd) -> Void, onBody: (Data) throws(ConnectionEnd) -> Void
    ) throws(ConnectionEnd) -> (request: ReceivedRequest, trailers: Header)? {
        var head: ReceivedRequest?
        // The body bytes that arrived together: a body in chunks of one byte would otherwise be delivered byte by byte.
        var arrived = Data()
        while true {
            // Pipelined requests arrive before they are read, so the first bytes may already be in the buffer.
            let event = try Self.event(of: &reader, in: buffer, from: &start)
            if !hasStarted, reader.hasStarted {
                hasStarted = true
                deadline = Self.deadline(after: state.limits.headTime)
            }
            switch event {
            case .needMore:
                if !arrived.isEmpty { try onBody(arrived) }
                arrived.removeAll(keepingCapacity: true)
                if try fill(isBody: head != nil) { continue }
                guard reader.hasStarted else { return nil }
                throw .refused(400, "incomplete request")
            case .head(let request):
                head = request
                deadline = Self.deadline(after: state.limits.bodyTime)
                try onHead(request)
            case .data(let range): arrived.append(contentsOf: buffer[range])
            case .end(let trailers):
                if !arrived.isEmpty { try onBody(arrived) }
                begin()
                return head.map { ($0, trailers) }
            }
        }
    }

    /// Reads the bytes of `buffer` from `start` on, and advances `start` past the consumed bytes.
    private static func event(
        of reader: inout RequestReader, in buffer: [UInt8], from start: inout Int
    ) throws(ConnectionEnd) -> RequestReader.Event {
        let offset = start
        do throws(WireError) {
            let (consumed, event) = try reader.next(in: buffer.span.extracting(droppingFirst: offset))
            start += consumed
            guard case .data(let range) = event else { return event }
            return .data(range.lowerBound + offset..<range.upperBound + offset)
        } catch {
            throw .refused(error.statusHint, error.description)
        }
    }

    private static func deadline(after limit: Duration?) -> Deadline { limit.map(Deadline.after) ?? .distantFuture }

    /// Waits for more bytes; returns false if the client will send none.
    private mutating func fill(isBody: Bool) throws(ConnectionEnd) -> Bool {
        if start == buffer.count { discardBuffer() } else { buffer.removeFirst(start) }
        start = 0
        while !isAtEnd {
            // Checked before each read, because a client that always sends never lets the wait end.
            guard deadline == .distantFuture || .now < deadline else { throw late }
            if isBody || mayHaveBytes, try receive() { return !isAtEnd }
            guard isBody || !connection.waitsForBytes else {
                if buffer.isEmpty, buffer.capacity > Self.keptCapacity { buffer = [] }
                throw .waiting
            }
            let limit = deadline == .distantFuture ? nil : deadline
            guard try connection.wait(for: .reading, by: limit) else { throw late }
            mayHaveBytes = true
        }
        return false
    }

    /// The end of a connection whose client sends too slowly; without a request, nothing is refused.
    private var late: ConnectionEnd { hasStarted ? .refused(408, "the request did not arrive in time") : .closed }

    /// Takes the bytes that have arrived; returns false if there are none.
    private mutating func receive() throws(ConnectionEnd) -> Bool {
        guard let (count, mayHaveMore) = try connection.receive(into: &buffer) else {
            isAtEnd = true
            return true
        }
        mayHaveBytes = mayHaveMore
        if count > 0 { state.count(receivedBytes: count) }
        return count > 0
    }

    /// Waits until `deadline` and keeps received bytes for the next request; throws if the client closes the
    /// connection.
    mutating func pause(until deadline: Deadline) throws(ConnectionEnd) {
        while buffer.count < Self.readAhead {
            guard try connection.wait(for: .reading, by: deadline) else { return }
            if try receive(), isAtEnd { throw .closed }
        }
        // If the client closes the connection after this, the next write fails.
        try connection.waitForHangUp(by: deadline)
    }

    /// Discards received bytes until the client closes the connection or the server stops, and then throws.
    mutating func stall() throws(ConnectionEnd) -> Never {
        while true {
            discardBuffer()
            _ = try connection.wait(for: .reading)
            if try receive(), isAtEnd { throw .closed }
        }
    }

    /// Reads and discards bytes of a refused client, within limits.
    ///
    /// So the client can read the response before the connection is closed (decision 0026).
    mutating func drain() throws(ConnectionEnd) {
        let deadline = Deadline.after(state.limits.drainTime)
        var remaining = state.limits.drainedBytes
        while !isAtEnd, remaining > 0 {
            guard try connection.wait(for: .reading, by: deadline) else { return }
            discardBuffer()
            _ = try receive()
            remaining -= buffer.count
        }
        // Closing with unread bytes resets the connection, and the client could lose the response.
        if !isAtEnd { try connection.waitForHangUp(by: deadline) }
    }

    private mutating func discardBuffer() {
        buffer.removeAll(keepingCapacity: true)
        start = 0
    }
}
