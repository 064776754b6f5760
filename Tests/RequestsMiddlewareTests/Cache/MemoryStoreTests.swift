import Requests
import RequestsMiddleware
import RequestsMock
import TestCorpora
import Testing

@Suite("The cache in memory", .timeLimit(.minutes(10)))
struct MemoryStoreTests {
    private func cache(_ store: Caching.MemoryStore, body size: Int) -> CacheUnderTest {
        CacheUnderTest(in: store, partition: .named("test")) { _ in
            MockResponse(header: .caching("max-age=1000"), body: [.bytes(pattern(size))])
        }
    }

    @Test("beyond the capacity, the least recently used entry is removed and the others are kept")
    func leastRecentlyUsed() async throws {
        // The capacity is enough for three entries, but not for four.
        let store = Caching.MemoryStore(capacity: 35_000)
        let cache = cache(store, body: 10_000)
        for path in ["/a", "/b", "/c"] { _ = try await cache.send(path) }
        #expect(store.count == 3 && store.size <= 35_000)
        #expect(try await cache.send("/a").isHit)
        _ = try await cache.send("/d")
        for (path, status) in [("/a", 200), ("/b", 504), ("/c", 200), ("/d", 200)] {
            let response = try await cache.send(path, policy: .returnCacheDataDontLoad)
            #expect(response.status.code == status, "\(path)")
        }
        // Above, c and d were used after a.
        _ = try await cache.send("/e")
        #expect(try await cache.send("/a", policy: .returnCacheDataDontLoad).status == 504)
        #expect(try await cache.send("/c", policy: .returnCacheDataDontLoad).status == 200)
    }

    /// A model of the store: its entries in the order of their use, the newest first.
    private struct Model {
        var entries: [(key: Int, size: Int)] = []

        mutating func use(_ key: Int) -> Int? {
            guard let index = entries.firstIndex(where: { $0.key == key }) else { return nil }
            let entry = entries.remove(at: index)
            entries.insert(entry, at: 0)
            return entry.size
        }

        mutating func store(_ key: Int, _ size: Int, within capacity: Int) {
            entries.removeAll { $0.key == key }
            guard size <= capacity else { return }
            while self.size > capacity - size { entries.removeLast() }
            entries.insert((key, size), at: 0)
        }

        var size: Int { entries.reduce(0) { $0 + $1.size } }
    }

    @Test("random uses, changes and removals leave the same entries as in a simple list", arguments: 1...4)
    func model(seed: UInt64) async throws {
        let (capacity, keys) = (20_000, (0..<16).map { Caching.Key(text: "key \($0 + 10)") })
        var entries: [Caching.Entry] = []
        for size in [0, 900, 2_500, 7_000, 19_000, 40_000] {
            let source = Caching.MemoryStore()
            _ = try await cache(source, body: size).send()
            entries.append(try #require(await source.entry(for: Caching.Key(text: "4:test http://e.com/"))))
        }
        let store = Caching.MemoryStore(capacity: capacity)
        var (model, random) = (Model(), SplitMix64(state: seed))
        for step in 0..<5_000 {
            let key = Int.random(in: 0..<keys.count, using: &random)
            switch Int.random(in: 0..<20, using: &random) {
            case 0..<9:
                let found = await store.entry(for: keys[key])
                #expect(found.map { $0.size + keys[key].text.utf8.count } == model.use(key), "step \(step)")
            case 9..<18:
                let entry = entries[Int.random(in: 0..<entries.count, using: &random)]
                await store.store(entry, for: keys[key])
                model.store(key, entry.size + keys[key].text.utf8.count, within: capacity)
            default:
                await store.removeEntry(for: keys[key])
                model.entries.removeAll { $0.key == key }
            }
            try #require(store.size == model.size && store.count == model.entries.count, "step \(step)")
            #expect(store.size <= capacity)
        }
    }
}
