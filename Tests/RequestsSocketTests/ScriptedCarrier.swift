import Requests
import RequestsHTTP1
import RequestsPOSIX
import RequestsSocket
import TestSupport

/// A carrier without a socket: it receives what a script says, and accepts as many bytes as the script says.
struct ScriptedCarrier: HTTP1Carrier, ~Copyable, @unchecked Sendable {  // one test owns its buffer
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
    var request = HTTP1Request()
    var response = HTTP1Response(limits: WireLimits())
    /// The bytes that were sent.
    private(set) var sent: [UInt8] = []
    let sendsFiles: Bool
    var hasPartialWrite = false
    var refusal: StreamRefusal?

    /// Creates a carrier.
    ///
    /// After the last of `arrivals` nothing arrives; after the last of `acceptances` all bytes are accepted.
    init(
        _ arrivals: [Arrival], accepting acceptances: [Acceptance] = [], sendsFiles: Bool = false
    ) {
        self.arrivals = arrivals
        self.acceptances = acceptances
        self.sendsFiles = sendsFiles
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

    mutating func write(
        _ first: UnsafeRawBufferPointer, _ second: UnsafeRawBufferPointer
    ) throws(StreamError) -> TransferResult {
        try accept(Array(first) + second)
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

    mutating func read(into buffer: UnsafeMutableRawBufferPointer) throws(StreamError) -> TransferResult {
        switch arrivals.isEmpty ? .nothing : arrivals.removeFirst() {
        case .bytes(let text):
            let count = min(text.utf8.count, buffer.count)
            buffer.copyBytes(from: text.utf8.prefix(count))
            if count < text.utf8.count { arrivals.insert(.bytes(String(text.utf8.dropFirst(count)) ?? ""), at: 0) }
            return .bytes(count)
        case .nothing: return .wouldBlock
        case .end: return .end
        case .failure(let code): throw .system(SystemError("recv", code: code))
        }
    }
}
