import Dispatch
@_spi(Lock) import Requests

/// The one session of an executor, and the next after a reset; the last copy of the executor that goes invalidates it.
final class Sessions: Sendable {
    private struct Current {
        let session: URLSession
        let delegate: SessionDelegate
        /// How many resets there have been.
        let generation: Int

        init(
            _ configuration: URLSessionConfiguration, _ challengeHandler: URLSessionExecutor.ChallengeHandler?,
            _ gate: ConnectionGate, generation: Int
        ) {
            self.generation = generation
            delegate = SessionDelegate(challengeHandler: challengeHandler, gate: gate)
            session = Self.session(configuration, delegate)
        }

        var registry: ExchangeRegistry { delegate.registry }

        /// A session for one task, whose connection is therefore new.
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
    private let challengeHandler: URLSessionExecutor.ChallengeHandler?
    private let gate: ConnectionGate
    private let current: Lock<Current>
    /// How many resets there have been; beside the lock of the session, which is held while a busy session is waited for.
    private let resets = Lock(0)
    private let makers = DispatchQueue(label: "Requests.URLSessionExecutor.tasks")

    init(_ configuration: URLSessionConfiguration, challengeHandler: URLSessionExecutor.ChallengeHandler?) {
        let configuration = configuration.overridden()
        self.configuration = configuration
        self.challengeHandler = challengeHandler
        gate = ConnectionGate(limit: configuration.httpMaximumConnectionsPerHost)
        current = Lock(Current(configuration, challengeHandler, gate, generation: 0))
    }

    deinit {
        current.withLock { $0.session.finishTasksAndInvalidate() }
    }

    /// How many resets there have been.
    var generation: Int { resets.withLock { $0 } }

    /// The exchange of `request`, its task made and not resumed, on a thread that may wait for a busy session.
    ///
    /// Foundation on Linux has whoever asks for a task wait for the session's own queue, which fast responses can keep
    /// busy; the few threads that all tasks share are needed to read those.
    func makeExchange(
        _ request: PreparedRequest, _ upload: Upload, since generation: Int
    ) async throws(RequestError) -> SessionExchange {
        let result = await withCheckedContinuation { continuation in
            makers.async {
                continuation.resume(
                    returning: Result { () throws(RequestError) in
                        try self.exchange(request, upload, since: generation)
                    })
            }
        }
        return try result.get()
    }

    /// The exchange of `request`, its task made and not resumed.
    ///
    /// - Throws: `RequestError` with `cancelled` when there has been a reset since `generation`.
    func exchange(
        _ request: PreparedRequest, _ upload: Upload, since generation: Int
    ) throws(RequestError) -> SessionExchange {
        let urlRequest = URLRequest(request, sending: upload)
        let isAlone = Platform.needsOwnConnection(request.method)
        // Under the lock, because a session that has been invalidated ends the process when it is asked for a task.
        return try current.withLock { (current) throws(RequestError) in
            guard current.generation == generation else { throw RequestError(.cancelled).beforeSending() }
            let session = isAlone ? current.sessionForOneTask(configuration) : current.session
            let exchange = SessionExchange(
                request, urlRequest, upload, in: session, isAlone: isAlone, registry: current.registry)
            current.registry.add(exchange)
            // It ends with its task.
            if isAlone { session.finishTasksAndInvalidate() }
            return exchange
        }
    }

    /// Cancels what is under way and goes on with a new session.
    func reset() {
        let previous = replace(countingReset: 1) { _ in true }
        resets.withLock { $0 += 1 }
        previous?.registry.cancelAll()
    }

    /// Goes on with a new session after the response of `exchange` was refused.
    ///
    /// Its connection, which libcurl may take for a good one, is so not used again. Other calls end undisturbed.
    func retire(after exchange: SessionExchange) {
        guard !exchange.isAlone else { return }
        _ = replace(countingReset: 0) { $0.registry === exchange.registry }
    }

    private func replace(countingReset count: Int, if condition: (borrowing Current) -> Bool) -> Current? {
        current.withLock { current in
            guard condition(current) else { return nil }
            let previous = current
            current = Current(configuration, challengeHandler, gate, generation: previous.generation + count)
            previous.session.finishTasksAndInvalidate()
            return previous
        }
    }
}

extension URLSessionConfiguration {
    /// A week, the longest that URLSession allows a transfer: the limits are kept elsewhere.
    static let longestInterval: TimeInterval = 7 * 24 * 60 * 60

    /// A copy with the keys set that the executor's contract depends on.
    fileprivate func overridden() -> URLSessionConfiguration {
        // `copy()` gives what it was asked of.
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
    /// The request that a session is given for `request`: the framing fields are the session's, and so are credentials
    /// for a proxy, because it does not report whether there is one.
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
