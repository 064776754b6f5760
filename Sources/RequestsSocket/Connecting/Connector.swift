import Requests
import RequestsPOSIX
import RequestsTLS

/// A factory of connections, which resolves the host of an origin and races its addresses.
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

    /// Returns a new connection to `origin` in `slot`, established within the connect limit.
    func connect(to origin: Origin, in slot: Slot) async throws(RequestError) -> Connection {
        var stamps = RawResponse.Metrics.Stamps()
        let steps = try await steps(to: origin)
        var channel = try await connect(to: origin, &stamps.lookup)
        stamps.connected = timeLimits.stamp()
        var establishment = Establishment(channel, steps)
        while let need = try establishment.advance() {
            switch need {
            case .event(let directions, let phase): try await wait(for: directions, in: phase, on: channel)
            case .connection:
                channel = try await connect(to: origin, &stamps.lookup)
                stamps.connected = timeLimits.stamp()
                establishment.restart(on: channel)
            }
        }
        if !steps.isEmpty { stamps.secured = timeLimits.stamp() }
        return establishment.connection(in: slot, stamps)
    }

    private func wait(
        for directions: Interest, in phase: RequestError.Phase, on channel: Channel
    ) async throws(RequestError) {
        do throws(WaitError) {
            if directions.isEmpty {
                // Bytes may have arrived that no wait reports.
                if Task.isCancelled { throw .cancelled }
                if min(timeLimits.connecting, timeLimits.total).hasPassed { throw .timedOut }
                return await channel.yield()
            }
            try await channel.wait(
                for: directions, by: min(timeLimits.connecting, timeLimits.total), on: .current)
        } catch {
            throw timeLimits.error(error, until: timeLimits.connecting, in: phase).beforeSending()
        }
    }

    /// Returns the steps that follow on the socket; the settings of TLS are loaded now.
    private func steps(to origin: Origin) async throws(RequestError) -> [Establishment.Step] {
        var steps: [Establishment.Step] = []
        if let proxy = origin.proxy {
            guard let port = origin.peer.effectivePort, (1...65_535).contains(port) else {
                throw RequestError(.invalidRequest(.invalidPort), detail: "\(origin.peer.authority)").beforeSending()
            }
            if proxy.target.scheme == "https" {
                let context = try await security.proxy.loaded(timeLimits, on: reactor)
                steps.append(try Self.securing(proxy.target, context, route: "proxy"))
            }
            if !origin.isForwarded { steps.append(.tunnel(try proxy.dialogue(to: origin.peer))) }
        }
        guard origin.isSecured, !origin.isForwarded else { return steps }
        let context = try await security.origin.loaded(timeLimits, on: reactor)
        let route = origin.socketPath ?? origin.proxy?.target.origin ?? ""
        return steps + [try Self.securing(origin.peer, context, route: route)]
    }

    private static func securing(
        _ peer: TargetURI, _ context: TLSContext, route: String
    ) throws(RequestError) -> Establishment.Step {
        do throws(TLSError) {
            let name = try context.serverName(for: peer.host)
            let key = TLSSessionKey(scheme: peer.scheme, host: name, port: peer.effectivePort ?? 443, route: route)
            return .secure(context, name, key)
        } catch {
            throw RequestError(error, ifLost: .connectionFailed).beforeSending()
        }
    }

    private func connect(
        to origin: Origin, _ lookup: inout RawResponse.Metrics.Stamp
    ) async throws(RequestError) -> Channel {
        if let path = origin.socketPath { return try await connect(toSocketAt: path) }
        let peer = origin.proxy?.target ?? origin.peer
        guard let port = UInt16(exactly: peer.effectivePort ?? 0), port > 0 else {
            throw RequestError(.invalidRequest(.invalidPort), detail: "\(peer.effectivePort ?? 0)")
        }
        var host = peer.host
        if let zone = peer.zone, host.hasByteSuffix("]") { host = "\(host.droppingLastBytes(1))%\(zone)]" }
        let addresses = try reachable(try await addresses(of: host, port))
        lookup = timeLimits.stamp()
        do throws(RequestError) {
            return try await race(addresses)
        } catch {
            // The cached addresses may be outdated.
            if error.reason == .connectionFailed || error.reason == .timedOut(.connecting) {
                configuration.resolver.forget(host)
            }
            throw error
        }
    }

    /// Returns those of `addresses` that have the family of the local address.
    private func reachable(_ addresses: [SocketAddress]) throws(RequestError) -> [SocketAddress] {
        guard let localAddress else { return addresses }
        let reachable = addresses.filter { $0.family == localAddress.family }
        guard !reachable.isEmpty else {
            let text = "no address of the host has the family of the local address \(localAddress)"
            throw RequestError(.connectionFailed, detail: text)
        }
        return reachable
    }

    private func addresses(of host: String, _ port: UInt16) async throws(RequestError) -> [SocketAddress] {
        let deadline = min(timeLimits.connecting, timeLimits.total)
        do throws(ResolverError) {
            return try await configuration.resolver.addresses(of: host, port: port, by: deadline, on: reactor)
        } catch {
            throw RequestError(error, timeLimits)
        }
    }

    /// Returns a channel with an unconnected socket of the family of `address`.
    func channel(for address: SocketAddress) throws(WaitError) -> Channel {
        do throws(SystemError) {
            let socket = try Socket(for: address)
            if let localAddress, address.family != .unix { try socket.bindLocally(to: localAddress) }
            return Channel(socket, reactor: reactor, faults: configuration.faults)
        } catch {
            throw .failed(error)
        }
    }
}

// MARK: Unix sockets

extension Connector {
    private func connect(toSocketAt path: String) async throws(RequestError) -> Channel {
        let address: SocketAddress
        do throws(SocketAddress.PathError) {
            address = try SocketAddress(unixPath: path)
        } catch {
            throw RequestError(.invalidRequest(.invalidSocketPath), detail: "\(error)", underlying: error)
        }
        var pause = Duration.milliseconds(1)
        while true {
            do throws(WaitError) {
                let channel = try channel(for: address)
                try await channel.connect(
                    to: address, by: min(timeLimits.connecting, timeLimits.total), on: .current)
                return channel
            } catch .failed(let error) where error.isFullQueue {
                // The listener's queue is full, and no event reports when it has space.
                try await sleep(for: pause)
                pause = min(pause * 2, .milliseconds(50))
            } catch {
                throw timeLimits.error(error, until: timeLimits.connecting, in: .connecting)
            }
        }
    }

    private func sleep(for pause: Duration) async throws(RequestError) {
        let last = min(timeLimits.connecting, timeLimits.total)
        guard !last.hasPassed else { throw timeLimits.error(.timedOut, until: timeLimits.connecting, in: .connecting) }
        do throws(WaitError) {
            try await reactor.sleep(until: min(.after(pause), last))
        } catch {
            throw timeLimits.error(error, until: timeLimits.connecting, in: .connecting)
        }
    }
}
