/// Middleware that acts before an exchange and after it, in most cases without a suspension.
///
/// Its work is the same in a task and on a blocked thread, which needs no task for it (decision 0049).
protocol StagedMiddleware: InPlaceMiddleware {
    /// The values that the middleware keeps of a request until its exchange has ended.
    associatedtype Kept: Sendable

    /// Begins a request, and changes it for the next executor.
    func begin(_ request: inout PreparedRequest) throws(RequestError) -> Beginning<Kept>

    /// Performs a request for which `begin(_:)` has returned `mustSuspend`; `request` is the original.
    func interceptSuspending(
        _ request: PreparedRequest, next: any RequestExecutor
    ) async throws(RequestError) -> RawResponse

    /// Ends a request that has a response, and changes the response for the caller.
    ///
    /// - Parameters:
    ///   - response: The response of the next executor.
    ///   - request: The request that was passed on.
    ///   - kept: The values of `begin(_:)`.
    /// - Returns: Whether the response is complete; false if `complete(_:_:_:next:)` must be called.
    /// - Throws: The error for the caller.
    func end(
        _ response: inout RawResponse, _ request: PreparedRequest, _ kept: Kept
    ) throws(RequestError) -> Bool

    /// Returns the response for the caller after work that suspends.
    func complete(
        _ response: consuming RawResponse, _ request: PreparedRequest, _ kept: Kept, next: any RequestExecutor
    ) async throws(RequestError) -> RawResponse

    /// Ends a request whose exchange has failed, and returns a response in place of the error.
    ///
    /// - Throws: The error for the caller.
    func fail(
        _ error: RequestError, _ request: PreparedRequest, _ kept: Kept
    ) throws(RequestError) -> RawResponse
}

/// The result of the beginning of a request.
enum Beginning<Kept: Sendable>: Sendable {
    /// The request is passed on.
    case passed(Kept)
    /// The middleware responds itself.
    case response(RawResponse)
    /// The beginning must suspend, and has changed nothing.
    case mustSuspend
}

extension StagedMiddleware {
    /// Passes on a request, for middleware whose beginning never suspends.
    func interceptSuspending(
        _ request: PreparedRequest, next: any RequestExecutor
    ) async throws(RequestError) -> RawResponse {
        try await next.execute(request)
    }

    /// Throws `error`.
    func fail(
        _ error: RequestError, _ request: PreparedRequest, _ kept: Kept
    ) throws(RequestError) -> RawResponse { throw error }

    /// Returns the response of the next executor unchanged.
    func complete(
        _ response: consuming RawResponse, _ request: PreparedRequest, _ kept: Kept, next: any RequestExecutor
    ) async throws(RequestError) -> RawResponse { response }

    /// Performs a request in a task.
    @inline(__always)  // saves a frame in the call of a task
    func interceptInStages(
        _ request: PreparedRequest, next: any RequestExecutor
    ) async throws(RequestError) -> RawResponse {
        var sent = request
        switch try begin(&sent) {
        case .passed(let kept): return try await perform(sent, kept, with: next)
        case .response(let response): return response
        case .mustSuspend: return try await interceptSuspending(request, next: next)
        }
    }

    /// Performs the exchange of a request that has begun, and ends it.
    @inline(__always)  // saves a frame in the call of a task
    func perform(
        _ request: PreparedRequest, _ kept: Kept, with next: any RequestExecutor
    ) async throws(RequestError) -> RawResponse {
        var response: RawResponse
        do throws(RequestError) {
            response = try await next.execute(request)
        } catch {
            return try fail(error, request, kept)
        }
        if try end(&response, request, kept) { return response }
        // Consumed, because a streamed response keeps its connection, and the permit of a limit.
        return try await complete(consume response, request, kept, next: next)
    }

    /// Performs a request on the calling thread; work that suspends is deferred.
    @inline(__always)  // otherwise the protocol witness copies the response (decision 0047)
    package func interceptInPlace(
        _ request: PreparedRequest, next: some BlockingExecutor
    ) throws(RequestError) -> BlockingExecution {
        var sent = request
        switch try begin(&sent) {
        case .passed(let kept): return try performInPlace(sent, kept, with: next)
        case .response(let response): return .response(response)
        case .mustSuspend:
            return .deferred { () async throws(RequestError) in try await interceptSuspending(request, next: next) }
        }
    }

    /// Performs the exchange of a request that has begun on the calling thread, and ends it.
    @inline(__always)  // otherwise the protocol witness copies the response (decision 0047)
    private func performInPlace(
        _ request: PreparedRequest, _ kept: Kept, with next: some BlockingExecutor
    ) throws(RequestError) -> BlockingExecution {
        let execution: BlockingExecution
        do throws(RequestError) {
            execution = try next.executeBlocking(request)
        } catch {
            return .response(try fail(error, request, kept))
        }
        switch consume execution {
        case .response(var response):
            if try end(&response, request, kept) { return .response(response) }
            let remaining = BlockingExecution.response(consume response).remaining
            return .deferred { () async throws(RequestError) in
                try await complete(try await remaining(), request, kept, next: next)
            }
        case .deferred(let remaining):
            return .deferred { () async throws(RequestError) in
                var response: RawResponse
                do throws(RequestError) {
                    response = try await remaining()
                } catch {
                    return try fail(error, request, kept)
                }
                if try end(&response, request, kept) { return response }
                return try await complete(consume response, request, kept, next: next)
            }
        }
    }
}
