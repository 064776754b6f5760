/// One entry of a mock's table: which requests it answers, and how.
public struct MockRoute: Sendable {
    /// The method it answers; nil for any.
    public let method: HTTPMethod?

    /// The path, in which `{}` stands for one segment that is not empty.
    public let pattern: String

    private let handler: MockExecutor.Handler

    /// Requests of `method`, nil for any, to paths of `pattern`, answered by `handler`.
    public static func on(
        _ method: HTTPMethod?, _ pattern: String, _ handler: @escaping MockExecutor.Handler
    ) -> MockRoute {
        MockRoute(method: method, pattern: pattern, handler: handler)
    }

    /// Requests of `method`, nil for any, to paths of `pattern`, each answered with `response`.
    public static func on(
        _ method: HTTPMethod?, _ pattern: String, _ response: MockResponse
    ) -> MockRoute {
        on(method, pattern) { _ in response }
    }

    func answer(_ request: PreparedRequest) async throws -> MockResponse {
        try await handler(request)
    }

    /// Whether the route answers `request`: by its template, or by its path, segment by segment as they are encoded.
    func matches(_ request: PreparedRequest) -> Bool {
        if let method, method != request.method { return false }
        if pattern.hasSameBytes(as: request.template) || pattern.hasSameBytes(as: request.target.path) { return true }
        let wanted = pattern.splitBytes(at: "/", omittingEmptySubsequences: false)
        let segments = request.target.path.splitBytes(at: "/", omittingEmptySubsequences: false)
        guard wanted.count == segments.count else { return false }
        return zip(wanted, segments).allSatisfy { wanted, segment in
            wanted.hasSameBytes(as: segment) || wanted.hasSameBytes(as: "{}") && !segment.isEmpty
        }
    }
}

extension MockExecutor {
    /// An executor that answers by the first of `routes` that matches, and with ``MockResponse/unmatched(_:)`` when none
    /// does.
    public init(routes: [MockRoute]) {
        self.init { request in
            guard let route = routes.first(where: { $0.matches(request) }) else { return .unmatched(request) }
            return try await route.answer(request)
        }
    }

    /// An executor that answers by the first of `routes` that matches, and with ``MockResponse/unmatched(_:)`` when none
    /// does.
    public init(routes: MockRoute...) {
        self.init(routes: routes)
    }
}

extension MockResponse {
    /// What a request gets that no route answers: 500, never cached, marked by the field X-Requests-Mock.
    public static func unmatched(_ request: PreparedRequest) -> MockResponse {
        .status(500, "No mock found for \(request.method) \(request.target.path).")
            .adding(Field(name: .cacheControl, value: "no-store"))
            .adding(Field(name: "X-Requests-Mock", value: "unmatched"))
    }
}
