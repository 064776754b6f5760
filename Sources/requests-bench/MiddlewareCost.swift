import Requests
import RequestsBench
import RequestsMiddleware
import Synchronization

/// A measurement of the cost that idle middleware adds to a request.
struct MiddlewareCost: Sendable {
    let rounds: Int
    let scale: Double

    /// An executor that checks requests, as every executor does, and returns the same response at once.
    fileprivate final class FixedExecutor: RequestExecutor {
        private let response: RawResponse

        init(_ response: RawResponse) {
            self.response = response
        }

        func execute(_ request: PreparedRequest) async throws(RequestError) -> RawResponse {
            try request.validate()
            return response
        }
    }

    /// The measured chain.
    enum Chain: String, CaseIterable, Sendable {
        case bare, passing, retry, fixed, refreshable, whole, signed, signedAnew, observed, counted, measured, traced
        case cookies, limited, cached, intercepted, transformed, coalesced, budgeted, quiet, standing

        /// Returns `executor` with the middleware.
        fileprivate func added(to executor: FixedExecutor) throws -> any RequestExecutor {
            guard let environment = RequestEnvironment(string: "https://api.example.com/") else {
                throw BenchmarkError("the environment is invalid")
            }
            let fixed = FixedCredentials.bearerToken("benchmark")
            switch self {
            case .bare: return executor
            case .passing: return executor.intercepting { request, next in try await next.execute(request) }
            case .retry: return executor.retrying()
            case .fixed: return executor.authenticating(with: fixed, within: environment)
            case .refreshable:
                let credentials = RefreshableAuthenticator(bearerToken: "benchmark") { $0 }
                return executor.authenticating(with: credentials, within: environment)
            case .whole: return executor.decodingContent().retrying().authenticating(with: fixed, within: environment)
            case .observed: return Self.observing(executor)
            case .cookies: return executor.keepingCookies(in: CookieStore())
            case .limited: return Self.limiting(executor)
            case .cached: return executor.caching()
            case .intercepted: return executor.intercepted(by: RequestInterceptors())
            case .transformed:
                return executor.intercepted(
                    by: RequestInterceptors().onRequest { $0 }.onResponse { response, _ in response })
            case .coalesced: return executor.coalescing()
            case .budgeted: return executor.collecting(within: .shared)
            case .quiet: return Self.observing(Self.limiting(executor).keepingCookies(in: CookieStore()))
            case .standing: return Self.all(around: executor)
            case .counted: return executor.observing(.calls, by: ActivityCounter())
            case .measured: return executor.observing(.attempts, by: RequestMetrics { _ in })
            case .traced:
                let tracing = RequestTracing { _ in }
                return executor.observing(.attempts, by: tracing).observing(.calls, by: tracing)
            case .signed, .signedAnew:
                var signature = AWSSignature(
                    credentials: .init(accessKeyID: "AKID", secretAccessKey: "benchmark"), region: "r",
                    service: "dynamodb")
                if self == .signedAnew {
                    // Every request has another date, because a key is derived once for each day.
                    let day = Atomic(0)
                    signature.now = {
                        Date(timeIntervalSince1970: Double(day.add(1, ordering: .relaxed).newValue % 9_999) * 86_400)
                    }
                }
                return executor.signing(with: .aws(signature), within: environment)
            }
        }

        /// Adds every kind of observer in both seats; none has anything to do.
        private static func observing(_ executor: some RequestExecutor) -> any RequestExecutor {
            let logging = RequestLogging(requests: .nothing, responses: .nothing) { _ in }
            return executor.observing(.attempts, by: Observing.Reports(), logging)
                .observing(.calls, by: Observing.Reports(), logging)
        }

        /// Adds all middleware for cookies, caches, observation and protection, in the recommended order.
        private static func all(around executor: FixedExecutor) -> any RequestExecutor {
            let logging = RequestLogging(requests: .nothing, responses: .nothing) { _ in }
            return executor.observing(.attempts, by: Observing.Reports(), logging)
                .collecting(within: .shared)
                .coalescing()
                .keepingCookies(in: CookieStore())
                .limitingConcurrency(to: 64, perOrigin: 8)
                .limitingRate(to: 1_000_000_000, per: .seconds(1))
                .breakingCircuit()
                .caching()
                .intercepted(by: RequestInterceptors())
                .observing(.calls, by: Observing.Reports(), logging, ActivityCounter())
        }

        /// Adds limits that no request reaches.
        private static func limiting(_ executor: FixedExecutor) -> some RequestExecutor {
            executor.limitingConcurrency(to: 64, perOrigin: 8).limitingRate(to: 1_000_000_000, per: .seconds(1))
                .breakingCircuit()
        }
    }

