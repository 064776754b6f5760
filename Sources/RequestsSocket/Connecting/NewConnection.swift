import Requests
import RequestsPOSIX
import RequestsTLS

/// A state machine that establishes a connection, and never waits (decision 0031).
///
/// It obtains the TLS settings and the peer's addresses, races the addresses, and performs the steps on the socket.
// One call owns it, and with it its streams and dialogues.
struct NewConnection<Stream: ConnectingStream & ~Copyable>: ConnectionSource, ~Copyable, @unchecked Sendable {
    typealias Network = Stream.Network
    private typealias Need = ConnectionNeed<Network>

    private enum Stage {
        /// The TLS settings for a proxy are needed first, before the settings for the origin server.
        case preparing(Network.Loading?)
        case securing(Network.Loading?)
        case resolving(Network.Lookup?)
        case racing
        case establishing
    }

    private let network: Network
    private let origin: Origin
    private let slot: Network.Connection.Slot
    private var stage = Stage.preparing(nil)
    private var race: ConnectionRace<Network>?
    private var steps: [Establishment<Stream>.Step] = []
    private var establishment: Establishment<Stream>?
    private var stamps = RawResponse.Metrics.Stamps()

    init(to origin: Origin, in slot: Network.Connection.Slot, over network: Network) {
        self.network = network
        self.origin = origin
        self.slot = slot
    }

    private var timeLimits: SocketTimeLimits { network.timeLimits }

    private var limit: Deadline { min(timeLimits.connecting, timeLimits.total) }

    private func stamp() -> RawResponse.Metrics.Stamp { timeLimits.stamp(at: network.now) }
}

// MARK: Advancing

extension NewConnection where Stream: ~Copyable {
    mutating func advance() throws(RequestError) -> ConnectionStep<Network> {
        do throws(RequestError) {
            while true {
                switch stage {
                case .preparing(let loading): if let need = try prepareProxy(loading) { return .needs(need) }
                case .securing(let loading): if let need = try prepareOrigin(loading) { return .needs(need) }
                case .resolving(let lookup): if let need = try resolve(lookup) { return .needs(need) }
                case .racing: if let need = try continueRace() { return .needs(need) }
                case .establishing: if let step = try establish() { return step }
                }
            }
        } catch {
            throw naming(error).beforeSending()
        }
    }

    /// Returns `error` with the name of the proxy, if it concerns the connection to the proxy or its responses.
    private mutating func naming(_ error: RequestError) -> RequestError {
        guard let proxy = origin.proxy else { return error }
        switch (stage, error.reason) {
        case (_, .invalidRequest), (_, .cancelled), (_, .timedOut(.total)), (.securing, _): return error
        case (.establishing, _) where establishment?.isBeforeTunnel == false && !origin.isForwarded: return error
        default: return error.adding(place: proxy.name)
        }
    }

    mutating func fail(_ error: WaitError, _ need: ConnectionNeed<Network>) throws(RequestError) {
        // The delay between two attempts has passed.
        if case .racing = stage, case .timedOut = error, network.now < limit { return }
        if case .cancelled = error { slot.recordCancellation() }
        let failure = forgetting(timeLimits.error(error, until: timeLimits.connecting, in: need.phase))
        throw naming(failure).beforeSending()
    }
}

// MARK: The settings of TLS

extension NewConnection where Stream: ~Copyable {
    private mutating func prepareProxy(_ loading: Network.Loading?) throws(RequestError) -> Need? {
        if let proxy = origin.proxy {
            guard let port = origin.peer.effectivePort, (1...65_535).contains(port) else {
                throw RequestError(.invalidRequest(.invalidPort), detail: "\(origin.peer.authority)")
            }
            if proxy.target.isHTTPS {
                switch try network.settings(for: .proxy, loading) {
                case .done(let context): try addHandshake(with: proxy.target, context, route: "proxy", for: .http1)
                case .pending(let loading):
                    stage = .preparing(loading)
                    return .signal(loading.event, until: limit, in: .securing)
                }
            }
            if !origin.isForwarded { steps.append(.tunnel(try proxy.dialogue(to: origin.peer))) }
        }
        stage = .securing(nil)
        return nil
    }

    private mutating func prepareOrigin(_ loading: Network.Loading?) throws(RequestError) -> Need? {
        if origin.isSecured, !origin.isForwarded {
            switch try network.settings(for: .origin, loading) {
            case .done(let context):
                let route = origin.socketPath ?? origin.proxy?.target.origin ?? ""
                try addHandshake(with: origin.peer, context, route: route, for: network.httpVersion)
            case .pending(let loading):
                stage = .securing(loading)
                return .signal(loading.event, until: limit, in: .securing)
            }
        }
        try begin()
        return nil
    }

