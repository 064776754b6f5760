/// Middleware whose work around an exchange suspends only in rare cases, so that a blocked thread needs no task for it
/// (decision 0010).
package protocol InPlaceMiddleware: Middleware {
    /// Performs as much of ``Middleware/intercept(_:next:)`` as possible on the calling thread, which may block.
    ///
    /// Work that must suspend is deferred, such as the delay before a repetition.
    func interceptInPlace(
        _ request: PreparedRequest, next: some BlockingExecutor
    ) throws(RequestError) -> BlockingExecution
}

extension InPlaceMiddleware {
    /// Passes on what other middleware does, and that no task is needed.
    public func traits(before next: ExecutorTraits) -> ExecutorTraits {
        next.subtracting(.streamsEncodedBodies).union(.actsInPlace)
    }
}

extension Intercepted: BlockingExecutor where Base: BlockingExecutor, Interceptor: InPlaceMiddleware {
    /// Performs as much of the exchange as possible on the calling thread.
    @inline(__always)  // otherwise the protocol witness copies the response (decision 0047)
    package func executeBlocking(_ request: PreparedRequest) throws(RequestError) -> BlockingExecution {
        guard !request.hasLeftOrigin else {
            return .deferred { () async throws(RequestError) in try await execute(request) }
        }
        if parts.isStaged { return try parts.stage.executeBlocking(request) }
        return try parts.middleware.interceptInPlace(request, next: parts.base)
    }
}

extension BlockingExecution {
    /// The status of the response, read without copying the response; nil if the exchange is incomplete.
    package var status: HTTPStatus? {
        if case .response(let response) = self { response.head.status } else { nil }
    }

    /// Returns whether the exchange is complete, and the body of its response is in memory, has at most `limit` bytes,
    /// and has no content coding.
    package func hasUnencodedBody(upTo limit: Int) -> Bool {
        if case .response(let response) = self { response.hasUnencodedBody(upTo: limit) } else { false }
    }

    /// The function that returns the response, after the deferred part of the exchange; it is called once.
    ///
    /// It does not keep the response: a streamed one keeps its connection, and the permit of a limit, while the request
    /// is sent again.
    package var remaining: @Sendable () async throws(RequestError) -> RawResponse {
        switch self {
        case .deferred(let remaining): return remaining
        case .response(let response):
            let kept = KeptResponse(response)
            return { () throws(RequestError) in try kept.take() }
        }
    }
}

/// The response of a blocking call until a task takes it.
private final class KeptResponse: Sendable {
    private let response: Lock<RawResponse?>

    init(_ response: RawResponse) {
        self.response = Lock(response)
    }

    func take() throws(RequestError) -> RawResponse {
        guard let response = response.withLock({ $0.take() }) else {
            throw RequestError(.other, detail: "the deferred work of a blocking call was called twice")
        }
        return response
    }
}
