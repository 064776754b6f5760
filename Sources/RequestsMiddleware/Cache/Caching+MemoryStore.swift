@_spi(Lock) internal import Requests

extension Caching {
    /// A store in memory, which removes the least recently used entries.
    ///
    /// The entries are lost when the process ends. Caches can share a store; their entries are separate unless they
    /// have the same ``Partition``.
    public final class MemoryStore: CacheStore {
        /// The maximum size of all entries in bytes, with their headers and keys.
        package let capacity: Int

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

        /// Returns the entry for a key, without suspending.
        func availableEntry(for key: Key) -> Entry? {
            state.withLock { state in
                guard let slot = state.slots[key] else { return nil }
                state.uses.use(slot)
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
    private struct Node: Sendable {
        var key: Caching.Key
        var entry: Caching.Entry?
        var size: Int
    }

    private struct State: Sendable {
        var slots: [Caching.Key: Int] = [:]
        var nodes: [Node] = []
        var uses = RecencyList()
        var size = 0
        /// The slots of removed entries.
        private var free: [Int] = []

        mutating func insert(_ entry: Caching.Entry, for key: Caching.Key, size: Int) {
            let node = Node(key: key, entry: entry, size: size)
            let slot = free.popLast() ?? nodes.count
            if slot == nodes.count { nodes.append(node) } else { nodes[slot] = node }
            slots[key] = slot
            self.size += size
            uses.add(slot)
        }

        mutating func remove(_ key: Caching.Key) -> Caching.Entry? {
            slots.removeValue(forKey: key).flatMap { release($0) }
        }

        mutating func removeLast() -> Caching.Entry? {
            guard uses.oldest >= 0 else { return nil }
            slots[nodes[uses.oldest].key] = nil
            return release(uses.oldest)
        }

        private mutating func release(_ slot: Int) -> Caching.Entry? {
            uses.remove(slot)
            size -= nodes[slot].size
            free.append(slot)
            let entry = nodes[slot].entry
            nodes[slot] = Node(key: Caching.Key(text: ""), entry: nil, size: 0)
            return entry
        }
    }
}
