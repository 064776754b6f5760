import Requests
import RequestsHTTP2
import Testing

/// A connection whose peer is a script of bytes, with a clock that moves only by hand.
struct HTTP2Peer: ~Copyable {
    var state: ConnectionState
    private(set) var now = Deadline(nanoseconds: 1_000_000_000)
    /// The events, each as the number of its stream and its kind; parts of one body are joined.
    private(set) var log: [String] = []
    /// The slot of each stream, by number.
    private(set) var slots: [StreamID: StreamSlot] = [:]
    /// The content of all bodies.
    private(set) var body: [UInt8] = []
    private(set) var error: HTTP2Error?
    /// The numbers of the events of places, and how often the connection has reported that it drains.
    private(set) var places: [Int] = []
    private(set) var drainings = 0
    /// Reads the output of the connection as the other role does.
    private var reader: OutputReader

    /// Creates a connection that has received SETTINGS, and their acknowledgement after `roundTrip` if there is one.
    init(
        _ role: HTTP2Role = .client, limits: HTTP2Limits = HTTP2Limits(), settings: [(UInt16, UInt32)] = [],
        roundTrip: Duration? = nil, firstStream: StreamID = 1
    ) {
        state = ConnectionState(role, limits: limits, firstStream: firstStream, at: now)
        reader = OutputReader(sentBy: role)
        receive((role == .server ? FrameReader.preface : []) + WireFrame.settings(settings))
        _ = sent()
        if let roundTrip {
            pass(roundTrip)
            receive(WireFrame.settingsAcknowledgement)
        }
        (log, places) = ([], [])
    }

    mutating func pass(_ duration: Duration) {
        now = now.advanced(by: duration)
    }

    /// Receives bytes, whole or one at a time.
    mutating func receive(_ bytes: [UInt8], oneByOne: Bool = false) {
        guard !oneByOne else {
            for byte in bytes { receive([byte]) }
            return
        }
        var events: [ConnectionEvent] = []
        do throws(HTTP2Error) {
            try state.receive(bytes.span, at: now, into: &events)
        } catch {
            self.error = error
        }
        for event in events { record(event, bytes) }
    }

    /// Returns the log, and begins another.
    mutating func takeLog() -> [String] {
        defer { log = [] }
        return log
    }

    /// Opens a stream for a GET without a body, or for a request that continues.
    @discardableResult
    mutating func open(
        _ path: String = "/", isHead: Bool = false, endsStream: Bool = true, header: [(String, String)] = []
    ) -> StreamOpening {
        var fields = OutgoingFields()
        fields.append(":method", isHead ? "HEAD" : endsStream ? "GET" : "POST")
        fields.append(":scheme", "https")
        fields.append(":authority", "a.example")
        fields.append(":path", path)
        for (name, value) in header { fields.append(name, value) }
        let opening = state.open(fields, respondsToHead: isHead, endsStream: endsStream, at: now)
        if case .opened(let slot) = opening { slots[slot.stream] = slot }
        return opening
    }

    func slot(_ stream: StreamID) -> StreamSlot { slots[stream] ?? StreamSlot(index: -1, stream: stream) }

    /// Sends all output, and returns its frames; the content of DATA is zeros, and its parts are whole frames.
    ///
    /// The test fails if the other role cannot read the output.
    mutating func sent() -> [Frame] {
        // Writing gives streams their turn, but only their owners write.
        var bytes: [UInt8] = []
        for piece in state.output() {
            switch piece {
            case .frames(let slice): bytes += slice
            case .body(_, let count): bytes += [UInt8](repeating: 0, count: count)
            }
        }
        var frames: [Frame] = []
        do {
            frames = try reader.read(bytes)
        } catch {
            Issue.record("the other role cannot read the output: \(error)")
        }
        var events: [ConnectionEvent] = []
        state.written(bytes.count, at: now, into: &events)
        for event in events { record(event, []) }
        return frames
    }

    mutating func expire() {
        var events: [ConnectionEvent] = []
        do throws(HTTP2Error) {
            try state.expire(at: now, into: &events)
        } catch {
            self.error = error
        }
        for event in events { record(event, []) }
    }

    private mutating func record(_ event: ConnectionEvent, _ bytes: [UInt8]) {
        switch event {
        case .interim(let slot, let status, _): log.append("\(slot.stream) interim \(status.code)")
        case .head(let slot, .response(let status, _)): log.append("\(slot.stream) head \(status.code)")
        case .head(let slot, .request(let head)):
            slots[slot.stream] = slot
            log.append("\(slot.stream) \(head.method) \(head.path ?? head.authority ?? "")")
        case .data(let slot, let range):
            body += bytes[range]
            if log.last != "\(slot.stream) data" { log.append("\(slot.stream) data") }
        case .trailers(let slot, let header): log.append("\(slot.stream) trailers \(header.count)")
        case .ended(let slot): log.append("\(slot.stream) ended")
        case .reset(let slot, let reset):
            log.append("\(slot.stream) reset \(reset.code)\(reset.isUnprocessed ? " unprocessed" : "")")
        case .capacity(let slot): log.append("\(slot.stream) capacity")
        case .places(let count): places.append(count)
        case .draining: drainings += 1
        case .goAway(let goAway): log.append("GOAWAY \(goAway.lastStream) \(goAway.code)")
        case .settled: log.append("settled")
        }
    }
}

/// Header blocks of literals that change no table, so that invalid fields can be written, too.
enum Block {
    static func of(_ fields: [(String, String)]) -> [UInt8] {
        fields.flatMap { name, value in [0] + string(Array(name.utf8)) + string(Array(value.utf8)) }
    }

    /// A response head.
    static func status(_ status: String, _ fields: [(String, String)] = []) -> [UInt8] {
        of([(":status", status)] + fields)
    }

    static func request(_ path: String = "/", method: String = "GET", _ fields: [(String, String)] = []) -> [UInt8] {
        of([(":method", method), (":scheme", "https"), (":authority", "a.example"), (":path", path)] + fields)
    }

    private static func string(_ bytes: [UInt8]) -> [UInt8] {
        guard bytes.count >= 127 else { return [UInt8(bytes.count)] + bytes }
        var (length, number) = ([UInt8(127)], bytes.count - 127)
        while number >= 128 {
            length.append(UInt8(number & 127 | 128))
            number >>= 7
        }
        return length + [UInt8(number)] + bytes
    }
}
