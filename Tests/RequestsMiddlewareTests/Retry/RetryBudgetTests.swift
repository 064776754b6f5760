import Requests
import RequestsMiddleware
import RequestsMock
import TestSupport
import Testing

@Suite("Retry budgets", .tags(.concurrent))
struct RetryBudgetTests {
    @Test(
        "a server that always fails receives at most ten and a tenth more requests", .rows("R-66"),
        arguments: [100, 1000])
    func bound(calls: Int) async throws {
        let script = ResponseScript(.failure(RequestError(.connectionFailed)))
        let executor = script.executor.retrying(.retryNetworkFailure(with: .retryTwiceWithDelay(.zero)))
        let request = try preparedRequest()
        for _ in 0..<calls {
            #expect(await failure { () async throws(RequestError) in try await executor.execute(request) } != nil)
        }
        #expect(script.count == calls + 10 + calls / 10)
    }

    @Test("tokens come back with requests that succeed, up to the maximum")
    func refill() async throws {
        let script = ResponseScript(
            [.failure(RequestError(.connectionFailed))] + Array(repeating: .json("{}"), count: 1))
        let budget = RetryBudget(initial: 1, ratio: 0.5, maximum: 3)
        let executor = script.executor.retrying(.retryNetworkFailure(with: .retryOnce), budget: budget)
        _ = try await executor.execute(preparedRequest())
        #expect(budget.availableRetries == 0)
        for _ in 0..<3 { _ = try await executor.execute(preparedRequest()) }
        #expect(budget.availableRetries == 2)
        for _ in 0..<9 { _ = try await executor.execute(preparedRequest()) }
        #expect(budget.availableRetries == 3)
    }

    @Test("executors share a budget that they receive, and have their own by default; without a limit, none is counted")
    func sharing() async throws {
        let script = ResponseScript(.failure(RequestError(.connectionFailed)))
        let policy = RetryPolicy.retryNetworkFailure(with: .retryOnce)
        let budget = RetryBudget(initial: 3, ratio: 0)
        for executor in [
            script.executor.retrying(policy, budget: budget), script.executor.retrying(policy, budget: budget),
        ] {
            for _ in 0..<3 {
                _ = await failure { () async throws(RequestError) in try await executor.execute(request) }
            }
        }
        #expect(script.count == 6 + 3 && budget.availableRetries == 0)
        _ = await failure { () async throws(RequestError) in try await script.executor.retrying(policy).execute(request)
        }
        #expect(script.count == 11)
        let unlimited = script.executor.retrying(policy, budget: .unlimited)
        for _ in 0..<50 { _ = await failure { () async throws(RequestError) in try await unlimited.execute(request) } }
        #expect(script.count == 111 && RetryBudget.unlimited.availableRetries == nil)
    }

    private let request: PreparedRequest

    init() throws { request = try preparedRequest() }

    @Test(
        "retries and hedging of one executor share a budget, in both orders, and a request adds to it once",
        .rows("R-66"))
    func sharedByHedging() async throws {
        let clock = ManualClock()
        let policy = RetryPolicy.retryNetworkFailure(with: .retryTwiceWithDelay(.zero))
        let environment = try #require(RequestEnvironment(baseURL: URL("http://e.com")))
        let orders: [@Sendable (any RequestExecutor) -> any RequestExecutor] = [
            { $0.hedging(after: .zero, clock: clock.clock()).retrying(policy) },
            { $0.retrying(policy).hedging(after: .zero, clock: clock.clock()) },
            { $0.hedging(after: .zero, clock: clock.clock()).decodingContent().retrying(policy) },
            {
                $0.withStandardMiddleware(within: environment) {
                    $0.retryPolicy = policy
                    $0.hedgingDelay = .zero
                    $0.clock = clock.clock()
                }
            },
        ]
        for make in orders {
            // Slower than the delay, so that each request would be hedged.
            let script = ResponseScript(.failure(RequestError(.connectionFailed)))
            let slow = script.executor.intercepting { request, next in
                for _ in 0..<3 { await Task.yield() }
                return try await next.execute(request)
            }
            let executor = make(slow)
            for _ in 0..<200 {
                _ = await failure { () async throws(RequestError) in try await executor.execute(request) }
            }
            #expect(script.count > 200 && script.count <= 200 + 10 + 20, "\(script.count)")
        }
    }

    @Test("hedging with a budget of its own is limited to ten and a tenth of the requests", .rows("R-66"))
    func hedgingAlone() async throws {
        let script = ResponseScript(.failure(RequestError(.connectionFailed)))
        let executor = script.executor.intercepting { request, next in
            for _ in 0..<3 { await Task.yield() }
            return try await next.execute(request)
        }.hedging(after: .zero, clock: ManualClock().clock())
        for _ in 0..<200 {
            _ = await failure { () async throws(RequestError) in try await executor.execute(request) }
        }
        #expect(script.count > 200 && script.count <= 200 + 10 + 20, "\(script.count)")
    }

    @Test("extreme numbers are limited")
    func extremes() {
        for (budget, expected) in [
            (RetryBudget(initial: .max, ratio: .infinity, maximum: .max), 1_000_000),
            (RetryBudget(initial: .min, ratio: .nan, maximum: .min), 0), (RetryBudget(initial: 7, maximum: 2), 7),
        ] {
            #expect(budget.availableRetries == expected)
        }
    }

    @Test("tasks that take tokens at the same time take no more than there are")
    func concurrent() async throws {
        let script = ResponseScript(.failure(RequestError(.connectionFailed)))
        let executor = script.executor.retrying(
            .retryNetworkFailure(with: .retryOnce), budget: RetryBudget(initial: 20, ratio: 0))
        await withTaskGroup { group in
            for _ in 0..<200 {
                group.addTask {
                    _ = await failure { () async throws(RequestError) in try await executor.execute(request) }
                }
            }
        }
        #expect(script.count == 220)
    }
}
