import CRequestsPOSIX
@_spi(Lock) import Requests
import RequestsPOSIX
import TestSupport
import Testing

@testable import RequestsMiddleware

@Suite("Cookie stores", .serialized, .timeLimit(.minutes(10)))
struct CookieStoreTests {
    private let folder = TemporaryDirectory()
    private var path: String { folder.path(of: "cookies") }
    private static let now = Date(timeIntervalSince1970: 1_000_000_000)

    private func store() throws -> CookieStore {
        try CookieStore(path: path, jar: CookieJar(publicSuffixes: .conservative), now: { Self.now })
    }

    private static func head(_ values: [String], _ host: String = "example.com") throws -> ResponseHead {
        ResponseHead(
            status: 200, header: Header(values.map { Field(name: .setCookie, value: $0) }),
            target: try TargetURI("https://\(host)/"))
    }

    @Test(
        "a file keeps all parts of the cookies with a date, and no session cookies",
        .rows("R-39", "R-74"))
    func contents() async throws {
        let store = try store()
        store.store(
            try Self.head([
                "a=1; Max-Age=60; Domain=example.com; Path=/x; Secure; HttpOnly; SameSite=Lax", "s=1",
                "é=\"春\\\"; Max-Age=9",
                "v; Max-Age=9",
            ]))
        try await store.save()
        let opened = try self.store()
        #expect(opened.cookies == store.cookies.filter { $0.expires != nil })
        #expect(opened.cookies.map(\.name) == ["a", "é", ""])
        #expect(opened.cookies.first?.sameSite == .lax && opened.cookies.first?.isHTTPOnly == true)
        var status = stat()
        #expect(stat(path, &status) == 0 && status.st_mode & 0o777 == 0o600)
        #expect(folder.names == ["cookies", "cookies.lock"])
        let json = try JSONValue(parsing: Data(contentsOf: URL(filePath: path)))
        #expect(json["version"] == 1)
        #expect("\(store)".contains("cookies"))
    }

    @Test("the clock of a store may use the store")
    func clockOfStore() throws {
        final class Clock: Sendable {
            let store = Lock<CookieStore?>(nil)
        }
        let clock = Clock()
        let store = CookieStore(now: {
            // Taken, because reading the cookies calls the clock again.
            _ = clock.store.withLock { $0.take() }?.cookies
            return Self.now
        })
        store.store(try Self.head(["a=1"]))
        clock.store.withLock { $0 = store }
        #expect(store.cookies(for: try TargetURI("https://example.com/")).map(\.name) == ["a"])
        #expect(clock.store.withLock { $0 == nil })
    }

    @Test("the dates of cookies are the same after a save, and a save without a change does not write", .rows("R-39"))
    func dates() async throws {
        // Dates count from 2001, but dates in the file from 1970: every second one of these loses its last bit.
        let dates = (0..<200).map {
            Date(timeIntervalSinceReferenceDate: (Double($0 % 9) * 1e8).nextUp + 0.1 * Double($0))
        }
        #expect(dates.contains { Date(timeIntervalSince1970: $0.timeIntervalSince1970) != $0 })
        let clock = Lock(dates[0])
        let read = { @Sendable in clock.withLock { $0 } }
        let store = try CookieStore(
            path: path, jar: CookieJar(publicSuffixes: .conservative), now: read, savesAutomatically: false)
        for date in dates {
            clock.withLock { $0 = date }
            store.store(try Self.head(["a=1; Max-Age=86400"]))
            _ = store.cookies(for: try TargetURI("https://example.com/"))
            let imported = CookieJar.StoredCookie(
                name: "i", value: "1", domain: "e.com", expires: date + 9.7, created: date)
            let isInserted = store.withJar { jar in imported.map { jar.insert($0, at: date) } }
            #expect(isInserted == true)
            try await store.save()
            let opened = try CookieStore(
                path: path, jar: CookieJar(publicSuffixes: .conservative), now: read, savesAutomatically: false)
            #expect(opened.cookies == store.cookies && opened.cookies.count == 2)
            let number = try Self.fileNumber(path)
            try await store.save()
            try await opened.save()
            #expect(try Self.fileNumber(path) == number)
        }
    }

