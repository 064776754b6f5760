#if canImport(Darwin)
/// What is done differently on the two implementations of URLSession: here Apple's.
enum Platform {
    static let implementation = SessionFailure.Implementation.darwin

    /// Where the delegate is called: on a serial queue that the session makes.
    static func delegateQueue() -> OperationQueue? { nil }

    /// Nothing to take back: what Apple adds (Accept, Accept-Language, User-Agent) it adds after us.
    static func suppressAdditions(in request: inout URLRequest) {}

    /// Whether URLSession delivers bodies of the content coding `coding` decoded.
    static func isUndone(_ coding: String) -> Bool {
        ["gzip", "x-gzip", "deflate", "br"].contains(coding.lowercased())
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
        registry[task]?.measure(
            isReused: last.isReusedConnection, connecting: connecting.map { .seconds($0) })
    }
}
#endif
