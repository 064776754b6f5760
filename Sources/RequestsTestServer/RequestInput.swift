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
        while true {
            switch try event(of: &reader) {
            case .needMore:
                if try fill() { continue }
                guard reader.hasStarted else { return nil }
                throw .refused(400, "the request is cut short")
            case .head(let request):
                head = request
                try onHead(request)
            case .data(let range): try onBody(Data(buffer[range]))
            case .end(let trailers): return head.map { ($0, trailers) }
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

    /// Keeps what arrives until `deadline`, or for ever; throws once the client has left.
    mutating func pause(until deadline: Deadline? = nil) throws(ConnectionEnd) {
        while try connection.wait(for: .reading, by: deadline) {
            if try receive(), isAtEnd { throw .closed }
        }
    }

    /// Reads and forgets what a refused client still sends, so that it can read the answer before the end.
    mutating func drain() throws(ConnectionEnd) {
        var forgotten = 0
        while !isAtEnd, forgotten < 64 << 20, try connection.wait(for: .reading, by: .after(.seconds(2))) {
            buffer = []
            start = 0
            _ = try receive()
            forgotten += buffer.count
        }
    }
}
