@_spi(Lock) internal import Requests
internal import Synchronization

/// The invalidations of stored responses in one store, and the lists of variants that are being created there.
///
/// Several caches can share a store, so this object belongs to the store.
final class CacheInvalidations: Sendable {
    private struct State: Sendable {
        /// The latest invalidations, newest last.
        var latest: [Caching.Key] = []
        var count = 0
        /// The lists of variants that are being created.
        var lists: [Caching.Key: NewList] = [:]
    }

    /// A list of variants that requests with different credentials create at the same time.
    private struct NewList: Sendable {
        var generation = UInt64.random(in: .min ... .max)
        var count = 0
    }

    private let state = Lock(State())

    /// The number of all invalidations, read without the lock.
    private let total = Atomic(0)

    /// The maximum number of invalidations that are remembered.
    private static let rememberedCount = 64

    var count: Int { total.load(ordering: .acquiring) }

    /// Records that the responses for a URI are invalid, including those that have not arrived yet.
    func invalidate(_ key: Caching.Key) {
        state.withLock { state in
            state.count += 1
            total.store(state.count, ordering: .releasing)
            state.latest.append(key)
            state.lists[key]?.generation = .random(in: .min ... .max)
            if state.latest.count > Self.rememberedCount { state.latest.removeFirst() }
        }
    }

    /// Records that all responses are invalid, including those that have not arrived yet.
    func invalidateAll() {
        state.withLock { state in
            // With an empty list, `hasInvalidated` treats every request that was sent before as invalidated.
            state.count += 1
            total.store(state.count, ordering: .releasing)
            state.latest = []
            for key in state.lists.keys { state.lists[key]?.generation = .random(in: .min ... .max) }
        }
    }

    /// Returns whether the response to a request may have been made before its URI was invalidated.
    ///
    /// The request was sent after `count` invalidations.
    func hasInvalidated(_ key: Caching.Key, since count: Int) -> Bool {
        state.withLock { state in
            let newer = state.count - count
            if newer == 0 { return false }
            return newer > state.latest.count || state.latest.suffix(newer).contains(key)
        }
    }
}

// MARK: Lists of variants

extension CacheInvalidations {
    /// Returns the number for a new list of variants for a URI; call it before the store is read.
    ///
    /// All responses that are stored at the same time get the same number, unless the URI was invalidated in between.
    /// With different numbers, the list of one response would make the other response unreachable.
    func beginList(for key: Caching.Key) -> UInt64 {
        state.withLock { state in
            state.lists[key, default: NewList()].count += 1
            return state.lists[key]?.generation ?? 0
        }
    }

    /// Releases the number that ``beginList(for:)`` returned, after the response has been stored.
    func endList(for key: Caching.Key) {
        state.withLock { state in
            state.lists[key]?.count -= 1
            if state.lists[key]?.count == 0 { state.lists[key] = nil }
        }
    }
}

/// A store with the invalidations that its caches share.
protocol InvalidatedStore: CacheStore {
    var invalidations: CacheInvalidations { get }
}

extension Caching.MemoryStore: InvalidatedStore {}

extension Caching.DiskStore: InvalidatedStore {}
