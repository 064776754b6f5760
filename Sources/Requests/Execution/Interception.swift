/// Middleware that may suspend at any point, as a function, with the executor behind it.
///
/// A blocking call calls the function directly, because the frame of ``Intercepted/execute(_:)`` has space for all
/// kinds of middleware, which a task can provide only by an allocation (decision 0055).
final class Interception: Sendable {
    let function: FunctionMiddleware.Function
    private let next: any RequestExecutor

    init(_ middleware: some Middleware, before next: any RequestExecutor) {
        if let middleware = middleware as? FunctionMiddleware {
            function = middleware.function
        } else {
            function = { request, next in try await middleware.intercept(request, next: next) }
        }
        self.next = next
    }

    /// Returns the executor that the function receives with `request`.
    func next(for request: PreparedRequest) -> NextExecutor {
        NextExecutor(next, for: request)
    }

    /// Returns the result of `function`.
    static func outcome(
        of function: FunctionMiddleware.Function, _ request: PreparedRequest, _ next: any RequestExecutor
    ) async -> Result<RawResponse, RequestError> {
        do {
            return .success(try await function(request, next))
        } catch {
            return .failure(RequestError(wrapping: error, as: .other))
        }
    }
}

/// An executor with middleware.
protocol InterceptingExecutor {
    /// The middleware, the outermost first.
    var middlewareOfChain: [any Middleware] { get }

    /// The middleware and the executor behind it; nil for staged middleware, which suspends in rare cases only.
    var interception: Interception? { get }
}

extension Intercepted: InterceptingExecutor {
    var middlewareOfChain: [any Middleware] {
        [middleware] + ((base as? any InterceptingExecutor)?.middlewareOfChain ?? [])
    }

    var interception: Interception? { parts.interception }
}
