import CRequestsPOSIX
import Foundation
import Requests
import RequestsMiddleware
import RequestsMock
import RequestsPOSIX
import TestSupport
import Testing

@Suite("Folders of private files", .timeLimit(.minutes(10)))
struct PrivateFolderTests {
    private let folder = TemporaryDirectory()

    /// The modes of folders, and whether others can replace files in them.
    static let modes: [(mode: mode_t, isRefused: Bool)] = [
        (0o700, false), (0o755, false), (0o1777, false), (0o1770, false), (0o777, true), (0o770, true), (0o702, true),
        (0o720, true), (0o775, true),
    ]

    private func setMode(_ mode: mode_t, of path: String) throws {
        try #require(chmod(path, mode) == 0)
    }

    @Test(
        "a cache does not use a folder that others can write to, but reports it", .rows("R-41", "R-74"),
        arguments: modes)
    func cache(mode: mode_t, isRefused: Bool) async throws {
        let path = folder.path(of: "cache")
        func send() async throws -> String? {
            let store = Caching.DiskStore(folder: path)
            let cache = CacheUnderTest(in: store, partition: .named("test"), header: .caching("max-age=1000"))
            _ = try await cache.send()
            return store.lastProblem
        }
        // A folder that exists before, and one whose mode was changed after it was used.
        #expect(mkdir(path, 0o700) == 0)
        try setMode(mode, of: path)
        let problem = try await send()
        #expect((problem != nil) == isRefused && problem?.contains("others can write to the folder") != false)
        func entries() -> [String] {
            (try? FileManager.default.contentsOfDirectory(atPath: path))?.filter { $0.hasSuffix(".entry") } ?? []
        }
        #expect(entries().count == (isRefused ? 0 : 1))
        try setMode(0o700, of: path)
        #expect(try await send() == nil && entries().count == 1)
        try setMode(mode, of: path)
        #expect((try await send() != nil) == isRefused)
        // The folder still has all of its files.
        #expect(entries().count == 1 && FileManager.default.fileExists(atPath: "\(path)/key"))
    }

    @Test(
        "cookies and credentials are neither read from nor written to such a folder", .rows("R-74"),
        arguments: modes)
    func files(mode: mode_t, isRefused: Bool) async throws {
        let path = folder.path(of: "files")
        #expect(mkdir(path, 0o700) == 0)
        let credential = OAuthCredential(accessToken: "planted")
        let target = try TargetURI("https://example.com/")
        let cookie = ResponseHead(
            status: 200, header: [Field(name: .setCookie, value: "id=planted; Max-Age=1000")], target: target)
        func use() async -> [String] {
            var problems: [String] = []
            do {
                let store = try CookieStore(path: "\(path)/cookies")
                store.store(cookie)
                try await store.save()
            } catch {
                problems.append("\(error)")
            }
            let store = OAuthCredential.FileStore(path: "\(path)/token")
            do {
                _ = try await store.update { _ in credential }
            } catch {
                problems.append("\(error)")
            }
            do {
                _ = try await store.load()
            } catch {
                problems.append("\(error)")
            }
            return problems
        }
        for _ in 0..<2 {
            try setMode(mode, of: path)
            let problems = await use()
            #expect(problems.count == (isRefused ? 3 : 0))
            #expect(problems.allSatisfy { $0.contains("others can write to the folder") && !$0.contains("planted") })
            // The second time, the files exist.
            try setMode(0o700, of: path)
            #expect(await use().isEmpty)
        }
    }

    @Test("only the user and the superuser may own the folder", .rows("R-74"), .enabled(if: geteuid() == 0))
    func owner() throws {
        let path = folder.path(of: "foreign")
        #expect(mkdir(path, 0o700) == 0 && chown(path, 65_534, 65_534) == 0)
        #expect(throws: FileError.folderNotPrivate(path: path)) { try PrivateFolder.check(path) }
        #expect(throws: Never.self) { try PrivateFolder.check("/") }
        #expect(throws: Never.self) { try PrivateFolder.check(folder.path(of: "missing")) }
    }
}
