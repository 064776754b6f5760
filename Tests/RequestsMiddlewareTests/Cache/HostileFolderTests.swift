import CRequestsPOSIX
import Foundation
import Requests
import RequestsMiddleware
import RequestsMock
import TestSupport
import Testing

@Suite("Hostile files in the folder of a cache", .serialized, .timeLimit(.minutes(10)))
struct HostileFolderTests {
    private let folder = TemporaryDirectory()

    private var path: String { folder.path(of: "cache") }

    private func cache(_ store: Caching.DiskStore) -> CacheUnderTest {
        CacheUnderTest(in: store, partition: .named("test"), header: .caching("max-age=1000"))
    }

    private func entryNames(in path: String) -> [String] {
        ((try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []).filter { $0.hasSuffix(".entry") }
    }

    /// Creates a sparse file of `size` bytes, which begins with `beginning`.
    private func makeSparse(_ path: String, size: Int, beginning: Data = Data()) {
        try? beginning.write(to: URL(filePath: path))
        let descriptor = open(path, O_WRONLY | O_CREAT, 0o600)
        #expect(ftruncate(descriptor, off_t(size)) == 0 && fchmod(descriptor, 0o600) == 0)
        close(descriptor)
    }

    /// The kinds of objects that can be in place of a file.
    enum Obstacle: String, CaseIterable, Sendable {
        case huge, sparse, truncated, empty, foreign, readable, pipe, folder, link, device, loop, missing

        /// Whether a folder must stay, because it may contain files of others.
        var remains: Bool { self == .folder }
    }

    /// Puts `obstacle` in place of the file at `path`.
    private func put(_ obstacle: Obstacle, at path: String) throws {
        let whole = try Data(contentsOf: URL(filePath: path))
        if obstacle != .readable { try FileManager.default.removeItem(atPath: path) }
        switch obstacle {
        case .huge: makeSparse(path, size: 1 << 40)
        case .sparse: makeSparse(path, size: 200 << 20)
        case .truncated: makeSparse(path, size: 10, beginning: whole.prefix(10))
        case .empty: makeSparse(path, size: 0)
        case .foreign: makeSparse(path, size: 32, beginning: Data(repeating: 0x41, count: 32))
        case .readable: #expect(chmod(path, 0o644) == 0)
        case .pipe: #expect(mkfifo(path, 0o600) == 0)
        case .folder: #expect(mkdir(path, 0o700) == 0)
        case .link: #expect(symlink("/etc/passwd", path) == 0)
        case .device: #expect(symlink("/dev/zero", path) == 0)
        case .loop: #expect(symlink(path, path) == 0)
        case .missing: break
        }
    }

    @Test("a hostile object in place of an entry is neither used nor waited for", arguments: Obstacle.allCases)
    func entries(obstacle: Obstacle) async throws {
        let store = Caching.DiskStore(folder: path)
        let cache = cache(store)
        #expect(try await cache.send().text == "1")
        let file = "\(path)/\(try #require(entryNames(in: path).first))"
        try put(obstacle, at: file)
        #expect(try await cache.send(policy: .returnCacheDataDontLoad).status == 504)
        if obstacle == .loop {
            // The link cannot be opened, which may be temporary.
            #expect(store.lastProblem?.contains("symbolic links") == true)
        } else {
            #expect(PrivateStatus.exists(file) == obstacle.remains)
        }
        if obstacle != .missing { #expect(store.lastProblem?.contains(file) == true) }
        // A new response replaces the object, unless it is a folder.
        #expect(try await cache.send().text == "2")
        #expect(try await cache.send().text == (obstacle.remains ? "3" : "2"))
    }

    @Test("a key that is damaged, not private or not a file is replaced, and with a foreign key no entries are found")
    func keys() async throws {
        for obstacle in Obstacle.allCases {
            let path = folder.path(of: obstacle.rawValue)
            #expect(try await cache(Caching.DiskStore(folder: path)).send().text == "1")
            let key = "\(path)/key"
            let former = try Data(contentsOf: URL(filePath: key))
            try put(obstacle, at: key)
            // A new store, which has not read the key yet.
            let store = Caching.DiskStore(folder: path)
            let cache = cache(store)
            #expect(try await cache.send().text == "1" && cache.contacts == 1, "\(obstacle)")
            switch obstacle {
            case .folder, .loop:
                // Nothing can be stored, and the reason is reported.
                #expect(store.lastProblem?.contains(key) == true, "\(obstacle)")
                #expect(try await cache.send().text == "2", "\(obstacle)")
            default:
                #expect(try await cache.send().isHit, "\(obstacle)")
                let new = try Data(contentsOf: URL(filePath: key))
                #expect(new.count == 32 && new != former, "\(obstacle)")
                let mode = try FileManager.default.attributesOfItem(atPath: key)[.posixPermissions]
                #expect(mode as? Int == 0o600, "\(obstacle)")
                #expect(try await self.cache(Caching.DiskStore(folder: path)).send().isHit, "\(obstacle)")
            }
        }
        #expect(FileManager.default.fileExists(atPath: "/etc/passwd"))
    }

    @Test("a pipe or a folder as the lock of the key prevents only storing", arguments: [Obstacle.pipe, .folder])
    func lock(obstacle: Obstacle) async throws {
        #expect(mkdir(path, 0o700) == 0)
        makeSparse("\(path)/key.lock", size: 0)
        try put(obstacle, at: "\(path)/key.lock")
        let store = Caching.DiskStore(folder: path)
        let cache = cache(store)
        for number in 1...2 { #expect(try await cache.send().text == "\(number)") }
        #expect(store.lastProblem?.contains("key.lock") == true)
    }

    @Test("an entry copied from another folder, or moved from another request, is removed and not used", .rows("R-41"))
    func copies() async throws {
        let (own, other) = (path, folder.path(of: "other"))
        let cache = cache(Caching.DiskStore(folder: own))
        let foreign = CacheUnderTest(
            in: Caching.DiskStore(folder: other), partition: .named("test"),
            header: [Field(name: .cacheControl, value: "max-age=1000"), Field(name: "X-Foreign", value: "1")])
        _ = try await cache.send()
        _ = try await foreign.send()
        let (name, otherName) = (
            try #require(entryNames(in: own).first), try #require(entryNames(in: other).first)
        )
        #expect(name != otherName)
        let copy = try Data(contentsOf: URL(filePath: "\(other)/\(otherName)"))
        // The copy contains its own name at first, and then the name of the entry that it replaces.
        var renamed = copy
        renamed.replaceSubrange(try #require(copy.range(of: Data(otherName.utf8))), with: Data(name.utf8))
        for bytes in [copy, renamed] {
            makeSparse("\(own)/\(name)", size: bytes.count, beginning: bytes)
            #expect(try await cache.send(policy: .returnCacheDataDontLoad).status == 504)
            #expect(entryNames(in: own).isEmpty)
        }
        // Under its own name, the copy is not the entry of any request.
        makeSparse("\(own)/\(otherName)", size: copy.count, beginning: copy)
        #expect(try await cache.send(policy: .returnCacheDataDontLoad).status == 504)
        let response = try await cache.send()
        #expect(!response.isHit && !response.header.contains("X-Foreign"))
    }

    @Test(
        "an entry and a key that belong to another user are removed and not used", .rows("R-74"),
        .enabled(if: geteuid() == 0, "only the superuser can change the owner of a file"))
    func owners() async throws {
        let cache = cache(Caching.DiskStore(folder: path))
        _ = try await cache.send()
        let name = try #require(entryNames(in: path).first)
        #expect(chown("\(path)/\(name)", 65_534, 65_534) == 0)
        #expect(try await cache.send(policy: .returnCacheDataDontLoad).status == 504)
        #expect(entryNames(in: path).isEmpty)
        _ = try await cache.send()
        #expect(chown("\(path)/key", 65_534, 65_534) == 0)
        let second = self.cache(Caching.DiskStore(folder: path))
        #expect(try await second.send(policy: .returnCacheDataDontLoad).status == 504)
        #expect(try await second.send().text == "1")
        #expect(try await second.send().isHit)
    }

    #if os(Linux)
    @Test("a sparse file within the capacity is refused by its first bytes, without memory for all of it")
    func memory() async throws {
        let path = path
        _ = try await cache(Caching.DiskStore(folder: path)).send()
        let (name, key) = (try #require(entryNames(in: path).first), Caching.Key(text: "4:test http://e.com/"))
        makeSparse("\(path)/\(name)", size: 200 << 20)
        var children = ForkedChildren()
        let isSmall = children.run {
            let store = Caching.DiskStore(folder: path)
            guard let size = PrivateStatus.virtualSize else { return false }
            // 64 MiB more, in which the file does not fit.
            var limit = rlimit(rlim_cur: rlim_t(size + (64 << 20)), rlim_max: rlim_t(size + (64 << 20)))
            guard setrlimit(__rlimit_resource_t(9), &limit) == 0 else { return false }
            return store.entryNow(for: key) == nil && store.lastProblem?.contains("malformed") == true
        }
        #expect(isSmall, "status \(children.lastStatus)")
        #expect(entryNames(in: path).isEmpty)
    }
    #endif
}

/// Information from the system about files and about this process.
private enum PrivateStatus {
    /// Whether anything exists at `path`, including a link to a missing file.
    static func exists(_ path: String) -> Bool {
        var status = stat()
        return lstat(path, &status) == 0
    }

    /// The virtual size of this process in bytes; nil if the system does not report it.
    static var virtualSize: Int? {
        let pages = (try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8))?.prefix { $0 != " " }
        return pages.flatMap { Int($0) }.map { $0 * Int(sysconf(Int32(_SC_PAGESIZE))) }
    }
}
