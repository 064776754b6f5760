@_spi(Lock) internal import Requests

/// A cookie jar that requests share, in memory or in a file.
///
/// ```swift
/// let store = CookieStore()
/// let client = Client(api, executor: SocketExecutor())
///     .keepingCookies(in: store)
/// ```
///
/// All functions can be called from any thread.
public final class CookieStore: CookieProviding, CookieStoring {
    private let state: Lock<State>
    private let now: @Sendable () -> Date
    /// The file of the store; nil for one in memory.
    private let file: CookieFile?
    private let savesAutomatically: Bool
    private let report: @Sendable (Failure) -> Void

    private struct State {
        var jar: CookieJar
        var changeCount: UInt64 = 0
        /// Whether a task is saving the changes; it then saves later changes as well.
        var isSaving = false
    }

    /// Creates a store in memory.
    ///
    /// - Parameters:
    ///   - jar: The first cookies, with the bounds and the public suffixes.
    ///   - now: A function that returns the current date.
    public init(_ jar: CookieJar = CookieJar(), now: @escaping @Sendable () -> Date = { Date() }) {
        state = Lock(State(jar: jar))
        self.now = now
        file = nil
        savesAutomatically = false
        report = { _ in }
    }

    /// Creates a store in a file that only its owner can read (0600), and reads the file.
    ///
    /// The file contains the cookies with a date of expiry; session cookies are kept in memory only. After a change, a
    /// task replaces the file as a whole, and synchronizes it to the disk first: if the program or the system ends at
    /// any time, the file contains the old or the new cookies. Before a program ends, call ``save()``, which waits
    /// until the changes are saved.
    ///
    /// Several processes can use the file at the same time: each save includes the changes of the others. It locks a
    /// file beside it, whose name ends in `.lock` and which is not removed.
    ///
    /// The file is JSON with the version of its format. A file that is malformed, of an unknown version, not a regular
    /// file, or readable by others, is an error and is not replaced. The folder must exist; one that others can write
    /// to and that is not sticky, as `/tmp` is, is an error.
    ///
    /// - Parameters:
    ///   - path: The path of the file, which need not exist.
    ///   - jar: An empty jar with the bounds and the public suffixes.
    ///   - now: A function that returns the current date.
    ///   - savesAutomatically: Whether changes are saved without a call of ``save()``.
    ///   - report: A function that receives the failure of a save that no call waits for. The cookies remain in memory,
    ///     and the next change saves them again.
    /// - Throws: ``Failure`` if the file exists and cannot be read.
    public init(
        path: String, jar: CookieJar = CookieJar(), now: @escaping @Sendable () -> Date = { Date() },
        savesAutomatically: Bool = true, reportingFailuresTo report: @escaping @Sendable (Failure) -> Void = { _ in }
    ) throws(Failure) {
        let file = CookieFile(path)
        var jar = jar
        _ = jar.takeChanges()
        do throws(LockedFile.Problem) {
            if let stored = try file.read() { jar.merge(stored, besides: jar.takeChanges(), at: now()) }
        } catch {
            throw Failure(error)
        }
        _ = jar.takeChanges()
        state = Lock(State(jar: jar))
        self.now = now
        self.file = file
        self.savesAutomatically = savesAutomatically
        self.report = report
    }

    /// The failure to read or write the file of a store.
    public struct Failure: Error, Sendable, CustomStringConvertible {
        /// The path and the reason, without cookies.
        public let description: String

        init(_ problem: LockedFile.Problem) {
            description = "could not use the stored cookies: \(problem)"
        }
    }

    /// Returns the cookies of a request to `target`, and records their use.
    public func cookies(for target: TargetURI) -> [CookieJar.StoredCookie] {
        // An empty jar needs no clock. The clock is read outside the lock, because it may use the store.
        guard state.withLock({ $0.jar.count > 0 }) else { return [] }
        let now = now()
        return state.withLock { $0.jar.cookies(for: target, at: now) }
    }

