@_spi(Lock) import Requests
import RequestsPOSIX
import RequestsTLS

/// The reason why a connection is not served any further.
enum ConnectionEnd: Error {
    /// The client has closed the connection, the server is stopping, or a fault closes the connection.
    case closed
    /// The request is refused: this response is sent, and then the connection is closed.
    case refused(HTTPStatus, String, [Field] = [])
}

/// One connection: its socket, and the signal that ends its waits.
///
/// It belongs to the thread that serves it.
final class ServerConnection: Sendable {
    let index: Int
    let socket: Socket
    private let onStall: @Sendable () -> Void
    private let limits: TestServer.Limits
    private let wake: WakeSignal
    private let executor = ThreadExecutor()
    private let currentTask = Lock(CurrentTask())
    nonisolated(unsafe) private var secured: TLSStream?  // only the thread that serves the connection uses it
    /// The direction that the last transfer over TLS waits for; nil without TLS.
    nonisolated(unsafe) private var needed: Direction?  // as above

    private struct CurrentTask {
        var isStopping = false
        var cancel: (@Sendable () -> Void)?
    }

    init(
        _ index: Int, _ socket: consuming Socket, _ limits: TestServer.Limits,
        onStall: @escaping @Sendable () -> Void
    ) throws(SystemError) {
        self.index = index
        self.limits = limits
        self.onStall = onStall
        self.socket = socket
        wake = try WakeSignal()
    }

    /// Ends every wait of the connection's thread; can be called on any thread.
    func stop() {
        wake.signal()
        let cancel = currentTask.withLock { task in
            task.isStopping = true
            return task.cancel
        }
        cancel?()
    }

    /// Waits until the socket is ready; returns false if `deadline` has passed.
    func wait(for direction: Direction, by deadline: Deadline? = nil) throws(ConnectionEnd) -> Bool {
        do throws(WaitError) {
            try socket.waitInPlace(for: needed ?? direction, by: deadline, orUntil: wake)
            return true
        } catch {
            if case .timedOut = error { return false }
            throw .closed
        }
    }

    /// Waits without reading until the client has closed the connection, or until `deadline`.
    func waitForHangUp(by deadline: Deadline) throws(ConnectionEnd) {
        do throws(WaitError) {
            try socket.waitForHangUpInPlace(by: deadline, orUntil: wake)
        } catch {
            guard case .timedOut = error else { throw .closed }
        }
    }

    /// Sends all of `bytes`, and calls ``onStall`` for each write that waits longer than a quarter of a second.
    func send(_ bytes: ArraySlice<UInt8>) throws(ConnectionEnd) {
        var remaining = bytes
        while !remaining.isEmpty {
            let result: TransferResult
            do {
                result = try remaining.withUnsafeBytes { try transmit($0) }
            } catch {
                throw .closed
            }
            switch result {
            case .bytes(let count): remaining = remaining.dropFirst(count)
            case .wouldBlock:
                if try wait(for: .writing, by: .after(.milliseconds(250))) { continue }
                onStall()
                guard try wait(for: .writing, by: limits.idleTime.map(Deadline.after)) else { throw .closed }
            case .end: throw .closed
            }
        }
    }

    /// Receives available bytes into `buffer`, and returns their number: nil at the end, 0 if there are none yet.
    func receive(into buffer: inout [UInt8]) throws(ConnectionEnd) -> Int? {
        do {
            switch try buffer.withUnsafeMutableBytes({ try obtain(into: $0) }) {
            case .bytes(let count): return count
            case .wouldBlock: return 0
            case .end: return nil
            }
        } catch {
            throw .closed
        }
    }

    /// Runs `operation` as a task on this thread only.
    ///
    /// The task is cancelled when the server stops; an operation that ignores cancellation delays that.
    func run<Value: Sendable>(
        _ operation: @escaping @Sendable () async throws(RequestError) -> Value
    ) throws(RequestError) -> Value {
        defer { currentTask.withLock { $0.cancel = nil } }
        return try executor.run { cancel in
            let isStopping = currentTask.withLock { task in
                task.cancel = cancel
                return task.isStopping
            }
            // The server may have stopped before the task could be cancelled.
            if isStopping { cancel() }
        } _: { () async throws(RequestError) in
            try await operation()
        }
    }

    /// Ends the use of the thread; remaining work runs on the shared pool.
    func close() {
        executor.close()
    }
}

// MARK: TLS

extension ServerConnection {
    /// Performs the TLS handshake, and returns its result.
    func secure(_ context: TLSContext) throws(ConnectionEnd) -> TLSConfiguration.Negotiation {
        let deadline = limits.headTime.map(Deadline.after)
        do {
            let stream = try TLSStream(server: context, over: ServerTransport(self))
            secured = stream
            while let directions = try stream.handshake() {
                needed = directions.direction
                // A client that always sends could make the wait return each time.
                if let deadline, deadline < .now { throw ConnectionEnd.closed }
                guard try wait(for: .reading, by: deadline) else { throw ConnectionEnd.closed }
            }
            needed = nil
            return stream.information
        } catch {
            // The client has an alert with the reason; it may be on its way.
            throw .closed
        }
    }

    /// Ends the sending side: with close_notify over TLS.
    func endOutput() {
        secured?.shutdown()
        socket.shutDown(.writing)
    }

    private func transmit(_ bytes: UnsafeRawBufferPointer) throws -> TransferResult {
        guard let secured else { return try socket.send(bytes) }
        return result(try secured.write(bytes))
    }

    private func obtain(into buffer: UnsafeMutableRawBufferPointer) throws -> TransferResult {
        guard let secured else { return try socket.receive(into: buffer) }
        return result(try secured.read(into: buffer))
    }

    private func result(_ result: TLSTransferResult) -> TransferResult {
        needed = result.direction
        return result.transfer
    }
}

/// The socket of a connection below its TLS.
private final class ServerTransport: TLSTransport {
    // The connection owns this object.
    private unowned let connection: ServerConnection

    init(_ connection: ServerConnection) {
        self.connection = connection
    }

    func receive(into buffer: UnsafeMutableRawBufferPointer) throws(SystemError) -> TransferResult {
        try connection.socket.receive(into: buffer)
    }

    func send(_ bytes: UnsafeRawBufferPointer) throws(SystemError) -> TransferResult {
        try connection.socket.send(bytes)
    }

    var hasPendingBytes: Bool { false }
}
