@_spi(Lock) internal import Requests

extension Caching {
    /// A store in memory, which removes the least recently used entries.
    ///
    /// The entries are lost when the process ends. Caches can share a store; their entries are separate unless they
    /// have the same ``Partition``.
    public final class MemoryStore: CacheStore {
        /// The maximum size of all entries in bytes, with their headers and keys.
        public let capacity: Int

        private let state: Lock<State>
        let invalidations = CacheInvalidations()

        /// Creates an empty store.
        ///
        /// - Parameter capacity: The maximum size of all entries in bytes; by default 64 MiB. Negative numbers count as
        ///   0, and nothing is stored then.
        public init(capacity: Int = 64 << 20) {
            self.capacity = max(0, capacity)
            state = Lock(State())
        }

        /// The present size of all entries in bytes.
        public var size: Int { state.withLock { $0.size } }

        /// The number of entries.
        public var count: Int { state.withLock { $0.slots.count } }

        /// Returns the entry for a key; nil if there is none.
        public func entry(for key: Key) async -> Entry? { availableEntry(for: key) }

        /// Returns the entry for a key without a suspension.
        func availableEntry(for key: Key) -> Entry? {
            state.withLock { state in
                guard let slot = state.slots[key] else { return nil }
                state.moveToFront(slot)
                return state.nodes[slot].entry
            }
        }

        /// Replaces the entry for a key; an entry that is larger than the capacity is not stored.
        public func store(_ entry: Entry, for key: Key) async {
            let size = entry.size.addingReportingOverflow(key.text.utf8.count)
            // Released after the lock, because entries can be large.
            let removed = state.withLock { state in
                var removed = [state.remove(key)]
                guard !size.overflow, size.partialValue <= capacity else { return removed }
                while state.size > capacity - size.partialValue { removed.append(state.removeLast()) }
                state.insert(entry, for: key, size: size.partialValue)
                return removed
            }
            _ = consume removed
        }

        /// Removes the entry for a key, if there is one.
        public func removeEntry(for key: Key) async {
            let removed = state.withLock { $0.remove(key) }
            _ = consume removed
        }

        /// Removes all entries.
        public func removeAll() async {
            let removed = state.withLock { state in
                defer { state = State() }
                return state.nodes
            }
            _ = consume removed
        }
    }
}

extension Caching.MemoryStore {
    /// An entry in the list of all, which is ordered by the time of the last use.
    private struct Node: Sendable {
        var key: Caching.Key
        var entry: Caching.Entry?
        var size: Int
        var previous: Int
        var next: Int
    }

    /// The entries, in slots of an array that refer to each other: moving one to the front allocates nothing.
    private struct State: Sendable {
        var slots: [Caching.Key: Int] = [:]
        var nodes: [Node] = []
        var size = 0
        /// The slots of removed entries.
        private var free: [Int] = []
        /// The most and the least recently used entries; -1 for none.
        private var first = -1
        private var last = -1

        mutating func insert(_ entry: Caching.Entry, for key: Caching.Key, size: Int) {
            let node = Node(key: key, entry: entry, size: size, previous: -1, next: -1)
            let slot: Int
            if let unused = free.popLast() {
                slot = unused
                nodes[slot] = node
            } else {
                slot = nodes.count
                nodes.append(node)
            }
            slots[key] = slot
            self.size += size
            link(slot)
        }

        mutating func moveToFront(_ slot: Int) {
            guard slot != first else { return }
            unlink(slot)
            link(slot)
        }

        mutating func remove(_ key: Caching.Key) -> Caching.Entry? {
            slots.removeValue(forKey: key).flatMap { release($0) }
        }

        mutating func removeLast() -> Caching.Entry? {
            guard last >= 0 else { return nil }
            slots[nodes[last].key] = nil
            return release(last)
        }

        private mutating func release(_ slot: Int) -> Caching.Entry? {
            unlink(slot)
            size -= nodes[slot].size
            free.append(slot)
            let entry = nodes[slot].entry
            nodes[slot] = Node(key: Caching.Key(text: ""), entry: nil, size: 0, previous: -1, next: -1)
            return entry
        }

        private mutating func link(_ slot: Int) {
            nodes[slot].previous = -1
            nodes[slot].next = first
            if first >= 0 { nodes[first].previous = slot } else { last = slot }
            first = slot
        }

        private mutating func unlink(_ slot: Int) {
            let (previous, next) = (nodes[slot].previous, nodes[slot].next)
            if previous >= 0 { nodes[previous].next = next } else { first = next }
            if next >= 0 { nodes[next].previous = previous } else { last = previous }
        }
    }
}
