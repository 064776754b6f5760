import Foundation
import Requests
import RequestsMiddleware
import RequestsMock
import RequestsPOSIX
import TestSupport
import Testing

/// Tests of a folder that its user cannot list, search or change for a time.
extension DiskStoreTests {
    /// Stores a response in the folder, and returns its key and entry.
    private func storedEntry() async throws -> (key: Caching.Key, entry: Caching.Entry) {
        let cache = CacheUnderTest(in: Caching.DiskStore(folder: path), partition: .named("x")) { _ in
            MockResponse(header: .caching("max-age=1000"), body: [.bytes(pattern(400))])
        }
        _ = try await cache.send()
        let key = Caching.Key(text: "1:x http://e.com/")
        return (key, try #require(Caching.DiskStore(folder: path).entryNow(for: key)))
    }

    @Test("a store waits for another process that creates the key of a folder, and never creates a second one")
    func lockedKey() async throws {
        let (key, entry) = try await storedEntry()
        let folder = "\(path)2"
        #expect(mkdir(folder, 0o700) == 0)
        var lock = try PartialFile.open("\(folder)/key.lock", creating: true)
        #expect(lock != nil)
        let store = Caching.DiskStore(folder: folder)
        store.storeNow(entry, for: key)
        #expect(store.lastProblem?.hasSuffix("key”: another process or task has its lock") == true)
        #expect(!FileManager.default.fileExists(atPath: "\(folder)/key") && store.entryNow(for: key) == nil)
        let waiting = Task { await store.store(entry, for: key) }
        for _ in 0..<100 { await Task.yield() }
        let secret = [UInt8](repeating: 7, count: 32)
        try PrivateFile.replace("\(folder)/key", with: secret)
        lock = nil
        await waiting.value
        #expect(store.entryNow(for: key) != nil)
        #expect(try PrivateFile.contents(of: "\(folder)/key", limit: 1_000) == secret)
    }

    /// Gives the folder to a user whom its permissions stop, unlike the superuser, and returns the user.
    private func ordinaryUser() throws -> uid_t {
        let user = geteuid() == 0 ? 65_534 : geteuid()
        for name in try FileManager.default.contentsOfDirectory(atPath: path) + [""] {
            #expect(chown("\(path)/\(name)", user, gid_t(user)) == 0 || geteuid() != 0)
        }
        return user
    }

    @Test("an entry that cannot be removed, because its folder has become read-only, is not used again")
    func readOnlyFolder() async throws {
        let (key, _) = try await storedEntry()
        let user = try ordinaryUser()
        chmod(path, 0o500)
        defer { chmod(path, 0o700) }
        var children = ForkedChildren()
        let isUnused = children.run {
            guard geteuid() == user || setuid(user) == 0 else { return false }
            let store = Caching.DiskStore(folder: path)
            guard store.entryNow(for: key) != nil else { return false }
            store.removeEntryNow(for: key)
            return store.entryNow(for: key) == nil && store.lastProblem?.contains("invalid entry remains") == true
        }
        #expect(isUnused)
    }

    @Test("while the folder or its key cannot be read, a removal is remembered, and nothing is used")
    func unlistedFolder() async throws {
        let (key, entry) = try await storedEntry()
        let user = try ordinaryUser()
        defer { chmod(path, 0o700) }
        let (path, names) = (path, { entryNames })
        var children = ForkedChildren()
        let isForgotten = children.run {
            guard geteuid() == user || setuid(user) == 0 else { return false }
            let store = Caching.DiskStore(folder: path)
            // A former child may have hung anywhere.
            guard chmod(path, 0o700) == 0, chmod("\(path)/key", 0o600) == 0 else { return false }
            store.storeNow(entry, for: key)
            guard store.entryNow(for: key) != nil, chmod(path, 0o300) == 0 else { return false }
            store.removeAllNow()
            guard store.entryNow(for: key) == nil, chmod(path, 0o700) == 0, names().count == 1 else { return false }
            guard store.entryNow(for: key) == nil, names().isEmpty else { return false }
            store.storeNow(entry, for: key)
            guard store.entryNow(for: key) != nil else { return false }
            // A new store does not know the key of the folder yet.
            let other = Caching.DiskStore(folder: path)
            guard chmod("\(path)/key", 0) == 0 else { return false }
            other.removeEntryNow(for: key)
            guard chmod("\(path)/key", 0o600) == 0 else { return false }
            guard other.entryNow(for: key) == nil, names().isEmpty else { return false }
            // Without the permission to search the folder, its files have names only.
            store.storeNow(entry, for: key)
            for removesAll in [false, true] {
                let third = Caching.DiskStore(folder: path)
                guard chmod(path, 0o600) == 0 else { return false }
                if removesAll { third.removeAllNow() } else { third.removeEntryNow(for: key) }
                guard chmod(path, 0o700) == 0, names().count == 1 else { return false }
                guard third.entryNow(for: key) == nil, names().isEmpty else { return false }
                store.storeNow(entry, for: key)
            }
            return true
        }
        #expect(isForgotten, "status \(children.lastStatus)")
    }

    @Test("while the folder cannot be listed, the entries that are added need no more than the capacity")
    func unlistedCapacity() async throws {
        let entry = try await storedEntry().entry
        let user = try ordinaryUser()
        defer { chmod(path, 0o700) }
        let (path, names) = (path, { entryNames })
        var children = ForkedChildren()
        let isBounded = children.run {
            guard geteuid() == user || setuid(user) == 0, chmod(path, 0o300) == 0 else { return false }
            let store = Caching.DiskStore(folder: path, capacity: 4_000)
            let keys = (0..<20).map { Caching.Key(text: "key \($0)") }
            for key in keys { store.storeNow(entry, for: key) }
            guard store.entryNow(for: keys[0]) != nil, store.entryNow(for: keys[19]) == nil,
                store.lastProblem?.contains("opendir") == true
            else { return false }
            guard chmod(path, 0o700) == 0, names().count < 10 else { return false }
            store.storeNow(entry, for: keys[19])
            return store.entryNow(for: keys[19]) != nil
        }
        #expect(isBounded, "status \(children.lastStatus)")
    }

    @Test("storing in a folder that has become read-only fails with a reason, and the response is whole")
    func readOnlyStoring() async throws {
        let (key, _) = try await storedEntry()
        let user = try ordinaryUser()
        chmod(path, 0o500)
        defer { chmod(path, 0o700) }
        let path = path
        var children = ForkedChildren()
        let isUnharmed = children.run {
            guard geteuid() == user || setuid(user) == 0 else { return false }
            let store = Caching.DiskStore(folder: path)
            // Just after the entry was stored, so that it is fresh.
            let caching = Caching(in: store, partition: .named("x")) { Date(timeIntervalSince1970: 1_800_000_001) }
            let executor = MockExecutor { _ in
                MockResponse(header: .caching("max-age=1000"), body: [.bytes(pattern(500))])
            }.intercepted(by: caching)
            for isKnown in [false, true, false] {
                let url = isKnown ? "http://e.com/" : "http://e.com/new"
                guard let target = try? TargetURI(url),
                    let response = try? executor.executeAndWait(PreparedRequest(target: target)),
                    response.status == 200, response.data == pattern(isKnown ? 400 : 500), response.isHit == isKnown
                else { return false }
            }
            return store.lastProblem?.contains("\(path)/.requests-") == true && store.entryNow(for: key) != nil
        }
        #expect(isUnharmed, "status \(children.lastStatus)")
        #expect(entryNames.count == 1)
    }
}
