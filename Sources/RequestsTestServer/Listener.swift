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
                while let connection = try socket.accept() {
                    connection.setNoDelay()
                    try state.serve(connection)
                }
            } catch let error as SystemError where error.isShortage {
                // A listener is never writable: this waits a little, and ends when the server does.
                guard case .timedOut? = pause() else { return }
            } catch {
                return
            }
        }
    }

    private func pause() -> WaitError? {
        do throws(WaitError) {
            try socket.waitInPlace(for: .writing, by: .after(.milliseconds(10)), orUntil: wake)
            return nil
        } catch {
            return error
        }
    }
}