    /// Stores the cookies that a response sets.
    public func store(_ response: ResponseHead) {
        // Without the lock and the clock for nearly every response.
        guard response.header.contains(.setCookie) else { return }
        let now = now()
        change { $0.store(response, at: now) }
    }

    /// Changes the jar, and returns the result of `change`.
    ///
    /// - Parameter change: A function that changes the jar; it must return quickly and not use the store.
    /// - Returns: The result of `change`.
    @discardableResult
    public func withJar<Result: Sendable>(_ change: @Sendable (inout CookieJar) -> Result) -> Result {
        self.change(change)
    }

    /// The cookies that have not expired, in the order of their creation.
    public var cookies: [CookieJar.StoredCookie] {
        let now = now()
        return state.withLock { $0.jar.cookies }.filter { !$0.isExpired(at: now) }
    }

    /// Removes all cookies.
    public func removeAll() { change { $0.removeAll() } }
}

// MARK: Saving

extension CookieStore {
    private func change<Result: Sendable>(_ change: (inout CookieJar) -> Result) -> Result {
        let (result, mustSave) = state.withLock { state in
            let result = change(&state.jar)
            if file != nil { state.jar.recordReplacement() }
            state.changeCount &+= 1
            guard savesAutomatically, !state.isSaving, state.jar.hasChanges else { return (result, false) }
            state.isSaving = true
            return (result, true)
        }
        if mustSave { Task.detached { await self.saveChanges() } }
        return result
    }

    /// Saves until there is nothing left to save, so that many changes in a short time cause few writes.
    private func saveChanges() async {
        while true {
            let changeCount = state.withLock { $0.changeCount }
            var hasFailed = false
            do throws(Failure) {
                try await save()
            } catch {
                report(error)
                hasFailed = true
            }
            let isDone = state.withLock { state in
                // After a failure only if there was another change meanwhile: the disk may be full.
                state.isSaving = hasFailed ? state.changeCount != changeCount : state.jar.hasChanges
                return !state.isSaving
            }
            if isDone { return }
        }
    }

    /// Writes the changes to the file, and adds changes by other processes to the jar; does nothing for a store in
    /// memory.
    ///
    /// - Throws: ``Failure`` with the path and the reason; also if another process has had the lock for 10 s, or if the
    ///   task is cancelled while it waits for it.
    public func save() async throws(Failure) {
        guard let file else { return }
        do throws(LockedFile.Problem) {
            let lock = try await file.file.lock()
            defer { withExtendedLifetime(lock) {} }
            try save(to: file)
        } catch {
            throw Failure(error)
        }
    }

    /// Saves once with the lock of the file, which must be free.
    package func saveNow() throws(Failure) {
        guard let file else { return }
        do throws(LockedFile.Problem) {
            let lock = try file.file.lockNow()
            defer { withExtendedLifetime(lock) {} }
            try save(to: file)
        } catch {
            throw Failure(error)
        }
    }

    private func save(to file: CookieFile) throws(LockedFile.Problem) {
        let stored = try file.read()
        let now = now()
        let (cookies, changes) = state.withLock { state in
            let changes = state.jar.takeChanges()
            // Before the first save, there are no changes of other processes.
            if let stored { state.jar.merge(stored, besides: changes, at: now) }
            state.jar.removeExpired(at: now)
            return (state.jar.cookies.filter { $0.expires != nil }, changes)
        }
        guard cookies != stored ?? [] else { return }
        do throws(LockedFile.Problem) {
            try file.write(cookies)
        } catch {
            state.withLock { $0.jar.restoreChanges(changes) }
            throw error
        }
    }
}

extension CookieStore: CustomStringConvertible, CustomReflectable {
    /// The path of the store, or that it is in memory, without the cookies.
    public var description: String {
        file.map { "cookie store at \(ErrorText.quoted($0.file.path))" } ?? "cookie store in memory"
    }

    /// The mirror that `dump` prints: the path.
    public var customMirror: Mirror { Mirror(self, children: ["store": description]) }
}
