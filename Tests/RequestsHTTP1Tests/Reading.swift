import Requests
import RequestsHTTP1

/// The messages that a reader found in a stream of bytes.
struct Reading: Hashable {
    var response: ReceivedResponse?
    var request: ReceivedRequest?
    var interim: [Interim] = []
    var body: [UInt8] = []
    var trailers: Header = .empty
    /// The number of bytes after the message.
    var unread = 0

    /// The number of bytes that were read as text or content.
    var bytesKept: Int {
        let headers = [header ?? .empty, trailers] + interim.map(\.header)
        let fields = headers.flatMap { $0 }.reduce(0) { $0 + $1.name.rawValue.utf8.count + $1.valueBytes.count }
        let reasons = interim.map(\.line) + (response.map { [$0.line] } ?? [])
        let target = (request?.line.target ?? "") + (request?.line.method.rawValue ?? "")
        return fields + reasons.reduce(0) { $0 + $1.reason.utf8.count } + target.utf8.count + body.count
    }

    /// The growth in bytes of reason phrases that are not UTF-8, because they were read as ISO-8859-1.
    var latin1Excess: Int {
        let reasons = interim.map(\.line.reason) + (response.map { [$0.line.reason] } ?? [])
        return reasons.reduce(0) { $0 + ($1.utf8.count - $1.unicodeScalars.count) }
    }

    var header: Header? { response?.header ?? request?.header }
    var isReusable: Bool { (response?.isReusable ?? request?.isReusable ?? false) && unread == 0 }
}

/// An interim response.
struct Interim: Hashable {
    var line: StatusLine
    var header: Header
}

/// The way in which a stream is split into the pieces that reach the reader.
enum Delivery: Hashable {
    case whole
    case oneByteAtATime
    case split(at: Int)

    func piece(of count: Int, from start: Int) -> Int {
        switch self {
        case .whole: count - start
        case .oneByteAtATime: 1
        case .split(let offset): start < offset ? min(offset, count) - start : count - start
        }
    }

    /// Returns the deliveries to test: whole, byte by byte, and in two pieces, split at each of the first 600 offsets
    /// and at some others.
    static func all(for count: Int) -> [Delivery] {
        let offsets = Array(1..<max(1, min(count, 600))) + Array(stride(from: 600, to: max(600, count), by: 997))
        return [.whole, .oneByteAtATime] + offsets.map { .split(at: $0) }
    }
}

/// A connection that delivers a stream in pieces, and keeps received bytes until the reader consumes them.
struct SplitInput {
    private let stream: [UInt8]
    private let delivery: Delivery
    /// Whether the peer keeps the connection open after the stream.
    private let staysOpen: Bool
    private var received = 0
    private var consumed = 0
    /// The number of times that the reader was called.
    private(set) var calls = 0

    init(_ stream: [UInt8], _ delivery: Delivery, staysOpen: Bool = false) {
        self.stream = stream
        self.delivery = delivery
        self.staysOpen = staysOpen
    }

    var unread: Int { stream.count - consumed }

    /// Receives the next piece, and returns false if the peer has closed the connection.
    mutating func receive() -> Bool {
        guard received < stream.count else { return false }
        received += max(1, delivery.piece(of: stream.count, from: received))
        return true
    }

    /// Reads one message; returns false if the stream ends before the message does and the connection stays open.
    @discardableResult
    mutating func read(_ reader: inout some MessageReader, into reading: inout Reading) throws(WireError) -> Bool {
        while true {
            calls += 1
            let (count, event) = try reader.nextEvent(in: stream.span.extracting(consumed..<received))
            if case .data(let range) = event {
                reading.body += stream[(consumed + range.lowerBound)..<(consumed + range.upperBound)]
            }
            consumed += count
            switch event {
            case .needMore:
                if receive() { continue }
                if staysOpen { return false }
                try reader.end()
                return true
            case .head(let record): record(&reading)
            case .data: break
            case .end(let trailers):
                reading.trailers = trailers
                return true
            }
        }
    }
}

/// The common interface of both readers.
protocol MessageReader {
    mutating func nextEvent(in bytes: Span<UInt8>) throws(WireError) -> (Int, ReaderEvent)
    mutating func end() throws(WireError)
}

