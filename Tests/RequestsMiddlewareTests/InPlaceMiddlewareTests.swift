@_spi(Lock) import Requests
import RequestsMiddleware
import RequestsMock
import TestCorpora
import TestSupport
import Testing

/// An executor that suspends before its exchanges, or does not.
private struct SuspendingExecutor: RequestExecutor {
    let base: any RequestExecutor
    let suspends: Bool

    func execute(_ request: PreparedRequest) async throws(RequestError) -> RawResponse {
        if suspends { await Task.yield() }
        return try await base.execute(request)
    }
}

/// The calls of interceptors, in their order.
private final class CallLog: Sendable {
    let lines = Lock<[String]>([])
}

@Suite("Middleware in a blocking call", .tags(.concurrent), .timeLimit(.minutes(10)))
struct InPlaceMiddlewareTests {
    private static let environment = RequestEnvironment(string: "http://e.com/")

    /// Performs a blocking call outside of all tasks.
    private func performOnThread(
        _ executor: any RequestExecutor, _ request: PreparedRequest? = nil
    ) async throws -> HTTPStatus {
        let request = try request ?? preparedRequest()
        return try await onThread { try executor.executeAndWait(request).head.status }
    }

    /// Middleware that the bits of `number` select.
    private static func staged(_ base: some RequestExecutor, _ number: Int) -> any RequestExecutor {
        var executor: any RequestExecutor = base
        if number & 1 != 0 {
            executor = executor.observing(.attempts, by: Observing.Reports { _ in }, RequestTracing { _ in })
        }
        if number & 2 != 0 { executor = executor.collecting(within: MemoryBudget(1 << 20)) }
        if number & 4 != 0 { executor = executor.coalescing() }
        if number & 8 != 0 { executor = executor.keepingCookies(in: CookieStore()) }
        if number & 16 != 0 { executor = executor.limitingConcurrency(to: 1) }
        if number & 32 != 0 { executor = executor.limitingRate(to: 1_000_000, per: .seconds(1)) }
        if number & 64 != 0 { executor = executor.breakingCircuit(.init(failures: 1_000)) }
        if number & 128 != 0 {
            executor = executor.intercepted(by: Caching(now: { Date(timeIntervalSince1970: 1_800_000_000) }))
        }
        if number & 256 != 0 { executor = executor.intercepted(by: RequestInterceptors()) }
        if number & 512 != 0 { executor = executor.observing(.calls, by: ActivityCounter(), RequestTracing { _ in }) }
        return executor
    }

    /// A response of the server in ``equivalence(number:)``: its status, fields and body depend on the number.
    private static func response(_ number: Int) -> MockResponse {
        let status: HTTPStatus = [200, 200, 404, 503, 304, 200][number % 6]
        let response = MockResponse.status(status, status == 304 ? "" : "\(number)")
        let control = ["max-age=60", "no-store", "max-age=0"][number % 3]
        return response.adding(headerField: Field(name: .cacheControl, value: control))
            .adding(headerField: Field(name: .setCookie, value: "n=\(number)"))
            .adding(headerField: Field(name: .etag, value: "\"\(number / 6)\""))
    }

    /// Returns what a caller sees of the responses to 40 requests, and what the server sees of the requests.
    private static func outcome(
        of chain: Int, suspends: Bool, _ perform: (any RequestExecutor, PreparedRequest) async throws -> RawResponse
    ) async throws -> [String] {
        let lines = Lock<[String]>([])
        let count = Lock(0)
        let mock = MockExecutor { request in
            let number = count.withLock { count in
                count += 1
                return count
            }
            lines.withLock { $0.append("\(request.method) \(request.header.map(\.name.rawValue).sorted())") }
            if number % 11 == 0 { throw RequestError(.connectionLost) }
            return Self.response(number)
        }
        let executor = Self.staged(SuspendingExecutor(base: mock, suspends: suspends), chain)
        for number in 0..<40 {
            var request = try preparedRequest()
            request.target = try TargetURI("http://e.com/\(number % 3)")
            if number % 7 == 6 { request.method = .post }
            if number % 5 == 4 { request.delivery = .streamed }
            let line: String
            do {
                var response = try await perform(executor, request)
                let status = response.metrics.cacheStatus.map { "\($0)" } ?? "-"
                if case .stream(let stream) = response.body { response.body = .bytes(try await stream.collect()) }
                line = "\(response.status.code) \(response.text ?? "-") \(status)"
            } catch {
                line = "\((error as? RequestError)?.reason.description ?? "other")"
            }
            lines.withLock { $0.append(line) }
        }
        return lines.withLock(\.self)
    }

