import Requests
import RequestsPOSIX

/// Runs `body` with a port of 127.0.0.1 that floods every client of TLS: after the first bytes of the client it sends
/// HelloRequest messages without end.
///
/// A client must end the handshake with an error, and keep its time limits and cancellation until then. Libraries for
/// TLS skip these messages without counting them, so that a call of the library may never return (RFC 5246 §7.4.1.1).
///
/// ```swift
/// try await withTLSFloodPort { port in
///     await #expect(throws: RequestError.self) {
///         let target = try TargetURI("https://127.0.0.1:\(port)/")
///         _ = try await executor.execute(PreparedRequest(target: target))
///     }
/// }
/// ```
/// - Parameter body: The function to run with the port.
/// - Returns: The result of `body`.
/// - Throws: The error of `body`, or the system's error if no port or thread is available.
@discardableResult
public func withTLSFloodPort<Value>(_ body: (_ port: Int) async throws -> Value) async throws -> Value {
    let listener = try FloodListener()
    defer { listener.stop.wake.signal() }
    return try await body(listener.port)
}

/// A listener whose connections send records without end, each on a separate thread.
private final class FloodListener: Sendable {
    let port: Int
    let stop: StopSignal

    init() throws {
        let listener = SharedSocket(socket: try Socket.listening(on: .loopback()))
        let stop = try StopSignal()
        port = Int(try listener.socket.localAddress().port ?? 0)
        self.stop = stop
        try DetachedThread.start(named: "flood") {
            while (try? listener.socket.waitInPlace(for: .reading, orUntil: stop.wake)) != nil {
                guard let socket = try? listener.socket.accept() else {
                    // Without descriptors the listener stays readable; it is never writable, so this waits 10 ms.
                    try? listener.socket.waitInPlace(for: .writing, by: .after(.milliseconds(10)), orUntil: stop.wake)
                    continue
                }
                let client = SharedSocket(socket: socket)
                try? DetachedThread.start(named: "flood.client") { client.flood(until: stop) }
            }
        }
    }
}

private final class SharedSocket: Sendable {
    let socket: Socket

    init(socket: consuming Socket) { self.socket = socket }

    /// Sends HelloRequests until the client closes the connection or `stop` is signaled.
    func flood(until stop: StopSignal) {
        let helloRequest: [UInt8] = [22, 3, 3, 0, 4, 0, 0, 0, 0]
        let records = Array(repeatElement(helloRequest, count: 1000).joined())
        var position = 0
        do {
            try socket.waitInPlace(for: .reading, orUntil: stop.wake)
            while true {
                switch try records[position...].withUnsafeBytes({ try socket.send($0) }) {
                case .bytes(let count): position = (position + count) % records.count
                case .wouldBlock, .end: try socket.waitInPlace(for: .writing, orUntil: stop.wake)
                }
            }
        } catch {
            // The client has closed the connection, or the listener stops.
        }
    }
}
