@_spi(Lock) import Requests
import RequestsMiddleware
import RequestsMock
import RequestsSocket
import RequestsTestServer
import TestSupport
import Testing

@Suite("Rate limits", .tags(.concurrent), .serialized, .timeLimit(.minutes(10)))
struct RateLimitTests {
    private static func request(
        _ url: String = "https://example.com/", deadline: ContinuousClock.Instant? = nil
    ) throws -> PreparedRequest {
        var request = PreparedRequest(target: try TargetURI(url))
        request.deadline = deadline
        return request
    }

    @Test("each origin receives a burst of requests at once, and then one in each interval")
    func rate() async throws {
        let clock = ManualClock()
        let mock = MockExecutor { _ in .ok("") }
        let executor = mock.limitingRate(to: 10, per: .seconds(1), burst: 3, clock: clock.clock())
        for _ in 0..<5 { _ = try await executor.execute(Self.request()) }
        #expect(clock.sleeps == [.milliseconds(100), .milliseconds(100)])
        for _ in 0..<3 { _ = try await executor.execute(Self.request("https://other.example.com/")) }
        #expect(clock.sleeps.count == 2 && mock.recordedCount == 8)
    }

    @Test("requests that begin at the same time are sent one interval apart")
    func simultaneous() async throws {
        let start = ContinuousClock.now
        let delays = Lock<[Duration]>([])
        let executor = MockExecutor { _ in .ok("") }.limitingRate(
            to: 1, per: .seconds(2),
            clock: Retrying.Clock(now: { start }, sleep: { delay in delays.withLock { $0.append(delay) } }))
        for _ in 0..<4 { _ = try await executor.execute(Self.request()) }
        #expect(delays.withLock { $0 } == [.seconds(2), .seconds(4), .seconds(6)])
    }

    @Test("a test server whose executor refuses a request because of a limit responds with 429 or 503 and Retry-After")
    func served() async throws {
        let clock = ManualClock()
        let rows: [(error: ProtectionError, status: HTTPStatus, delay: String?)] = [
            (.rateLimited(.milliseconds(1_001)), 429, "2"), (.circuitOpen(.seconds(7)), 503, "7"),
            (.circuitOpen(.zero), 503, "1"), (.memoryExhausted(budget: 1), 503, nil),
            (.rateLimited(.seconds(Int64.max)), 429, "9223372036854775807"),
        ]
        let mock = MockExecutor { request in
            guard let number = Int(request.target.path.dropFirst()) else { return .ok() }
            throw RequestError(.other, underlying: rows[number].error)
        }
        try await withTestServer(serving: mock.limitingRate(to: 6, per: .seconds(60), clock: clock.clock())) { server in
            let client = Client(AnonymousRequestProvider(baseURL: server.baseURL), executor: SocketExecutor())
            for (number, row) in rows.enumerated() {
                let error = await failure { () async throws(RequestError) in
                    try await client.perform { $0.get(.text, from: "/\(number)") }
                }
                #expect(error?.status == row.status && error?.response?.header[.retryAfter] == row.delay, "\(row)")
            }
            _ = try await client.perform { $0.get(.text, from: "/free") }
        }
        // Its own limit, too.
        let limited = mock.limitingRate(to: 1, per: .seconds(60), maximumDelay: .zero, clock: clock.clock())
        try await withTestServer(serving: limited) { server in
            let client = Client(AnonymousRequestProvider(baseURL: server.baseURL), executor: SocketExecutor())
            _ = try await client.perform { $0.get(.text, from: "/free") }
            let error = await failure { () async throws(RequestError) in
                try await client.perform { $0.get(.text, from: "/free") }
            }
            #expect(error?.status == 429 && error?.response?.header[.retryAfter] == "60")
        }
    }

    @Test("a cancelled wait gives its token back")
    func cancelledWait() async throws {
        let start = ContinuousClock.now
        let delays = Lock<[Duration]>([])
        let mock = MockExecutor { _ in .ok("") }
        let limit = RateLimit(
            1, per: .seconds(2),
            clock: Retrying.Clock(
                now: { start },
                sleep: { delay in
                    let count = delays.withLock { delays in
                        delays.append(delay)
                        return delays.count
                    }
                    if count < 3 { throw CancellationError() }
                }))
        let executor = mock.intercepted(by: limit)
        _ = try await executor.execute(Self.request())
        for _ in 0..<2 {
            let error = await #expect(throws: RequestError.self) { try await executor.execute(Self.request()) }
            #expect(error?.reason == .cancelled && error?.mayHaveReachedServer == false)
        }
        for _ in 0..<2 { _ = try await executor.execute(Self.request()) }
        #expect(delays.withLock { $0 } == [.seconds(2), .seconds(2), .seconds(2), .seconds(4)])
        #expect(mock.recordedCount == 3)
    }

