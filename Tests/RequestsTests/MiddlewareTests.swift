import Requests
import Testing

private struct Tagging: Middleware {
    let tag: String

    static func tagged(_ request: PreparedRequest, _ tag: String) -> PreparedRequest {
        var request = request
        request.header.add(Field(name: "X-Tag", value: tag))
        return request
    }

    func intercept(
        _ request: PreparedRequest, next: any RequestExecutor
    ) async throws(RequestError) -> RawResponse {
        try await next.execute(Self.tagged(request, tag))
    }
}

private struct Refused: Error, Equatable {}
private let described = AnonymousRequestProvider.example.get(.text, from: "/x")

@Suite("Middleware")
struct MiddlewareTests {
    @Test("the middleware added last sees a request first, and the wrapped executor has a type that can be stored")
    func order() async throws {
        let echo = StubExecutor { .stub(200, $0.header.values(of: "X-Tag").joined(separator: " "), to: $0) }
        let executor: Intercepted = echo.intercepted(by: Tagging(tag: "inner")).intercepted(by: Tagging(tag: "outer"))
        #expect("\(executor)" == "StubExecutor with Tagging, Tagging")
        #expect(try await executor.perform(described) == "outer inner")
    }

    @Test("an executor of existential type can be wrapped in middleware")
    func unknownType() async throws {
        let echo = StubExecutor { .stub(200, $0.header.values(of: "X-Tag").joined(separator: " "), to: $0) }
        var executor: any RequestExecutor = echo
        executor = executor.intercepted(by: Tagging(tag: "a"))
        executor = executor.intercepting { request, next in
            try await next.execute(request.header.contains("X-Tag") ? request : Tagging.tagged(request, "b"))
        }
        #expect(try await executor.perform(described) == "b a")
    }

    @Test("middleware may call the next executor several times or not at all, and sees each redirected request")
    func calls() async throws {
        let echo = StubExecutor { request in
            request.target.path == "/api/x"
                ? .stub(302, header: [Field(name: .location, value: "/z")], to: request)
                : .stub(200, request.header["X-Tag"] ?? "", to: request)
        }
        #expect(try await echo.intercepted(by: Tagging(tag: "t")).perform(described) == "t")
        let responding = echo.intercepting { request, _ in .stub(200, "cached", to: request) }
        #expect(try await responding.perform(described) == "cached")
        let twice = StubExecutor(200, "y").intercepting { request, next in
            _ = try await next.execute(request)
            return try await next.execute(request)
        }
        #expect(try await twice.perform(described) == "y")
    }

    @Test("an error thrown by a middleware function becomes a RequestError with the request")
    func errors() async throws {
        func reason(_ thrown: any Error & Sendable) async -> RequestError? {
            let executor = StubExecutor().intercepting { _, _ in throw thrown }
            return await #expect(throws: RequestError.self) { try await executor.perform(described) }
        }
        #expect(await reason(CancellationError())?.isCancellation == true)
        #expect(await reason(RequestError(.hostNotFound))?.reason == .hostNotFound)
        let other = await reason(Refused())
        #expect(other?.reason == .other && other?.underlying as? Refused == Refused())
        #expect(other?.request?.target.path == "/api/x")
    }
}
