import RequestsHTTP1
import RequestsPOSIX

/// Reads the requests that arrive on one connection.
struct RequestInput {
    private let connection: Connection
    private let state: ServerState
    private var buffer: [UInt8] = []
    private var start = 0
    private var part = [UInt8](repeating: 0, count: 16 << 10)
    private var isAtEnd = false

    /// Bytes that are kept for later during a pause; more stay in the socket.
    private static var readAhead: Int { 256 << 10 }

    init(_ connection: Connection, _ state: ServerState) {
        self.connection = connection
        self.state = state
    }

    /// The next request, read to its end; nil when the client has closed the connection instead.
    ///
    /// `onHead` is told the head once it is here, before the body is read; what it throws refuses the request.
    mutating func next(
        onHead: (ReceivedRequest) throws(ConnectionEnd) -> Void, onBody: (Data) throws(ConnectionEnd) -> Void
    ) throws(ConnectionEnd) -> (request: ReceivedRequest, trailers: Header)? {
        var limits = WireLimits()
        limits.headBytes = state.limits.headBytes
        limits.lineBytes = min(limits.lineBytes, state.limits.headBytes)
        var reader = RequestReader(limits: limits)
        var head: ReceivedRequest?
        // What has arrived of the body at once: in chunks of a byte it would else be many small pieces.
        var arrived = Data()
        while true {
            switch try event(of: &reader) {
            case .needMore:
                if !arrived.isEmpty { try onBody(arrived) }
                arrived.removeAll(keepingCapacity: true)
                if try fill() { continue }
                guard reader.hasStarted else { return nil }
                throw .refused(400, "the request is cut short")
            case .head(let request):
                head = request
                try onHead(request)
            case .data(let range): arrived.append(contentsOf: buffer[range])
            case .end(let trailers):
                if !arrived.isEmpty { try onBody(arrived) }
                return head.map { ($0, trailers) }
            }
        }
    }

    private mutating func event(of reader: inout RequestReader) throws(ConnectionEnd) -> RequestReader.Event {
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

    /// Waits for more bytes; false when the client will send none.
    private mutating func fill() throws(ConnectionEnd) -> Bool {
        buffer.removeFirst(start)
        start = 0
        while !isAtEnd {
            if try receive() { return !isAtEnd }
            _ = try connection.wait(for: .reading)
        }
        return false
    }

    /// Takes what has arrived; false when nothing has.
    private mutating func receive() throws(ConnectionEnd) -> Bool {
        guard let count = try connection.receive(into: &part) else {
            isAtEnd = true
            return true
        }
        buffer.append(contentsOf: part[..<count])
        if count > 0 { state.change { $0.receivedBytes += count } }
        return count > 0
    }

    /// Waits until `deadline`, keeping what arrives for the next request; throws once the client has left.
    mutating func pause(until deadline: Deadline) throws(ConnectionEnd) {
        while buffer.count < Self.readAhead {
            guard try connection.wait(for: .reading, by: deadline) else { return }
            if try receive(), isAtEnd { throw .closed }
        }
        // A client that leaves now is noticed when the next bytes are sent.
        try connection.waitForHangUp(by: deadline)
    }

    /// Waits until the client has left or the server stops, which it throws; what arrives is discarded.
    mutating func stall() throws(ConnectionEnd) -> Never {
        while true {
            forget()
            _ = try connection.wait(for: .reading)
            if try receive(), isAtEnd { throw .closed }
        }
    }

    /// Reads and discards what a refused client still sends, within limits, so that it can read the response before the
    /// connection is closed.
    mutating func drain() throws(ConnectionEnd) {
        let deadline = Deadline.after(state.limits.drainTime)
        var remaining = state.limits.drainedBytes
        while !isAtEnd, remaining > 0 {
            guard try connection.wait(for: .reading, by: deadline) else { return }
            forget()
            _ = try receive()
            remaining -= buffer.count
        }
        // Closing now would reset the connection, and the client could lose a response that it has not read.
        if !isAtEnd { try connection.waitForHangUp(by: deadline) }
    }

    private mutating func forget() {
        buffer.removeAll(keepingCapacity: true)
        start = 0
    }
}
