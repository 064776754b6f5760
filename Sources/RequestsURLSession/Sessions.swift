import Dispatch
@_spi(Lock) import Requests

/// The current session of an executor, which a reset replaces.
///
/// Releasing the last copy of the executor invalidates it.
final class Sessions: Sendable {
    private struct Current {
        let session: URLSession
        let delegate: SessionDelegate
        /// The number of resets before this session was made.
        let generation: Int

        init(
            _ configuration: URLSessionConfiguration, _ challenges: ConnectionChallenges, _ gate: ConnectionGate,
            generation: Int
        ) {
            self.generation = generation
            delegate = SessionDelegate(challenges, gate: gate)
            session = Self.session(configuration, delegate)
        }

        var registry: ExchangeRegistry { delegate.registry }

        /// Returns a session for a single task, which therefore uses a new connection.
        func sessionForOneTask(_ configuration: URLSessionConfiguration) -> URLSession {
            Self.session(configuration, delegate)
        }

        private static func session(
            _ configuration: URLSessionConfiguration, _ delegate: SessionDelegate
        ) -> URLSession {
            URLSession(configuration: configuration, delegate: delegate, delegateQueue: Platform.delegateQueue())
        }
    }

    private let configuration: URLSessionConfiguration
    /// The responses to challenges about the connection.
    let challenges: ConnectionChallenges
    private let gate: ConnectionGate
    private let current: Lock<Current>
    /// The number of resets.
    ///
    /// It has its own lock, because the lock of the session is held during the wait for a busy session.
    private let resets = Lock(0)
    private let creationQueue = DispatchQueue(label: "Requests.URLSessionExecutor.tasks")

    init(_ configuration: URLSessionConfiguration, _ challenges: ConnectionChallenges) {
        let configuration = configuration.overridden()
        if let tls = challenges.tls { Platform.require(tls.minimumVersion, in: configuration) }
        self.configuration = configuration
        self.challenges = challenges
        gate = ConnectionGate(limit: configuration.httpMaximumConnectionsPerHost)
        current = Lock(Current(configuration, challenges, gate, generation: 0))
    }

    deinit {
        current.withLock { $0.session.finishTasksAndInvalidate() }
    }

    /// The number of resets so far.
    var generation: Int { resets.withLock { $0 } }

    /// Returns the exchange of `request` with its task, which is not resumed; it is made on a thread that may wait for
    /// a busy session.
    ///
    /// Foundation on Linux creates a task on the session's own queue and blocks the caller meanwhile. Fast responses
    /// can keep that queue busy, and reading them needs the few threads of the concurrency pool.
    func makeExchange(
        _ request: PreparedRequest, _ upload: Upload, since generation: Int
    ) async throws(RequestError) -> SessionExchange {
        let result = await withCheckedContinuation { continuation in
            creationQueue.async {
                continuation.resume(
                    returning: Result { () throws(RequestError) in
                        try self.exchange(request, upload, since: generation)
                    })
            }
        }
        return try result.get()
    }

    /// Returns the exchange of `request` with its task, which is not resumed.
    ///
    /// - Throws: `RequestError` with `cancelled` if the executor has been reset since `generation`.
    func exchange(
        _ request: PreparedRequest, _ upload: Upload, since generation: Int
    ) throws(RequestError) -> SessionExchange {
        let urlRequest = URLRequest(request, sending: upload)
        let isAlone = Platform.needsOwnConnection(request)
        // Under the lock, because creating a task in an invalidated session ends the process.
        return try current.withLock { (current) throws(RequestError) in
            guard current.generation == generation else { throw RequestError(.cancelled).beforeSending() }
            let session = isAlone ? current.sessionForOneTask(configuration) : current.session
            let exchange = SessionExchange(
                request, urlRequest, upload, in: session, isAlone: isAlone, registry: current.registry)
            current.registry.add(exchange)
            // The session ends with its only task.
            if isAlone { session.finishTasksAndInvalidate() }
            return exchange
        }
    }

    /// Cancels all exchanges and continues with a new session.
    func reset() {
        let previous = replace(countingReset: 1) { _ in true }
        // After the replacement, so that an exchange that reads the new number finds the new session.
        resets.withLock { $0 += 1 }
        previous?.registry.cancelAll()
    }

    /// Continues with a new session after the response of `exchange` was rejected.
    ///
    /// Its connection, which libcurl may consider reusable, is then not used again. Other calls finish undisturbed.
    func retire(after exchange: SessionExchange) {
        guard !exchange.isAlone else { return }
        _ = replace(countingReset: 0) { $0.registry === exchange.registry }
    }

    private func replace(countingReset count: Int, if condition: (borrowing Current) -> Bool) -> Current? {
        current.withLock { current in
            guard condition(current) else { return nil }
            let previous = current
            current = Current(configuration, challenges, gate, generation: previous.generation + count)
            previous.session.finishTasksAndInvalidate()
            return previous
        }
    }
}

extension URLSessionConfiguration {
    /// One week, the longest interval that URLSession allows for a transfer.
    ///
    /// The executor enforces the limits itself.
    static let longestInterval: TimeInterval = 7 * 24 * 60 * 60

    /// Returns a copy with the keys that the executor's contract depends on.
    fileprivate func overridden() -> URLSessionConfiguration {
        // `copy()` returns an object of the same class, so the cast succeeds.
        guard let copy = copy() as? URLSessionConfiguration else { return self }
        copy.httpCookieStorage = nil
        copy.httpShouldSetCookies = false
        copy.urlCache = nil
        copy.requestCachePolicy = .reloadIgnoringLocalCacheData
        copy.urlCredentialStorage = nil
        copy.timeoutIntervalForRequest = Self.longestInterval
        copy.timeoutIntervalForResource = Self.longestInterval
        return copy
    }
}

extension URLRequest {
    /// Creates the request that a session sends for `request`.
    ///
    /// It has no framing fields, which the session writes, and no credentials for a proxy, because a session does not
    /// report whether there is a proxy.
    fileprivate init(_ request: PreparedRequest, sending upload: Upload) {
        self.init(
            url: request.url, cachePolicy: .reloadIgnoringLocalCacheData,
            timeoutInterval: URLSessionConfiguration.longestInterval)
        httpMethod = request.method.rawValue
        httpShouldHandleCookies = false
        allHTTPHeaderFields = Header(request.header.filter { $0.name.isSent(in: .origin) }).dictionaryValue
        Platform.suppressAdditions(in: &self)
    }
}
