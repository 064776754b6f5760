import CRequestsPOSIX
import Dispatch
import Requests
import RequestsMiddleware
import RequestsPOSIX
import TestSupport
import Testing

/// A task executor that reports each job.
private final class JobReports: TaskExecutor {
    private let continuation: AsyncStream<Void>.Continuation

    init(continuation: AsyncStream<Void>.Continuation) {
        self.continuation = continuation
    }

    func enqueue(_ job: consuming ExecutorJob) {
        continuation.yield()
        let job = UnownedJob(job)
        DispatchQueue.global().async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}

@Suite("Credential stores", .tags(.concurrent), .timeLimit(.minutes(10)))
struct CredentialStoreTests {
    private let folder = TemporaryDirectory()

    private var store: OAuthCredential.FileStore { OAuthCredential.FileStore(path: folder.path(of: "token")) }

    private func credential(_ number: Int) -> OAuthCredential {
        OAuthCredential(
            accessToken: "planted-\(number)", refreshToken: "planted-r-\(number)",
            scope: String(repeating: "s", count: number % 7 * 1_000))
    }

    @Test("a store keeps, replaces and removes its credential, in memory and in a file", .rows("AF-65"))
    func contents() async throws {
        for store in [OAuthCredential.MemoryStore(), self.store] as [any CredentialStore<OAuthCredential>] {
            #expect(try await store.load() == nil)
            #expect(try await store.update { old in old == nil ? credential(1) : nil } == credential(1))
            #expect(try await store.load() == credential(1))
            #expect(try await store.update { old in old.map { _ in credential(2) } } == credential(2))
            #expect(try await store.load() == credential(2))
            #expect(try await store.update { _ in nil } == nil)
            #expect(try await store.load() == nil)
        }
    }

    @Test("a credential with any expiry is equal to the stored one", .rows("AF-65"))
    func expiries() async throws {
        for number in 0..<64 {
            // Dates count from 2001 but a file from 1970, so every second one of these loses its last bit.
            let date = Date(timeIntervalSinceReferenceDate: 800_000_000 + Double(number) / 8_388_608)
            let credential = OAuthCredential(accessToken: "planted", expiration: date)
            _ = try await store.update { _ in credential }
            let stored = try #require(try await store.load())
            #expect(stored == credential && stored.hashValue == credential.hashValue)
        }
        let date = Date(timeIntervalSinceReferenceDate: 800_000_000)
        let credentials = [0.0, 1, -0.001].map { OAuthCredential(accessToken: "a", expiration: date + $0) }
        #expect(Set(credentials + [OAuthCredential(accessToken: "a")]).count == 4)
    }

    @Test(
        "the file is readable by its owner only, has a version, and is the only one beside its lock",
        .rows("AF-65", "R-74"))
    func file() async throws {
        for number in 1...3 { _ = try await store.update { _ in credential(number) } }
        var status = stat()
        #expect(stat(store.path, &status) == 0 && status.st_mode & 0o777 == 0o600)
        #expect(folder.names == ["token", "token.lock"])
        #expect(stat(store.path + ".lock", &status) == 0 && status.st_mode & 0o777 == 0o600 && status.st_size == 0)
        let json = try JSONValue(parsing: Data(contentsOf: URL(filePath: store.path)))
        #expect(json["version"] == 1 && json["revision"] == 3 && json["credential", "access_token"] == "planted-3")
        #expect("\(store)".contains("token") && !"\(store)".contains("planted"))
    }

    @Test(
        "a file that is not a store, of another version, or open to others is an error and is kept", .rows("AF-65"),
        arguments: [
            ("", 0o600, "it is not a credential store"), ("{\"version\":", 0o600, "it is not a credential store"),
            ("{\"credential\": 1}", 0o600, "it is not a credential store"),
            ("{\"version\": 2, \"tokens\": []}", 0o600, "unknown version 2"),
            ("{\"version\": 1, \"revision\": 1, \"credential\": \"planted\"}", 0o600, "it is malformed"),
            ("{\"version\": 1, \"revision\": \"planted\"}", 0o600, "it is malformed"),
            ("{\"version\": 1, \"revision\": 1}", 0o640, "can be accessed by others; set its mode to 0600"),
            ("{\"version\": 1, \"revision\": 1}", 0o606, "can be accessed by others; set its mode to 0600"),
        ])
    func unusable(text: String, mode: Int, problem: String) async throws {
        try folder.write(text.utf8, to: "token")
        #expect(chmod(store.path, mode_t(mode)) == 0)
        for operation in 0...1 {
            let error = await #expect(throws: CredentialError.self) {
                if operation == 0 { _ = try await store.load() } else { _ = try await store.update { _ in nil } }
            }
            let message = try #require(error).description
            #expect(message.hasSuffix(problem) && message.contains("token") && !message.contains("planted"))
        }
        #expect(try Data(contentsOf: URL(filePath: store.path)) == Data(text.utf8))
    }

