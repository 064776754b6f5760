import Requests
import RequestsPOSIX

/// A condition that a call must wait for before it can continue to acquire a connection.
enum ConnectionNeed<Network: ConnectionNetwork>: Sendable {
    /// A signal from another thread, or from the reactor for several sockets.
    case signal(Network.Event, until: Deadline, in: RequestError.Phase)
    /// The socket is ready in one of these directions.
    case socket(Network.Channel, Interest, until: Deadline, in: RequestError.Phase)
    /// Other tasks run first, because bytes may have arrived that no wait reports.
    case turn(until: Deadline, in: RequestError.Phase)

    /// The phase that a time-out names.
    var phase: RequestError.Phase {
        switch self {
        case .signal(_, _, let phase), .socket(_, _, _, let phase), .turn(_, let phase): phase
        }
    }
}

/// The result of a step towards a connection.
enum ConnectionStep<Network: ConnectionNetwork> {
    case needs(ConnectionNeed<Network>)
    case connected(Network.Connection)
}

/// A state machine that produces a connection; no function waits.
protocol ConnectionSource: ~Copyable {
    associatedtype Network: ConnectionNetwork

    /// Continues as far as possible, and returns the connection or what is needed first.
    ///
    /// - Throws: An error before anything of a request is sent.
    mutating func advance() throws(RequestError) -> ConnectionStep<Network>

    /// Records that the wait for `need` ended with `error`.
    ///
    /// - Throws: The error with which the call ends; nothing if it continues.
    mutating func fail(_ error: WaitError, _ need: ConnectionNeed<Network>) throws(RequestError)
}
