import Requests
import RequestsBench
import RequestsMock

/// A measurement of the time that a request to a mock with stubs takes.
struct StubCost: Sendable {
    let rounds: Int
    let scale: Double

    /// An API that can be compared, as most are, and one that cannot.
    private enum Shop: RequestProviding {
        case main

        var baseURL: URL { URL("https://shop.example.com/v1") }
    }

    private enum Items: Endpoint {
        case numbered(Int)

        func request(from api: Shop) -> Request<Shop, [String: Int]> {
            switch self {
            case .numbered(let number): api.get(.json(), from: "/items/\(number)")
            }
        }
    }

    private static let stubCount = 10_000

    @concurrent
    func figures() async throws -> [Figure] {
        let (one, many, patterns) = (MockExecutor(), MockExecutor(), MockExecutor())
        one.on(Items.numbered(7), return: ["id": 7])
        for number in 0..<Self.stubCount {
            many.on(Items.numbered(number), return: ["id": number])
            patterns.on(.get, "/v1/items/\(number)/:part", respond: .json("{}"))
        }
        let api = Shop.main
        let client = Client(api, executor: many)
        let single = try client.preparedRequest(for: Items.numbered(7))
        let last = try client.preparedRequest(for: Items.numbered(Self.stubCount / 2))
        let part = try api.get(.none, from: "/items/\(Self.stubCount / 2)/front").prepared()
        var samples: [[Double]] = Array(repeating: [], count: 4)
        let plain = MockExecutor(.data(Data("{\"id\":7}".utf8), contentType: .json))
        for (executor, request) in [(plain, single), (one, single), (many, last), (patterns, part)] {
            // The first request prepares the stubs.
            _ = try await executor.execute(request)
        }
        for _ in 0..<rounds {
            samples[0].append(try await microseconds { _ = try await plain.execute(single) })
            samples[1].append(try await microseconds { _ = try await one.execute(single) })
            samples[2].append(try await microseconds { _ = try await many.execute(last) })
            samples[3].append(try await microseconds { _ = try await patterns.execute(part) })
        }
        return [
            .of("mock with one function", "µs", samples[0]),
            .of("mock with one typed stub", "µs", samples[1], goal: "≤ 3 µs"),
            .of("mock with 10,000 typed stubs", "µs", samples[2], goal: "≤ 10 µs"),
            .of("mock with 10,000 URL patterns", "µs", samples[3], goal: "≤ 10 µs"),
        ]
    }

    private func microseconds(_ body: () async throws -> Void) async throws -> Double {
        let count = max(1, Int(20_000 * scale))
        let start = ContinuousClock.now
        for _ in 0..<count { try await body() }
        return (ContinuousClock.now - start) / .microseconds(1) / Double(count)
    }
}
