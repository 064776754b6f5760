import Dispatch
@_spi(Lock) import Requests

/// The active exchanges of all sessions that share a delegate.
final class ExchangeRegistry: Sendable {
    /// The identity of a task.
    ///
    /// Each session numbers its tasks from 1, so the session is a part of it.
    struct Key: Hashable, Sendable {
        private let session: ObjectIdentifier
        private let task: Int

        init(_ session: URLSession, _ task: URLSessionTask) {
            self.session = ObjectIdentifier(session)
            self.task = task.taskIdentifier
        }
    }

    /// The gate for exchanges that have their own connection.
    let gate: ConnectionGate
    private let exchanges = Lock<[Key: SessionExchange]>([:])
    private let timer: DeadlineTimer
    private let outsideQueue = DispatchQueue(label: "Requests.URLSessionExecutor")

    init(gate: ConnectionGate) {
        self.gate = gate
        let reference = WeakReference()
        timer = DeadlineTimer { now in reference.registry?.expire(now) }
        reference.set(self)
    }

    /// The exchange of `task` in `session`; nil once it has ended.
    subscript(session: URLSession, task: URLSessionTask) -> SessionExchange? {
        exchanges.withLock { $0[Key(session, task)] }
    }

    func add(_ exchange: SessionExchange) {
        exchanges.withLock { $0[exchange.key] = exchange }
    }

    func remove(_ exchange: SessionExchange) {
        _ = exchanges.withLock { $0.removeValue(forKey: exchange.key) }
    }

    /// Runs `work` on a queue from which it may call a session.
    ///
    /// The queue is serial and has its own thread, so a call that waits for a busy session does not block a thread of
    /// the concurrency pool.
    func runOutsideSession(_ work: @escaping @Sendable () -> Void) {
        outsideQueue.async(execute: work)
    }

    /// Ensures that `expire(_:)` runs at `instant` or earlier.
    func scheduleExpiration(at instant: Deadline) {
        timer.set(for: instant)
    }

    /// Cancels all exchanges.
    func cancelAll() {
        // Outside the lock, because an exchange that ends removes itself.
        for exchange in exchanges.withLock({ Array($0.values) }) { exchange.cancel() }
    }

    /// Ends the exchanges whose limit has passed at `now`, and returns the next instant to check; nil if there is none.
    private func expire(_ now: Deadline) -> Deadline? {
        // Outside the lock, because an exchange that ends removes itself.
        exchanges.withLock({ Array($0.values) }).compactMap { $0.expire(at: now) }.min()
    }

    /// A weak reference to the registry, for the timer that the registry owns.
    private final class WeakReference: Sendable {
        private struct Storage: Sendable {
            weak var registry: ExchangeRegistry?
        }

        private let storage = Lock(Storage())

        var registry: ExchangeRegistry? { storage.withLock { $0.registry } }

        func set(_ registry: ExchangeRegistry) {
            storage.withLock { $0.registry = registry }
        }
    }
}
