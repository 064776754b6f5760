/// The addresses of names that were found a moment ago.
///
/// A value without lock or clock. The system's resolver does not tell for how long an answer is good, so none is
/// believed for more than a few seconds; that a name has no address is not kept at all.
package struct AddressCache: Sendable {
    private struct Entry: Sendable {
        let addresses: [SocketAddress]
        let end: Deadline
    }

    private let lifetime: Duration
    private let capacity: Int
    private var entries: [String: Entry] = [:]

    /// A cache of at most `capacity` names, each for `lifetime`; zero of either keeps nothing.
    package init(lifetime: Duration, capacity: Int) {
        self.lifetime = lifetime
        self.capacity = capacity
    }

    /// Names that are kept, those included of which the time is over.
    package var count: Int { entries.count }

    /// The addresses of `name`, if they were kept and their time is not over.
    package func addresses(of name: String, at now: Deadline) -> [SocketAddress]? {
        guard let entry = entries[name], now < entry.end else { return nil }
        return entry.addresses
    }

    /// Keeps the addresses of `name`; where there is no room, the name goes whose time ends first.
    package mutating func keep(_ addresses: [SocketAddress], of name: String, at now: Deadline) {
        guard capacity > 0, lifetime > .zero, !addresses.isEmpty else { return }
        if entries[name] == nil, entries.count >= capacity {
            entries = entries.filter { now < $0.value.end }
            if entries.count >= capacity, let oldest = entries.min(by: { $0.value.end < $1.value.end }) {
                entries[oldest.key] = nil
            }
        }
        entries[name] = Entry(addresses: addresses, end: now.advanced(by: lifetime))
    }

    /// Keeps nothing of `name`.
    package mutating func forget(_ name: String) {
        entries[name] = nil
    }
}
