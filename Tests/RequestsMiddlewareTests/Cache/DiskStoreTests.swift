import CRequestsPOSIX
import CRequestsTest
import Foundation
import Requests
import RequestsMiddleware
import RequestsMock
import TestCorpora
import TestSupport
import Testing

@Suite("The cache in files", .serialized, .timeLimit(.minutes(10)))
struct DiskStoreTests {
    private let folder = TemporaryDirectory()

    var path: String { folder.path(of: "cache") }

    private func cache(_ store: Caching.DiskStore) -> CacheUnderTest {
        CacheUnderTest(in: store, partition: .named("test"), header: .caching("max-age=1000"))
    }

    var entryNames: [String] {
        ((try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []).filter { $0.hasSuffix(".entry") }
    }

    private func mode(_ name: String) -> Int {
        let attributes = try? FileManager.default.attributesOfItem(atPath: "\(path)/\(name)")
        return attributes?[.posixPermissions] as? Int ?? 0
    }

    @Test("a response survives a restart, in files that only the owner can read and without the URL", .rows("R-74"))
    func restart() async throws {
        let secret = "planted-secret"
        let request: Header = [.authorization("Bearer \(secret)")]
        let first = cache(Caching.DiskStore(folder: path))
        _ = try await first.send("/\(secret)?token=\(secret)", request)
        let second = cache(Caching.DiskStore(folder: path + "/"))
        #expect(try await second.send("/\(secret)?token=\(secret)", request).isHit)
        #expect(try await !second.send("/\(secret)?token=\(secret)").isHit)
        #expect(entryNames.count >= 2)
        for name in try FileManager.default.contentsOfDirectory(atPath: path) {
            #expect(mode(name) == 0o600, "\(name)")
            let bytes = try Data(contentsOf: URL(filePath: "\(path)/\(name)"))
            #expect(!name.contains(secret) && bytes.range(of: Data(secret.utf8)) == nil)
        }
        #expect(mode("") == 0o700)
        await second.caching.removeAll()
        #expect(entryNames.isEmpty)
    }

    @Test("a file that is cut or changed at any byte is never served, and is removed")
    func damage() async throws {
        let store = Caching.DiskStore(folder: path)
        let cache = cache(store)
        _ = try await cache.send()
        let name = try #require(entryNames.first)
        let whole = try Data(contentsOf: URL(filePath: "\(path)/\(name)"))
        let reader = cache
        for position in 0..<whole.count {
            for isCut in [true, false] {
                var bytes = whole
                if isCut { bytes = bytes.prefix(position) } else { bytes[position] ^= 0x10 }
                try write(bytes, name)
                let response = try await reader.send(policy: .returnCacheDataDontLoad)
                #expect(response.status == 504, "\(position) \(isCut)")
                #expect(entryNames.isEmpty)
            }
        }
        try write(whole + [0], name)
        #expect(try await reader.send(policy: .returnCacheDataDontLoad).status == 504)
        try write(whole, name)
        #expect(try await reader.send(policy: .returnCacheDataDontLoad).text == "1")
        try write(whole, name)
        try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: "\(path)/\(name)")
        #expect(try await reader.send(policy: .returnCacheDataDontLoad).status == 504)
    }

