#if canImport(Darwin)
/// Differences between the two implementations of URLSession; this one is for Apple's.
enum Platform {
    static let implementation = SessionFailure.Implementation.darwin

    /// Whether the host of a URL may be an IPv6 address.
    static let supportsIPv6Addresses = true

    /// Whether the session has challenges about the connection, which a handler or TLS settings need.
    static let hasConnectionChallenges = true

    /// Returns the queue for the delegate; nil makes the session create a serial queue.
    static func delegateQueue() -> OperationQueue? { nil }

    /// Does nothing: Apple's URLSession adds its fields (Accept, Accept-Language, User-Agent) later.
    static func suppressAdditions(in request: inout URLRequest) {}

    /// Returns whether `request` must have a new connection.
    ///
    /// It is always false: Apple's URLSession does not send a request again when a reused connection turns out to be
    /// closed.
    static func needsOwnConnection(_ request: PreparedRequest) -> Bool { false }

    /// Returns a task that sends `request` with the body `upload`.
    static func task(for request: URLRequest, sending upload: Upload, in session: URLSession) -> URLSessionTask {
        var request = request
        switch upload.content {
        case .none: break
        case .data(let data): request.httpBody = data
        case .stream(let make): request.httpBodyStream = make()
        case .file(let path): return session.uploadTask(with: request, fromFile: URL(filePath: path))
        }
        return session.dataTask(with: request)
    }

    /// Returns the body of `upload` for a task that sends it again; nil for bodies that URLSession can send again
    /// itself.
    static func bodyStream(of upload: Upload) -> InputStream? {
        if case .stream(let make) = upload.content { make() } else { nil }
    }

    /// Returns whether URLSession delivers bodies of the content coding `coding` decoded.
    static func isDecoded(_ coding: String) -> Bool {
        ["gzip", "x-gzip", "deflate", "br"].contains { ASCIIFolding.areEqual($0, coding) }
    }

    /// Stops receiving while a reader is slow.
    static func pause(_ task: URLSessionTask) { task.suspend() }

    /// Continues receiving.
    static func resume(_ task: URLSessionTask) { task.resume() }
}

extension SessionDelegate {
    /// Records the connection metrics, which Apple's URLSession reports before a task completes.
    func urlSession(
        _ session: URLSession, task: URLSessionTask, didFinishCollecting metrics: URLSessionTaskMetrics
    ) {
        guard let last = metrics.transactionMetrics.last else { return }
        let connecting = last.fetchStartDate.flatMap { start in last.connectEndDate?.timeIntervalSince(start) }
        registry[session, task]?.measure(
            isReused: last.isReusedConnection, connecting: connecting.map { .seconds($0) })
    }
}
#endif
