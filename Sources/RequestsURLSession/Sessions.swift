@_spi(Lock) import Requests

/// The sessions of an executor: one that its calls share, and one for each call that must have its own connection.
///
/// A reset replaces the shared session.
///
/// Every call into a session is made on the queue of the registry, and no lock is held meanwhile: on Linux all sessions
/// of the process share one queue, and any call waits while transfers occupy it (decision 0059).
///
/// Releasing the last copy of the executor invalidates the session.
final class Sessions: Sendable {
    private let configuration: URLSessionConfiguration
    /// Whether the configuration is for background sessions, whose tasks do not complete in this process.
    let areInBackground: Bool
    /// The responses to challenges about the connection.
    let challenges: ConnectionChallenges
    /// The gate for exchanges that have their own connection.
    let gate: ConnectionGate
    let registry = ExchangeRegistry()
    private let delegate: SessionDelegate
    nonisolated(unsafe) private var session: URLSession  // only the queue of the registry uses it

    init(_ configuration: URLSessionConfiguration, isInBackground: Bool, _ challenges: ConnectionChallenges) {
        areInBackground = isInBackground
        // The session of a background configuration would remain in the system, and it sends nothing here.
        let configuration = isInBackground ? .ephemeral : configuration.overridden()
        if let tls = challenges.tls { Platform.require(tls.minimumVersion, in: configuration) }
        self.configuration = configuration
        self.challenges = challenges
        gate = ConnectionGate(limit: configuration.httpMaximumConnectionsPerHost)
        delegate = SessionDelegate(challenges, registry)
        session = Self.session(configuration, delegate)
    }

    deinit {
        registry.runOutsideSession { [session] in session.finishTasksAndInvalidate() }
    }

    private static func session(
        _ configuration: URLSessionConfiguration, _ delegate: SessionDelegate
    ) -> URLSession {
        URLSession(configuration: configuration, delegate: delegate, delegateQueue: Platform.delegateQueue())
    }

    /// The number of resets so far.
    var generation: Int { registry.generation }

    /// Returns the exchange of `request`, which has no task yet.
    ///
    /// - Throws: `RequestError` with `cancelled` if the executor has been reset since `generation`.
    func exchange(
        _ request: PreparedRequest, _ upload: Upload, since generation: Int,
        configuring configure: @escaping @Sendable (URLSessionTask) -> Void = { _ in }
    ) throws(RequestError) -> SessionExchange {
        let exchange = SessionExchange(request, upload, in: self, configuring: configure)
        guard registry.add(exchange, since: generation) else { throw RequestError(.cancelled).beforeSending() }
        return exchange
    }

    /// Makes the task of `exchange` on the queue, unless the exchange has ended, then calls `completion` there.
    func makeTask(of exchange: SessionExchange, _ completion: @escaping @Sendable (URLSessionTask?) -> Void) {
        registry.runOutsideSession { completion(self.task(of: exchange)) }
    }

    /// Returns the task of `exchange`, which is created if there is none; nil if the exchange has ended.
    private func task(of exchange: SessionExchange) -> URLSessionTask? {
        guard exchange.isActive else { return nil }
        if let task = exchange.task { return task }
        // A task of a new session uses a new connection.
        let session = exchange.isAlone ? Self.session(configuration, delegate) : session
        let task = exchange.newTask(in: session)
        // The session ends with its only task.
        if exchange.isAlone { session.finishTasksAndInvalidate() }
        guard exchange.attach(task, of: session), registry.attach(exchange, session, task) else {
            // The exchange has ended meanwhile, so the delegate finds none for this task.
            task.cancel()
            return nil
        }
        return task
    }

    /// Cancels all exchanges and continues with a new session.
    func reset() {
        let exchanges = registry.beginGeneration()
        // The tasks of later exchanges are made after this, because the queue is serial.
        registry.runOutsideSession { self.replaceSession() }
        for exchange in exchanges { exchange.cancel() }
    }

    /// Continues with a new session after the response of `exchange` was rejected.
    ///
    /// Its connection, which libcurl may consider reusable, is then not used again. Other calls finish undisturbed.
    func retire(after exchange: SessionExchange) {
        registry.runOutsideSession { if exchange.session === self.session { self.replaceSession() } }
    }

    private func replaceSession() {
        let previous = session
        session = Self.session(configuration, delegate)
        previous.finishTasksAndInvalidate()
    }
}

extension URLSessionConfiguration {
    /// One week, the longest interval that URLSession allows for a transfer.
    ///
    /// The executor enforces the limits itself.
    static let longestInterval: TimeInterval = 7 * 24 * 60 * 60

    /// Returns a copy in which the keys that the executor's contract depends on are overridden.
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
    init(_ request: PreparedRequest, sending upload: Upload) {
        self.init(
            url: request.url, cachePolicy: .reloadIgnoringLocalCacheData,
            timeoutInterval: URLSessionConfiguration.longestInterval)
        httpMethod = request.method.rawValue
        httpShouldHandleCookies = false
        allHTTPHeaderFields = Header(request.header.filter { $0.name.isSent(in: .origin) }).dictionaryValue
        Platform.suppressAdditions(in: &self)
    }
}
