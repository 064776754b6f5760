@_spi(Lock) import Requests
import TestSupport
import Testing

/// Middleware that creates the requests it passes on, instead of changing a copy of the one it received.
@Suite("Requests that middleware creates", .timeLimit(.minutes(10)))
struct RecreatedRequestTests {
    private let secrets: [Field] = ["Authorization", "cookie", "X-API-Key", "X-Own"].map {
        Field(name: Field.Name($0), value: "secret")
    }

    /// A recording of the requests that an executor receives.
    private final class Recorder: Sendable {
        private let requests = Lock<[PreparedRequest]>([])

        var all: [PreparedRequest] { requests.withLock { $0 } }

        /// An executor that redirects /api to `location`, and responds to all other requests with their header.
        func executor(redirectingTo location: String) -> StubExecutor {
            StubExecutor { request in
                self.requests.withLock { $0.append(request) }
                guard request.target.path == "/api" else { return .stub(200, "end", to: request) }
                return .stub(307, header: [Field(name: .location, value: location)], to: request)
            }
        }
    }

    /// Performs a call to `http://e.com/api` in both ways to call, and returns what the executor received in each.
    private func requests(
        redirectedTo location: String, through middleware: [FunctionMiddleware.Function]
    ) async throws -> [[PreparedRequest]] {
        let described = AnonymousRequestProvider("http://e.com").get(.text, from: "/api").with(
            redirectPolicy: RedirectPolicy(sensitiveFields: ["x-own"]))
        var received: [[PreparedRequest]] = []
        for isBlocking in [false, true] {
            let recorder = Recorder()
            var executor: any RequestExecutor = recorder.executor(redirectingTo: location)
            for function in middleware { executor = executor.intercepting(function) }
            let text = isBlocking ? try await inPlace(described, executor) : try await executor.perform(described)
            #expect(text == "end")
            received.append(recorder.all)
        }
        return received
    }

    private func inPlace(
        _ request: Request<AnonymousRequestProvider, String>, _ executor: any RequestExecutor
    ) async throws -> String {
        func perform() throws -> String { try executor.performAndWait(request) }
        return try await Task { try perform() }.value
    }

    @Test(
        "a request that middleware creates has no new secrets after a redirect to another origin", .rows("R-27", "R-28")
    )
    func created() async throws {
        let adding: FunctionMiddleware.Function = { [secrets] request, next in
            let token = request.target.query == nil ? "token=secret" : "a=1&token=secret"
            let target = try TargetURI("\(request.target.origin)\(request.target.path)?\(token)")
            var created = PreparedRequest(
                method: .post, target: target, header: Header(secrets + [Field(name: "X-Open", value: "open")]))
            created.trailers = PreparedRequest.Trailers([Field(name: "X-API-Key", value: "secret")])
            return try await next.execute(created)
        }
        for received in try await requests(redirectedTo: "http://b.com/next?a=1", through: [adding]) {
            try #require(received.count == 2)
            #expect(received[0].header.count == 5 && received[0].target.query == "token=secret")
            #expect(received[0].trailers != nil && !received[0].hasLeftOrigin)
            #expect(received[1].header == [Field(name: "X-Open", value: "open")])
            #expect(received[1].target.query == "a=1" && received[1].trailers == nil)
            #expect(received[1].hasLeftOrigin && received[1].redirectedFrom?.path == "/api")
        }
        for received in try await requests(redirectedTo: "http://e.com:80/next", through: [adding]) {
            #expect(received.map(\.header.count) == [5, 5])
        }
    }

    @Test("later middleware adds no secrets to a request that earlier middleware created", .rows("R-27", "R-28"))
    func nested() async throws {
        let adding: FunctionMiddleware.Function = { [secrets] request, next in
            var request = request
            for field in secrets { request.header.set(field) }
            return try await next.execute(request)
        }
        let creating: FunctionMiddleware.Function = { request, next in
            try await next.execute(PreparedRequest(target: request.target, header: request.header))
        }
        let orders = [
            [adding, creating], [creating, adding], [adding, creating, adding], [creating, adding, creating],
        ]
        for order in orders {
            for received in try await requests(redirectedTo: "http://b.com/", through: order) {
                #expect(received.map(\.header.count) == [4, 0])
            }
        }
    }

    @Test("a created request keeps the secrets that are permitted, or that the received request has", .rows("R-27"))
    func permitted() async throws {
        let creating: FunctionMiddleware.Function = { [secrets] request, next in
            var request = request
            request.permitSecrets(.cookie)
            request.header.set(secrets[1])
            var created = PreparedRequest(target: request.target, header: request.header)
            created.permitSecrets(.authorization)
            for field in secrets { created.header.set(field) }
            return try await next.execute(created)
        }
        // The received request has no cookie: permitting it on a copy does not concern the created request.
        for received in try await requests(redirectedTo: "http://b.com/", through: [creating]) {
            #expect(received.last?.header == [secrets[0]])
        }
        let first: FunctionMiddleware.Function = { request, next in
            try await next.execute(PreparedRequest(target: request.target, header: request.header))
        }
        let second: FunctionMiddleware.Function = { [secrets] request, next in
            var request = request
            request.permitSecrets(.cookie)
            request.header.set(secrets[1])
            return try await next.execute(request)
        }
        for received in try await requests(redirectedTo: "http://b.com/", through: [first, second]) {
            #expect(received.last?.header == [secrets[1]])
        }
    }

    @Test("a created request to another origin, such as a token server, keeps its secrets", .rows("R-27"))
    func tokenServer() async throws {
        let refreshing: FunctionMiddleware.Function = { [secrets] request, next in
            for url in ["http://tokens.com/t", "http://e.com/t"] {
                _ = try await next.execute(PreparedRequest(target: try TargetURI(url), header: Header(secrets)))
            }
            return try await next.execute(request)
        }
        for received in try await requests(redirectedTo: "http://b.com/", through: [refreshing]) {
            #expect(received.map(\.header.count) == [4, 4, 0, 4, 4, 0])
        }
    }
}
