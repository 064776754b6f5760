package import Requests
package import RequestsPOSIX

/// A condition that an exchange waits for before it can continue.
package enum ExchangeNeed: Equatable, Sendable {
    /// An event of the carrier. After the instant, the exchange has timed out in the phase.
    case event(Interest, until: Deadline, in: RequestError.Phase)
    /// Other tasks run first, because much work was done without a wait.
    case turn
    /// The body's source produces its next piece.
    case piece

    /// Returns a need for an event of the carrier or for the piece in production, without a time limit: here the peer
    /// cannot delay the exchange.
    static func pieceOrEvent(_ wanted: Interest) -> ExchangeNeed {
        .event(wanted, until: .distantFuture, in: .sending)
    }

    /// Returns this need, with `limit` as the latest end of the wait.
    func ending(by limit: Deadline) -> ExchangeNeed {
        guard case .event(let wanted, let until, let phase) = self else { return self }
        return .event(wanted, until: min(until, limit), in: phase)
    }
}
