@_spi(Lock) import Requests
import RequestsPOSIX
import RequestsTLS

/// The reason why a connection is no longer served.
enum ConnectionEnd: Error {
    /// The next request, or the rest of its head, has not arrived; the connection is served again when it does.
    case waiting
    /// The client has closed the connection, the server is stopping, or a fault closes the connection.
    case closed
    /// The request is refused: this response is sent, and then the connection is closed.
    case refused(HTTPStatus, String, [Field] = [])
}

/// One connection: its socket, and the waits of the thread that serves it.
///
/// It belongs to that thread.
final class ServerConnection: Sendable, ExchangeThread {
    let index: Int
    let socket: Socket
    private let onStall: @Sendable () -> Void
    private let limits: TestServer.Limits
    private let stopSignal: StopSignal
    private let executor = ThreadExecutor()
    private let currentTask = Lock(CurrentTask())
    /// The thread that serves the connection; nil if none does.
    nonisolated(unsafe) var worker: Worker?  // only that thread uses it
    nonisolated(unsafe) private var secured: TLSStream?  // only the worker uses it
    /// The direction that the last transfer over TLS waits for; nil without TLS.
    nonisolated(unsafe) private var needed: Direction?  // only the worker uses it

    private struct CurrentTask {
        var isStopping = false
        var cancel: (@Sendable () -> Void)?
    }

    init(
        _ index: Int, _ socket: consuming Socket, _ limits: TestServer.Limits, _ stopSignal: StopSignal,
        onStall: @escaping @Sendable () -> Void
    ) {
        self.index = index
        self.limits = limits
        self.onStall = onStall
        self.socket = socket
        self.stopSignal = stopSignal
    }

    /// Calls `action` when the server stops, or now if it has stopped.
    func onStop(_ action: @escaping @Sendable () -> Void) {
        let isStopping = currentTask.withLock { task in
            task.cancel = action
            return task.isStopping
        }
        if isStopping { action() }
    }

    /// Cancels the exchange in progress and all later ones; can be called on any thread.
    func stop() {
        let cancel = currentTask.withLock { task in
            task.isStopping = true
            return task.cancel
        }
        cancel?()
    }

    /// Whether the next transfer is possible when bytes arrive.
    var waitsForBytes: Bool { needed != .writing }

    /// Whether TLS may hold bytes that have been received from the socket.
    var isSecured: Bool { secured != nil }

    /// Waits until the socket is ready; returns false if `deadline` has passed.
    func wait(for direction: Direction, by deadline: Deadline? = nil) throws(ConnectionEnd) -> Bool {
        worker?.prepareToWait()
        do throws(WaitError) {
            try socket.waitInPlace(for: needed ?? direction, by: deadline, orUntil: stopSignal.wake)
            return true
        } catch {
            if case .timedOut = error { return false }
            throw .closed
        }
    }

    /// Waits until the socket is ready for any direction of `wanted`, or until `signal`, which is cleared; returns
    /// false if `deadline` has passed.
    func wait(
        forAny wanted: Interest, by deadline: Deadline, orUntil signal: borrowing WakeSignal
    ) throws(ConnectionEnd) -> Bool {
        worker?.prepareToWait()
        do throws(WaitError) {
            let wanted = needed == .writing ? wanted.union(.writing) : wanted
            try socket.waitInPlace(forAny: wanted, by: deadline, orUntil: signal)
            return true
        } catch {
            switch error {
            case .timedOut: return false
            case .closed:
                signal.drain()
                return true
            case .cancelled, .failed: throw .closed
            }
        }
    }

    /// Waits without reading until the client has closed the connection, or until `deadline`.
    func waitForHangUp(by deadline: Deadline) throws(ConnectionEnd) {
        worker?.prepareToWait()
        do throws(WaitError) {
            try socket.waitForHangUpInPlace(by: deadline, orUntil: stopSignal.wake)
        } catch {
            guard case .timedOut = error else { throw .closed }
        }
    }

    /// Sends all of `bytes`, and calls ``onStall`` for each write that waits longer than a quarter of a second.
    func send(_ bytes: ArraySlice<UInt8>) throws(ConnectionEnd) {
        var remaining = bytes
        while !remaining.isEmpty {
            if let count = try sendAvailable(remaining) {
                remaining = remaining.dropFirst(count)
                continue
            }
            if try wait(for: .writing, by: .after(.milliseconds(250))) { continue }
            onStall()
            guard try wait(for: .writing, by: limits.idleTime.map(Deadline.after)) else { throw .closed }
        }
    }

    /// Sends as many of `bytes` as the socket accepts, and returns their number; nil if it accepts none now.
    func sendAvailable(_ bytes: ArraySlice<UInt8>) throws(ConnectionEnd) -> Int? {
        do {
            switch try bytes.withUnsafeBytes({ try transmit($0) }) {
            case .bytes(let count): return count
            case .wouldBlock: return nil
            case .end: throw ConnectionEnd.closed
            }
        } catch {
            throw .closed
        }
    }

    /// Receives the available bytes, and appends them to `buffer`.
    ///
    /// - Returns: The number of bytes, 0 if none have arrived, and whether there may be more; nil at the end.
    func receive(into buffer: inout [UInt8]) throws(ConnectionEnd) -> (count: Int, mayHaveMore: Bool)? {
        guard let worker else { throw .closed }
        do {
            switch try obtain(into: worker.buffer) {
            case .bytes(let count):
                buffer.append(contentsOf: worker.buffer[..<count])
                return (count, isSecured || count == worker.buffer.count)
            case .wouldBlock: return (0, false)
            case .end: return nil
            }
        } catch {
            throw .closed
        }
    }

    /// Returns the text of `date`; it is cached, because most responses of a thread have the same date as the previous
    /// one.
    func text(of date: HTTPDate) -> String { worker?.text(of: date) ?? date.description }

    /// Runs `operation` as a task on this thread only.
    ///
    /// The task is cancelled when the server stops, and within 50 ms when the client has closed the connection or its
    /// sending side while the task is suspended; an operation that ignores cancellation delays that. If it suspends,
    /// the thread passes the lead on.
    func run<Value: Sendable>(
        _ operation: @escaping @Sendable () async throws(RequestError) -> Value
    ) throws(RequestError) -> Value {
        defer { currentTask.withLock { $0.cancel = nil } }
        return try executor.run {
            self.worker?.prepareToWait()
        } isAbandoned: {
            socket.isEndedByPeer
        } onStart: { cancel in
            onStop(cancel)
        } _: { () async throws(RequestError) in
            try await operation()
        }
    }
}

// MARK: TLS

extension ServerConnection {
    /// Performs the TLS handshake, and returns its result.
    func secure(_ context: TLSContext, by deadline: Deadline) throws(ConnectionEnd) -> TLSConfiguration.Negotiation {
        do {
            let stream = try TLSStream(server: context, over: ServerTransport(self))
            secured = stream
            while let directions = try stream.handshake() {
                needed = directions.direction
                // A client that always sends could make the wait return each time.
                if deadline != .distantFuture, deadline.hasPassed { throw ConnectionEnd.closed }
                if directions.isEmpty { continue }
                guard try wait(for: .reading, by: deadline) else { throw ConnectionEnd.closed }
            }
            needed = nil
            return stream.information
        } catch {
            // An alert with the reason has been sent to the client.
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
        var received = try secured.read(into: buffer)
        // The call has reached its work limit; TLS limits how often that can happen in a row.
        while received == .needs(.none) { received = try secured.read(into: buffer) }
        return result(received)
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
