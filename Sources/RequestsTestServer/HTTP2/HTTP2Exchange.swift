import Dispatch
@_spi(Lock) import Requests
import RequestsHTTP1
import RequestsHTTP2
import RequestsPOSIX
import Synchronization

/// One exchange on an HTTP/2 connection, with the waits of its thread.
final class HTTP2Exchange: Sendable, ExchangeThread {
    let slot: StreamSlot
    let request: ReceivedRequest
    let behavior: TestServer.Behavior
    let connection: HTTP2Connection
    let server: ServerState
    private let executor = ThreadExecutor()
    /// Signalled when the exchange can continue, or was cancelled.
    private let resumed = DispatchSemaphore(value: 0)
    private let isCancelled = Atomic(false)
    /// Whether the server counts the exchange as in progress.
    private let isCounted = Atomic(true)

    /// Creates an exchange that ``ServerState/countExchange()`` has counted.
    init(
        _ slot: StreamSlot, _ request: ReceivedRequest, _ behavior: TestServer.Behavior, _ connection: HTTP2Connection,
        _ server: ServerState
    ) {
        self.slot = slot
        self.request = request
        self.behavior = behavior
        self.connection = connection
        self.server = server
    }

    // Here, because a handler that ignores its cancellation keeps its thread after the stream has ended.
    deinit { endCount() }

    /// Stops counting the exchange, because nothing can delay its end any more.
    func endCount() {
        if isCounted.exchange(false, ordering: .sequentiallyConsistent) { server.uncountExchange() }
    }

    var readsBody: Bool { behavior.earlyResponse.map { $0.next == .reads } ?? true }

    /// Resumes the thread of the exchange, which checks whether it can write.
    func resume() { resumed.signal() }

    /// Ends all waits of the exchange; its handler is cancelled within 50 ms.
    func cancel() {
        isCancelled.store(true, ordering: .sequentiallyConsistent)
        resumed.signal()
    }

    private var isOver: Bool { isCancelled.load(ordering: .sequentiallyConsistent) }

    func run<Value: Sendable>(
        _ operation: @escaping @Sendable () async throws(RequestError) -> Value
    ) throws(RequestError) -> Value {
        try executor.run(onWait: {}, isAbandoned: { isOver }, onStart: { _ in }, operation)
    }

    /// Waits until the exchange is resumed; returns false if `deadline` passes first.
    private func wait(by deadline: Deadline) throws(ConnectionEnd) -> Bool {
        if isOver { throw .closed }
        var result = DispatchTimeoutResult.success
        if deadline == .distantFuture {
            resumed.wait()
        } else {
            let nanoseconds = Int(clamping: max(0, deadline.nanoseconds(since: .now)))
            result = resumed.wait(timeout: .now() + .nanoseconds(nanoseconds))
        }
        if isOver { throw .closed }
        return result == .success
    }

    func pause(for duration: Duration) throws(ConnectionEnd) {
        let deadline = Deadline.after(duration)
        while !deadline.hasPassed { _ = try wait(by: deadline) }
    }

    /// Waits until the client resets the stream or closes the connection, or the server stops.
    func stall() throws(ConnectionEnd) -> Never {
        while true { _ = try wait(by: .distantFuture) }
    }

    /// Sends all of `bytes` as the windows of the client allow, in frames of at most 16 KiB.
    ///
    /// - Parameters:
    ///   - bytes: The bytes.
    ///   - ending: The end of the response after them; nil if it continues.
    /// - Throws: `closed` if the exchange is cancelled, or if the client does not read within its time limit.
    func write(_ bytes: Data, ending: HTTP2Connection.Ending? = nil) throws(ConnectionEnd) {
        var remaining = bytes
        while !remaining.isEmpty {
            let count = connection.write(remaining, to: slot, ending: ending)
            remaining = remaining.dropFirst(count)
            if count > 0 { continue }
            if try wait(by: .after(.milliseconds(250))) { continue }
            server.change { $0.stalledWrites += 1 }
            guard try wait(by: server.limits.idleTime.map(Deadline.after) ?? .distantFuture) else { throw .closed }
        }
    }
}
