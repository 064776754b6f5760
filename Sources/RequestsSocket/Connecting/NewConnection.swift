import Requests
import RequestsPOSIX
import RequestsTLS

/// A connection that is being established, as a state machine that never waits: the settings of TLS, the addresses of
/// the peer, their race, and the steps on the socket (decision 0041).
struct NewConnection: ConnectionSource, ~Copyable, @unchecked Sendable {  // one call owns it
    private enum Stage {
        /// The settings of TLS to a proxy are needed; then those of TLS to the origin server.
        case preparing(TLSSettings.Loading?)
        case securing(TLSSettings.Loading?)
        case resolving(PendingLookup)
        case racing(ConnectionRace)
        case establishing
    }

    private let connector: Connector
    private let origin: Origin
    private let slot: Slot
    private var stage = Stage.preparing(nil)
    private var steps: [Establishment.Step] = []
    private var establishment: Establishment?
    private var stamps = RawResponse.Metrics.Stamps()

    /// Creates a connection to `origin` in `slot`, before anything has begun.
    init(to origin: Origin, in slot: Slot, with connector: Connector) {
        self.connector = connector
        self.origin = origin
        self.slot = slot
    }

    private var timeLimits: SocketTimeLimits { connector.timeLimits }

    /// The instant at which a wait ends at the latest.
    private var limit: Deadline { min(timeLimits.connecting, timeLimits.total) }
}

// MARK: Advancing

extension NewConnection {
    mutating func advance() throws(RequestError) -> ConnectionStep {
        do throws(RequestError) {
            while true {
                switch stage {
                case .preparing(let loading): if let need = try prepareProxy(loading) { return .needs(need) }
                case .securing(let loading): if let need = try prepareOrigin(loading) { return .needs(need) }
                case .resolving(let lookup): if let need = try resolve(lookup) { return .needs(need) }
                case .racing(let race): if let need = try advance(race) { return .needs(need) }
                case .establishing: if let step = try establish() { return step }
                }
            }
        } catch {
            throw error.beforeSending()
        }
    }

    mutating func fail(_ error: WaitError, _ need: ConnectionNeed) throws(RequestError) {
        // The delay between two attempts has passed.
        if case .racing = stage, case .timedOut = error, !limit.hasPassed { return }
        throw forgetting(timeLimits.error(error, until: timeLimits.connecting, in: need.phase)).beforeSending()
    }
}

// MARK: The settings of TLS

extension NewConnection {
    private mutating func prepareProxy(_ loading: TLSSettings.Loading?) throws(RequestError) -> ConnectionNeed? {
        if let proxy = origin.proxy {
            guard let port = origin.peer.effectivePort, (1...65_535).contains(port) else {
                throw RequestError(.invalidRequest(.invalidPort), detail: "\(origin.peer.authority)")
            }
            if proxy.target.isHTTPS {
                switch try connector.security.proxy.access(loading, on: connector.reactor) {
                case .context(let context): try addHandshake(with: proxy.target, context, route: "proxy")
                case .loading(let loading):
                    stage = .preparing(loading)
                    return .signal(loading.event, until: limit, in: .securing)
                }
            }
            if !origin.isForwarded { steps.append(.tunnel(try proxy.dialogue(to: origin.peer))) }
        }
        stage = .securing(nil)
        return nil
    }

    private mutating func prepareOrigin(_ loading: TLSSettings.Loading?) throws(RequestError) -> ConnectionNeed? {
        if origin.isSecured, !origin.isForwarded {
            switch try connector.security.origin.access(loading, on: connector.reactor) {
            case .context(let context):
                let route = origin.socketPath ?? origin.proxy?.target.origin ?? ""
                try addHandshake(with: origin.peer, context, route: route)
            case .loading(let loading):
                stage = .securing(loading)
                return .signal(loading.event, until: limit, in: .securing)
            }
        }
        try begin()
        return nil
    }

