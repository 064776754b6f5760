import Requests
import RequestsPOSIX
import RequestsTLS

/// The system's operations for establishing the connections of one call, or a script for tests.
///
/// No function waits.
protocol ConnectionNetwork: Sendable {
    /// A signal from another thread, or from the reactor for several sockets.
    associatedtype Event: Sendable
    associatedtype Loading: PendingWork where Loading.Event == Event
    associatedtype Lookup: PendingWork where Lookup.Event == Event
    associatedtype Channel: ConnectingChannel where Channel.Event == Event
    associatedtype Connection: PlacedConnection

    var timeLimits: SocketTimeLimits { get }
    var now: Deadline { get }
    /// The time between two attempts to connect to the addresses of a host, unless the connect limit is too near.
    var attemptDelay: Duration { get }
    /// The address from which connections are established; nil if the system chooses it.
    var localAddress: SocketAddress? { get }

    /// The version of HTTP for the connection to the origin server.
    var httpVersion: ConnectionVersion { get }

    /// Returns the TLS settings for `peer`, or begins to load them. `loading` is the result of an earlier call; its
    /// event has been signalled since.
    func settings(for peer: SecuredPeer, _ loading: Loading?) throws(RequestError) -> WorkProgress<TLSContext, Loading>

    /// Returns the addresses of `host`, or begins to look them up; `lookup` is the result of an earlier call.
    func addresses(
        of host: String, port: UInt16, _ lookup: Lookup?
    ) throws(ResolverError) -> WorkProgress<[SocketAddress], Lookup>

    func forgetAddresses(of host: String)

    /// Returns an event that several channels can report to.
    func makeEvent() -> Event

    /// Returns a channel with an unconnected socket for `address`.
    func channel(for address: SocketAddress) throws(SystemError) -> Channel

    /// Sets the options, such as keep-alive, of an established TCP connection.
    func setOptions(of channel: Channel)
}

/// A peer with which a connection can use TLS.
enum SecuredPeer: Sendable {
    case proxy, origin
}

/// A value, or the work in progress on another thread that computes it.
enum WorkProgress<Value, Work> {
    case done(Value)
    /// The work in progress; releasing it ends the wait for it.
    case pending(Work)
}

/// Work on another thread that a call waits for.
protocol PendingWork: Sendable {
    associatedtype Event

    /// Signalled when the work has ended.
    var event: Event { get }
}

/// A socket that begins to connect to one address; it is closed when the last reference is released.
protocol ConnectingChannel: AnyObject, Sendable {
    associatedtype Event

    /// Begins to connect to `address`, and returns whether the connection is established.
    ///
    /// If it is not, `event` is signalled when the attempt has succeeded or failed.
    func beginConnecting(to address: SocketAddress, reportingTo event: Event) throws(SystemError) -> Bool

    /// Returns whether the connection that was begun is established.
    func finishConnecting() throws(SystemError) -> Bool
}

/// An established connection that occupies a slot of a pool.
protocol PlacedConnection: AnyObject, Sendable {
    associatedtype Slot: ConnectionSlot

    var slot: Slot { get }
    /// Whether the connection carries several calls at once.
    var isShared: Bool { get }

    /// Prepares an idle connection for an exchange.
    func beginReuse()
}