    private func write(_ bytes: Data, _ name: String) throws {
        try bytes.write(to: URL(filePath: "\(path)/\(name)"))
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: "\(path)/\(name)")
    }

    @Test("a file under the name of another entry, and what is not a file, are not served")
    func foreign() async throws {
        let cache = cache(Caching.DiskStore(folder: path))
        _ = try await cache.send("/a")
        let first = try #require(entryNames.first)
        _ = try await cache.send("/b")
        let second = try #require(entryNames.first { $0 != first })
        try write(Data(contentsOf: URL(filePath: "\(path)/\(first)")), second)
        #expect(try await cache.send("/b", policy: .returnCacheDataDontLoad).status == 504)
        #expect(try await cache.send("/a", policy: .returnCacheDataDontLoad).text == "1")
        // A folder, a link and a device in place of an entry.
        try FileManager.default.removeItem(atPath: "\(path)/\(first)")
        try FileManager.default.createDirectory(atPath: "\(path)/\(first)", withIntermediateDirectories: false)
        #expect(try await cache.send("/a").isHit == false)
        #expect(FileManager.default.fileExists(atPath: "\(path)/\(first)"))
        try FileManager.default.createSymbolicLink(atPath: "\(path)/\(second)", withDestinationPath: "/dev/zero")
        #expect(try await cache.send("/b", policy: .returnCacheDataDontLoad).status == 504)
        #expect(!entryNames.contains(second) && FileManager.default.fileExists(atPath: "/dev/zero"))
    }

    @Test("random bytes as an entry are refused and take no memory")
    func hostileEntries() {
        var generator = SplitMix64(state: 1)
        var refused = 0
        for round in 0..<20_000 {
            var bytes = (0..<Int.random(in: 0...200, using: &generator)).map { _ in
                UInt8.random(in: 0...255, using: &generator)
            }
            if let first = bytes.indices.first { bytes[first] = UInt8(1 + round % 2) }
            // Counts that are huge or negative.
            if round % 3 == 0, bytes.count > 42 { for index in 34..<42 { bytes[index] = round % 2 == 0 ? 0xFF : 0x7F } }
            if Caching.Entry(encoded: bytes) == nil { refused += 1 }
        }
        #expect(refused > 19_900)
    }

    @Test("the entries that were not used for the longest time are removed at the capacity")
    func eviction() async throws {
        let store = Caching.DiskStore(folder: path, capacity: 100_000)
        let cache = CacheUnderTest(in: store, partition: .named("test")) { _ in
            MockResponse(header: .caching("max-age=1000"), body: [.bytes(pattern(9_000))])
        }
        for number in 0..<50 { _ = try await cache.send("/\(number)") }
        let sizes = entryNames.map { name in
            (try? FileManager.default.attributesOfItem(atPath: "\(path)/\(name)"))?[.size] as? Int ?? 0
        }
        #expect(sizes.reduce(0, +) <= 100_000 && !sizes.isEmpty)
        let large = CacheUnderTest(in: store, partition: .named("test")) { _ in
            MockResponse(header: .caching("max-age=1000"), body: [.bytes(pattern(200_000))])
        }
        _ = try await large.send("/large")
        #expect(try await !large.send("/large").isHit)
    }

    @Test("beyond the capacity, unused entries are removed before a used one of the same age")
    func usedLast() async throws {
        let store = Caching.DiskStore(folder: path, capacity: 100_000)
        let cache = CacheUnderTest(in: store, partition: .named("test")) { _ in
            MockResponse(header: .caching("max-age=1000"), body: [.bytes(pattern(9_000))])
        }
        for number in 0..<8 { _ = try await cache.send("/\(number)") }
        // All have the same old time, so that only the order of use can decide.
        for name in entryNames {
            try FileManager.default.setAttributes(
                [.modificationDate: Date(timeIntervalSince1970: 1_000_000)], ofItemAtPath: "\(path)/\(name)")
        }
        #expect(try await cache.send("/0").isHit)
        for number in 10..<16 { _ = try await cache.send("/\(number)") }
        #expect(try await cache.send("/0").isHit)
        var hits = 0
        for number in 1..<8 where try await cache.send("/\(number)").isHit { hits += 1 }
        #expect(hits < 7)
    }

    @Test("a folder that is removed in between is created again")
    func removed() async throws {
        let cache = cache(Caching.DiskStore(folder: path))
        _ = try await cache.send("/a")
        try FileManager.default.removeItem(atPath: path)
        #expect(try await !cache.send("/a").isHit)
        #expect(try await cache.send("/a").isHit)
        #expect(try await cache.send("/a").text == "2")
    }

    @Test(
        "a folder that cannot be written, or is none, is a cache that stores nothing",
        arguments: [
            "/proc/cache", "/dev/null/cache", "/dev/full", "", "a\0b",
        ])
    func unusable(folder: String) async throws {
        let store = Caching.DiskStore(folder: folder)
        let cache = cache(store)
        for number in 1...3 { #expect(try await cache.send().text == "\(number)") }
        #expect(store.lastProblem != nil)
    }

    @Test("a response for memory only is not written")
    func memoryOnly() async throws {
        var rules = Caching.Rules()
        rules.storageWithoutDirectives = .memory
        let store = Caching.DiskStore(folder: path)
        let cache = CacheUnderTest(in: store, rules: rules, header: [])
        _ = try await cache.send()
        #expect(try await cache.send(policy: .returnCacheDataElseLoad).text == "2" && entryNames.isEmpty)
        let memory = CacheUnderTest(rules: rules, header: [])
        _ = try await memory.send()
        #expect(try await memory.send(policy: .returnCacheDataElseLoad).text == "1")
    }

    @Test(
        "several stores of one folder read and write at the same time and never return a wrong body", .tags(.concurrent)
    )
    func concurrent() async throws {
        let path = path
        await withTaskGroup(of: Int.self) { group in
            for worker in 0..<8 {
                group.addTask {
                    let store = Caching.DiskStore(folder: path, capacity: 200_000)
                    let cache = CacheUnderTest(in: store, partition: .named("test")) { request in
                        let length = 1_000 + (Int(request.target.path.dropFirst()) ?? 0) * 10
                        return MockResponse(header: .caching("max-age=1000"), body: [.bytes(pattern(length))])
                    }
                    var wrong = 0
                    for round in 0..<150 {
                        let number = (round * 7 + worker) % 40
                        if round % 50 == 49 { _ = try? await cache.send("/\(number)", method: .delete) }
                        let response = try? await cache.send("/\(number)")
                        if response?.data != pattern(1_000 + number * 10) { wrong += 1 }
                    }
                    return wrong
                }
            }
            for await wrong in group { #expect(wrong == 0) }
        }
    }

    #if os(Linux)
    @Test("the store opens after each kill of a process that writes, and serves only whole bodies")
    func kills() async throws {
        let writer = Caching.DiskStore(folder: path, capacity: 1 << 20)
        let keys = (0..<16).map { Caching.Key(text: "key \($0)") }
        let cache = CacheUnderTest(in: writer, partition: .named("x")) { _ in
            MockResponse(header: .caching("max-age=1000"), body: [.bytes(pattern(40_000))])
        }
        _ = try await cache.send()
        let entry = try #require(entryOnDisk(writer))
        let encoded = entry.encoded
        var served = 0
        for round in 0..<KilledWriters.count {
            let isKilled = KilledWriters.kill(round, changing: path) { number in
                // Descriptors of the other store are closed here.
                let own = Caching.DiskStore(folder: path, capacity: 1 << 20)
                own.storeNow(entry, for: keys[(number + round) % keys.count])
            }
            #expect(isKilled)
            let store = Caching.DiskStore(folder: path, capacity: 1 << 20)
            for key in keys {
                guard let found = store.entryNow(for: key) else { continue }
                served += 1
                #expect(found.encoded == encoded)
            }
            #expect(store.lastProblem == nil)
        }
        #expect(served > 0)
        let left = try FileManager.default.contentsOfDirectory(atPath: path).filter { $0.hasSuffix(".part") }
        for name in left {
            let old = Date(timeIntervalSinceNow: -3_600)
            try FileManager.default.setAttributes([.modificationDate: old], ofItemAtPath: "\(path)/\(name)")
        }
        _ = Caching.DiskStore(folder: path, capacity: 1 << 20).entryNow(for: keys[0])
        let names = try FileManager.default.contentsOfDirectory(atPath: path)
        #expect(!names.contains { $0.hasSuffix(".part") })
    }

    @Test("two processes use one folder at the same time, and each finds only whole entries of its keys")
    func processes() async throws {
        let cache = CacheUnderTest(in: Caching.DiskStore(folder: path), partition: .named("x")) { request in
            let length = Int(request.target.path.dropFirst()) ?? 0
            return MockResponse(header: .caching("max-age=1000"), body: [.bytes(pattern(length))])
        }
        let lengths = [1_000, 40_000]
        let store = Caching.DiskStore(folder: path)
        var entries: [Caching.Entry] = []
        for length in lengths {
            _ = try await cache.send("/\(length)")
            entries.append(try #require(store.entryNow(for: Caching.Key(text: "1:x http://e.com/\(length)"))))
        }
        let keys = (0..<24).map { Caching.Key(text: "key \($0)") }
        let (path, known) = (path, entries)
        // The capacity is small, so that both processes remove entries of the other one.
        @Sendable func use(_ rounds: Int) -> (found: Int, wrong: Int) {
            let store = Caching.DiskStore(folder: path, capacity: 300_000)
            var (found, wrong) = (0, 0)
            for round in 0..<rounds {
                let number = round * 7 % keys.count
                let expected = known[number % known.count]
                if round % 100 == 99 { store.removeEntryNow(for: keys[number]) }
                if round % 3 == 0 { store.storeNow(expected, for: keys[number]) }
                guard let entry = store.entryNow(for: keys[number]) else { continue }
                found += 1
                if entry.encoded != expected.encoded { wrong += 1 }
            }
            return (found, wrong)
        }
        let parent = Task.detached { use(1_000) }
        var children = ForkedChildren()
        #expect(children.run { use(600).wrong == 0 })
        let (found, wrong) = await parent.value
        #expect(found > 0 && wrong == 0)
    }

    /// Returns the only entry that a cache has written.
    private func entryOnDisk(_ store: Caching.DiskStore) -> Caching.Entry? {
        store.entryNow(for: Caching.Key(text: "1:x http://e.com/"))
    }

    @Test("a limit on the size of files, as on a full disk, loses entries and nothing else")
    func full() async throws {
        let store = Caching.DiskStore(folder: path)
        let cache = CacheUnderTest(in: store, partition: .named("x")) { _ in
            MockResponse(header: .caching("max-age=1000"), body: [.bytes(pattern(40_000))])
        }
        _ = try await cache.send()
        let key = Caching.Key(text: "1:x http://e.com/")
        let entry = try #require(store.entryNow(for: key))
        var status: Int32 = -1
        // A child that ended by a signal needed a lock that another thread had during the fork.
        for _ in 0..<20 where status < 0 {
            let child = ForkedChildren.start(lasting: 5, closesDescriptors: true) {
                guard FileSizeLimit.set(20_000) else { return false }
                store.storeNow(entry, for: key)
                return store.lastProblem != nil && store.entryNow(for: key) == nil
            }
            status = rp_wait_for_child(child, 10)
        }
        #expect(status == 0)
        let names = try FileManager.default.contentsOfDirectory(atPath: path)
        #expect(!names.contains { $0.hasSuffix(".part") } && entryNames.isEmpty)
    }

    @Test(
        "a folder on another device, whose disk is full, loses entries and nothing else",
        .enabled(if: SmallDisk.isPermitted, "the system permits no mounts"))
    func fullDisk() async throws {
        let cache = CacheUnderTest(in: Caching.DiskStore(folder: path), partition: .named("x")) { _ in
            MockResponse(header: .caching("max-age=1000"), body: [.bytes(pattern(100_000))])
        }
        _ = try await cache.send()
        let entry = try #require(Caching.DiskStore(folder: path).entryNow(for: Caching.Key(text: "1:x http://e.com/")))
        let path = path
        var children = ForkedChildren()
        let isWhole = children.run {
            guard SmallDisk.mount(at: path, bytes: 400_000) else { return false }
            let store = Caching.DiskStore(folder: path)
            let keys = (0..<10).map { Caching.Key(text: "key \($0)") }
            var problem: String?
            for key in keys {
                store.storeNow(entry, for: key)
                problem = store.lastProblem ?? problem
            }
            let found = keys.compactMap { store.entryNow(for: $0) }
            guard problem?.contains("No space left") == true, (1...3).contains(found.count) else { return false }
            guard found.allSatisfy({ $0.encoded == entry.encoded }) else { return false }
            // With space again, entries are stored again.
            for key in keys { store.removeEntryNow(for: key) }
            store.storeNow(entry, for: keys[9])
            let names = (try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []
            return store.entryNow(for: keys[9]) != nil && !names.contains { $0.hasSuffix(".part") }
        }
        #expect(isWhole, "status \(children.lastStatus)")
    }
    #endif
}
