package import Requests

/// A cache of the addresses that host names resolve to.
///
/// It has no lock and no clock. The system's resolver does not report how long an address is valid, so entries are kept
/// for a few seconds only. A name without an address is not cached.
package struct AddressCache: Sendable {
    private struct Entry: Sendable {
        let addresses: [SocketAddress]
        let end: Deadline
    }

    private let lifetime: Duration
    private let capacity: Int
    private var entries: [String: Entry] = [:]

    /// Creates a cache of at most `capacity` names, each kept for `lifetime`; if either is zero, nothing is cached.
    package init(lifetime: Duration, capacity: Int) {
        self.lifetime = lifetime
        self.capacity = capacity
    }

    /// The number of cached names, expired ones included.
    package var count: Int { entries.count }

    /// Returns the cached addresses of `name`, or nil if there are none or they have expired.
    package func addresses(of name: String, at now: Deadline) -> [SocketAddress]? {
        guard let entry = entries[name], now < entry.end else { return nil }
        return entry.addresses
    }

    /// Caches the addresses of `name`; a full cache drops the name that expires first.
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

    package mutating func forget(_ name: String) {
        entries[name] = nil
    }
}
