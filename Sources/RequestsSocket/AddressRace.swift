package import RequestsPOSIX

/// Which address of a host to try, and when (RFC 8305 §4, §5).
///
/// A value without sockets or clock: it is told what happened and says what to do next. Addresses of both families take
/// turns, IPv6 first; an attempt that has not ended after the delay gets company, one that fails is followed at once.
package struct AddressRace: Sendable {
    /// What to do next.
    package enum Step: Hashable, Sendable {
        /// Begin to connect to this address, beside what is under way.
        case start(SocketAddress)
        /// Wait for the attempts under way, and ask again at this instant when there is one.
        case wait(until: Deadline?)
        /// Every address has failed.
        case exhausted
    }

    private let delay: Duration
    private var waiting: ArraySlice<SocketAddress>
    private var running = 0
    private var nextStart: Deadline?

    /// A race between `addresses`, the next one starting `delay` after the one before it.
    package init(_ addresses: [SocketAddress], delay: Duration) {
        waiting = Self.inTurns(addresses)[...]
        self.delay = delay
    }

    /// What to do at `now`.
    package mutating func next(at now: Deadline) -> Step {
        if let address = waiting.first, running == 0 || nextStart.map({ $0 <= now }) ?? true {
            waiting.removeFirst()
            running += 1
            nextStart = now.advanced(by: delay)
            return .start(address)
        }
        return running == 0 ? .exhausted : .wait(until: alarm)
    }

    /// When the next attempt may start beside those under way; nil when there is none.
    package var alarm: Deadline? { waiting.isEmpty ? nil : nextStart }

    /// Takes note that one of the attempts has failed: the next starts at once.
    package mutating func fail() {
        running -= 1
        nextStart = nil
    }

    /// The time between two attempts: `preferred`, or less where `limit` would end before each of `count` addresses has
    /// had its turn.
    package static func delay(_ preferred: Duration, within limit: Duration?, among count: Int) -> Duration {
        limit.map { min(preferred, $0 / max(1, count)) } ?? preferred
    }

    /// The addresses, both families in turns and the order within each kept.
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
