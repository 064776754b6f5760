import RequestsPOSIX

/// A listening socket, which accepts connections on its own thread.
final class Listener: Sendable {
    let wake: WakeSignal
    private let socket: Socket
    let address: TestServer.Address

    init(_ requested: TestServer.Address) throws {
        wake = try WakeSignal()
        switch requested {
        case .loopback(let port):
            guard let number = UInt16(exactly: port) else { throw InvalidPort(port: port) }
            socket = try Socket.listening(on: .loopback(port: number))
            address = .loopback(port: Int(try socket.localAddress().port ?? 0))
        case .unix(let path):
            socket = try Socket.listening(on: try SocketAddress(unixPath: path))
            address = requested
        }
    }

    /// Accepts connections for `service` until the listener is woken.
    func run(_ state: ServerState, _ service: ServiceThreads, _ stopSignal: StopSignal) {
        while true {
            do {
                try socket.waitInPlace(for: .reading, orUntil: wake)
                while state.acceptsConnections, let connection = try socket.accept() {
                    connection.setNoDelay()
                    try state.serve(connection, service, stopSignal)
                }
                if !state.acceptsConnections, !pause() { return }
            } catch is SystemError {
                // Descriptors, memory or threads are exhausted, or a connection failed before it was accepted.
                if !pause() { return }
            } catch {
                return
            }
        }
    }

    /// Waits 10 ms; returns false if the server is stopping.
    private func pause() -> Bool {
        do throws(WaitError) {
            // A listener is never writable, so this waits until the deadline or the signal.
            try socket.waitInPlace(for: .writing, by: .after(.milliseconds(10)), orUntil: wake)
            return true
        } catch {
            if case .timedOut = error { return true }
            return false
        }
    }
}

/// The error of a port that TCP does not have (RFC 9293 §3.1).
private struct InvalidPort: Error, CustomStringConvertible {
    let port: Int

    var description: String { "invalid port \(port): ports are numbers from 0 to 65535" }
}
