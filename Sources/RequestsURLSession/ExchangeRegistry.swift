import Dispatch
@_spi(Lock) import Requests

/// The active exchanges of an executor.
final class ExchangeRegistry: Sendable {
    /// The identity of a task.
    ///
    /// Each session numbers its tasks from 1, so the key contains the session too.
    private struct Key: Hashable, Sendable {
        private let session: ObjectIdentifier
        private let task: Int

        init(_ session: URLSession, _ task: URLSessionTask) {
            self.session = ObjectIdentifier(session)
            self.task = task.taskIdentifier
        }
    }

    private struct State {
        /// The number of resets.
        var generation = 0
        /// The exchanges that have not ended, each with the key of its task, once it has one.
        var active: [ObjectIdentifier: (exchange: SessionExchange, key: Key?)] = [:]
        var exchanges: [Key: SessionExchange] = [:]
    }

    private let state = Lock(State())
    private let timer: DeadlineTimer
    private let outsideQueue = DispatchQueue(label: "Requests.URLSessionExecutor")

    init() {
        let reference = WeakReference()
        timer = DeadlineTimer { now in reference.registry?.expire(now) }
        reference.set(self)
    }

    /// The exchange of `task` in `session`; nil once it has ended.
    subscript(session: URLSession, task: URLSessionTask) -> SessionExchange? {
        state.withLock { $0.exchanges[Key(session, task)] }
    }

    /// The number of resets so far.
    var generation: Int { state.withLock { $0.generation } }

    /// Counts a reset.
    ///
    /// Returns the exchanges that were added before it and have not ended.
    func beginGeneration() -> [SessionExchange] {
        state.withLock { state in
            state.generation += 1
            return state.active.values.map(\.exchange)
        }
    }

    /// Adds an exchange without a task; returns false if there was a reset since `generation`.
    func add(_ exchange: SessionExchange, since generation: Int) -> Bool {
        state.withLock { state in
            guard state.generation == generation else { return false }
            state.active[ObjectIdentifier(exchange)] = (exchange, nil)
            return true
        }
    }

    /// Passes the events of `task` to `exchange` from now on; returns false if the exchange has been removed.
    func attach(_ exchange: SessionExchange, _ session: URLSession, _ task: URLSessionTask) -> Bool {
        let key = Key(session, task)
        return state.withLock { state in
            guard state.active[ObjectIdentifier(exchange)] != nil else { return false }
            state.active[ObjectIdentifier(exchange)] = (exchange, key)
            state.exchanges[key] = exchange
            return true
        }
    }

    func remove(_ exchange: SessionExchange) {
        state.withLock { state in
            guard let key = state.active.removeValue(forKey: ObjectIdentifier(exchange))?.key else { return }
            state.exchanges[key] = nil
        }
    }

    /// Runs `work` on the queue on which all calls into sessions are made.
    ///
    /// The queue is serial and has its own thread, so a call that waits for a busy session does not block a thread of
    /// the concurrency pool, a caller or a time limit.
    func runOutsideSession(_ work: @escaping @Sendable () -> Void) {
        outsideQueue.async(execute: work)
    }

    /// Ensures that `expire(_:)` runs at `instant` or earlier.
    func scheduleExpiration(at instant: Deadline) {
        timer.set(for: instant)
    }

    /// Ends the exchanges whose limit has passed at `now`, and returns the next instant to check; nil if there is none.
    private func expire(_ now: Deadline) -> Deadline? {
        // Outside the lock, because an exchange that ends removes itself.
        state.withLock { $0.active.values.map(\.exchange) }.compactMap { $0.expire(at: now) }.min()
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