    /// The number of the file, which another one has after each write.
    private static func fileNumber(_ path: String) throws -> UInt64 {
        var status = stat()
        try #require(stat(path, &status) == 0)
        return UInt64(status.st_ino)
    }

    @Test("changes are saved without a call, and a removed cookie is removed from the file", .rows("R-39"))
    func saving() async throws {
        let store = try store()
        store.store(try Self.head(["a=1; Max-Age=60", "b=1; Max-Age=60"]))
        // Bounded by the time limit of the suite.
        while try self.store().cookies.count < 2 { try await Task.sleep(for: .milliseconds(5)) }
        store.store(try Self.head(["a=1; Max-Age=0"]))
        try await store.save()
        #expect(try self.store().cookies.map(\.name) == ["b"])
        store.removeAll()
        try await store.save()
        #expect(try self.store().cookies.isEmpty)
    }

    @Test("two stores of one file take over each other's changes", .rows("R-39"))
    func sharing() async throws {
        let (one, two) = (try store(), try store())
        one.store(try Self.head(["a=1; Max-Age=60", "b=1; Max-Age=60"]))
        try await one.save()
        two.store(try Self.head(["b=2; Max-Age=60", "c=2; Max-Age=60"]))
        try await two.save()
        one.store(try Self.head(["a=1; Max-Age=0"]))
        try await one.save()
        try await two.save()
        for store in [one, two, try store()] {
            #expect(store.cookies.map { "\($0.name)\($0.value)" }.sorted() == ["b2", "c2"])
        }
    }

    @Test("expired cookies of a file are not used, and lifetimes are limited", .rows("R-39", "R-40"))
    func expiry() async throws {
        let store = try store()
        store.store(try Self.head(["a=1; Max-Age=60", "b=1; Max-Age=120"]))
        try await store.save()
        let later = try CookieStore(path: path, now: { Self.now + 60 })
        #expect(later.cookies.map(\.name) == ["b"])
        let earlier = try CookieStore(path: path, now: { Self.now - 500 * 86_400 })
        #expect(earlier.cookies.allSatisfy { $0.expires == Self.now - 100 * 86_400 })
    }

    @Test(
        "a file that is not a store, of another version, or open to others is an error and is kept", .rows("R-39"),
        arguments: [
            ("", 0o600, "it is not a cookie store"), ("{\"version\":", 0o600, "it is not a cookie store"),
            ("[]", 0o600, "it is not a cookie store"), ("{\"version\":2,\"x\":1}", 0o600, "unknown version 2"),
            ("{\"version\":1}", 0o600, "it is malformed"),
            ("{\"version\":1,\"cookies\":[{\"name\":\"planted\"}]}", 0o600, "it is malformed"),
            (
                "{\"version\":1,\"cookies\":[{\"name\":\"planted;\",\"value\":\"v\",\"domain\":\"e.com\",\"path\":\"/\",\"isHostOnly\":true,\"isSecure\":false,\"isHTTPOnly\":false,\"expires\":2e9,\"created\":1,\"lastUsed\":1}]}",
                0o600, "it is malformed"
            ),
            ("{\"version\":1,\"cookies\":[]}", 0o644, "can be accessed by others; set its mode to 0600"),
        ])
    func unusable(text: String, mode: Int, problem: String) async throws {
        try folder.write(text.utf8, to: "cookies")
        #expect(chmod(path, mode_t(mode)) == 0)
        let error = #expect(throws: CookieStore.Failure.self) { try store() }
        let message = try #require(error).description
        #expect(message.hasSuffix(problem) && message.contains("cookies") && !message.contains("planted"))
        #expect(try Data(contentsOf: URL(filePath: path)) == Data(text.utf8))
    }

