package import Requests
package import RequestsPOSIX

/// The event, the turn or the value that an exchange needs before it can continue.
package enum ExchangeNeed: Equatable, Sendable {
    /// An event of its carrier; after the instant, the exchange has timed out in the phase.
    case event(Interest, until: Deadline, in: RequestError.Phase)
    /// A yield to other tasks, because much work was done without a wait.
    case turn
    /// That the source of the body begins to produce its next piece.
    case piece

    /// An event of its carrier, or the piece that the source is producing; the peer cannot delay the exchange here.
    static func pieceOrEvent(_ wanted: Interest) -> ExchangeNeed {
        .event(wanted, until: .distantFuture, in: .sending)
    }

    /// Returns this need, ending at `limit` at the latest.
    func ending(by limit: Deadline) -> ExchangeNeed {
        guard case .event(let wanted, let until, let phase) = self else { return self }
        return .event(wanted, until: min(until, limit), in: phase)
    }
}