    @Test("a chain responds in a blocking call as in a task, also if the exchange suspends", arguments: 0..<64)
    func equivalence(number: Int) async throws {
        // Each middleware alone, and chains of several.
        let chain = number < 10 ? 1 << number : (number &* 0x9E37) & 1023
        let inTask = try await Self.outcome(of: chain, suspends: false) { try await $0.execute($1) }
        for suspends in [false, true] {
            let blocking = try await Self.outcome(of: chain, suspends: suspends) { executor, request in
                try await onThread { try executor.executeAndWait(request) }
            }
            #expect(blocking == inTask)
        }
    }

    @Test("a permit is returned, and a request is no longer shared, when an exchange ends in any way", arguments: 0..<8)
    func returned(number: Int) async throws {
        let (suspends, fails, isStreamed) = (number & 1 != 0, number & 2 != 0, number & 4 != 0)
        let mock = MockExecutor { _ in
            if fails { throw RequestError(.connectionLost) }
            return .ok("body")
        }
        let activity = ActivityCounter()
        let executor = SuspendingExecutor(base: mock, suspends: suspends).coalescing().limitingConcurrency(to: 1)
            .caching().observing(.calls, by: activity)
        var request = try preparedRequest()
        if isStreamed { request.delivery = .streamed }
        // A call that waits for itself ends at its deadline.
        request.deadline = .now + .seconds(60)
        for _ in 0..<3 {
            do {
                #expect(try await performOnThread(executor, request) == 200 && !fails)
            } catch {
                #expect(fails && (error as? RequestError)?.reason == .connectionLost)
            }
        }
        #expect(activity.count == 0)
    }

    /// Returns random interceptors that log their calls; with `suspends`, each suspends.
    private static func randomInterceptors(_ seed: Int, suspends: Bool, _ log: CallLog) -> RequestInterceptors {
        var random = SplitMix64(state: UInt64(seed))
        var result = RequestInterceptors()
        for number in 0..<Int.random(in: 1...6, using: &random) {
            let kind = Int.random(in: 0..<3, using: &random)
            // A third throws an error, and a third of the functions for errors returns a response.
            let choice = Int.random(in: 0..<3, using: &random)
            let request: @Sendable (PreparedRequest) throws -> PreparedRequest = { request in
                log.lines.withLock { $0.append("request \(number)") }
                if choice == 0 { throw CancellationError() }
                var request = request
                request.header.add(Field(name: "X-N", value: "\(number)"))
                return request
            }
            let response: @Sendable (RawResponse, PreparedRequest) throws -> RawResponse = { response, request in
                log.lines.withLock { $0.append("response \(number) \(request.header.values(of: "X-N"))") }
                if choice == 0 { throw RequestError(.tooLarge(limit: number)) }
                var response = response
                response.header.add(Field(name: "X-N", value: "\(number)"))
                return response
            }
            let error: @Sendable (RequestError, PreparedRequest) throws -> RawResponse = { error, request in
                log.lines.withLock { $0.append("error \(number) \(error.reason) \(error.mayHaveReachedServer)") }
                guard choice == 0 else { throw RequestError(.tooLarge(limit: number)) }
                return RawResponse(head: ResponseHead(status: 299, target: request.target), body: .bytes(Data()))
            }
            switch (kind, suspends) {
            case (0, false): result = result.onRequest(request)
            case (1, false): result = result.onResponse(response)
            case (_, false): result = result.onError(error)
            case (0, true):
                result = result.onRequest {
                    await Task.yield()
                    return try request($0)
                }
            case (1, true):
                result = result.onResponse {
                    await Task.yield()
                    return try response($0, $1)
                }
            case (_, true):
                result = result.onError {
                    await Task.yield()
                    return try error($0, $1)
                }
            }
        }
        return result
    }