    private mutating func addHandshake(
        with peer: TargetURI, _ context: TLSContext, route: String, for version: ConnectionVersion
    ) throws(RequestError) {
        let name: TLSServerName
        do throws(TLSError) {
            name = try context.serverName(for: peer.host)
        } catch {
            if context.hasServerName { throw RequestError(error, ifLost: .connectionFailed) }
            throw RequestError(.hostNotFound, detail: "invalid host name", underlying: error)
        }
        let key = TLSSessionKey(scheme: peer.scheme, host: name, port: peer.effectivePort ?? 443, route: route)
        steps.append(.secure(context, name, key, for: version))
    }
}

// MARK: The socket

extension NewConnection where Stream: ~Copyable {
    private mutating func begin() throws(RequestError) {
        guard let path = origin.socketPath else {
            stage = .resolving(nil)
            return
        }
        do throws(SocketAddress.PathError) {
            beginRace([try SocketAddress(unixPath: path)])
        } catch {
            throw RequestError(.invalidRequest(.invalidSocketPath), detail: "\(error)", underlying: error)
        }
    }

    private mutating func resolve(_ lookup: Network.Lookup?) throws(RequestError) -> Need? {
        let port = (origin.proxy?.target ?? origin.peer).effectivePort ?? 0
        guard let port = UInt16(exactly: port), port > 0 else {
            throw RequestError(.invalidRequest(.invalidPort), detail: "\(port)")
        }
        let progress: WorkProgress<[SocketAddress], Network.Lookup>
        do throws(ResolverError) {
            progress = try network.addresses(of: host, port: port, lookup)
        } catch {
            throw RequestError(error)
        }
        switch progress {
        case .done(let addresses):
            let reachable = try reachable(addresses)
            stamps.lookup = stamp()
            beginRace(reachable)
            return nil
        case .pending(let lookup):
            stage = .resolving(lookup)
            return .signal(lookup.event, until: limit, in: .resolving)
        }
    }

    /// The host name of the peer; an IPv6 address has its zone.
    private var host: String {
        let peer = origin.proxy?.target ?? origin.peer
        guard let zone = peer.zone, peer.host.hasByteSuffix("]") else { return peer.host }
        return "\(peer.host.droppingLastBytes(1))%\(zone)]"
    }

    /// Returns the addresses of the same family as the local address, or all addresses if no local address is set.
    private func reachable(_ addresses: [SocketAddress]) throws(RequestError) -> [SocketAddress] {
        guard let localAddress = network.localAddress else { return addresses }
        let reachable = addresses.filter { $0.family == localAddress.family }
        guard !reachable.isEmpty else {
            let text = "the host has no address of the same family as the local address \(localAddress)"
            throw RequestError(.connectionFailed, detail: text)
        }
        return reachable
    }

    private mutating func beginRace(_ addresses: [SocketAddress]) {
        let time = limit == .distantFuture ? nil : Duration.nanoseconds(max(0, limit.nanoseconds(since: network.now)))
        race = ConnectionRace(addresses, over: network, within: time)
        stage = .racing
    }

    private mutating func continueRace() throws(RequestError) -> Need? {
        do throws(RequestError) {
            // Advanced in place: a copy would keep the sockets of failed attempts open.
            guard let progress = try race?.advance(over: network), let event = race?.event else {
                preconditionFailure("the stage exists with a race only")
            }
            switch progress {
            case .connected(let channel):
                if origin.socketPath == nil { network.setOptions(of: channel) }
                stamps.connected = stamp()
                continueEstablishing(on: channel)
                return nil
            case .waiting(let alarm): return .signal(event, until: min(alarm ?? limit, limit), in: .connecting)
            }
        } catch {
            throw forgetting(error)
        }
    }

    /// Returns `error`, and removes the cached addresses of the host if they may be outdated.
    private func forgetting(_ error: RequestError) -> RequestError {
        if case .racing = stage, origin.socketPath == nil,
            error.reason == .connectionFailed || error.reason == .timedOut(.connecting)
        {
            network.forgetAddresses(of: host)
        }
        return error
    }

    private mutating func continueEstablishing(on channel: Network.Channel) {
        stage = .establishing
        // Ends the other attempts.
        race = nil
        // Exists already if a proxy has closed the former connection with its challenge.
        if establishment == nil {
            establishment = Establishment(channel, steps)
        } else {
            establishment?.restart(on: channel)
        }
    }

    /// Continues on the socket; returns nil if it needs another socket.
    private mutating func establish() throws(RequestError) -> ConnectionStep<Network>? {
        switch (try establishment?.advance(), establishment?.channel) {
        case (.event(let directions, let phase)?, let channel?):
            return directions.isEmpty
                ? .needs(.turn(until: limit, in: phase))
                : .needs(.socket(channel, directions, until: limit, in: phase))
        case (.connection?, _):
            try begin()
            return nil
        default: break
        }
        if !steps.isEmpty { stamps.secured = stamp() }
        guard let connection = establishment.take()?.connection(in: slot, stamps, over: network) else {
            preconditionFailure("the stage exists with an establishment only, and is the last one")
        }
        return .connected(connection)
    }
}

typealias NewSocketConnection = NewConnection<SocketStream>
