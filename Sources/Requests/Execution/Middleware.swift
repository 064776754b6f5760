/// A type that handles requests before an executor.
///
/// It can change requests and responses, respond itself, or send a request again. The middleware of a call runs for
/// each of its requests, including those that follow redirects. After a redirect to another origin,
/// ``PreparedRequest/hasLeftOrigin`` is true, and secrets that middleware adds are discarded unless
/// ``PreparedRequest/permitSecrets(_:)`` permits them:
///
/// ```swift
/// executor.intercepting { request, next in
///     var request = request
///     // Sent only to the origin of the call.
///     request.header[.authorization] = "Bearer \(token)"
///     return try await next.execute(request)
/// }
/// ```
///
/// Middleware that must act only once for each call checks whether ``PreparedRequest/redirectedFrom`` is nil.
public protocol Middleware: Sendable {
    /// Handles `request` and returns the response to it.
    ///
    /// - Parameters:
    ///   - request: The request, as the caller or the previous middleware passed it on.
    ///   - next: The next executor. Call it once, several times, later, from child tasks or not at all.
    /// - Returns: The response for the caller.
    /// - Throws: ``RequestError``, created by the middleware or thrown by `next`.
    func intercept(_ request: PreparedRequest, next: any RequestExecutor) async throws(RequestError) -> RawResponse

    /// Returns the traits of an executor with this middleware, for one with the traits `next`.
    ///
    /// By default, all but ``ExecutorTraits/streamsEncodedBodies`` are passed on, because middleware that uses the body
    /// of a response would not expect a stream.
    func traits(before next: ExecutorTraits) -> ExecutorTraits
}

extension Middleware {
    /// Passes on all traits but ``ExecutorTraits/streamsEncodedBodies``.
    public func traits(before next: ExecutorTraits) -> ExecutorTraits { next.subtracting(.streamsEncodedBodies) }
}

/// An executor whose requests are first handled by middleware.
public struct Intercepted<Base: RequestExecutor, Interceptor: Middleware>: RequestExecutor {
    // One reference, because a blocking call casts the executor, which would copy all executors behind it (decision
    // 0048).
    let parts: Parts

    final class Parts: Sendable {
        let base: Base
        let middleware: Interceptor
        /// The executor as the middleware receives it; created once, because each request needs it.
        let next: any RequestExecutor
        /// The middleware and the executor as a stage; an optional would be copied for each request.
        let stage: Stage
        /// Whether the middleware is staged, so that no function of it suspends for most requests.
        let isStaged: Bool
        /// The middleware as a function for blocking calls; nil if it is staged.
        let interception: Interception?
        /// The traits, determined once, because those of a chain depend on all of its executors.
        let traits: ExecutorTraits

        init(_ base: Base, _ middleware: Interceptor) {
            self.base = base
            self.middleware = middleware
            next = base
            isStaged = middleware is any StagedMiddleware
            stage = Stage(middleware, before: base)
            interception = isStaged ? nil : Interception(middleware, before: base)
            let traits = middleware.traits(before: base.traits)
            self.traits = traits.subtracting(traits.contains(.actsInPlace) ? .actsInPlace : .blocks)
        }
    }

    /// The executor that the middleware calls.
    public var base: Base { parts.base }

    /// The middleware.
    public var middleware: Interceptor { parts.middleware }

    /// Creates an executor that passes each request to `middleware`, whose next executor is `base`.
    public init(_ base: Base, by middleware: Interceptor) {
        parts = Parts(base, middleware)
    }

    /// Passes `request` to the middleware.
    @inline(__always)  // saves a frame: the witness of the protocol is another function
    public func execute(_ request: PreparedRequest) async throws(RequestError) -> RawResponse {
        if parts.isStaged, !request.hasLeftOrigin { return try await parts.stage.execute(request) }
        let next = NextExecutor(parts.next, for: request)
        return next.completing(try await parts.middleware.intercept(request, next: next))
    }

    /// The traits that the middleware makes of those of the executor.
    public var traits: ExecutorTraits { parts.traits }
}

/// Middleware that consists of a function.
public struct FunctionMiddleware: Middleware {
    /// A function that handles a request with the next executor.
    ///
    /// Errors that are not a ``RequestError`` are wrapped as by `RequestError.wrapping(_:_:)`.
    public typealias Function = @Sendable (PreparedRequest, any RequestExecutor) async throws -> RawResponse

    let function: Function

    /// Creates middleware that calls `function`.
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
    /// Returns this executor wrapped in `middleware`; the middleware that was added last receives a request first.
    public func intercepted<M: Middleware>(by middleware: M) -> Intercepted<Self, M> {
        Intercepted(self, by: middleware)
    }

    /// Returns this executor wrapped in middleware that calls `function`; the middleware that was added last receives a
    /// request first.
    public func intercepting(
        _ function: @escaping FunctionMiddleware.Function
    ) -> Intercepted<Self, FunctionMiddleware> {
        Intercepted(self, by: FunctionMiddleware(function))
    }

    /// Returns this executor, whose type is known only at run time, wrapped in `middleware`.
    @_disfavoredOverload
    public func intercepted(by middleware: some Middleware) -> any RequestExecutor {
        Intercepted(self, by: middleware)
    }

    /// Returns this executor, whose type is known only at run time, wrapped in middleware that calls `function`.
    @_disfavoredOverload
    public func intercepting(_ function: @escaping FunctionMiddleware.Function) -> any RequestExecutor {
        Intercepted(self, by: FunctionMiddleware(function))
    }
}

extension Intercepted: CustomStringConvertible, CustomReflectable {
    /// The type of the executor; its middleware can contain secrets.
    public var description: String { "\(Self.self)" }

    /// The mirror that `dump` prints, without the middleware.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
