import RequestsPOSIX
import Synchronization

/// A gate that blocks threads until it is opened.
final class Gate: Sendable {
    private let isOpen = Atomic(false)
    func open() { isOpen.store(true, ordering: .releasing) }
    func wait() { while !isOpen.load(ordering: .acquiring) { DetachedThread.yield() } }
}

/// A listener with a full queue, so that connection attempts do not complete.
final class FullListener: Sendable {
    private let listener: Socket
    private let channels: [Channel]
    let address: SocketAddress

    init(on address: SocketAddress = .loopback()) throws {
        listener = try Socket.listening(on: address, backlog: 0)
        let address = try listener.localAddress()
        self.address = address
        let reactor = try Reactor.shared()
        channels = try (0..<4).map { _ in
            let channel = Channel(try Socket(for: address), reactor: reactor)
            _ = try channel.socket.startConnecting(to: address)
            return channel
        }
    }
}
