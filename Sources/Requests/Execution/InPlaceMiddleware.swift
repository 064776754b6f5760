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
    package func executeBlocking(_ request: PreparedRequest) throws(RequestError) -> BlockingExecution {
        guard !request.hasLeftOrigin else {
            return .deferred { () async throws(RequestError) in try await execute(request) }
        }
        return try parts.middleware.interceptInPlace(request, next: parts.base)
    }
}

extension BlockingExecution {
    /// The status of the response, read without copying the response; nil if the exchange is incomplete.
    package var status: HTTPStatus? {
        if case .response(let response) = self { response.head.status } else { nil }
    }

    /// The header of the response; nil if the exchange is incomplete.
    package var header: Header? {
        if case .response(let response) = self { response.head.header } else { nil }
    }

    /// The number of bytes of the response body in memory; nil if it is elsewhere or the exchange is incomplete.
    package var byteCount: Int? {
        if case .response(let response) = self, case .bytes(let data) = response.body { data.count } else { nil }
    }

    /// Returns the response, after the deferred part of the exchange.
    package func response() async throws(RequestError) -> RawResponse {
        switch self {
        case .response(let response): response
        case .deferred(let remaining): try await remaining()
        }
    }
}
