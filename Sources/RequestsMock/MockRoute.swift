/// A route of a mock executor: a pattern for requests, and the function that responds to them.
public struct MockRoute: Sendable {
    /// The method of matching requests; nil for any method.
    package let method: HTTPMethod?

    /// The path of matching requests; `{}` in it matches one segment that is not empty.
    package let pattern: String

    private let handler: MockExecutor.Handler

    /// Returns a route for requests to paths that match `pattern`, with the responses of `handler`.
    ///
    /// - Parameters:
    ///   - method: The method of the requests; nil for any method.
    ///   - pattern: The path, in which `{}` matches one segment that is not empty.
    ///   - handler: The function that responds.
    /// - Returns: The route.
    public static func on(
        _ method: HTTPMethod?, _ pattern: String, _ handler: @escaping MockExecutor.Handler
    ) -> MockRoute {
        MockRoute(method: method, pattern: pattern, handler: handler)
    }

    /// Returns a route for requests to paths that match `pattern`, each with the same response.
    ///
    /// - Parameters:
    ///   - method: The method of the requests; nil for any method.
    ///   - pattern: The path, in which `{}` matches one segment that is not empty.
    ///   - response: The response.
    /// - Returns: The route.
    public static func on(
        _ method: HTTPMethod?, _ pattern: String, _ response: MockResponse
    ) -> MockRoute {
        on(method, pattern) { _ in response }
    }

    func response(to request: PreparedRequest) async throws -> MockResponse {
        try await handler(request)
    }

    /// Returns whether the route responds to `request`: by its path template, or by its encoded path, segment by
    /// segment.
    ///
    /// Bytes are compared: canonically equivalent texts are different paths (decision 0023).
    func matches(_ request: PreparedRequest) -> Bool {
        if let method, method != request.method { return false }
        if pattern.utf8.elementsEqual(request.pathTemplate.utf8) { return true }
        let slash = UInt8(ascii: "/")
        let expected = pattern.utf8.split(separator: slash, omittingEmptySubsequences: false)
        let segments = request.target.path.utf8.split(separator: slash, omittingEmptySubsequences: false)
        return expected.elementsEqual(segments) { expected, segment in
            expected.elementsEqual(segment) || expected.elementsEqual("{}".utf8) && !segment.isEmpty
        }
    }
}

extension MockExecutor {
    /// Creates an executor that uses the first of `routes` that matches, or ``MockResponse/unmatched(_:)``.
    public init(routes: [MockRoute]) {
        self.init { request in
            guard let route = routes.first(where: { $0.matches(request) }) else { return .unmatched(request) }
            return try await route.response(to: request)
        }
    }

    /// Creates an executor that uses the first of `routes` that matches, or ``MockResponse/unmatched(_:)``.
    public init(routes first: MockRoute, _ others: MockRoute...) {
        self.init(routes: [first] + others)
    }
}

extension MockResponse {
    /// Returns the response to a request that matches no route.
    ///
    /// It is a 500 that must not be stored, with the field `X-Requests-Mock: unmatched`.
    public static func unmatched(_ request: PreparedRequest) -> MockResponse {
        .status(500, "no mock route matches \(request.method) \(request.target.path)")
            .adding(headerField: Field(name: .cacheControl, value: "no-store"))
            .adding(headerField: Field(name: "X-Requests-Mock", value: "unmatched"))
    }
}
