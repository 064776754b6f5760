@_spi(Lock) import Requests
import RequestsHTTP1
import RequestsPOSIX
import Synchronization

/// The state that the threads of a server share.
final class ServerState: Sendable {
    private struct Waiter {
        let condition: @Sendable (TestServer.Record) -> Bool
        let continuation: CheckedContinuation<Void, any Error>
    }

    private struct State {
        var record: TestServer.Record
        /// The threads that serve connections; nil when they have ended.
        var service: ServiceThreads?
        var listener: Listener?
        var isStopping = false
        var threads = 0
        var waiters: [UInt64: Waiter] = [:]
        var nextWaiter: UInt64 = 0
        /// Resumed when the last thread has ended.
        var atEnd: CheckedContinuation<Void, Never>?
        var http2Connections: [Int: HTTP2Connection] = [:]
        /// The number of body bytes that are held for the executor.
        var heldBytes = 0
    }

    let executor: any RequestExecutor
    let limits: TestServer.Limits
    let wireLimits: WireLimits
    /// The TLS of the server; nil for none.
    let security: ServerSecurity?
    let version: TestServer.Version
    let behavior: @Sendable (_ connection: Int, _ exchange: Int) -> TestServer.Behavior
    private let state: Lock<State>
    // Counted without the lock, for which the threads of many connections would otherwise wait more often.
    private let receivedBytes = Atomic(0)
    private let waiterCount = Atomic(0)
    /// The number of HTTP/2 exchanges in progress on all connections.
    private let exchangeCount = Atomic(0)

    init(
        executor: any RequestExecutor, version: TestServer.Version, limits: TestServer.Limits,
        security: ServerSecurity?, behavior: @escaping @Sendable (Int, Int) -> TestServer.Behavior
    ) {
        self.executor = executor
        self.limits = limits
        self.security = security
        self.version = version
        self.behavior = behavior
        var wireLimits = WireLimits()
        wireLimits.headBytes = limits.headBytes
        wireLimits.lineBytes = min(wireLimits.lineBytes, limits.headBytes)
        self.wireLimits = wireLimits
        state = Lock(State(record: TestServer.Record(limits.recording)))
    }

    /// The record for which a condition of ``waitUntil(_:)`` is being checked.
    @TaskLocal private static var checked: CheckedRecord?

    private struct CheckedRecord: Sendable {
        let server: ObjectIdentifier
        let record: TestServer.Record
    }

    var record: TestServer.Record {
        // A condition runs with the lock, and may use the server in place of its parameter.
        if let checked = Self.checked, checked.server == ObjectIdentifier(self) { return checked.record }
        return state.withLock { record(of: $0) }
    }

    private func satisfies(_ condition: (TestServer.Record) -> Bool, _ record: TestServer.Record) -> Bool {
        Self.$checked.withValue(CheckedRecord(server: ObjectIdentifier(self), record: record)) { condition(record) }
    }

    private func record(of state: State) -> TestServer.Record {
        var record = state.record
        record.receivedBytes = receivedBytes.load(ordering: .sequentiallyConsistent)
        return record
    }
}

// MARK: Threads

extension ServerState {
    /// Runs `body` on its own thread; ``stop()`` waits for it.
    func startThread(named name: String, _ body: @escaping @Sendable () -> Void) throws(SystemError) {
        state.withLock { $0.threads += 1 }
        do throws(SystemError) {
            try DetachedThread.start(named: name) {
                body()
                self.threadEnded()
            }
        } catch {
            threadEnded()
            throw error
        }
    }

    private func threadEnded() {
        let atEnd = state.withLock { state in
            state.threads -= 1
            return state.threads == 0 ? state.atEnd.take() : nil
        }
        atEnd?.resume()
    }

    /// Starts to serve the connections that `listener` accepts.
    func start(_ listener: Listener) throws(SystemError) {
        let stopSignal = try StopSignal()
        let service = try ServiceThreads(limits, stopSignal)
        state.withLock { state in
            state.listener = listener
            state.service = service
        }
        do throws(SystemError) {
            try service.start(for: self)
            try startThread(named: "test-server") {
                let listener = self.state.withLock { $0.listener }
                listener?.run(self, service, stopSignal)
                self.state.withLock { $0.listener = nil }
            }
        } catch {
            _ = service.stop()
            state.withLock { ($0.listener, $0.service) = (nil, nil) }
            throw error
        }
    }

    /// Ends every connection, and waits until every thread has released its resources.
    func stop() async {
        let (waiters, service) = state.withLock { state in
            state.isStopping = true
            state.listener?.wake.signal()
            defer { (state.waiters, state.service) = ([:], nil) }
            return (state.waiters, state.service)
        }
        if let (closed, served) = service?.stop() {
            for connection in served { connection.stop() }
            change { $0.openConnections -= closed }
        }
        for waiter in waiters.values { waiter.continuation.resume(throwing: CancellationError()) }
        await withCheckedContinuation { continuation in
            let isAtEnd = state.withLock { state in
                if state.threads > 0 { state.atEnd = continuation }
                return state.threads == 0
            }
            if isAtEnd { continuation.resume() }
        }
    }
}

