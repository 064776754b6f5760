/// Middleware that acts before an exchange and after it, in most cases without a suspension.
///
/// Its work is the same in a task and on a blocked thread, which needs no task for it (decision 0049).
package protocol StagedMiddleware: InPlaceMiddleware {
    /// Begins a request.
    func begin(_ request: PreparedRequest) throws(RequestError) -> StageBeginning

    /// Performs a request for which `begin(_:)` has returned `mustSuspend`.
    func interceptSuspending(
        _ request: PreparedRequest, next: any RequestExecutor
    ) async throws(RequestError) -> RawResponse

    /// Performs as much as possible of `interceptSuspending(_:next:)` on the calling thread, which may block.
    func interceptSuspendingInPlace(
        _ request: PreparedRequest, next: InPlaceExecutor
    ) throws(RequestError) -> BlockingExecution

    /// Ends a request that has a response, and changes the response for the caller.
    ///
    /// - Parameters:
    ///   - response: The response of the next executor.
    ///   - request: The request that `begin(_:)` received.
    ///   - kept: The values of `begin(_:)`.
    /// - Returns: Whether the response is complete; false if `complete(_:_:_:next:)` must be called.
    /// - Throws: The error for the caller.
    func end(
        _ response: inout RawResponse, _ request: PreparedRequest, _ kept: KeptValues
    ) throws(RequestError) -> Bool

    /// Returns the response for the caller after work that suspends.
    func complete(
        _ response: consuming RawResponse, _ request: PreparedRequest, _ kept: KeptValues, next: any RequestExecutor
    ) async throws(RequestError) -> RawResponse

    /// Ends a request whose exchange has failed, and returns a response in place of the error.
    ///
    /// - Throws: The error for the caller.
    func fail(
        _ error: RequestError, _ request: PreparedRequest, _ kept: KeptValues
    ) throws(RequestError) -> RawResponse
}

/// The result of the beginning of a request.
package enum StageBeginning: Sendable {
    /// The request is passed on.
    case passed(KeptValues)
    /// The middleware responds itself; the response is indirect, because most beginnings have none.
    indirect case response(RawResponse)
    /// The beginning must suspend, and has changed nothing.
    case mustSuspend
}

/// The values that middleware keeps of a request until its exchange has ended.
///
/// All middleware has the same form of values, so that the function that performs a request for any middleware knows
/// their size (decision 0049). Each uses the parts that it needs.
package struct KeptValues: Sendable {
    /// The changed request that is passed on; nil if the request itself is.
    package let sent: PreparedRequest?
    /// An object of the middleware.
    package let object: (any AnyObject & Sendable)?
    /// A number of the middleware.
    package let number: UInt64

    package init(
        sending sent: PreparedRequest? = nil, _ object: (any AnyObject & Sendable)? = nil, number: UInt64 = 0
    ) {
        self.sent = sent
        self.object = object
        self.number = number
    }
}

extension StagedMiddleware {
    /// Passes on a request, for middleware whose beginning never suspends.
    package func interceptSuspending(
        _ request: PreparedRequest, next: any RequestExecutor
    ) async throws(RequestError) -> RawResponse {
        try await next.execute(request)
    }

    /// Defers `interceptSuspending(_:next:)`.
    package func interceptSuspendingInPlace(
        _ request: PreparedRequest, next: InPlaceExecutor
    ) throws(RequestError) -> BlockingExecution {
        .deferred { () async throws(RequestError) in try await interceptSuspending(request, next: next.base) }
    }

    /// Throws `error`.
    package func fail(
        _ error: RequestError, _ request: PreparedRequest, _ kept: KeptValues
    ) throws(RequestError) -> RawResponse { throw error }

    /// Returns the response of the next executor unchanged.
    package func complete(
        _ response: consuming RawResponse, _ request: PreparedRequest, _ kept: KeptValues, next: any RequestExecutor
    ) async throws(RequestError) -> RawResponse { response }

    /// Performs a request, as `Middleware.intercept(_:next:)` does.
    package func interceptInStages(
        _ request: PreparedRequest, next: any RequestExecutor
    ) async throws(RequestError) -> RawResponse {
        try await Stage(self, before: next).execute(request)
    }

    /// Performs as much of a request as possible on the calling thread.
    package func interceptInPlace(
        _ request: PreparedRequest, next: some BlockingExecutor
    ) throws(RequestError) -> BlockingExecution {
        try Stage(self, before: next).executeBlocking(request)
    }

