@_spi(Lock) import Requests

/// Limits the exchanges of one origin that have a connection of their own at the same time.
///
/// URLSession counts the connections of one session only, and each of these exchanges has a session to itself.
final class ConnectionGate: Sendable {
    fileprivate struct Line {
        var active: Set<ObjectIdentifier> = []
        var waiting: [SessionExchange] = []
    }

    private let limit: Int
    private let lines = Lock<[String: Line]>([:])

    /// A gate for at most `limit` exchanges an origin; 0 or less is no limit.
    init(limit: Int) {
        self.limit = limit > 0 ? limit : .max
    }

    /// Whether `exchange` is admitted now; otherwise its `resumeTask()` is called when another one leaves.
    func enter(_ exchange: SessionExchange) -> Bool {
        lines.withLock { lines in
            lines[exchange.request.target.origin, default: Line()].admit(exchange, limit: limit)
        }
    }

    /// Takes `exchange` out, wherever it is, and admits the one that has waited longest; safe to call more than once.
    func leave(_ exchange: SessionExchange) {
        let origin = exchange.request.target.origin
        let next = lines.withLock { lines in
            let next = lines[origin]?.release(exchange)
            if lines[origin]?.active.isEmpty == true { lines[origin] = nil }
            return next
        }
        next?.resumeTask()
    }
}

fileprivate extension ConnectionGate.Line {
    mutating func admit(_ exchange: SessionExchange, limit: Int) -> Bool {
        guard active.count < limit else {
            waiting.append(exchange)
            return false
        }
        active.insert(ObjectIdentifier(exchange))
        return true
    }

    /// The exchange that is admitted in the place of `exchange`, if any.
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