// MARK: Connections

extension ServerState {
    /// Whether another connection can be served: the server is not stopping and has not reached its limit.
    var acceptsConnections: Bool {
        state.withLock { state in
            guard !state.isStopping, let service = state.service else { return false }
            return service.connectionCount < max(1, limits.connections)
        }
    }

    /// Serves `socket` with `service`, unless the server is stopping.
    func serve(_ socket: consuming Socket, _ service: ServiceThreads, _ stopSignal: StopSignal) throws(SystemError) {
        let index = change { record in
            record.openConnections += 1
            record.acceptedConnections += 1
            return record.acceptedConnections - 1
        }
        let connection = ServerConnection(
            index, socket, limits, stopSignal, onStall: { [weak self] in self?.change { $0.stalledWrites += 1 } })
        do throws(SystemError) {
            if try service.add(ServedConnection(connection, self)) { return }
        } catch {
            change { $0.openConnections -= 1 }
            throw error
        }
        change { $0.openConnections -= 1 }
    }
}

// MARK: HTTP/2

extension ServerState {
    var http2Connections: [HTTP2Connection] { state.withLock { Array($0.http2Connections.values) } }

    /// Sets the HTTP/2 state of connection `index`; nil when the connection is closed.
    func setFrames(_ frames: HTTP2Connection?, of index: Int) {
        state.withLock { $0.http2Connections[index] = frames }
    }

    /// Counts an exchange, which may occupy a thread; returns false if as many are in progress as the limit allows.
    func countExchange() -> Bool {
        if exchangeCount.add(1, ordering: .sequentiallyConsistent).newValue <= limits.streams { return true }
        uncountExchange()
        return false
    }

    /// Subtracts an exchange that ``countExchange()`` counted.
    func uncountExchange() {
        exchangeCount.subtract(1, ordering: .sequentiallyConsistent)
    }
}

// MARK: Bodies

extension ServerState {
    /// Counts `count` bytes of a body as held; returns false if all connections together would exceed the limit.
    func hold(_ count: Int) -> Bool {
        state.withLock { state in
            guard count <= limits.totalBodyBytes - state.heldBytes else { return false }
            state.heldBytes += count
            return true
        }
    }

    /// Subtracts the bytes that ``hold(_:)`` counted.
    func release(_ count: Int) {
        guard count > 0 else { return }
        state.withLock { $0.heldBytes -= count }
    }
}

// MARK: The record

extension ServerState {
    /// Changes the record, and resumes the waiters whose condition is now satisfied.
    @discardableResult
    func change<Value: Sendable>(_ body: (inout TestServer.Record) -> Value) -> Value {
        let (value, satisfied) = state.withLock { state -> (Value, [CheckedContinuation<Void, any Error>]) in
            let value = body(&state.record)
            guard !state.waiters.isEmpty else { return (value, []) }
            let record = record(of: state)
            let satisfied = state.waiters.filter { satisfies($0.value.condition, record) }
            for key in satisfied.keys { state.waiters[key] = nil }
            return (value, satisfied.values.map(\.continuation))
        }
        for continuation in satisfied { continuation.resume() }
        return value
    }

    func count(receivedBytes count: Int) {
        receivedBytes.add(count, ordering: .sequentiallyConsistent)
        // A waiter that is not counted yet checks the bytes after it has been counted.
        if waiterCount.load(ordering: .sequentiallyConsistent) > 0 { change { _ in } }
    }

    func waitUntil(
        within limit: Duration, _ condition: @escaping @Sendable (TestServer.Record) -> Bool
    ) async throws {
        // Otherwise a short limit could pass before the condition is checked once.
        if state.withLock({ satisfies(condition, record(of: $0)) }) { return }
        try await withThrowingTaskGroup(of: Bool.self) { group in
            group.addTask {
                try await self.waitUntil(condition)
                return true
            }
            group.addTask {
                try await Task.sleep(for: limit)
                return false
            }
            defer { group.cancelAll() }
            if try await group.next() == false { throw TestServer.WaitExpired(limit: limit, record: self.record) }
        }
    }

    private func waitUntil(_ condition: @escaping @Sendable (TestServer.Record) -> Bool) async throws {
        waiterCount.add(1, ordering: .sequentiallyConsistent)
        defer { waiterCount.subtract(1, ordering: .sequentiallyConsistent) }
        let key = state.withLock { state in
            state.nextWaiter += 1
            return state.nextWaiter
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let result: Result<Void, any Error>? = state.withLock { state in
                    if satisfies(condition, record(of: state)) { return .success(()) }
                    if Task.isCancelled || state.isStopping { return .failure(CancellationError()) }
                    state.waiters[key] = Waiter(condition: condition, continuation: continuation)
                    return nil
                }
                if let result { continuation.resume(with: result) }
            }
        } onCancel: {
            let waiter = state.withLock { $0.waiters.removeValue(forKey: key) }
            waiter?.continuation.resume(throwing: CancellationError())
        }
    }
}
