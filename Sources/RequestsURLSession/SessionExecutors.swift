@_spi(Lock) import Requests

/// The executors made from sessions of the app's, each kept for as long as its session lives.
enum SessionExecutors {
    private struct Entry: Sendable {
        weak var session: URLSession?
        let executor: URLSessionExecutor
    }

    private static let entries = Lock<[ObjectIdentifier: Entry]>([:])

    /// The executor made from the configuration of `session`, the same each time.
    static func executor(for session: URLSession) -> URLSessionExecutor {
        let known = entries.withLock { entries in
            entries[ObjectIdentifier(session)].flatMap { $0.session === session ? $0.executor : nil }
        }
        return known ?? make(for: session)
    }

    private static func make(for session: URLSession) -> URLSessionExecutor {
        let new = URLSessionExecutor(configuration: session.configuration)
        let (executor, dropped) = entries.withLock { entries in
            if let entry = entries[ObjectIdentifier(session)], entry.session === session {
                return (entry.executor, [Entry]())
            }
            let dropped = entries.values.filter { $0.session == nil }
            entries = entries.filter { $1.session != nil }
            entries[ObjectIdentifier(session)] = Entry(session: session, executor: new)
            return (new, dropped)
        }
        // Dropped outside the lock: their sessions are invalidated.
        _ = consume dropped
        return executor
    }
}