    private mutating func addHandshake(
        with peer: TargetURI, _ context: TLSContext, route: String
    ) throws(RequestError) {
        let name: TLSServerName
        do throws(TLSError) {
            name = try context.serverName(for: peer.host)
        } catch {
            if context.hasServerName { throw RequestError(error, ifLost: .connectionFailed) }
            throw RequestError(.hostNotFound, detail: "invalid host name", underlying: error)
        }
        let key = TLSSessionKey(scheme: peer.scheme, host: name, port: peer.effectivePort ?? 443, route: route)
        steps.append(.secure(context, name, key))
    }
}

// MARK: The socket

extension NewConnection {
    /// Requests the addresses of the peer.
    private mutating func begin() throws(RequestError) {
        if let path = origin.socketPath {
            do throws(SocketAddress.PathError) {
                return race([try SocketAddress(unixPath: path)])
            } catch {
                throw RequestError(.invalidRequest(.invalidSocketPath), detail: "\(error)", underlying: error)
            }
        }
        let port = (origin.proxy?.target ?? origin.peer).effectivePort ?? 0
        guard let port = UInt16(exactly: port), port > 0 else {
            throw RequestError(.invalidRequest(.invalidPort), detail: "\(port)")
        }
        let response: Resolver.Response
        do throws(ResolverError) {
            response = try connector.configuration.resolver.request(host, port: port, on: connector.reactor)
        } catch {
            throw RequestError(error)
        }
        switch response {
        case .addresses(let addresses): try begin(with: addresses)
        case .pending(let lookup): stage = .resolving(lookup)
        }
    }

    /// The name of the peer's host, with the zone of an IPv6 address.
    private var host: String {
        let peer = origin.proxy?.target ?? origin.peer
        guard let zone = peer.zone, peer.host.hasByteSuffix("]") else { return peer.host }
        return "\(peer.host.droppingLastBytes(1))%\(zone)]"
    }

    private mutating func resolve(_ lookup: PendingLookup) throws(RequestError) -> ConnectionNeed? {
        let addresses: [SocketAddress]?
        do throws(ResolverError) {
            addresses = try lookup.addresses()
        } catch {
            throw RequestError(error)
        }
        guard let addresses else { return .signal(lookup.event, until: limit, in: .resolving) }
        try begin(with: addresses)
        return nil
    }

    private mutating func begin(with addresses: [SocketAddress]) throws(RequestError) {
        let reachable = try connector.reachable(addresses)
        stamps.lookup = timeLimits.stamp()
        race(reachable)
    }

    private mutating func race(_ addresses: [SocketAddress]) {
        let time = limit == .distantFuture ? nil : limit.remaining
        stage = .racing(ConnectionRace(addresses, of: connector, within: time))
    }

    private mutating func advance(_ race: ConnectionRace) throws(RequestError) -> ConnectionNeed? {
        var race = race
        do throws(RequestError) {
            switch try race.advance(with: connector) {
            case .connected(let channel):
                if origin.socketPath == nil { connector.setOptions(of: channel.socket) }
                stamps.connected = timeLimits.stamp()
                continueEstablishing(on: channel)
                return nil
            case .waiting(let alarm):
                stage = .racing(race)
                return .signal(race.event, until: min(alarm ?? limit, limit), in: .connecting)
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
            connector.configuration.resolver.forget(host)
        }
        return error
    }

    private mutating func continueEstablishing(on channel: Channel) {
        stage = .establishing
        // A proxy may have closed the connection before, with its challenge.
        if establishment == nil {
            establishment = Establishment(channel, steps)
        } else {
            establishment?.restart(on: channel)
        }
    }

    /// Continues on the socket; returns nil if that needs another one.
    private mutating func establish() throws(RequestError) -> ConnectionStep? {
        switch (try establishment?.advance(), establishment?.channel) {
        case (.event(let directions, let phase)?, let channel?):
            return directions.isEmpty
                ? .needs(.turn(channel, until: limit, in: phase))
                : .needs(.socket(channel, directions, until: limit, in: phase))
        case (.connection?, _):
            try begin()
            return nil
        default: break
        }
        if !steps.isEmpty { stamps.secured = timeLimits.stamp() }
        guard let connection = establishment.take()?.connection(in: slot, stamps) else {
            preconditionFailure("the stage exists with an establishment only, and is the last one")
        }
        return .connected(connection)
    }
}
