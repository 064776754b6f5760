import Requests
import RequestsHTTP1

/// What a reader made of a stream of bytes, or why it refused it.
struct Reading: Hashable {
    var response: ReceivedResponse?
    var request: ReceivedRequest?
    var interim: [Interim] = []
    var body: [UInt8] = []
    var trailers: Header = .empty
    /// Bytes that came after the message.
    var unread = 0

    /// Bytes of text and content in all that was read.
    var bytesKept: Int {
        let headers = [header ?? .empty, trailers] + interim.map(\.header)
        let fields = headers.flatMap { $0 }.reduce(0) { $0 + $1.name.rawValue.utf8.count + $1.valueBytes.count }
        let reasons = interim.map(\.line) + (response.map { [$0.line] } ?? [])
        let target = (request?.line.target ?? "") + (request?.line.method.rawValue ?? "")
        return fields + reasons.reduce(0) { $0 + $1.reason.utf8.count } + target.utf8.count + body.count
    }

    var header: Header? { response?.header ?? request?.header }
    var isReusable: Bool { (response?.isReusable ?? request?.isReusable ?? false) && unread == 0 }
}

/// One interim response.
struct Interim: Hashable {
    var line: StatusLine
    var header: Header
}

/// How a stream of bytes reaches the reader: the pieces' sizes, the last one repeated.
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

    /// Whole, byte by byte, and split at each offset; of a long stream at each in its head and at some of the others.
    static func all(for count: Int) -> [Delivery] {
        let offsets = Array(1..<max(1, min(count, 600))) + Array(stride(from: 600, to: max(600, count), by: 997))
        return [.whole, .oneByteAtATime] + offsets.map { .split(at: $0) }
    }
}

/// A connection's side of reading: it keeps what was received and not consumed, as the reader demands.
struct Connection {
    private let stream: [UInt8]
    private let delivery: Delivery
    private var received = 0
    private var consumed = 0
    /// How often the reader was asked.
    private(set) var calls = 0

    init(_ stream: [UInt8], _ delivery: Delivery) {
        self.stream = stream
        self.delivery = delivery
    }

    var unread: Int { stream.count - consumed }

    /// Receives the next piece; false when the peer has closed.
    mutating func receive() -> Bool {
        guard received < stream.count else { return false }
        received += max(1, delivery.piece(of: stream.count, from: received))
        return true
    }

    /// Reads one message to its end.
    mutating func read(_ reader: inout some MessageReader, into reading: inout Reading) throws(WireError) {
        while true {
            calls += 1
            let (count, step) = try reader.step(in: stream.span.extracting(consumed..<received))
            if case .data(let range) = step {
                reading.body += stream[(consumed + range.lowerBound)..<(consumed + range.upperBound)]
            }
            consumed += count
            switch step {
            case .needMore:
                if receive() { continue }
                try reader.end()
                return
            case .head(let note): note(&reading)
            case .data: break
            case .end(let trailers):
                reading.trailers = trailers
                return
            }
        }
    }
}

/// What both readers have in common.
protocol MessageReader {
    mutating func step(in bytes: Span<UInt8>) throws(WireError) -> (Int, Step)
    mutating func end() throws(WireError)
}

/// An event of either reader; a head knows how it is written down.
enum Step {
    case needMore
    case head((inout Reading) -> Void)
    case data(Range<Int>)
    case end(Header)
}

extension ResponseReader: MessageReader {
    mutating func step(in bytes: Span<UInt8>) throws(WireError) -> (Int, Step) {
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
    mutating func step(in bytes: Span<UInt8>) throws(WireError) -> (Int, Step) {
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

/// The reading of one response, the connection closing after `bytes`.
func readResponse(
    _ bytes: some Sequence<UInt8>, answering method: HTTPMethod = .get, upgrade: Bool = false,
    limits: WireLimits = WireLimits(), _ delivery: Delivery = .whole
) throws(WireError) -> Reading {
    let stream = Array(bytes)
    var connection = Connection(stream, delivery)
    var reading = Reading()
    var reader = ResponseReader(answering: method, acceptsUpgrade: upgrade, limits: limits)
    try connection.read(&reader, into: &reading)
    reading.unread = connection.unread
    return reading
}

/// The readings of the requests on one connection, until it ends or one of them says that it is the last.
func readRequests(
    _ bytes: some Sequence<UInt8>, limits: WireLimits = WireLimits(), _ delivery: Delivery = .whole
) throws(WireError) -> [Reading] {
    let stream = Array(bytes)
    var connection = Connection(stream, delivery)
    var readings: [Reading] = []
    repeat {
        var reading = Reading()
        var reader = RequestReader(limits: limits)
        try connection.read(&reader, into: &reading)
        readings.append(reading)
    } while connection.unread > 0 && readings.last?.request?.isReusable == true
    return readings
}

/// The outcome of reading a response, the same however the bytes arrive.
///
/// Gives the deliveries whose outcome differs from that of the whole; errors count as one outcome.
func deliveriesThatDiffer(
    _ bytes: [UInt8], answering method: HTTPMethod = .get, limits: WireLimits = WireLimits()
) -> [Delivery] {
    let whole = try? readResponse(bytes, answering: method, limits: limits)
    return Delivery.all(for: bytes.count).filter {
        (try? readResponse(bytes, answering: method, limits: limits, $0)) != whole
    }
}

/// The same for the requests of a connection.
func requestDeliveriesThatDiffer(_ bytes: [UInt8], limits: WireLimits = WireLimits()) -> [Delivery] {
    let whole = try? readRequests(bytes, limits: limits)
    return Delivery.all(for: bytes.count).filter { (try? readRequests(bytes, limits: limits, $0)) != whole }
}
