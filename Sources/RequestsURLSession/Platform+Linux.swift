#if !canImport(Darwin)
/// What is done differently on the two implementations of URLSession: here Foundation's own, over libcurl.
enum Platform {
    static let implementation = SessionFailure.Implementation.curl

    /// Where the delegate is called: on the session's own queue, in place.
    ///
    /// It spares three operations a request, and a download that is written in place cannot run ahead of the disk.
    static func delegateQueue() -> OperationQueue? { InlineQueue() }

    /// Fields that URLSession adds where the request has none, taken back: libcurl leaves out a field whose value is
    /// blank, and Foundation adds none that is there.
    static func suppressAdditions(in request: inout URLRequest) {
        for name in ["Accept", "Accept-Language", "Content-Type", "User-Agent"]
        where request.value(forHTTPHeaderField: name) == nil {
            request.setValue(" ", forHTTPHeaderField: name)
        }
    }

    /// Whether URLSession delivers bodies of the content coding `coding` decoded.
    static func isUndone(_ coding: String) -> Bool {
        !coding.isEmpty && coding.lowercased() != "identity"
    }

    /// Nothing holds a task back: what was suspended begins anew when it is resumed, and its bytes come twice.
    static func hold(_ task: URLSessionTask) {}

    /// The opposite of ``hold(_:)``.
    static func release(_ task: URLSessionTask) {}
}

/// Runs what a session tells its delegate at once, on the session's own queue.
private final class InlineQueue: OperationQueue, @unchecked Sendable {  // no state beside its superclass's
    override init() {
        super.init()
        maxConcurrentOperationCount = 1
    }

    override func addOperation(_ block: @escaping @Sendable () -> Void) {
        block()
    }
}
#endif
