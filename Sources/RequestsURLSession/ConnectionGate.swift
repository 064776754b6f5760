@_spi(Lock) import Requests

/// A limit, for each origin, on the exchanges that run at the same time on their own connections.
///
/// URLSession counts the connections of one session only, and each of these exchanges has its own session (decision
/// 0016).
final class ConnectionGate: Sendable {
    fileprivate struct OriginState {
        var active: Set<ObjectIdentifier> = []
        var waiting: [SessionExchange] = []
    }

    private let limit: Int
    private let states = Lock<[String: OriginState]>([:])

    /// Creates a gate for at most `limit` exchanges per origin; 0 or less means no limit.
    init(limit: Int) {
        self.limit = limit > 0 ? limit : .max
    }

    /// Admits `exchange` or adds it to the queue of its origin, and returns whether it was admitted.
    ///
    /// A queued exchange is started later by a call of its `startTask()`.
    func enter(_ exchange: SessionExchange) -> Bool {
        states.withLock { states in
            states[exchange.request.target.origin, default: OriginState()].admit(exchange, limit: limit)
        }
    }

    /// Removes `exchange`, admitted or queued, and starts the exchange that has waited longest.
    ///
    /// Repeated calls have no effect.
    func leave(_ exchange: SessionExchange) {
        let origin = exchange.request.target.origin
        let next = states.withLock { states in
            let next = states[origin]?.release(exchange)
            if states[origin]?.active.isEmpty == true { states[origin] = nil }
            return next
        }
        // Outside the lock, because an exchange that has ended leaves the gate at once.
        next?.startTask()
    }
}

fileprivate extension ConnectionGate.OriginState {
    mutating func admit(_ exchange: SessionExchange, limit: Int) -> Bool {
        guard active.count < limit else {
            waiting.append(exchange)
            return false
        }
        active.insert(ObjectIdentifier(exchange))
        return true
    }

    /// Removes `exchange`, and returns the exchange that is admitted in its place, if any.
    mutating func release(_ exchange: SessionExchange) -> SessionExchange? {
        guard active.remove(ObjectIdentifier(exchange)) != nil else {
            waiting.removeAll { $0 === exchange }
            return nil
        }
        guard !waiting.isEmpty else { return nil }
        let next = waiting.removeFirst()
        active.insert(ObjectIdentifier(next))
        return next
    }
}
