@_spi(Lock) import Requests
import RequestsPOSIX

/// Why a connection is not served any further.
enum ConnectionEnd: Error {
    /// The client has left, or the server ends, or the fault of an exchange is to close.
    case closed
    /// The request is refused: it is answered with this, and the connection closed.
    case refused(HTTPStatus, String, [Field] = [])
}

/// One connection: its descriptors, and what ends its waits.
///
/// It belongs to the thread that serves it.
final class Connection: Sendable {
    let index: Int
    let socket: Socket
    private let onStall: @Sendable () -> Void
    private let wake: WakeSignal
    private let executor = ThreadExecutor()
    private let handler = Lock(Handler())

    private struct Handler {
        var isStopping = false
        var cancel: (@Sendable () -> Void)?
    }

    init(_ index: Int, _ socket: consuming Socket, onStall: @escaping @Sendable () -> Void) throws(SystemError) {
        self.index = index
        self.onStall = onStall
        self.socket = socket
        wake = try WakeSignal()
    }

    /// Ends every wait of the connection's thread; from any thread.
    func stop() {
        wake.signal()
        let cancel = handler.withLock { handler in
            handler.isStopping = true
            return handler.cancel
        }
        cancel?()
    }

    /// Waits until the socket is ready; false when `deadline` has passed.
    func wait(for direction: Direction, by deadline: Deadline? = nil) throws(ConnectionEnd) -> Bool {
        do throws(WaitError) {
            try socket.waitInPlace(for: direction, by: deadline, orUntil: wake)
            return true
        } catch {
            if case .timedOut = error { return false }
            throw .closed
        }
    }

    /// Waits until the client has left, without reading, or until `deadline`.
    func waitForHangUp(by deadline: Deadline) throws(ConnectionEnd) {
        do throws(WaitError) {
            try socket.waitForHangUpInPlace(by: deadline, orUntil: wake)
        } catch {
            guard case .timedOut = error else { throw .closed }
        }
    }

    /// Sends all of `bytes`; ``onStall`` is told of each write that waits for a quarter of a second.
    func send(_ bytes: ArraySlice<UInt8>) throws(ConnectionEnd) {
        var rest = bytes
        while !rest.isEmpty {
            let result: TransferResult
            do {
                result = try rest.withUnsafeBytes { try socket.send($0) }
            } catch {
                throw .closed
            }
            switch result {
            case .bytes(let count): rest = rest.dropFirst(count)
            case .wouldBlock:
                if try wait(for: .writing, by: .after(.milliseconds(250))) { continue }
                onStall()
                _ = try wait(for: .writing)
            case .end: throw .closed
            }
        }
    }

    /// Receives what has arrived into `buffer`; nil at the end, 0 when nothing has.
    func receive(into buffer: inout [UInt8]) throws(ConnectionEnd) -> Int? {
        do {
            switch try buffer.withUnsafeMutableBytes({ try socket.receive(into: $0) }) {
            case .bytes(let count): return count
            case .wouldBlock: return 0
            case .end: return nil
            }
        } catch {
            throw .closed
        }
    }

    /// Runs `operation` as a task on this thread, and nowhere else.
    ///
    /// The task is cancelled when the server ends; an operation that ignores this delays the end.
    func run<Value: Sendable>(
        _ operation: @escaping @Sendable () async throws(RequestError) -> Value
    ) throws(RequestError) -> Value {
        defer { handler.withLock { $0.cancel = nil } }
        return try executor.run { cancel in
            let isStopping = handler.withLock { handler in
                handler.cancel = cancel
                return handler.isStopping
            }
            if isStopping { cancel() }
        } _: { () async throws(RequestError) in
            try await operation()
        }
    }

    /// Lets go of the thread.
    func close() {
        executor.close()
    }
}
