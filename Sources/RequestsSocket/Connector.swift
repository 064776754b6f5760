import Requests
import RequestsPOSIX

/// Makes connections: finds the addresses of an origin and races them.
struct Connector: Sendable {
    let configuration: SocketExecutor.Configuration
    let reactor: Reactor
    let patience: Patience

    /// A connection to `origin`, within the connect limit.
    func connect(to origin: Origin) async throws(RequestError) -> Channel {
        if let path = origin.socketPath { return try await connect(toSocketAt: path) }
        guard let port = UInt16(exactly: origin.port) else { throw RequestError(.invalidRequest(.malformedURL)) }
        var host = origin.host
        if let zone = origin.zone, host.hasByteSuffix("]") { host = "\(host.droppingLastBytes(1))%\(zone)]" }
        let addresses = try await addresses(of: host, port)
        do throws(RequestError) {
            return try await race(addresses)
        } catch {
            // They may be those of yesterday.
            if error.reason == .connectionFailed || error.reason == .timedOut(.connecting) {
                configuration.resolver.forget(host)
            }
            throw error
        }
    }

    private func addresses(of host: String, _ port: UInt16) async throws(RequestError) -> [SocketAddress] {
        let deadline = min(patience.connecting, patience.total)
        do throws(ResolverError) {
            return try await configuration.resolver.addresses(of: host, port: port, by: deadline, on: reactor)
        } catch {
            throw RequestError(error, patience)
        }
    }

    func channel(for address: SocketAddress) throws(WaitError) -> Channel {
        do throws(SystemError) {
            return Channel(try Socket(for: address), reactor: reactor, faults: configuration.faults)
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
                    to: address, by: min(patience.connecting, patience.total), on: .current)
                return channel
            } catch .failed(let error) where error.isFullQueue {
                // The listener's queue is full, and the kernel does not tell when it no longer is.
                try await rest(for: pause)
                pause = min(pause * 2, .milliseconds(50))
            } catch {
                throw patience.error(error, until: patience.connecting, in: .connecting)
            }
        }
    }

    private func rest(for pause: Duration) async throws(RequestError) {
        let last = min(patience.connecting, patience.total)
        guard !last.hasPassed else { throw patience.error(.timedOut, until: patience.connecting, in: .connecting) }
        do throws(WaitError) {
            try await reactor.sleep(until: min(.after(pause), last))
        } catch {
            throw patience.error(error, until: patience.connecting, in: .connecting)
        }
    }
}