    /// After a suspension, performs the exchange of a request that has begun, and ends it.
    package func perform(
        _ request: PreparedRequest, _ kept: KeptValues, with next: any RequestExecutor
    ) async throws(RequestError) -> RawResponse {
        try await Stage(self, before: next).perform(request, kept)
    }
}

/// Staged middleware and the executor behind it.
///
/// The functions that perform a request are not generic, and the middleware is not copied for a request: generic
/// functions and copies take longer than the work of most middleware.
final class Stage: Sendable {
    private let middleware: any StagedMiddleware
    private let next: InPlaceExecutor

    init(_ middleware: any Middleware, before next: some RequestExecutor) {
        self.middleware = middleware as? any StagedMiddleware ?? SuspendingMiddleware(base: middleware)
        self.next = InPlaceExecutor(next)
    }

    /// Performs a request in a task.
    @inline(__always)  // saves a frame in the call of a task
    func execute(_ request: PreparedRequest) async throws(RequestError) -> RawResponse {
        switch try middleware.begin(request) {
        case .passed(let kept): return try await perform(request, kept)
        case .response(let response): return response
        case .mustSuspend: return try await middleware.interceptSuspending(request, next: next.base)
        }
    }

    /// Performs the exchange of a request that has begun, and ends it.
    @inline(__always)  // saves a frame in the call of a task
    fileprivate func perform(
        _ request: PreparedRequest, _ kept: KeptValues
    ) async throws(RequestError) -> RawResponse {
        var response: RawResponse
        do throws(RequestError) {
            // Two calls, because one variable for both requests would copy the unchanged one.
            if let sent = kept.sent {
                response = try await next.base.sending(sent)
            } else {
                response = try await next.base.sending(request)
            }
        } catch {
            return try middleware.fail(error, request, kept)
        }
        if try middleware.end(&response, request, kept) { return response }
        // Consumed, because a streamed response keeps its connection, and the permit of a limit.
        return try await middleware.complete(consume response, request, kept, next: next.base)
    }

    /// Performs a request on the calling thread; work that suspends is deferred.
    @inline(__always)  // otherwise the protocol witness copies the response (decision 0047)
    func executeBlocking(_ request: PreparedRequest) throws(RequestError) -> BlockingExecution {
        switch try middleware.begin(request) {
        case .passed(let kept): return try performInPlace(request, kept)
        case .response(let response): return .response(response)
        case .mustSuspend: return try middleware.interceptSuspendingInPlace(request, next: next)
        }
    }

    /// On the calling thread, performs the exchange of a request that has begun, and ends it.
    @inline(__always)  // otherwise the protocol witness copies the response (decision 0047)
    private func performInPlace(
        _ request: PreparedRequest, _ kept: KeptValues
    ) throws(RequestError) -> BlockingExecution {
        let execution: BlockingExecution
        do throws(RequestError) {
            execution = try next.begin(kept.sent ?? request)
        } catch {
            return .response(try middleware.fail(error, request, kept))
        }
        switch consume execution {
        case .response(var response):
            if try middleware.end(&response, request, kept) { return .response(response) }
            let remaining = BlockingExecution.response(consume response).remaining
            return .deferred { [self] () async throws(RequestError) in
                try await middleware.complete(try await remaining(), request, kept, next: next.base)
            }
        case .deferred(let remaining):
            return .deferred { [self] () async throws(RequestError) in
                var response: RawResponse
                do throws(RequestError) {
                    response = try await remaining()
                } catch {
                    return try middleware.fail(error, request, kept)
                }
                if try middleware.end(&response, request, kept) { return response }
                return try await middleware.complete(consume response, request, kept, next: next.base)
            }
        }
    }
}

/// Middleware that is not staged, as a stage that always suspends.
private struct SuspendingMiddleware: StagedMiddleware {
    let base: any Middleware

    func begin(_ request: PreparedRequest) -> StageBeginning { .mustSuspend }

    func end(_ response: inout RawResponse, _ request: PreparedRequest, _ kept: KeptValues) -> Bool { true }

    func intercept(
        _ request: PreparedRequest, next: any RequestExecutor
    ) async throws(RequestError) -> RawResponse {
        try await base.intercept(request, next: next)
    }

    func interceptSuspending(
        _ request: PreparedRequest, next: any RequestExecutor
    ) async throws(RequestError) -> RawResponse {
        try await base.intercept(request, next: next)
    }
}
