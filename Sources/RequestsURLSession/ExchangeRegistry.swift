import Dispatch
@_spi(Lock) import Requests

/// The exchanges under way of the sessions with one delegate.
final class ExchangeRegistry: Sendable {
    /// A task of one of the sessions; each session counts its tasks from 1.
    struct Key: Hashable, Sendable {
        private let session: ObjectIdentifier
        private let task: Int

        init(_ session: URLSession, _ task: URLSessionTask) {
            self.session = ObjectIdentifier(session)
            self.task = task.taskIdentifier
        }
    }

    /// Where exchanges wait that have a connection of their own.
    let gate: ConnectionGate
    private let exchanges = Lock<[Key: SessionExchange]>([:])
    private let alarm: Alarm
    private let outside = DispatchQueue(label: "Requests.URLSessionExecutor")

    init(gate: ConnectionGate) {
        self.gate = gate
        let ringing = Ringing()
        alarm = Alarm { now in ringing.registry?.expire(now) }
        ringing.connect(self)
    }

    /// The exchange of a task; nil when it is over.
    subscript(session: URLSession, task: URLSessionTask) -> SessionExchange? {
        exchanges.withLock { $0[Key(session, task)] }
    }

    func add(_ exchange: SessionExchange) {
        exchanges.withLock { $0[exchange.key] = exchange }
    }

    func remove(_ exchange: SessionExchange) {
        _ = exchanges.withLock { $0.removeValue(forKey: exchange.key) }
    }

    /// Runs `work` where it may call the session.
    ///
    /// A serial queue has a thread of its own: a call that waits for a busy session takes none from the concurrency pool.
    func outsideOfSession(_ work: @escaping @Sendable () -> Void) {
        outside.async(execute: work)
    }

    /// Asks to be called by `expire` at `instant`, or before.
    func wake(at instant: ContinuousClock.Instant) {
        alarm.set(for: instant)
    }

    /// Cancels all of them.
    func cancelAll() {
        for exchange in exchanges.withLock({ Array($0.values) }) { exchange.cancel() }
    }

    private func expire(_ now: ContinuousClock.Instant) -> ContinuousClock.Instant? {
        exchanges.withLock({ Array($0.values) }).compactMap { $0.expire(at: now) }.min()
    }

    /// Lets the alarm reach the registry that owns it, for as long as that is there.
    private final class Ringing: Sendable {
        private struct Reference: Sendable {
            weak var registry: ExchangeRegistry?
        }

        private let reference = Lock(Reference())

        var registry: ExchangeRegistry? { reference.withLock { $0.registry } }

        func connect(_ registry: ExchangeRegistry) {
            reference.withLock { $0.registry = registry }
        }
    }
}
