import Requests
import RequestsPOSIX

/// The settings, the time limits and the reactor with which the connections of one call are established.
struct Connector: Sendable {
    let configuration: SocketExecutor.Configuration
    /// The address from which connections are established; nil if the system chooses it.
    let localAddress: SocketAddress?
    let reactor: Reactor
    let timeLimits: SocketTimeLimits
    let security: Security

    /// The settings of TLS to origin servers and to proxies.
    struct Security: Sendable {
        let origin: TLSSettings
        let proxy: TLSSettings
    }

    /// Returns those of `addresses` that have the family of the local address.
    func reachable(_ addresses: [SocketAddress]) throws(RequestError) -> [SocketAddress] {
        guard let localAddress else { return addresses }
        let reachable = addresses.filter { $0.family == localAddress.family }
        guard !reachable.isEmpty else {
            let text = "no address of the host has the family of the local address \(localAddress)"
            throw RequestError(.connectionFailed, detail: text)
        }
        return reachable
    }

    /// Returns a channel with an unconnected socket of the family of `address`.
    func channel(for address: SocketAddress) throws(SystemError) -> Channel {
        let socket = try Socket(for: address)
        if let localAddress, address.family != .unix { try socket.bindLocally(to: localAddress) }
        return Channel(socket, reactor: reactor, faults: configuration.faults)
    }

    /// Sets the options of an established TCP connection.
    func setOptions(of socket: borrowing Socket) {
        socket.setNoDelay()
        guard let probes = configuration.keepAliveProbes else { return }
        // A system that knows no probes of a connection still transfers its bytes.
        try? socket.setKeepAlive(
            idle: Self.seconds(probes.idleTime), interval: Self.seconds(probes.interval),
            count: Int32(min(max(probes.count, 1), 127)))
    }

    private static func seconds(_ duration: Duration) -> Int32 {
        let nanoseconds = max(Deadline.nanoseconds(of: duration), 1)
        return Int32(min((nanoseconds - 1) / 1_000_000_000 + 1, 32_767))
    }
}
