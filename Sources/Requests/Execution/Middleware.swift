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

    /// Returns the traits that an executor with the traits `next` has with this middleware around it.
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
public final class Intercepted: RequestExecutor {
    /// The executor that the middleware calls.
    package let base: any RequestExecutor

    package let middleware: any Middleware

    /// The traits of the executor, as the middleware changes them.
    public let traits: ExecutorTraits

    /// The base, if it is a chain too.
    ///
    /// It is found only once, because a cast takes longer than most middleware (decision 0066).
    let baseOfChain: Intercepted?

    /// The middleware in the chain that adds credentials.
    ///
    /// It is found only once, because finding it needs casts.
    let credentials: [any AddsCredentials]

    /// Creates an executor that passes each request to `middleware`, whose next executor is `base`.
    package init(_ base: any RequestExecutor, by middleware: any Middleware) {
        self.base = base
        self.middleware = middleware
        traits = middleware.traits(before: base.traits)
        baseOfChain = base as? Intercepted
        let own = middleware as? any AddsCredentials
        credentials = (own.map { [$0] } ?? []) + base.credentialsOfChain
    }

    /// Passes `request` to the middleware.
    public func execute(_ request: PreparedRequest) async throws(RequestError) -> RawResponse {
        let sent = SentRequest(isPartOfCall: request.isPartOfCall)
        defer { sent.end() }
        return try await execute(request.outsideOfCall, recordingIn: sent)
    }

    /// Passes `request` to the middleware, and records the request that is sent.
    func execute(_ request: PreparedRequest, recordingIn sent: SentRequest) async throws(RequestError) -> RawResponse {
        do throws(RequestError) {
            return sent.named(
                try await middleware.intercept(request, next: NextExecutor(in: self, for: request, recordingIn: sent)))
        } catch {
            throw sent.named(error)
        }
    }
}

/// Middleware that consists of a function.
package struct FunctionMiddleware: Middleware {
    /// A function that handles a request with the next executor.
    ///
    /// Errors that are not a ``RequestError`` are wrapped as by `RequestError.wrapping(_:_:)`.
    package typealias Function = @Sendable (PreparedRequest, any RequestExecutor) async throws -> RawResponse

    private let function: Function

    /// Creates middleware that calls `function`.
    package init(_ function: @escaping Function) {
        self.function = function
    }

    /// Calls the function.
    package func intercept(
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
    /// Returns this executor wrapped in `middleware`.
    ///
    /// The middleware that was added last receives a request first.
    public func intercepted(by middleware: any Middleware) -> Intercepted {
        Intercepted(self, by: middleware)
    }

    /// Returns this executor wrapped in middleware that calls `function`.
    ///
    /// The middleware that was added last receives a request first.
    ///
    /// - Parameter function: The function that handles a request with the next executor. Errors that are not a
    ///   ``RequestError`` are wrapped as by `RequestError.wrapping(_:_:)`.
    /// - Returns: The executor with the middleware.
    public func intercepting(
        _ function:
            @escaping @Sendable (_ request: PreparedRequest, _ next: any RequestExecutor) async throws -> RawResponse
    ) -> Intercepted {
        Intercepted(self, by: FunctionMiddleware(function))
    }
}

extension RequestExecutor {
    /// The middleware around the last executor of this chain, outermost first.
    package var middlewareOfChain: [any Middleware] {
        switch self {
        case let intercepted as Intercepted: [intercepted.middleware] + intercepted.base.middlewareOfChain
        case let next as NextExecutor: next.chain.base.middlewareOfChain
        default: []
        }
    }

    /// The executor behind all middleware of this chain.
    package var lastExecutor: any RequestExecutor {
        switch self {
        case let intercepted as Intercepted: intercepted.base.lastExecutor
        case let next as NextExecutor: next.chain.base.lastExecutor
        default: self
        }
    }
}

extension Intercepted: CustomStringConvertible, CustomReflectable {
    /// The type names only, because the last executor and its middleware can contain secrets.
    public var description: String {
        let names = middlewareOfChain.reversed().map { "\(type(of: $0))" }
        return "\(type(of: lastExecutor)) with \(names.joined(separator: ", "))"
    }

    /// The mirror that `dump` prints, without the middleware.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
