import Requests
import RequestsPOSIX

/// Simultaneous attempts to connect to the addresses of a host; the first one that succeeds is used.
///
/// No function waits. All sockets report to one event, so that a wait for the event is a wait for all sockets.
struct ConnectionRace<Network: ConnectionNetwork>: Sendable {
    enum Progress {
        case connected(Network.Channel)
        /// There is nothing to do until the event is signalled or this instant is reached.
        case waiting(until: Deadline?)
    }

    /// A connection that was refused because the queue of a unix socket was full.
    ///
    /// No event reports when to try again.
    private struct Refusal: Sendable {
        let address: SocketAddress
        let pause: Duration
        let end: Deadline
    }

    let event: Network.Event
    private var race: AddressRace
    private var attempts: [Network.Channel] = []
    private var refusal: Refusal?
    private var failure = RequestError(.hostNotFound, detail: "the lookup returned no addresses")

    init(_ addresses: [SocketAddress], over network: Network, within time: Duration?) {
        let delay = AddressRace.delay(network.attemptDelay, within: time, among: addresses.count)
        race = AddressRace(addresses, delay: delay)
        event = network.makeEvent()
    }

    /// Continues as far as possible; the other attempts end when the race is released.
    ///
    /// - Throws: The error of the last attempt, when all have failed.
    mutating func advance(over network: Network) throws(RequestError) -> Progress {
        if let channel = finishedAttempt() { return .connected(channel) }
        if let refusal {
            guard refusal.end <= network.now else { return .waiting(until: refusal.end) }
            self.refusal = nil
            let channel = begin(refusal.address, over: network, after: refusal.pause)
            if let channel { return .connected(channel) }
        }
        while refusal == nil {
            switch race.next(at: network.now) {
            case .start(let address):
                if let channel = begin(address, over: network) { return .connected(channel) }
            case .wait(let alarm): return .waiting(until: alarm)
            case .exhausted: throw failure
            }
        }
        return .waiting(until: refusal?.end)
    }

    /// Returns the first attempt that has succeeded, and removes failed ones.
    private mutating func finishedAttempt() -> Network.Channel? {
        for channel in attempts {
            do throws(SystemError) {
                if try channel.finishConnecting() { return channel }
            } catch {
                attempts.removeAll { $0 === channel }
                fail(error)
            }
        }
        return nil
    }

    /// Begins an attempt, and returns its channel if it succeeds at once.
    private mutating func begin(
        _ address: SocketAddress, over network: Network, after pause: Duration? = nil
    ) -> Network.Channel? {
        do throws(SystemError) {
            let channel = try network.channel(for: address)
            if try channel.beginConnecting(to: address, reportingTo: event) { return channel }
            attempts.append(channel)
        } catch {
            guard error.isFullQueue, address.family == .unix else {
                fail(error)
                return nil
            }
            let pause = pause.map { min($0 * 2, .milliseconds(50)) } ?? .milliseconds(1)
            refusal = Refusal(address: address, pause: pause, end: network.now.advanced(by: pause))
        }
        return nil
    }

    private mutating func fail(_ error: SystemError) {
        race.fail()
        failure = .notConnected(error)
    }
}
