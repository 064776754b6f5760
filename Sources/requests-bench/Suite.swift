import Requests
import RequestsBench
import RequestsFoundation
import RequestsMock
import RequestsPOSIX
import RequestsSocket

/// The measurement of every published figure, interleaved in one run so that ratios hold if the machine's speed drifts.
struct Suite: Sendable {
    let rounds: Int
    /// The factor by which the number of repetitions is multiplied.
    let scale: Double

    @concurrent
    func run() async throws -> [Figure] {
        let server = try ReferenceServer()
        defer { server.stop() }
        let executor = SocketExecutor()
        let request = try PreparedRequest(url: server.url)
        let mock = MockExecutor(.data(ReferenceServer.body, contentType: .json))
        let client = Client(Catalogue(baseURL: server.url), executor: mock)
        let description = Catalogue(baseURL: URL("https://api.example.com/v1"))

        let described = Request(method: .get, baseURL: server.url).receiving(.data)
        let calls = CallStyles(executor: executor, request: described)

        var samples: [[Double]] = Array(repeating: [], count: 10)
        for _ in 0..<rounds {
            samples[0].append(try server.exchange(times: times(5000)))
            samples[1].append(
                try await microseconds(times(5000)) { _ = try await executor.execute(request) })
            samples[2].append(
                try await microseconds(times(5000)) { _ = try await mock.execute(request) })
            samples[3].append(
                try await microseconds(times(5000)) { _ = try await client.perform(.item(7)) })
            samples[4].append(try nanoseconds(times(20000)) { try description.wireBytes() })
            samples[5].append(try nanoseconds(times(20000)) { try description.search().toURLRequest() })
            samples[6].append(try microseconds(times(5000)) { _ = try calls.performAndWait() })
            samples[9].append(try microseconds(times(5000)) { _ = try calls.executeAndWait(request) })
            samples[7].append(try await microseconds(times(5000)) { _ = try await executor.perform(described) })
            samples[8].append(try await microseconds(times(5000)) { _ = try await calls.performWithCompletion() })
        }
        let descriptions = try descriptionFigures()
        let sessions = SessionComparison(rounds: rounds, times: times(1500), megabytes: times(500))
        let comparison = try await sessions.figures()
        return [
            .of("send and receive, blocking: the yardstick", "µs", samples[0]),
            .of("socket, async, 100-byte GET", "µs", samples[1], to: samples[0], "send and receive"),
            .of("socket, blocking, 100-byte GET", "µs", samples[9], to: samples[0], "send and receive"),
            .of("socket, performAndWait, whole call", "µs", samples[6], to: samples[0], "send and receive"),
            .of("socket, async, whole call", "µs", samples[7], to: samples[0], "send and receive"),
            .of("socket, callback, whole call", "µs", samples[8], to: samples[0], "send and receive"),
            .of("mock round trip", "µs", samples[2], to: samples[0], "send and receive"),
            .of("mock, whole call with JSON", "µs", samples[3], to: samples[0], "send and receive"),
            .of("describe, prepare, wire bytes", "ns", samples[4]),
            .of("describe, toURLRequest()", "ns", samples[5], to: samples[4], "wire bytes"),
        ] + comparison + descriptions + (try await WholeCall(rounds: rounds, scale: scale).figures())
            + (try await MiddlewareCost(rounds: rounds, scale: scale).figures())
            + (try CookieCost(rounds: rounds, scale: scale).figures())
            + (try await CacheCost(rounds: rounds, scale: scale).figures())
            + (try await StubCost(rounds: rounds, scale: scale).figures())
            + (try await Promptness(rounds: rounds).figures())
    }