    @Test("a folder, a device, a missing folder and a file that is too large are errors", .rows("AF-65"))
    func unusablePaths() async throws {
        func expectFailure(_ path: String) async {
            let store = OAuthCredential.FileStore(path: path)
            await #expect(throws: CredentialError.self, "\(path)") { try await store.update { _ in credential(1) } }
        }
        await expectFailure("")
        #expect(access(".lock", F_OK) != 0)
        await expectFailure(folder.path + "/")
        await expectFailure("a\u{0}b")
        await expectFailure(folder.path(of: "missing/token"))
        #expect(mkdir(folder.path(of: "inner"), 0o700) == 0)
        defer { rmdir(folder.path(of: "inner")) }
        await expectFailure(folder.path(of: "inner"))
        try folder.write([UInt8](repeating: 0x20, count: 1 << 20 | 1), to: "large")
        #expect(chmod(folder.path(of: "large"), 0o600) == 0)
        await expectFailure(folder.path(of: "large"))
        #expect(!folder.names.contains { $0.hasSuffix(".part") || $0 == ".lock" })
    }

    @Test("changes from many tasks are made one after the other, and none is lost", .rows("AF-65"))
    func tasks() async throws {
        let stores = (0..<4).map { _ in store }
        try await withThrowingTaskGroup { group in
            for number in 0..<40 {
                group.addTask {
                    _ = try await stores[number % 4].update { old in
                        OAuthCredential(accessToken: "\((Int(old?.accessToken ?? "0") ?? -1) + 1)")
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(try await store.load()?.accessToken == "40")
    }

    @Test("a change that waits for the lock of another process fails when it is cancelled", .rows("AF-65"))
    func waiting() async throws {
        let held = try #require(try PartialFile.open(store.path + ".lock", creating: true))
        // Each attempt to lock the file is a job. So after some jobs the task waits for the next attempt.
        let (jobs, jobBegan) = AsyncStream.makeStream(of: Void.self)
        let task = Task(executorPreference: JobReports(continuation: jobBegan)) { [store] in
            await #expect(throws: CredentialError.self) { try await store.update { _ in nil } }
        }
        var count = 0
        for await _ in jobs {
            count += 1
            if count == 10 { break }
        }
        task.cancel()
        let error = await task.value
        #expect(error.map { "\($0)".hasSuffix("cancelled while waiting for its lock") } == true)
        let last = #expect(throws: CredentialError.self) { try store.updateNow { _ in nil } }
        #expect(last.map { "\($0)".hasSuffix("token”: another process or task has its lock") } == true)
        withExtendedLifetime(held) {}
        #expect(try await store.load() == nil)
    }

    #if os(Linux)
    @Test("two processes change a file at the same time, and no change is lost", .rows("AF-65"))
    func processes() async throws {
        let count = 100
        let store = store
        // The child is a copy of this process; it changes the file while this process does.
        var children = ForkedChildren()
        let increment = { @Sendable (old: OAuthCredential?) in
            OAuthCredential(accessToken: "\((Int(old?.accessToken ?? "0") ?? -1) + 1)")
        }
        @Sendable func run(_ done: () -> Bool) -> Int {
            var changes = 0
            while !done() {
                if (try? store.updateNow(increment)) != nil { changes += 1 }
            }
            return changes
        }
        let flag = folder.path(of: "done")
        let parent = Task.detached {
            run { access(flag, F_OK) == 0 }
        }
        let isDone = children.run {
            var changes = 0
            while changes < count {
                if (try? store.updateNow(increment)) != nil { changes += 1 }
            }
            return true
        }
        try folder.write([], to: "done")
        let changes = await parent.value
        #expect(isDone)
        // A child that hung was ended and forked again, so it may have made more changes.
        let total = try #require(Int(try await store.load()?.accessToken ?? ""))
        #expect(total >= count + changes && (children.hangs > 0 || total == count + changes))
    }

    @Test("a process that is killed while it writes leaves the old or the new credential", .rows("AF-65", "R-74"))
    func kills() async throws {
        _ = try await store.update { _ in credential(0) }
        var numbers: Set<Int> = []
        for round in 0..<KilledWriters.count {
            let isKilled = KilledWriters.kill(round, changing: folder.path(of: "token")) { number in
                _ = try? store.updateNow { _ in credential(number) }
            }
            #expect(isKilled)
            let stored = try #require(try await store.load())
            let number = try #require(Int(stored.accessToken.dropFirst("planted-".count)))
            #expect(stored == credential(number))
            numbers.insert(number)
        }
        // The processes did change the file, so that they were killed while they did.
        #expect(!numbers.subtracting([0]).isEmpty)
        // What they left has the same mode.
        for name in folder.names {
            var status = stat()
            #expect(stat(folder.path(of: name), &status) == 0 && status.st_mode & 0o777 == 0o600, "\(name)")
        }
        // The killed processes released the lock, and later changes still work.
        #expect(try await store.update { _ in credential(7) } == credential(7))
    }
    #endif
}
