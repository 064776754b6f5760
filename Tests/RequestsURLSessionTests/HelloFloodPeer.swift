import RequestsPOSIX
import Synchronization

/// A server that responds to a ClientHello with endless HelloRequest records, which TLS libraries skip.
///
/// The server ends when it is released.
final class HelloFloodPeer: Sendable {
    private static let record: [UInt8] = [0x16, 3, 3, 0, 4, 0, 0, 0, 0]
    /// Many records, because the peer must send faster than a client skips them.
    private static let records = Array(repeatElement(record, count: 1 << 17).joined())

    let port: Int
    private let stopSignal: WakeSignal
    private let sentBytes = Atomic(0)

    /// The number of bytes that have been sent on all connections.
    var sent: Int { sentBytes.load(ordering: .acquiring) }

    init() throws {
        stopSignal = try WakeSignal()
        let listener = Line(try Socket.listening(on: .loopback()))
        port = Int(try listener.socket.localAddress().port ?? 0)
        try DetachedThread.start(named: "flood") { [weak self] in
            while let socket = self?.accept(from: listener) {
                let line = Line(socket)
                try? DetachedThread.start(named: "flood.line") { [weak self] in
                    while self?.sendRecords(to: line) == true {}
                }
            }
        }
    }

    deinit { stop() }

    /// Ends the server and its connections.
    func stop() { stopSignal.signal() }

    private func accept(from listener: Line) -> Socket? {
        // In slices, so that the thread does not keep the server.
        while true {
            guard (try? listener.socket.waitInPlace(for: .reading, orUntil: stopSignal)) != nil else { return nil }
            if let socket = try? listener.socket.accept() { return socket }
        }
    }

    /// Sends records once the first bytes have arrived; returns false at the end of the connection.
    private func sendRecords(to line: Line) -> Bool {
        do {
            if !line.hasReceived.load(ordering: .relaxed) {
                try line.socket.waitInPlace(for: .reading, orUntil: stopSignal)
                line.hasReceived.store(true, ordering: .relaxed)
            }
            try line.socket.waitInPlace(for: .writing, orUntil: stopSignal)
            let offset = line.offset.load(ordering: .relaxed)
            let result = try Self.records.withUnsafeBytes {
                try line.socket.send(UnsafeRawBufferPointer(rebasing: $0[offset...]))
            }
            guard case .bytes(let count) = result else { return true }
            line.offset.store((offset + count) % Self.record.count, ordering: .relaxed)
            sentBytes.add(count, ordering: .acquiringAndReleasing)
            return true
        } catch {
            return false
        }
    }

    private final class Line: Sendable {
        let socket: Socket
        let hasReceived = Atomic(false)
        /// The number of record bytes that have been sent.
        let offset = Atomic(0)

        init(_ socket: consuming Socket) {
            self.socket = socket
        }
    }
}
