import RequestsPOSIX

/// Accepts connections on a thread of its own.
final class Listener: Sendable {
    let wake: WakeSignal
    private let socket: Socket
    let address: TestServer.Address

    init(_ wanted: TestServer.Address) throws {
        wake = try WakeSignal()
        switch wanted {
        case .loopback(let port):
            socket = try Socket.listening(on: .loopback(port: UInt16(clamping: port)))
            address = .loopback(port: Int(try socket.localAddress().port ?? 0))
        case .unix(let path):
            socket = try Socket.listening(on: try SocketAddress(unixPath: path))
            address = wanted
        }
    }

    /// Accepts until it is woken.
    func run(_ state: ServerState) {
        while true {
            do {
                try socket.waitInPlace(for: .reading, orUntil: wake)
                while state.acceptsConnections, let connection = try socket.accept() {
                    connection.setNoDelay()
                    try state.serve(connection)
                }
                if !state.acceptsConnections, !pause() { return }
            } catch is SystemError {
                // Descriptors, memory or threads have run out, or a connection failed before it was accepted.
                if !pause() { return }
            } catch {
                return
            }
        }
    }

    /// Waits a little; false when the server has stopped meanwhile.
    private func pause() -> Bool {
        do throws(WaitError) {
            // A listener is never writable.
            try socket.waitInPlace(for: .writing, by: .after(.milliseconds(10)), orUntil: wake)
            return true
        } catch {
            if case .timedOut = error { return true }
            return false
        }
    }
}
