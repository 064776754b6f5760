/// A step between the call and the executor: it changes requests and responses, responds itself, or sends a request again.
///
/// A call runs its middleware for every request, those that follow redirects included. After a redirect to another origin
/// ``PreparedRequest/hasLeftOrigin`` is true, and secrets that middleware adds are left out unless
/// ``PreparedRequest/permitSecrets(_:)`` names them:
///
/// ```swift
/// executor.intercepted { request, next in
///     var request = request
///     request.header[.authorization] = "Bearer \(token)"  // sent to the origin of the call only
///     return try await next.execute(request)
/// }
/// ```
/// Middleware that is to act once per call does so where ``PreparedRequest/redirectedFrom`` is nil.
public protocol Middleware: Sendable {
    /// Handles `request`.
    ///
    /// - Parameters:
    ///   - request: The request as it comes from the caller's side.
    ///   - next: What remains of the chain. It may be called once, several times, later, from child tasks or not at all.
    /// - Returns: The response to hand back.
    /// - Throws: ``RequestError``, its own or that of `next`.
    func intercept(_ request: PreparedRequest, next: any RequestExecutor) async throws(RequestError) -> RawResponse

    /// Does what it can of ``intercept(_:next:)`` on the calling thread, which may be blocked for that.
    ///
    /// It is to middleware what ``RequestExecutor/executeBlocking(_:)`` is to executors: without an implementation of its
    /// own a middleware hands everything back, to be done in a task.
    ///
    /// - Throws: ``RequestError``, its own or that of `next`.
    func interceptBlocking(_ request: PreparedRequest, next: any RequestExecutor) throws(RequestError)
        -> BlockingExecution
}

extension Middleware {
    /// Hands everything back.
    public func interceptBlocking(
        _ request: PreparedRequest, next: any RequestExecutor
    ) throws(RequestError) -> BlockingExecution {
        .suspended { () async throws(RequestError) in try await self.intercept(request, next: next) }
    }
}

/// An executor with a middleware before it.
public struct Intercepted<Base: RequestExecutor, Interceptor: Middleware>: RequestExecutor {
    /// What the middleware calls.
    public let base: Base

    /// The middleware.
    public let middleware: Interceptor

    /// An executor that gives each request to `middleware`, which reaches `base`.
    public init(_ base: Base, by middleware: Interceptor) {
        self.base = base
        self.middleware = middleware
    }

    /// Gives `request` to the middleware.
    public func execute(_ request: PreparedRequest) async throws(RequestError) -> RawResponse {
        try await middleware.intercept(request, next: base)
    }

    /// Gives `request` to the middleware, which does what it can on the calling thread.
    public func executeBlocking(_ request: PreparedRequest) throws(RequestError) -> BlockingExecution {
        try middleware.interceptBlocking(request, next: base)
    }
}

/// A middleware made of a function.
public struct FunctionMiddleware: Middleware {
    /// The shape of the function; what it throws is mapped as `RequestError.wrapping(_:_:)` does.
    public typealias Function = @Sendable (PreparedRequest, any RequestExecutor) async throws -> RawResponse

    private let function: Function

    /// A middleware that is `function`.
    public init(_ function: @escaping Function) {
        self.function = function
    }

    /// Calls the function.
    public func intercept(
        _ request: PreparedRequest, next: any RequestExecutor
    ) async throws(RequestError) -> RawResponse {
        do {
            return try await function(request, next)
        } catch {
            throw RequestError(wrapping: error, as: .other)
        }
    }
}

extension RequestExecutor {
    /// This executor with `middleware` before it; the last added is the first to see a request.
    public func intercepted<M: Middleware>(by middleware: M) -> Intercepted<Self, M> {
        Intercepted(self, by: middleware)
    }

    /// This executor with the middleware that is `function` before it; the last added is the first to see a request.
    public func intercepted(
        _ function: @escaping FunctionMiddleware.Function
    ) -> Intercepted<Self, FunctionMiddleware> {
        Intercepted(self, by: FunctionMiddleware(function))
    }

    /// The same for an executor whose type is not known, such as one chosen at run time.
    @_disfavoredOverload
    public func intercepted(by middleware: some Middleware) -> any RequestExecutor {
        Intercepted(self, by: middleware)
    }

    /// The same for an executor whose type is not known, such as one chosen at run time.
    @_disfavoredOverload
    public func intercepted(_ function: @escaping FunctionMiddleware.Function) -> any RequestExecutor {
        Intercepted(self, by: FunctionMiddleware(function))
    }
}