    @Test(
        "interceptors that suspend have the results of synchronous ones, in a task and in a blocking call",
        arguments: 0..<100)
    func interceptors(seed: Int) async throws {
        var outcomes: [[String]] = []
        for (suspends, isBlocking) in [(true, false), (true, true), (false, false), (false, true)] {
            let log = CallLog()
            let mock = MockExecutor { _ in
                if seed % 4 == 0 { throw RequestError(.connectionLost) }
                return .ok("body")
            }
            let executor = mock.intercepted(by: Self.randomInterceptors(seed, suspends: suspends, log))
            let request = try preparedRequest()
            let outcome: String
            do {
                let status =
                    try await isBlocking ? performOnThread(executor, request) : executor.execute(request).status
                outcome = "\(status)"
            } catch {
                outcome = "\((error as? RequestError)?.reason.description ?? "other")"
            }
            outcomes.append(log.lines.withLock(\.self) + [outcome])
        }
        #expect(outcomes.allSatisfy { $0 == outcomes[0] })
    }

    @Test("the attempts of a blocking call are counted together")
    func attempts() async throws {
        let counts = Lock<[Int]>([])
        let calls = Lock(0)
        let mock = MockExecutor { _ in
            let number = calls.withLock { count in
                count += 1
                return count
            }
            return .status(number < 3 ? 503 : 200)
        }
        let executor =
            mock
            .observing(.attempts, by: Observing.Reports { report in counts.withLock { $0.append(report.resendCount) } })
            .retrying(.retryStatuses([503], with: .retryTwiceWithDelay(.zero)), clock: ManualClock().clock())
            .observing(.calls, by: ActivityCounter())
        #expect(try await performOnThread(executor) == 200)
        #expect(counts.withLock(\.self) == [0, 1, 2])
    }

    @Test("a streamed response is released before its request is sent again behind a limit of one request")
    func released() async throws {
        let body = [MockResponse.BodyEvent.chunks(count: 1_000) { _ in Data(count: 1_000) }]
        let count = Lock(0)
        let mock = MockExecutor { request in
            let isFirst = count.withLock { count in
                count += 1
                return count == 1
            }
            if isFirst { return MockResponse(status: 503, body: body) }
            return request.header[.authorization] == "Bearer new" ? .ok("body") : MockResponse(status: 401, body: body)
        }
        let environment = try #require(Self.environment)
        let credentials = RefreshableAuthenticator(bearerToken: "old") { _ in "new" }
        let clock = Retrying.Clock(sleep: { _ in })
        let executor = mock.limitingConcurrency(to: 1).retrying(.retryStatuses([503], with: .retryOnce), clock: clock)
            .authenticating(with: credentials, within: environment)
        var request = try preparedRequest()
        request.delivery = .streamed
        // A call that waits for itself ends at its deadline.
        request.deadline = .now + .seconds(60)
        #expect(try await performOnThread(executor, request) == 200)
    }

    @Test("an error of a blocking call has the request with its credentials")
    func failedRequest() async throws {
        struct Failing: RequestExecutor {
            func execute(_ request: PreparedRequest) async throws(RequestError) -> RawResponse {
                throw RequestError(.connectionFailed, request: request).permanent()
            }
        }
        let environment = try #require(Self.environment)
        let executor = Failing().decodingContent().retrying().authenticating(
            with: FixedCredentials.bearerToken("t"), within: environment)
        let error = await #expect(throws: RequestError.self) { try await performOnThread(executor) }
        #expect(error?.request?.header[.authorization] == "Bearer t")
    }
}