/// An event of either reader.
///
/// The event of a head contains a function that records the head.
enum ReaderEvent {
    case needMore
    case head((inout Reading) -> Void)
    case data(Range<Int>)
    case end(Header)
}

extension ResponseReader: MessageReader {
    mutating func nextEvent(in bytes: Span<UInt8>) throws(WireError) -> (Int, ReaderEvent) {
        let (count, event) = try next(in: bytes)
        return switch event {
        case .needMore: (count, .needMore)
        case .interim(let line, let header): (count, .head { $0.interim.append(Interim(line: line, header: header)) })
        case .head(let head): (count, .head { $0.response = head })
        case .data(let range): (count, .data(range))
        case .end(let trailers): (count, .end(trailers))
        }
    }

    mutating func end() throws(WireError) {
        _ = try receiveEnd()
    }
}

extension RequestReader: MessageReader {
    mutating func nextEvent(in bytes: Span<UInt8>) throws(WireError) -> (Int, ReaderEvent) {
        let (count, event) = try next(in: bytes)
        return switch event {
        case .needMore: (count, .needMore)
        case .head(let head): (count, .head { $0.request = head })
        case .data(let range): (count, .data(range))
        case .end(let trailers): (count, .end(trailers))
        }
    }

    mutating func end() throws(WireError) {
        _ = try receiveEnd()
    }
}

/// Reads one response from a connection that closes after `bytes`, unless it stays open.
func readResponse(
    _ bytes: some Sequence<UInt8>, answering method: HTTPMethod = .get, upgrade: Bool = false,
    limits: WireLimits = WireLimits(), _ delivery: Delivery = .whole, staysOpen: Bool = false
) throws(WireError) -> Reading {
    let stream = Array(bytes)
    var input = SplitInput(stream, delivery, staysOpen: staysOpen)
    var reading = Reading()
    var reader = ResponseReader(answering: method, acceptsUpgrade: upgrade, limits: limits)
    try input.read(&reader, into: &reading)
    reading.unread = input.unread
    return reading
}

/// Reads the requests of one connection until the connection ends or a request does not permit another one.
func readRequests(
    _ bytes: some Sequence<UInt8>, limits: WireLimits = WireLimits(), _ delivery: Delivery = .whole,
    staysOpen: Bool = false
) throws(WireError) -> [Reading] {
    let stream = Array(bytes)
    var input = SplitInput(stream, delivery, staysOpen: staysOpen)
    var readings: [Reading] = []
    var isComplete: Bool
    repeat {
        var reading = Reading()
        var reader = RequestReader(limits: limits)
        isComplete = try input.read(&reader, into: &reading)
        readings.append(reading)
    } while isComplete && input.unread > 0 && readings.last?.request?.isReusable == true
    return readings
}

/// Returns the ways to split a response that change its result or its error, whether the peer then closes the
/// connection or keeps it open.
func deliveriesThatDiffer(
    _ bytes: [UInt8], answering method: HTTPMethod = .get, limits: WireLimits = WireLimits(),
    among deliveries: [Delivery]? = nil
) -> [Delivery] {
    differences(among: deliveries ?? Delivery.all(for: bytes.count)) { (delivery, staysOpen) throws(WireError) in
        try readResponse(bytes, answering: method, limits: limits, delivery, staysOpen: staysOpen)
    }
}

/// Returns the ways to split the requests of a connection that change the result or the error.
func requestDeliveriesThatDiffer(
    _ bytes: [UInt8], limits: WireLimits = WireLimits(), among deliveries: [Delivery]? = nil
) -> [Delivery] {
    differences(among: deliveries ?? Delivery.all(for: bytes.count)) { (delivery, staysOpen) throws(WireError) in
        try readRequests(bytes, limits: limits, delivery, staysOpen: staysOpen)
    }
}

private func differences<Value: Equatable>(
    among deliveries: [Delivery], _ read: (Delivery, _ staysOpen: Bool) throws(WireError) -> Value
) -> [Delivery] {
    func outcome(_ delivery: Delivery, _ staysOpen: Bool) -> Result<Value, WireError> {
        Result { () throws(WireError) in try read(delivery, staysOpen) }
    }
    let (closed, open) = (outcome(.whole, false), outcome(.whole, true))
    return deliveries.filter { outcome($0, false) != closed || outcome($0, true) != open }
}
