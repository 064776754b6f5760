@_spi(Lock) import Requests

/// The executors for an app's sessions; each is kept as long as its session.
enum SessionExecutors {
    private struct Entry: Sendable {
        weak var session: URLSession?
        let executor: URLSessionExecutor
    }

    private static let entries = Lock<[ObjectIdentifier: Entry]>([:])

    /// Returns the executor with the configuration of `session`; each call returns the same one.
    static func executor(for session: URLSession) -> URLSessionExecutor {
        let known = entries.withLock { entries in
            entries[ObjectIdentifier(session)].flatMap { $0.session === session ? $0.executor : nil }
        }
        // The executor is made outside the lock, because that reads the app's session.
        return known ?? make(for: session)
    }

    private static func make(for session: URLSession) -> URLSessionExecutor {
        let new = URLSessionExecutor(configuration: session.configuration)
        let (executor, released) = entries.withLock { entries in
            if let entry = entries[ObjectIdentifier(session)], entry.session === session {
                return (entry.executor, [Entry]())
            }
            let released = entries.values.filter { $0.session == nil }
            entries = entries.filter { $1.session != nil }
            entries[ObjectIdentifier(session)] = Entry(session: session, executor: new)
            return (new, released)
        }
        // Released outside the lock, because that invalidates their sessions.
        _ = consume released
        return executor
    }
}
