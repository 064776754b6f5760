@_spi(Lock) import Requests
import RequestsPOSIX
import RequestsTLS
import Synchronization

/// A port of 127.0.0.1 that sends messages of TLS without end to every client; see ``withTLSFloodPort(_:_:)``.
package struct TLSFloodPort: Sendable {
    /// The messages, and the state of the connection in which they begin.
    ///
    /// TLS libraries skip them without returning to the program, so one call may never return.
    package enum Flood: Hashable, Sendable, CaseIterable {
        /// HelloRequest messages after the first bytes of the client (RFC 5246 §7.4.1.1). A client must end the
        /// handshake with an error.
        case handshake
        /// KeyUpdate messages of TLS 1.3 (RFC 8446 §4.6.3) after the first bytes of a request. A client must end the
        /// connection with an error.
        case established
        /// KeyUpdate messages in the head of a response, with a byte of data after each twenty. A client must keep its
        /// time limits and cancellation.
        case response
    }

    package let number: Int

    private let sent: SentBytes

    fileprivate init(number: Int, sent: SentBytes) {
        self.number = number
        self.sent = sent
    }

    /// The number of bytes that have been written to the sockets of all clients, handshakes included.
    package var sentBytes: Int { sent.count.load(ordering: .acquiring) }
}

/// Runs `body` with a port of 127.0.0.1 that floods every client of TLS.
///
/// ```swift
/// try await withTLSFloodPort(.handshake) { port in
///     await #expect(throws: RequestError.self) {
///         let target = try TargetURI("https://127.0.0.1:\(port.number)/")
///         _ = try await executor.execute(PreparedRequest(target: target))
///     }
/// }
/// ```
/// The certificate of ``TLSFloodPort/Flood/established`` and ``TLSFloodPort/Flood/response`` is issued by the authority
/// of test servers, as ``TestServer/clientTLS`` trusts it.
///
/// - Parameters:
///   - flood: The messages, and the state in which they begin.
///   - body: The function to run with the port.
/// - Returns: The result of `body`.
/// - Throws: The error of `body`; an error of TLS if libssl is not available; the system's error if there is no free
///   port or thread.
@discardableResult
package func withTLSFloodPort<Value>(
    _ flood: TLSFloodPort.Flood, _ body: (_ port: TLSFloodPort) async throws -> Value
) async throws -> Value {
    let listener = try FloodListener(flood)
    defer { listener.stop.wake.signal() }
    return try await body(listener.port)
}

/// A count that the threads of a listener share.
private final class SentBytes: Sendable {
    let count = Atomic(0)
}

/// A listener whose connections send records without end, each on a separate thread.
private final class FloodListener: Sendable {
    let port: TLSFloodPort
    let stop: StopSignal

    init(_ flood: TLSFloodPort.Flood) throws {
        let context = flood == .handshake ? nil : try Self.context()
        let listener = try Socket.listening(on: .loopback())
        let number = Int(try listener.localAddress().port ?? 0)
        let shared = SharedListener(socket: listener)
        let (stop, sent) = (try StopSignal(), SentBytes())
        port = TLSFloodPort(number: number, sent: sent)
        self.stop = stop
        try DetachedThread.start(named: "flood") {
            while (try? shared.socket.waitInPlace(for: .reading, orUntil: stop.wake)) != nil {
                guard let socket = try? shared.socket.accept() else {
                    // Without descriptors the listener stays readable; it is never writable, so this waits 10 ms.
                    try? shared.socket.waitInPlace(for: .writing, by: .after(.milliseconds(10)), orUntil: stop.wake)
                    continue
                }
                // What a client does not read must not count as sent.
                try? socket.setKernelBuffers(sending: 16 << 10)
                socket.setNoDelay()
                let client = FloodedClient(socket, sent: sent, until: stop)
                try? DetachedThread.start(named: "flood.client") {
                    // An error means that the client has closed the connection, or that the listener stops.
                    if let context {
                        try? client.sendKeyUpdates(context, amongData: flood == .response)
                    } else {
                        try? client.sendHelloRequests()
                    }
                }
            }
        }
    }

    private static func context() throws -> TLSContext {
        var configuration = TLSServerConfiguration(
            identity: try TestCertificates.shared().identity(for: TestServer.TLS().names))
        configuration.versions = 0x0304...0x0304
        let context = TLSContext(server: configuration)
        try context.prepare()
        return context
    }

    private final class SharedListener: Sendable {
        let socket: Socket

        init(socket: consuming Socket) { self.socket = socket }
    }
}

/// A connection that is flooded by one thread.
private final class FloodedClient: TLSTransport, Sendable {
    private let socket: Socket
    private let sent: SentBytes
    private let stop: StopSignal

    init(_ socket: consuming Socket, sent: SentBytes, until stop: StopSignal) {
        self.socket = socket
        self.sent = sent
        self.stop = stop
    }

    func sendHelloRequests() throws {
        let helloRequest: [UInt8] = [22, 3, 3, 0, 4, 0, 0, 0, 0]
        let records = Array(repeatElement(helloRequest, count: 1000).joined())
        var position = 0
        try wait(for: .reading)
        while true {
            switch try records[position...].withUnsafeBytes({ bytes in try send(bytes) }) {
            case .bytes(let count): position = (position + count) % records.count
            case .wouldBlock, .end: try wait(for: .writing)
            }
        }
    }

    func sendKeyUpdates(_ context: TLSContext, amongData: Bool) throws {
        let stream = try TLSStream(server: context, over: self)
        while let needed = try stream.handshake() { try wait(for: needed) }
        var byte: UInt8 = 0
        while case .needs(let needed) = try withUnsafeMutableBytes(of: &byte, { try stream.read(into: $0) }) {
            try wait(for: needed)
        }
        if amongData { try write("HTTP/1.1 200 OK\r\nX: ", to: stream) }
        while true {
            for _ in 0..<20 { if let needed = try stream.updateKeys() { try wait(for: needed) } }
            if amongData { try write("x", to: stream) }
        }
    }

    /// Writes a text that fits in one record.
    private func write(_ text: String, to stream: TLSStream) throws {
        let bytes = Array(text.utf8)
        while case .needs(let needed) = try bytes.withUnsafeBytes({ bytes in try stream.write(bytes) }) {
            try wait(for: needed)
        }
    }

    private func wait(for directions: Interest) throws(WaitError) {
        // Without directions there is more work, and no event.
        guard !directions.isEmpty else { return }
        try socket.waitInPlace(for: directions.direction, orUntil: stop.wake)
    }

    // MARK: Below TLS

    func receive(into buffer: UnsafeMutableRawBufferPointer) throws(SystemError) -> TransferResult {
        try socket.receive(into: buffer)
    }

    func send(_ bytes: UnsafeRawBufferPointer) throws(SystemError) -> TransferResult {
        let result = try socket.send(bytes)
        if case .bytes(let count) = result { sent.count.add(count, ordering: .acquiringAndReleasing) }
        return result
    }

    var hasPendingBytes: Bool { false }
}
