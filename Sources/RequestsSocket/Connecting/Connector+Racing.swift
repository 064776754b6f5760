import Requests
import RequestsPOSIX

extension Connector {
    /// Connects to the one of `addresses` that accepts first; the other attempts end, and their sockets are closed.
    ///
    /// An attempt runs in place while it is the only one. Only if it has not ended after the delay, tasks take over, so
    /// that a host which accepts at once costs none.
    func race(_ addresses: [SocketAddress]) async throws(RequestError) -> Channel {
        let limit = min(timeLimits.connecting, timeLimits.total)
        let time = limit == .distantFuture ? nil : limit.remaining
        var race = AddressRace(
            addresses, delay: AddressRace.delay(configuration.attemptDelay, within: time, among: addresses.count))
        var failure = RequestError(.hostNotFound, detail: "the lookup returned no addresses")
        while case .start(let address) = race.next(at: .now) {
            do throws(RequestError) {
                let channel = try channel(to: address)
                if try await connect(channel, to: address, pausingAt: race.alarm) { return channel }
                return try await continueRace(with: channel, race)
            } catch {
                // After a time limit or a cancellation, another address cannot help.
                guard error.reason == .connectionFailed else { throw error }
                race.fail()
                failure = error
            }
        }
        throw failure
    }

    private func channel(to address: SocketAddress) throws(RequestError) -> Channel {
        do throws(WaitError) {
            return try channel(for: address)
        } catch {
            throw timeLimits.error(error, until: timeLimits.connecting, in: .connecting)
        }
    }

    /// Connects, and returns false if `pause` passes before; then the kernel continues to connect.
    private func connect(
        _ channel: Channel, to address: SocketAddress, pausingAt pause: Deadline? = nil
    ) async throws(RequestError) -> Bool {
        let limit = min(timeLimits.connecting, timeLimits.total)
        do throws(WaitError) {
            try await channel.connect(to: address, by: min(pause ?? limit, limit), on: .current)
            setOptions(of: channel.socket)
            return true
        } catch {
            // The pause is shorter than the limit, so its end is not a timeout of the attempt.
            if case .timedOut = error, let pause, pause < limit { return false }
            throw timeLimits.error(error, until: timeLimits.connecting, in: .connecting)
        }
    }

    /// Sets the options of an established TCP connection.
    private func setOptions(of socket: borrowing Socket) {
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

    private func finish(_ channel: Channel) async throws(RequestError) -> Channel {
        do throws(WaitError) {
            try await channel.continueConnecting(by: min(timeLimits.connecting, timeLimits.total), on: .current)
            setOptions(of: channel.socket)
            return channel
        } catch {
            throw timeLimits.error(error, until: timeLimits.connecting, in: .connecting)
        }
    }
}

// MARK: Several at once

extension Connector {
    private enum Event: Sendable {
        case ended(Result<Channel, RequestError>)
        /// The time to start the next attempt may have come.
        case alarm
    }

    /// Races the remaining addresses against `first`, which is connecting already.
    private func continueRace(with first: Channel, _ race: AddressRace) async throws(RequestError) -> Channel {
        let result = await withTaskGroup(of: Event.self, returning: Result<Channel, RequestError>.self) { group in
            // Ends the other attempts, for which the group waits; their sockets are then closed.
            defer { group.cancelAll() }
            var race = race
            var hasAlarm = false
            var failure = RequestError(.connectionFailed)
            group.addTask { await ended { () throws(RequestError) in try await finish(first) } }
            while true {
                switch race.next(at: .now) {
                case .start(let address):
                    group.addTask {
                        await ended { () throws(RequestError) in
                            let channel = try channel(to: address)
                            _ = try await connect(channel, to: address)
                            return channel
                        }
                    }
                    continue
                // One alarm at a time: if an attempt fails first, the next one starts without it.
                case .wait(let instant?) where !hasAlarm:
                    hasAlarm = true
                    group.addTask {
                        try? await reactor.sleep(until: instant)
                        return .alarm
                    }
                case .wait: break
                case .exhausted: return .failure(failure)
                }
                switch await group.next() {
                case .ended(.success(let channel)): return .success(channel)
                case .ended(.failure(let error)):
                    guard error.reason == .connectionFailed else { return .failure(error) }
                    race.fail()
                    failure = error
                case .alarm, nil: hasAlarm = false
                }
            }
        }
        return try result.get()
    }

    private func ended(_ attempt: () async throws(RequestError) -> Channel) async -> Event {
        do throws(RequestError) {
            return .ended(.success(try await attempt()))
        } catch {
            return .ended(.failure(error))
        }
    }
}
