import RequestsPOSIX

/// Runs `body` with a port of 127.0.0.1 at which connections are refused.
///
/// The port is taken for as long as `body` runs, so that nobody else listens there.
///
/// - Parameter body: What to do with the port.
/// - Returns: What `body` gives.
/// - Throws: What `body` throws, or the system's error when no port can be had.
@discardableResult
public func withRefusingPort<Value>(_ body: (_ port: Int) async throws -> Value) async throws -> Value {
    let refusing = try RefusingPort()
    let value = try await body(refusing.port)
    return withExtendedLifetime(refusing) { value }
}

/// Runs `body` with a port of 127.0.0.1 at which connecting never ends: the listener's queue is full.
///
/// - Parameter body: What to do with the port.
/// - Returns: What `body` gives.
/// - Throws: What `body` throws, or the system's error when the queue cannot be filled.
@discardableResult
public func withUnansweringPort<Value>(_ body: (_ port: Int) async throws -> Value) async throws -> Value {
    let queue = try FullQueue()
    let value = try await body(queue.port)
    return withExtendedLifetime(queue) { value }
}

/// Runs `body` with a port of 127.0.0.1 at which connecting works and nothing is ever read or answered.
///
/// - Parameter body: What to do with the port.
/// - Returns: What `body` gives.
/// - Throws: What `body` throws, or the system's error when no port can be had.
@discardableResult
public func withSilentPort<Value>(_ body: (_ port: Int) async throws -> Value) async throws -> Value {
    let queue = try SilentQueue()
    let value = try await body(queue.port)
    return withExtendedLifetime(queue) { value }
}

/// A port that is taken by a socket which does not listen, so that the kernel refuses for it.
private final class RefusingPort: Sendable {
    private let socket: Socket
    let port: Int

    init() throws {
        socket = try Socket.bound(to: .loopback())
        port = Int(try socket.localAddress().port ?? 0)
    }
}

/// A listener that never accepts, and the connections that fill its queue.
private final class FullQueue: Sendable {
    let port: Int
    private let listener: Socket
    private let guests: Guest

    init() throws {
        listener = try Socket.listening(on: .loopback(), backlog: 0)
        let address = try listener.localAddress()
        port = Int(address.port ?? 0)
        var last = try Guest(at: address, after: nil)
        while last.isConnected { last = try Guest(at: address, after: last) }
        guests = last
    }
}

/// A listener that never accepts, its queue empty: the system completes connections on its behalf.
private final class SilentQueue: Sendable {
    let port: Int
    private let listener: Socket

    init() throws {
        listener = try Socket.listening(on: .loopback())
        port = Int(try listener.localAddress().port ?? 0)
    }
}

/// A connection to a listener, and the one made before it.
private final class Guest: Sendable {
    let isConnected: Bool
    private let socket: Socket
    private let previous: Guest?

    /// Connects; where that has not happened within 200 ms on the loopback, the listener's queue is full.
    init(at address: SocketAddress, after previous: Guest?) throws {
        self.previous = previous
        socket = try Socket(for: address)
        if try socket.startConnecting(to: address) {
            isConnected = true
            return
        }
        do throws(WaitError) {
            try socket.waitInPlace(for: .writing, by: .after(.milliseconds(200)))
            isConnected = true
        } catch {
            guard case .timedOut = error else { throw error }
            isConnected = false
        }
    }
}
