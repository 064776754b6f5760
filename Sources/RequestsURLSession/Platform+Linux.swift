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

    /// Whether a request with `method` must not be sent over a connection that was used before.
    ///
    /// libcurl repeats a request of any method when a reused connection ends without a response, although the server may
    /// have acted on it. It never repeats one on a new connection. See decision 0016.
    static func needsOwnConnection(_ method: HTTPMethod) -> Bool { !method.isIdempotent }

    /// The task that sends `request` with the body `upload`.
    static func task(for request: URLRequest, sending upload: Upload, in session: URLSession) -> URLSessionTask {
        var request = request
        guard let stream = bodyStream(of: upload) else { return session.dataTask(with: request) }
        request.httpBodyStream = stream
        if let length = upload.announcedLength {
            // A stream would be sent chunked. A blank Transfer-Encoding keeps libcurl from it, and from the field itself.
            request.setValue(" ", forHTTPHeaderField: "Transfer-Encoding")
            request.setValue(String(length), forHTTPHeaderField: "Content-Length")
        }
        return session.dataTask(with: request)
    }

    /// The body of `upload`, from its beginning; nil when it has none.
    ///
    /// Every body is a stream: Foundation cannot send bytes or a file a second time, and the process ends when the
    /// connection is closed while Foundation reads a file.
    static func bodyStream(of upload: Upload) -> InputStream? {
        switch upload.content {
        case .none: nil
        case .data(let data): data.isEmpty ? nil : InputStream(data: data)
        case .stream(let make): make()
        case .file(let path): FileBodyStream(path: path, length: upload.length ?? 0, failure: upload.failure)
        }
    }

    /// Whether URLSession delivers bodies of the content coding `coding` decoded.
    static func isUndone(_ coding: String) -> Bool {
        !coding.isEmpty && !ASCIIFolding.areEqual(coding, "identity")
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
