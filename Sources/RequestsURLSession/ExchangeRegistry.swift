import Dispatch
@_spi(Lock) import Requests

/// The exchanges of one session that are under way, by the number of their task.
final class ExchangeRegistry: Sendable {
    private let exchanges = Lock<[Int: SessionExchange]>([:])
    private let alarm: Alarm
    private let outside = DispatchQueue(label: "Requests.URLSessionExecutor")

    init() {
        let ringing = Ringing()
        alarm = Alarm { now in ringing.registry?.expire(now) }
        ringing.connect(self)
    }

    /// The exchange of a task; nil when it is over.
    subscript(task: URLSessionTask) -> SessionExchange? {
        exchanges.withLock { $0[task.taskIdentifier] }
    }

    func add(_ exchange: SessionExchange, for task: URLSessionTask) {
        exchanges.withLock { $0[task.taskIdentifier] = exchange }
    }

    func remove(_ task: URLSessionTask) {
        _ = exchanges.withLock { $0.removeValue(forKey: task.taskIdentifier) }
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