    private static func bare() throws -> (FixedExecutor, PreparedRequest) {
        let request = try PreparedRequest(url: URL("https://api.example.com/v1"))
        let response = RawResponse(
            head: ResponseHead(status: 200, header: [.cacheControl(.noStore)], target: request.target),
            body: .bytes(Data()))
        return (FixedExecutor(response), request)
    }

    /// Performs `count` requests, for a counter of allocations or instructions.
    @concurrent
    static func perform(_ count: Int, through chain: Chain, isBlocking: Bool) async throws {
        let (bare, request) = try bare()
        let executor = try chain.added(to: bare)
        if isBlocking {
            _ = try blockingMicroseconds(of: executor, request, count)
        } else {
            _ = try await microseconds(of: executor, request, count)
        }
    }

    @concurrent
    func figures() async throws -> [Figure] {
        let (bare, request) = try Self.bare()
        var (async, blocking): ([Chain: [Double]], [Chain: [Double]]) = ([:], [:])
        let added = try Chain.allCases.map { ($0, try $0.added(to: bare)) }
        for _ in 0..<rounds {
            let without = try await Self.microseconds(of: bare, request, count)
            let withoutBlocking = try Self.blockingMicroseconds(of: bare, request, count)
            for (chain, executor) in added where chain != .bare {
                let count = chain == .signed || chain == .signedAnew ? max(1, count / 20) : count
                async[chain, default: []].append(
                    try await Self.microseconds(of: executor, request, count) - without)
                blocking[chain, default: []].append(
                    try Self.blockingMicroseconds(of: executor, request, count) - withoutBlocking)
            }
        }
        func figures(_ name: String, _ chain: Chain, _ goal: String?, _ blockingGoal: String?) -> [Figure] {
            [
                .of("\(name), async", "µs", async[chain] ?? [], goal: goal),
                .of("\(name), blocking", "µs", blocking[chain] ?? [], goal: blockingGoal),
            ]
        }
        return figures("middleware that passes requests on adds", .passing, nil, nil)
            + figures("retrying() without a failure adds", .retry, nil, nil)
            + figures("a fixed token adds", .fixed, nil, nil)
            + figures("a refreshable token adds", .refreshable, nil, nil)
            + figures("retry, credentials and coding, idle, add", .whole, nil, nil)
            + figures("observers in both seats, idle, add", .observed, nil, nil)
            + figures("counting activity adds", .counted, nil, nil)
            + figures("metrics of OpenTelemetry add", .measured, nil, nil)
            + figures("a span of the call and one of its attempt add", .traced, nil, nil)
            + figures("cookies of an empty store add", .cookies, nil, nil)
            + figures("limits of rate, concurrency and failures add", .limited, nil, nil)
            + figures("a cache that may not store the response adds", .cached, nil, nil)
            + figures("interceptors without a function add", .intercepted, nil, nil)
            + figures("functions that pass requests and responses on add", .transformed, nil, nil)
            + figures("sending identical requests once adds", .coalesced, nil, nil)
            + figures("a budget for memory adds", .budgeted, nil, nil)
            + figures("cookies, limits and observers, idle, add", .quiet, nil, nil)
            + figures("the cache and all other middleware, idle, add", .standing, "≤ 4 µs", "≤ 8 µs")
            + figures("an AWS signature adds", .signed, nil, nil)
            + figures("an AWS signature with a new key adds", .signedAnew, nil, nil)
    }

    private var count: Int { max(1, Int(100_000 * scale)) }

    // Not inlined, so that the optimizer keeps the measured loop apart from its caller.
    @inline(never)
    private static func microseconds(
        of executor: any RequestExecutor, _ request: PreparedRequest, _ count: Int
    ) async throws -> Double {
        let start = ContinuousClock.now
        for _ in 0..<count {
            // A separate value for each call, as in a program that prepares each request.
            var own = request
            own.deadline = nil
            _ = try await executor.execute(own)
        }
        return (ContinuousClock.now - start) / .microseconds(1) / Double(count)
    }

    // Not inlined, so that the optimizer keeps the measured loop apart from its caller.
    @inline(never)
    private static func blockingMicroseconds(
        of executor: any RequestExecutor, _ request: PreparedRequest, _ count: Int
    ) throws -> Double {
        let client = Client(AnonymousRequestProvider(baseURL: request.url), executor: executor)
        let typedRequest = client.api.get(.data, from: "")
        let start = ContinuousClock.now
        for _ in 0..<count { _ = try client.performAndWait { _ in typedRequest } }
        return (ContinuousClock.now - start) / .microseconds(1) / Double(count)
    }
}