    @Test(
        "a failed save is reported, keeps the cookies in memory, and is tried again with the next change", .rows("R-39")
    )
    func failures() async throws {
        let reports = Lock<[String]>([])
        let inner = folder.path(of: "inner")
        #expect(mkdir(inner, 0o700) == 0)
        let store = try CookieStore(path: inner + "/cookies", now: { Self.now }) { failure in
            reports.withLock { $0.append(failure.description) }
        }
        #expect(rmdir(inner) == 0)
        store.store(try Self.head(["a=1; Max-Age=60"]))
        // Bounded by the time limit of the suite.
        while reports.withLock({ $0.isEmpty }) { try await Task.sleep(for: .milliseconds(5)) }
        await #expect(throws: CookieStore.Failure.self) { try await store.save() }
        #expect(store.cookies.map(\.name) == ["a"])
        #expect(mkdir(inner, 0o700) == 0)
        store.store(try Self.head(["b=1; Max-Age=60"]))
        try await store.save()
        #expect(
            try CookieStore(path: inner + "/cookies", now: { Self.now }).cookies.map(\.name).sorted() == ["a", "b"])
        _ = try? FileManager.default.removeItem(atPath: inner)
        for path in ["", "/", "a\u{0}b"] {
            #expect(throws: CookieStore.Failure.self) { try CookieStore(path: path).saveNow() }
        }
    }

    @Test("cookies that need a larger file than can be read are not written", .rows("R-39"))
    func fileLimit() throws {
        let head = try Self.head(["a=\(String(repeating: "v", count: 300)); Max-Age=60"])
        var jar = CookieJar()
        jar.store(head, at: Self.now)
        let cookies = jar.cookies
        let file = CookieFile(folder.path(of: "large"), limit: 400)
        #expect(throws: LockedFile.Problem.self) { try file.write(cookies) }
        #expect(try file.read() == nil)
        let larger = CookieFile(folder.path(of: "large"), limit: 4_000)
        try larger.write(cookies)
        #expect(try larger.read() == cookies)
    }

    @Test("a change during a save that fails is saved without another change", .rows("R-39"))
    func changeDuringFailure() async throws {
        let inner = folder.path(of: "later")
        #expect(mkdir(inner, 0o700) == 0)
        let head = try Self.head(["b=1; Max-Age=60"])
        let late = Lock<CookieStore?>(nil)
        let store = try CookieStore(path: inner + "/cookies", now: { Self.now }) { _ in
            // Before the save has ended.
            mkdir(inner, 0o700)
            late.withLock { $0 }?.store(head)
        }
        late.withLock { $0 = store }
        #expect(rmdir(inner) == 0)
        store.store(try Self.head(["a=1; Max-Age=60"]))
        // Bounded by the time limit of the suite.
        while access(inner + "/cookies", F_OK) != 0 { try await Task.sleep(for: .milliseconds(5)) }
        late.withLock { $0 = nil }
        #expect(
            try CookieStore(path: inner + "/cookies", now: { Self.now }).cookies.map(\.name).sorted() == ["a", "b"])
    }

    @Test("many tasks read and write one store at the same time", .rows("R-39"), .tags(.concurrent))
    func tasks() async throws {
        let store = try store()
        try await withThrowingTaskGroup { group in
            for task in 0..<8 {
                group.addTask {
                    let target = try TargetURI("https://h\(task % 4).example.com/")
                    for number in 0..<200 {
                        store.store(try Self.head(["t\(task)=\(number); Max-Age=60"], "h\(task % 4).example.com"))
                        #expect(
                            store.cookies(for: target).contains { $0.name == "t\(task)" && $0.value == "\(number)" })
                    }
                }
            }
            try await group.waitForAll()
        }
        try await store.save()
        let values = try self.store().cookies.map { "\($0.name)=\($0.value)" }.sorted()
        #expect(values == (0..<8).map { "t\($0)=199" })
    }

    @Test("replacing a store's jar replaces the cookies in its file")
    func replacedJar() async throws {
        let store = try store()
        store.store(try Self.head(["old=1; Max-Age=60"]))
        try await store.save()
        store.withJar { jar in
            jar = CookieJar(publicSuffixes: .conservative)
            if let target = try? TargetURI("https://example.com/") {
                jar.store("new=1; Max-Age=60", from: target, at: Self.now)
            }
        }
        try await store.save()
        #expect(store.cookies.map(\.name) == ["new"])
        #expect(try self.store().cookies.map(\.name) == ["new"])
    }

    #if os(Linux)
    @Test("two processes save cookies in one file at the same time, and none is lost", .rows("R-39"))
    func processes() async throws {
        let path = path
        @Sendable func save(_ prefix: String, _ count: Int) -> Bool {
            for number in 0..<count {
                guard let target = try? TargetURI("https://example.com/"),
                    let store = try? CookieStore(
                        path: path, jar: CookieJar(publicSuffixes: .conservative), now: { Self.now },
                        savesAutomatically: false)
                else { return false }
                store.withJar { _ = $0.store("\(prefix)\(number)=v; Max-Age=60", from: target, at: Self.now) }
                // It fails while the other process has the lock.
                while (try? store.saveNow()) == nil { sched_yield() }
            }
            return true
        }
        let parent = Task.detached { save("p", 20) }
        var children = ForkedChildren()
        #expect(children.run { save("c", 20) })
        #expect(await parent.value)
        let names = Set(try store().cookies.map(\.name))
        #expect(names == Set((0..<20).flatMap { ["p\($0)", "c\($0)"] }))
    }

    @Test(
        "a save to a full disk fails and leaves the former file", .rows("R-39"),
        .enabled(if: SmallDisk.isPermitted, "the system permits no mounts"))
    func fullDisk() throws {
        let small = try Self.head(["a=\(String(repeating: "v", count: 3_000)); Max-Age=60"])
        let large = try Self.head((0..<30).map { "\($0)=\(String(repeating: "v", count: 3_000)); Max-Age=60" })
        let disk = folder.path(of: "disk")
        #expect(mkdir(disk, 0o700) == 0)
        var children = ForkedChildren()
        let isWhole = children.run {
            guard SmallDisk.mount(at: disk, bytes: 65_536) else { return false }
            var jar = CookieJar(publicSuffixes: .conservative)
            jar.store(small, at: Self.now)
            let file = CookieFile("\(disk)/cookies")
            guard (try? file.write(jar.cookies)) != nil else { return false }
            let former = jar.cookies
            jar.store(large, at: Self.now)
            guard (try? file.write(jar.cookies)) == nil else { return false }
            return (try? file.read()) == former
        }
        #expect(isWhole, "status \(children.lastStatus)")
    }

    @Test("a process that is killed while it writes leaves cookies that open, each time", .rows("R-39", "R-74"))
    func killedWriter() async throws {
        try store().saveNow()
        @Sendable func cookie(_ number: Int) -> [String] {
            // The sizes differ, so that a part of a file would be noticed.
            (0..<10).map { "c\($0)=\(number)-\(String(repeating: "v", count: number % 7 * 300)); Max-Age=60" }
        }
        var seen: Set<String> = []
        for round in 0..<KilledWriters.count {
            let isKilled = KilledWriters.kill(round, changing: path) { number in
                let jar = CookieJar(publicSuffixes: .conservative)
                guard
                    // The tasks of this process do not run in the child.
                    let store = try? CookieStore(path: path, jar: jar, now: { Self.now }, savesAutomatically: false)
                else { return }
                store.withJar { jar in
                    for text in cookie(number) {
                        guard let target = try? TargetURI("https://example.com/") else { return }
                        jar.store(text, from: target, at: Self.now)
                    }
                }
                try? store.saveNow()
            }
            #expect(isKilled)
            let cookies = try store().cookies
            let values = Set(cookies.map { $0.value.prefix { $0 != "-" } })
            // All cookies come from one save, and none is missing: the child has saved before it is killed.
            #expect(values.count == 1 && cookies.count == 10)
            seen.formUnion(values.map(String.init))
        }
        // The children did change the file, so that they were killed while they did.
        #expect(!seen.isEmpty)
        for name in folder.names {
            var status = stat()
            #expect(stat(folder.path(of: name), &status) == 0 && status.st_mode & 0o777 == 0o600, "\(name)")
        }
        let store = try store()
        store.store(try Self.head(["last=1; Max-Age=60"]))
        try await store.save()
        #expect(try self.store().cookies.contains { $0.name == "last" })
    }
    #endif
}
