#if !canImport(Darwin)
/// Differences between the two implementations of URLSession; this one is for Foundation's own, over libcurl.
enum Platform {
    static let implementation = SessionFailure.Implementation.curl

    /// Whether the host of a URL may be an IPv6 address.
    ///
    /// It is false: Foundation fails every such request as a malformed URL without connecting, and uses the same code
    /// for malformed responses.
    static let supportsIPv6Addresses = false

    /// Whether the session has challenges about the connection, which a handler or TLS settings need.
    ///
    /// It is false, because Foundation has none.
    static let hasConnectionChallenges = false

    /// Does nothing: no request is sent with TLS settings.
    static func require(_ minimum: TLSConfiguration.Version, in configuration: URLSessionConfiguration) {}

    /// Returns nil: there are no challenges about servers.
    static func evaluation(
        _ challenge: URLAuthenticationChallenge, with tls: SessionTLS
    ) -> ServerEvaluation? { nil }

    /// Returns the queue for the delegate, which runs the delegate's methods at once, on the session's own queue.
    ///
    /// This saves three operations per request, and a download that is written there cannot run ahead of the disk.
    static func delegateQueue() -> OperationQueue? { InlineQueue() }

    /// Suppresses the fields that URLSession adds if the request has none.
    ///
    /// libcurl omits a field whose value is blank, and Foundation does not add a field that is present.
    static func suppressAdditions(in request: inout URLRequest) {
        for name in ["Accept", "Accept-Language", "Content-Type", "User-Agent"]
        where request.value(forHTTPHeaderField: name) == nil {
            request.setValue(" ", forHTTPHeaderField: name)
        }
    }

    /// Returns whether `request` must have a new connection.
    ///
    /// libcurl repeats a request of any method if a reused connection ends without a response, although the server may
    /// have acted on it. It never repeats a request on a new connection (decision 0016).
    static func needsOwnConnection(_ request: PreparedRequest) -> Bool { !request.isIdempotent }

    /// Returns a task that sends `request` with the body `upload`.
    static func task(for request: URLRequest, sending upload: Upload, in session: URLSession) -> URLSessionTask {
        var request = request
        guard let stream = bodyStream(of: upload) else { return session.dataTask(with: request) }
        request.httpBodyStream = stream
        if let length = upload.declaredLength {
            // libcurl would send a stream chunked. A blank Transfer-Encoding prevents the chunks and is not sent itself
            // (decision 0017).
            request.setValue(" ", forHTTPHeaderField: "Transfer-Encoding")
            request.setValue(String(length), forHTTPHeaderField: "Content-Length")
        }
        return session.dataTask(with: request)
    }

    /// Returns the body of `upload` from its beginning; nil if it has none.
    ///
    /// Every body is a stream: Foundation cannot send bytes or a file a second time, and it ends the process if the
    /// connection is closed while it reads a file (decision 0017).
    static func bodyStream(of upload: Upload) -> InputStream? {
        switch upload.content {
        case .none: nil
        case .data(let data): data.isEmpty ? nil : InputStream(data: data)
        case .stream(let make): make()
        case .file(let path): FileBodyStream(path: path, length: upload.length ?? 0, failure: upload.failure)
        }
    }

    /// Returns whether URLSession delivers bodies of the content coding `coding` decoded.
    static func isDecoded(_ coding: String) -> Bool {
        !coding.isEmpty && !ASCIIFolding.areEqual(coding, "identity")
    }

    /// Does nothing: a task that is suspended and resumed would start again, and deliver its bytes twice.
    static func pause(_ task: URLSessionTask) {}

    /// Does nothing, like ``pause(_:)``.
    static func resume(_ task: URLSessionTask) {}
}

/// A queue that runs its operations at once, on the session's own queue.
private final class InlineQueue: OperationQueue, @unchecked Sendable {  // no state of its own
    override init() {
        super.init()
        maxConcurrentOperationCount = 1
    }

    override func addOperation(_ block: @escaping @Sendable () -> Void) {
        block()
    }
}
#endif
