import RequestsPOSIX

/// Runs `body` with a port of 127.0.0.1 that refuses connections.
///
/// The port is reserved while `body` runs, so that no other process can listen on it.
///
/// - Parameter body: The function to run with the port.
/// - Returns: The result of `body`.
/// - Throws: The error of `body`, or the system's error if no port is available.
@discardableResult
public func withRefusingPort<Value>(_ body: (_ port: Int) async throws -> Value) async throws -> Value {
    let reserved = try ReservedPort()
    let value = try await body(reserved.port)
    return withExtendedLifetime(reserved) { value }
}

/// Runs `body` with a port of 127.0.0.1 on which connecting never completes, because the listener's queue is full.
///
/// - Parameter body: The function to run with the port.
/// - Returns: The result of `body`.
/// - Throws: The error of `body`, or the system's error if the queue cannot be filled.
@discardableResult
public func withFullBacklogPort<Value>(_ body: (_ port: Int) async throws -> Value) async throws -> Value {
    let listener = try FullBacklogListener()
    let value = try await body(listener.port)
    return withExtendedLifetime(listener) { value }
}

/// Runs `body` with a port of 127.0.0.1 that accepts connections and never reads or sends anything.
///
/// - Parameter body: The function to run with the port.
/// - Returns: The result of `body`.
/// - Throws: The error of `body`, or the system's error if no port is available.
@discardableResult
public func withSilentPort<Value>(_ body: (_ port: Int) async throws -> Value) async throws -> Value {
    let listener = try SilentListener()
    let value = try await body(listener.port)
    return withExtendedLifetime(listener) { value }
}

/// A port that is bound to a socket which does not listen, so that the system refuses connections to it.
private final class ReservedPort: Sendable {
    private let socket: Socket
    let port: Int

    init() throws {
        socket = try Socket.bound(to: .loopback())
        port = Int(try socket.localAddress().port ?? 0)
    }
}

/// A listener that never accepts, and the connections that fill its queue.
private final class FullBacklogListener: Sendable {
    let port: Int
    private let listener: Socket
    private let connections: QueuedConnection

    init() throws {
        listener = try Socket.listening(on: .loopback(), backlog: 0)
        let address = try listener.localAddress()
        port = Int(address.port ?? 0)
        // The first connection that does not complete shows that the queue is full; its length depends on the system.
        var last = try QueuedConnection(to: address, after: nil)
        while last.isConnected { last = try QueuedConnection(to: address, after: last) }
        connections = last
    }
}

/// A listener that never accepts, with room in its queue, so that the system completes the connections.
private final class SilentListener: Sendable {
    let port: Int
    private let listener: Socket

    init() throws {
        listener = try Socket.listening(on: .loopback())
        port = Int(try listener.localAddress().port ?? 0)
    }
}

/// A connection to a listener, which also keeps the previous connection.
private final class QueuedConnection: Sendable {
    let isConnected: Bool
    private let socket: Socket
    private let previous: QueuedConnection?

    /// Connects; if that does not complete within 200 ms on the loopback, the listener's queue is full.
    init(to address: SocketAddress, after previous: QueuedConnection?) throws {
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
