import Requests
import RequestsPOSIX
import RequestsTLS

/// The system's operations for establishing the connections of one call, with its settings and time limits.
struct Connector: Sendable {
    let configuration: SocketExecutor.Configuration
    let httpVersion: ConnectionVersion
    let localAddress: SocketAddress?
    let reactor: Reactor
    let timeLimits: SocketTimeLimits
    let security: Security

    /// The TLS settings for origin servers and for proxies.
    struct Security: Sendable {
        let origin: TLSSettings
        let proxy: TLSSettings
    }
}

extension Connector: ConnectionNetwork {
    typealias Connection = RequestsSocket.Connection

    var now: Deadline { .now }
    var attemptDelay: Duration { configuration.attemptDelay }

    func settings(
        for peer: SecuredPeer, _ loading: TLSSettings.Loading?
    ) throws(RequestError) -> WorkProgress<TLSContext, TLSSettings.Loading> {
        switch peer {
        case .proxy: try security.proxy.access(loading, on: reactor)
        case .origin: try security.origin.access(loading, on: reactor)
        }
    }

    func addresses(
        of host: String, port: UInt16, _ lookup: PendingLookup?
    ) throws(ResolverError) -> WorkProgress<[SocketAddress], PendingLookup> {
        if let lookup { return try lookup.addresses().map { .done($0) } ?? .pending(lookup) }
        return switch try configuration.resolver.request(host, port: port, on: reactor) {
        case .addresses(let addresses): .done(addresses)
        case .pending(let lookup): .pending(lookup)
        }
    }

    func forgetAddresses(of host: String) {
        configuration.resolver.forget(host)
    }

    func makeEvent() -> WakeEvent { WakeEvent(on: reactor) }

    func channel(for address: SocketAddress) throws(SystemError) -> Channel {
        let socket = try Socket(for: address)
        if let localAddress, address.family != .unix { try socket.bindLocally(to: localAddress) }
        return Channel(socket, reactor: reactor, faults: configuration.faults)
    }

    func setOptions(of channel: Channel) {
        channel.socket.setNoDelay()
        guard let probes = configuration.keepAliveProbes else { return }
        // Ignored: a connection without probes still transfers bytes.
        try? channel.socket.setKeepAlive(
            idle: Self.seconds(probes.idleTime), interval: Self.seconds(probes.interval),
            count: Int32(min(max(probes.count, 1), 127)))
    }

    private static func seconds(_ duration: Duration) -> Int32 {
        let nanoseconds = max(Deadline.nanoseconds(of: duration), 1)
        return Int32(min((nanoseconds - 1) / 1_000_000_000 + 1, 32_767))
    }
}

extension Channel: ConnectingChannel {}
extension Connection: PlacedConnection {}
extension PendingLookup: PendingWork {}
extension TLSSettings.Loading: PendingWork {}
