package import RequestsPOSIX

/// The order and the times at which the addresses of a host are tried (RFC 8305 §4, §5).
///
/// It uses no sockets and no clock: it receives what happened and returns the next action. The address families
/// alternate, IPv6 first. The next attempt starts when the current one has failed, or beside it after the delay.
package struct AddressRace: Sendable {
    package enum Action: Hashable, Sendable {
        /// Begin to connect to this address; other attempts continue.
        case start(SocketAddress)
        /// Wait for the current attempts, and request the next action at this instant, if there is one.
        case wait(until: Deadline?)
        case exhausted
    }

    private let delay: Duration
    private var waiting: ArraySlice<SocketAddress>
    private var running = 0
    private var nextStart: Deadline?

    /// Creates a race between `addresses`; each attempt starts `delay` after the previous one.
    package init(_ addresses: [SocketAddress], delay: Duration) {
        waiting = Self.inTurns(addresses)[...]
        self.delay = delay
    }

    package mutating func next(at now: Deadline) -> Action {
        if let address = waiting.first, running == 0 || nextStart.map({ $0 <= now }) ?? true {
            waiting.removeFirst()
            running += 1
            nextStart = now.advanced(by: delay)
            return .start(address)
        }
        return running == 0 ? .exhausted : .wait(until: alarm)
    }

    /// The instant at which the next attempt may start beside the current ones; nil if no address is left.
    package var alarm: Deadline? { waiting.isEmpty ? nil : nextStart }

    /// Records that an attempt has failed, so that the next one starts at once.
    package mutating func fail() {
        running -= 1
        nextStart = nil
    }

    /// Returns the time between two attempts: `preferred`, or less if `limit` would pass before all `count` addresses
    /// were tried.
    package static func delay(_ preferred: Duration, within limit: Duration?, among count: Int) -> Duration {
        limit.map { min(preferred, $0 / max(1, count)) } ?? preferred
    }

    /// Returns the addresses with both families alternating, and the order within each family preserved.
    package static func inTurns(_ addresses: [SocketAddress]) -> [SocketAddress] {
        let first = addresses.filter { $0.family == .ipv6 }
        let second = addresses.filter { $0.family != .ipv6 }
        guard !first.isEmpty, !second.isEmpty else { return addresses }
        var turns: [SocketAddress] = []
        for place in 0..<max(first.count, second.count) {
            if place < first.count { turns.append(first[place]) }
            if place < second.count { turns.append(second[place]) }
        }
        return turns
    }
}
