import Requests
import RequestsHTTP1
import RequestsPOSIX
import RequestsSocket
import TestSupport

/// A carrier without a socket: it receives what a script says, and accepts as many bytes as the script says.
struct ScriptedCarrier: Carrier, ~Copyable {
    /// What one attempt to receive returns.
    enum Arrival: Sendable {
        case bytes(String)
        case nothing
        case end
        case failure(Int32)
    }

    /// What one attempt to send returns.
    enum Acceptance: Sendable {
        case bytes(Int)
        case full
        case failure(Int32)
    }

    private var arrivals: [Arrival]
    private var acceptances: [Acceptance]
    private var reader: ResponseReader
    private var buffer: [UInt8] = []
    private var received: ReceivedResponse?
    private(set) var pending = 0
    /// The bytes that were sent.
    private(set) var sent: [UInt8] = []
    let sendsFiles: Bool
    var hasPartialWrite = false

    /// Creates a carrier for a request of `method`.
    ///
    /// After the last of `arrivals` nothing arrives; after the last of `acceptances` all bytes are accepted.
    init(
        _ arrivals: [Arrival], accepting acceptances: [Acceptance] = [], for method: HTTPMethod = .get,
        sendsFiles: Bool = false
    ) {
        self.arrivals = arrivals
        self.acceptances = acceptances
        self.sendsFiles = sendsFiles
        reader = ResponseReader(answering: method)
    }

    var sentText: String { String(decoding: sent, as: UTF8.self) }

    private mutating func accept(_ bytes: [UInt8]) throws(StreamError) -> TransferResult {
        switch acceptances.isEmpty ? .bytes(.max) : acceptances.removeFirst() {
        case .bytes(let count):
            sent += bytes.prefix(count)
            return .bytes(min(count, bytes.count))
        case .full: return .wouldBlock
        case .failure(let code): throw .system(SystemError("send", code: code))
        }
    }

    mutating func send(_ head: [UInt8], _ body: Data, from offset: Int) throws(StreamError) -> TransferResult {
        try accept(Array((head + body).dropFirst(offset)))
    }

    mutating func send(
        _ file: borrowing FileReader, from position: Int64, count: Int
    ) throws(StreamError) -> TransferResult {
        let bytes =
            (try? [UInt8](unsafeUninitializedCapacity: count) { space, count in
                count = try file.read(into: UnsafeMutableRawBufferPointer(space), at: position)
            })
        return try accept(bytes ?? [])
    }

    private mutating func arrive() throws(StreamError) -> (TransferResult, [UInt8]) {
        switch arrivals.isEmpty ? .nothing : arrivals.removeFirst() {
        case .bytes(let text): return (.bytes(text.utf8.count), Array(text.utf8))
        case .nothing: return (.wouldBlock, [])
        case .end: return (.end, [])
        case .failure(let code): throw .system(SystemError("recv", code: code))
        }
    }

    mutating func receive() throws(StreamError) -> TransferResult {
        let (result, bytes) = try arrive()
        buffer += bytes
        return result
    }

    mutating func receiveBody(into space: UnsafeMutableRawBufferPointer) throws(StreamError) -> TransferResult {
        let (result, bytes) = try arrive()
        buffer += bytes
        guard case .bytes = result else { return result }
        let count = min(space.count, buffer.count, reader.remaining)
        space.copyBytes(from: buffer.prefix(count))
        buffer.removeFirst(count)
        reader.advance(count)
        return .bytes(count)
    }

    mutating func nextEvent() throws(WireError) -> ResponseReader.Event {
        var consumed = 0
        let result = buffer.withUnsafeBytes { bytes in
            Result { () throws(WireError) in try reader.next(in: bytes, consumed: &consumed) }
        }
        let event = try result.get()
        switch event {
        case .data(let range):
            consumed = range.lowerBound
            pending = range.count
        case .head(let head): received = head
        case .needMore, .interim, .end: break
        }
        buffer.removeFirst(consumed)
        return event
    }

    mutating func receiveEnd() throws(WireError) -> ResponseReader.Event { try reader.receiveEnd() }

    mutating func takeBody(into space: UnsafeMutableRawBufferPointer) -> Int {
        let count = min(pending, space.count)
        space.copyBytes(from: buffer.prefix(count))
        buffer.removeFirst(count)
        pending -= count
        return count
    }

    mutating func takeWholeBody(_ length: Int) -> Data {
        defer { buffer.removeFirst(length) }
        reader.advance(length)
        return Data(buffer.prefix(length))
    }

    var receivesDirectly: Bool { buffer.isEmpty && reader.remaining > 0 }
    var unread: Int { buffer.count }
    var expectsBody: Bool { reader.remaining > 0 }
    var hasBegunResponse: Bool { reader.hasStarted || !buffer.isEmpty }
    var awaitsResponse: Bool { reader.phase == .statusLine && buffer.isEmpty }
    var isChunked: Bool { received?.framing == .chunked }
    var persists: Bool { received.map { $0.isReusable && $0.framing != .untilClose } ?? false }

    var bodyLength: Int? {
        switch received?.framing {
        case .none?: 0
        case .counted(let length)?: length
        case .chunked, .untilClose, nil: nil
        }
    }
}