    @Test("a request that would wait too long, or beyond its deadline, fails at once and takes no token")
    func bounds() async throws {
        let clock = ManualClock()
        let mock = MockExecutor { _ in .ok("") }
        let executor = mock.limitingRate(
            to: 1, per: .seconds(10), maximumDelay: .seconds(5), clock: clock.clock())
        _ = try await executor.execute(Self.request())
        for _ in 0..<3 {
            let error = await #expect(throws: RequestError.self) { try await executor.execute(Self.request()) }
            #expect(error?.underlying as? ProtectionError == .rateLimited(.seconds(10)))
            #expect(error?.mayHaveReachedServer == false)
        }
        #expect(clock.sleeps.isEmpty && mock.recordedCount == 1)
        let patient = mock.limitingRate(to: 1, per: .seconds(10), clock: clock.clock())
        let hasty = try Self.request(deadline: clock.start + .seconds(9))
        _ = try await patient.execute(hasty)
        await #expect(throws: RequestError.self) { try await patient.execute(hasty) }
        _ = try await patient.execute(Self.request(deadline: clock.start + .seconds(11)))
        #expect(clock.sleeps == [.seconds(10)])
    }

    @Test(
        "a server that requests a pause in Retry-After or RateLimit receives no request until the pause has ended",
        arguments: [
            (429, ["Retry-After": "30"], 30), (503, ["Retry-After": "30"], 30), (200, ["Retry-After": "30"], 0),
            (200, ["RateLimit": "\"default\";r=0;t=30"], 30), (200, ["RateLimit": "\"default\";r=1;t=30"], 0),
            (200, ["RateLimit": "\"a\";r=5;t=3, \"b\";r=0;t=20"], 20),
            (200, ["RateLimit": "limit=9, remaining=0, reset=30"], 30),
            (200, ["RateLimit-Remaining": "0", "RateLimit-Reset": "30"], 30),
            (200, ["RateLimit-Remaining": "1", "RateLimit-Reset": "30"], 0),
            (200, ["X-RateLimit-Limit": "60", "X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "30"], 30),
            (429, ["X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "30"], 30),
            (
                200, ["X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "30", "X-RateLimit-Resource": "search"], 0
            ),
            (
                403, ["X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "30", "X-RateLimit-Resource": "core"], 30
            ),
            (403, ["X-RateLimit-Remaining": "1", "X-RateLimit-Reset": "30"], 0),
            (200, ["x-rate-limit-limit": "900", "x-rate-limit-remaining": "0", "x-rate-limit-reset": "30"], 30),
            (200, ["X-RateLimit-Remaining": "0", "X-Rate-Limit-Reset": "30"], 0),
            (200, ["X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "-1"], 0),
            (200, ["X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "2018-03-13T00:00:00Z"], 0),
            (200, ["RateLimit": "r=0"], 0), (200, ["RateLimit": "r=0;t=-1"], 0), (200, ["RateLimit": ";;=;r=;t=0"], 0),
            (429, ["Retry-After": "99999999999999999999"], 3_600),
            (200, ["RateLimit": "x;r=0;t=\(String(repeating: "9", count: 400))"], 3_600),
            (429, ["Retry-After": "soon"], 0),
        ] as [(Int, [String: String], Int)])
    func pauses(status: Int, fields: [String: String], seconds: Int) async throws {
        let clock = ManualClock()
        let mock = MockExecutor { request in
            guard request.target.path == "/first" else { return .ok("") }
            var response = MockResponse.status(HTTPStatus(status), "")
            for (name, value) in fields { response.header.add(Field(name: Field.Name(name), value: value)) }
            return response
        }
        let executor = mock.limitingRate(
            to: 1_000, per: .seconds(1), burst: 10, maximumDelay: .seconds(7_200), clock: clock.clock())
        _ = try await executor.execute(Self.request("https://example.com/first"))
        _ = try await executor.execute(Self.request())
        #expect(clock.sleeps.reduce(.zero, +) == .seconds(seconds))
        // Other origins are not concerned.
        _ = try await executor.execute(Self.request("https://other.example.com/"))
        #expect(clock.sleeps.count <= 1)
    }

    @Test(
        "the reset of a rate limit can be a Unix time in seconds or milliseconds", arguments: ["", "X-"],
        [
            ("2000000045", 45), ("1999999999", 0), ("9999999999", 3_600), ("2000000045000", 45), ("1999999999000", 0),
            ("999999999", 3_600), ("99999999999", 3_600), ("9223372036854775808", 3_600),
            (String(repeating: "9", count: 400), 3_600),
        ])
    func unixTime(prefix: String, reset: (String, Int)) async throws {
        let clock = ManualClock(date: Date(timeIntervalSince1970: 2_000_000_000))
        let mock = MockExecutor { _ in
            MockResponse(header: [
                Field(name: Field.Name("\(prefix)RateLimit-Remaining"), value: "0"),
                Field(name: Field.Name("\(prefix)RateLimit-Reset"), value: reset.0),
            ])
        }
        let executor = mock.limitingRate(
            to: 1_000, per: .seconds(1), burst: 10, maximumDelay: .seconds(7_200), clock: clock.clock())
        for _ in 0..<2 { _ = try await executor.execute(Self.request()) }
        #expect(clock.sleeps.reduce(.zero, +) == .seconds(reset.1))
    }

    @Test(
        "the numbers of a rate limit can have fractions; signs and other text make its field invalid",
        arguments: [
            ("0", "0.5", .milliseconds(500)), ("0.0", "30.25", .milliseconds(30_250)), ("0.9", "3", .seconds(3)),
            ("1.0", "3", .zero), ("0", "2000000045.5", .milliseconds(45_500)), ("0", "99999999999999", .seconds(3_600)),
            ("0", "NaN", .zero), ("0", "inf", .zero), ("0", "1e400", .zero), ("0", "-5", .zero), ("0", "0x1F", .zero),
            ("0", "1.2.3", .zero), ("0", ".", .zero), ("0", "", .zero), ("", "3", .zero), ("-5", "3", .zero),
            ("NaN", "3", .zero), ("0", "3\u{301}", .zero), ("0", "٣", .zero),
        ] as [(String, String, Duration)])
    func numbers(remaining: String, reset: String, pause: Duration) async throws {
        let seconds = reset.hasPrefix("2000000045") ? "45.5" : reset
        for fields: Header in [
            ["X-RateLimit-Remaining": remaining, "X-RateLimit-Reset": reset],
            ["RateLimit": "default;r=\(remaining);t=\(seconds)"],
        ] {
            let clock = ManualClock(date: Date(timeIntervalSince1970: 2_000_000_000))
            let executor = MockExecutor { _ in MockResponse(header: fields) }.limitingRate(
                to: 1_000, per: .seconds(1), burst: 10, maximumDelay: .seconds(7_200), clock: clock.clock())
            for _ in 0..<2 { _ = try await executor.execute(Self.request()) }
            #expect(clock.sleeps.reduce(.zero, +) == pause, "\(fields)")
        }
    }

    @Test(
        "a Unix time or a date in a response is compared with its Date, so the clock of this machine may be wrong",
        arguments: [0, 1_999_999_000, 2_000_000_000, 2_000_009_999, 4e17, -4e17, .infinity, -.infinity, .nan])
    func serverTime(local: Double) async throws {
        let date = HTTPDate(Date(timeIntervalSince1970: 2_000_000_000)).description
        let reset = HTTPDate(Date(timeIntervalSince1970: 2_000_000_030)).description
        for (status, fields, pause) in [
            (200, ["X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "2000000030"], 30),
            (429, ["Retry-After": reset], 30),
            // The response was stored by a cache for 20 s.
            (429, ["Retry-After": reset, "Age": "20"], 10),
            (200, ["X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "2000000030", "Age": "40"], 0),
        ] as [(Int, Header, Int)] {
            let clock = ManualClock(date: Date(timeIntervalSince1970: local))
            var response = MockResponse(status: HTTPStatus(status), header: fields)
            response.header["Date"] = date
            let executor = MockExecutor(response).limitingRate(
                to: 1_000, per: .seconds(1), burst: 10, maximumDelay: .seconds(7_200), clock: clock.clock())
            for _ in 0..<2 { _ = try await executor.execute(Self.request()) }
            #expect(clock.sleeps.reduce(.zero, +) == .seconds(pause), "\(fields)")
        }
        // Without Date, the clock is used; every value of it leads to a pause within the bounds.
        let clock = ManualClock(date: Date(timeIntervalSince1970: local))
        let executor = MockExecutor { _ in
            MockResponse(header: ["X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "2000000030"])
        }.limitingRate(to: 1_000, per: .seconds(1), maximumDelay: .seconds(7_200), clock: clock.clock())
        for _ in 0..<2 { _ = try await executor.execute(Self.request()) }
        #expect((.zero ... .seconds(3_600)).contains(clock.sleeps.reduce(.zero, +)))
    }

    @Test("every extreme rate, interval and burst is accepted, and requests succeed")
    func extremes() async throws {
        for count in [.min, -1, 0, 1, .max] {
            for duration in [Duration.zero, .seconds(-1), .seconds(Int64.max), .nanoseconds(1)] {
                for burst in [nil, .min, 0, .max] as [Int?] {
                    let clock = ManualClock()
                    let executor = MockExecutor { _ in .ok("") }.limitingRate(
                        to: count, per: duration, burst: burst, maximumDelay: .seconds(Int64.max), clock: clock.clock())
                    for _ in 0..<3 { _ = try await executor.execute(Self.request()) }
                }
            }
        }
    }

    @Test("at most 1,024 origins are remembered, the most recent ones")
    func origins() async throws {
        let executor = MockExecutor { _ in .ok("") }.limitingRate(
            to: 1, per: .seconds(60), burst: 1, maximumDelay: .zero)
        for number in 0..<3_000 { _ = try await executor.execute(Self.request("https://h\(number).example.com/")) }
        await #expect(throws: RequestError.self) {
            try await executor.execute(Self.request("https://h2999.example.com/"))
        }
        var refused = 0
        for number in 0..<3_000 {
            if (try? await executor.execute(Self.request("https://h\(number).example.com/"))) == nil { refused += 1 }
        }
        #expect(refused <= 1_024)
    }
}