    /// Measures descriptions and bodies, and the same made by hand.
    private func descriptionFigures() throws -> [Figure] {
        let make = DescriptionBenchmark.self
        var samples: [[Double]] = Array(repeating: [], count: 11)
        for _ in 0..<rounds {
            samples[0].append(try nanoseconds(times(5000)) { make.getByHand() })
            samples[1].append(try nanoseconds(times(20000)) { try make.get() })
            samples[10].append(try nanoseconds(times(20000)) { try make.getAsURLRequest() })
            samples[2].append(try nanoseconds(times(5000)) { make.formByHand(make.twenty) })
            samples[3].append(try nanoseconds(times(20000)) { try make.body(.form(make.twenty)) })
            samples[4].append(try nanoseconds(times(5000)) { make.formByHand(make.four) })
            samples[5].append(try nanoseconds(times(20000)) { try make.body(.form(make.four)) })
            samples[6].append(try nanoseconds(times(2000)) { try make.jsonByHand() })
            samples[7].append(try nanoseconds(times(2000)) { try make.post(.json(make.record)) })
            samples[8].append(try nanoseconds(times(5000)) { make.multipartByHand() })
            samples[9].append(try nanoseconds(times(5000)) { try make.post(.multipart(make.parts)) })
        }
        return [
            .of("GET by hand, URLComponents and URLRequest", "ns", samples[0]),
            .of("the same GET described, prepared, as bytes", "ns", samples[1], to: samples[0], "by hand"),
            .of("the same GET as toURLRequest()", "ns", samples[10], to: samples[0], "by hand"),
            .of("form of 20 pairs by URLComponents", "ns", samples[2]),
            .of("form of 20 pairs", "ns", samples[3], to: samples[2], "by URLComponents"),
            .of("form of 4 pairs by URLComponents", "ns", samples[4]),
            .of("form of 4 pairs", "ns", samples[5], to: samples[4], "by URLComponents"),
            .of("POST of 1 KB of JSON by hand, URLRequest", "ns", samples[6]),
            .of("POST of 1 KB of JSON, prepared", "ns", samples[7], to: samples[6], "by hand"),
            .of("POST of 10 parts by hand, URLRequest", "ns", samples[8]),
            .of("POST of 10 parts, prepared", "ns", samples[9], to: samples[8], "by hand"),
        ]
    }

    private func times(_ count: Int) -> Int { max(1, Int(Double(count) * scale)) }

    private func microseconds(_ count: Int, _ body: () async throws -> Void) async throws -> Double {
        let start = ContinuousClock.now
        for _ in 0..<count { try await body() }
        return (ContinuousClock.now - start) / .microseconds(1) / Double(count)
    }

    private func microseconds(_ count: Int, _ body: () throws -> Void) throws -> Double {
        let start = ContinuousClock.now
        for _ in 0..<count { try body() }
        return (ContinuousClock.now - start) / .microseconds(1) / Double(count)
    }

    private func nanoseconds<Value>(_ count: Int, _ body: () throws -> Value) throws -> Double {
        let start = ContinuousClock.now
        // Without a use of the value, the optimizer would remove the work.
        for _ in 0..<count { withExtendedLifetime(try body()) {} }
        return (ContinuousClock.now - start) / .nanoseconds(1) / Double(count)
    }
}

/// The API of the measurements: three header fields, and four query items with characters to escape.
struct Catalogue: RequestProviding {
    let baseURL: URL

    func search() -> Request<Catalogue, Void> {
        request(to: "/items/\("a b")/search", using: .get)
            .adding(headerFields: .accept(.json), .acceptLanguage("en"), .userAgent("requests-bench"))
            .with(query: ["q": "swift & linux", "page": 2, "limit": 30, "sort": "stars/desc"])
    }

    /// Returns the head of the request as bytes, as an executor writes it.
    func wireBytes() throws(RequestError) -> [UInt8] {
        try RequestHeadWriter.head(of: search().prepared(), framing: .none)
    }
}

/// An item of the catalogue.
struct Item: Decodable, Sendable {
    let id: Int
    let name: String
}

extension Call<Catalogue, Item> {
    static func item(_ id: Int) -> Self { Call { $0.get(.json(), from: "/items/\(id)") } }
}
