import Requests
import Synchronization

/// The code of the article about writing middleware.
enum WritingMiddlewareArticle {
    struct Measuring: Middleware {
        let report: @Sendable (HTTPStatus, Duration) -> Void

        func intercept(
            _ request: PreparedRequest, next: any RequestExecutor
        ) async throws(RequestError) -> RawResponse {
            var sent = request
            sent.header["X-Client"] = "shop/2"
            let start = ContinuousClock.now
            var response = try await next.execute(sent)
            if response.status == 503 { response = try await next.execute(sent) }
            report(response.status, ContinuousClock.now - start)
            return response
        }
    }

    static func signing(_ executor: any RequestExecutor, _ token: String) -> any RequestExecutor {
        let signed = executor.intercepting { request, next in
            var request = request
            request.header[.authorization] = "Bearer \(token)"
            return try await next.execute(request)
        }
        return signed
    }

    static func tagging(
        _ executor: any RequestExecutor, _ api: AnonymousRequestProvider
    ) -> (any RequestExecutor, Request<AnonymousRequestProvider, ArticleUser>) {
        typealias User = ArticleUser

        struct Tagging: Middleware {
            let tag: String

            func intercept(
                _ request: PreparedRequest, next: any RequestExecutor
            ) async throws(RequestError) -> RawResponse {
                var request = request
                request.header.add(Field(name: "X-Tag", value: tag))
                return try await next.execute(request)
            }
        }

        let tagged = executor.intercepted(by: Tagging(tag: "a"))
        let request = api.get(.json(User.self), from: "/me")
            .intercepted(by: Tagging(tag: "b"))
        return (tagged, request)
    }

    static func exchange(
        _ executor: any RequestExecutor, _ github: Client<AnonymousRequestProvider>
    ) async throws {
        let request = try github.preparedRequest(for: Users.me)
        let response = try await executor.execute(request)
        print(response.status, response.metrics.transmissions)
    }

    final class Counter: Sendable {
        private let count = Atomic(0)

        var value: Int { count.load(ordering: .relaxed) }

        func increment() { count.add(1, ordering: .relaxed) }
    }

    static func counting(_ executor: any RequestExecutor, _ counter: Counter) -> any RequestExecutor {
        let counting = executor.intercepting { request, next in
            if request.redirectedFrom == nil { counter.increment() }
            return try await next.execute(request)
        }
        return counting
    }

    static func storing(
        _ executor: any RequestExecutor, _ storageHost: String,
        _ sign: @escaping @Sendable (PreparedRequest) -> String
    ) -> any RequestExecutor {
        @Sendable func signature(of request: PreparedRequest) -> String { sign(request) }
        let storing = executor.intercepting { request, next in
            var request = request
            if request.hasLeftOrigin, request.target.host == storageHost {
                request.permitSecrets(.authorization)
                request.header[.authorization] = signature(of: request)
            }
            return try await next.execute(request)
        }
        return storing
    }
}
