#if canImport(Darwin)
/// What is done differently on the two implementations of URLSession: here Apple's.
enum Platform {
    static let implementation = SessionFailure.Implementation.darwin

    /// Where the delegate is called: on a serial queue that the session makes.
    static func delegateQueue() -> OperationQueue? { nil }

    /// Nothing to take back: what Apple adds (Accept, Accept-Language, User-Agent) it adds after us.
    static func suppressAdditions(in request: inout URLRequest) {}

    /// Whether a request with `method` must not be sent over a connection that was used before: never, since URLSession
    /// does not send it a second time when the connection turns out to be closed.
    static func needsOwnConnection(_ method: HTTPMethod) -> Bool { false }

    /// The task that sends `request` with the body `upload`.
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

    /// The body of `upload` for a task that has to send it again; nil for bodies that URLSession repeats itself.
    static func bodyStream(of upload: Upload) -> InputStream? {
        if case .stream(let make) = upload.content { make() } else { nil }
    }

    /// Whether URLSession delivers bodies of the content coding `coding` decoded.
    static func isUndone(_ coding: String) -> Bool {
        ["gzip", "x-gzip", "deflate", "br"].contains { ASCIIFolding.areEqual($0, coding) }
    }

    /// Stops receiving for a reader that is slow.
    static func hold(_ task: URLSessionTask) { task.suspend() }

    /// Goes on receiving.
    static func release(_ task: URLSessionTask) { task.resume() }
}

extension SessionDelegate {
    /// What Apple measures of a task, told before it is complete.
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
