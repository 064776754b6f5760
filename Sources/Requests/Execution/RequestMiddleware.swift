private enum OwnMiddleware: RequestAttributes.Key {
    typealias Value = [any Middleware]
}

extension RequestAttributes {
    /// The middleware of one request; the first one receives the request first.
    ///
    /// Each call puts it around its executor, outside the executor's own middleware, so it runs for each request of the
    /// call, including those that follow redirects. ``RequestExecutor/execute(_:)`` is below a call and does not use
    /// it.
    public var middleware: [any Middleware] {
        get { self[OwnMiddleware.self] ?? [] }
        set { self[OwnMiddleware.self] = newValue.isEmpty ? nil : newValue }
    }
}

extension PreparedRequest {
    /// The request's own middleware; ``CallState`` puts it around the executor.
    var middleware: [any Middleware] { hasOwnAttributes ? attributes.middleware : [] }
}

extension Request {
    /// Returns this request with `middleware` added, which runs on every executor.
    ///
    /// The middleware that was added first receives the request first, and the executor's middleware last. See
    /// ``RequestAttributes/middleware``.
    public consuming func intercepted(by middleware: any Middleware) -> Self {
        attributes.middleware.append(middleware)
        return self
    }

    /// Returns this request with additional middleware that calls `function`; see ``intercepted(by:)``.
    public consuming func intercepting(
        _ function:
            @escaping @Sendable (_ request: PreparedRequest, _ next: any RequestExecutor) async throws -> RawResponse
    ) -> Self {
        intercepted(by: FunctionMiddleware(function))
    }
}

extension [any Middleware] {
    /// Returns `executor` wrapped in these middleware, of which the first receives a request first.
    package func around(_ executor: any RequestExecutor) -> any RequestExecutor {
        reversed().reduce(executor) { $0.intercepted(by: $1) }
    }
}
