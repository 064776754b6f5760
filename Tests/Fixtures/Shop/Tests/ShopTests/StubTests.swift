import RequestsMiddleware
import RequestsMock
import Testing

@testable import Shop

private let order = Order(items: [pen], note: "as a gift")

@Suite("Stubs", .timeLimit(.minutes(10)))
struct StubTests {
    let mock = MockExecutor()
    var shop: Client<ShopAPI> { Client(ShopAPI(), executor: mock) }

    @Test("typed stubs respond, and the mock knows what was performed")
    func typed() async throws {
        mock.on(Items.named("pen"), return: [pen])
        mock.on(Orders.pen, return: order)
        let bought = try await Buyer(shop: shop).buy(.pen)
        #expect(bought == order)
        #expect(mock.endpoints(of: Items.self) == [.named("pen")])
        #expect(try mock.recordedRequests[1].decodedBody(as: Order.self) == order)
        try mock.verify()
    }

    @Test("stubs of a type and of a pattern respond with functions")
    func functions() async throws {
        mock.on(.get, "items/:name") { _, parameters in
            try .json([Item(name: parameters["name"] ?? "", price: 1)])
        }
        #expect(try await shop.perform(Items.named("ink")) == [Item(name: "ink", price: 1)])
        mock.on(Items.self) { endpoint in endpoint == .all ? .value([pen]) : .value([]) }
        #expect(try await shop.perform(Items.all) == [pen])
        #expect(try await shop.perform(Items.named("ink")) == [])
    }

    @Test("stubs with a state and with a condition respond")
    func states() async throws {
        mock.on(.get, "items", state: 0) { count, _, _ in
            count += 1
            return try .json([Item(name: "call", price: count)])
        }
        let first = try await shop.perform(Items.all)
        let second = try await shop.perform(Items.all)
        #expect([first, second].map { $0.map(\.price) } == [[1], [2]])
        mock.on(where: { $0.method == .post }, respond: .status(402))
        await #expect(throws: RequestError.self) { try await shop.perform(Orders.pen) }
    }

    @Test("a request without a stub is explained, and fails the verification")
    func misses() async throws {
        mock.on(Items.named("pen"), return: [pen])
        let error = await #expect(throws: RequestError.self) { try await shop.perform(Items.named("pan")) }
        let report = "\(error?.underlying ?? RequestError(.other))"
        #expect(report.contains("path: expected “/api/items/pen”, received “/api/items/pan”"))
        #expect(report.contains("mock.on(.get, \"/api/items/pan\""))
        #expect(throws: (any Error).self) { try mock.verify() }
    }

    @Test("results can be statuses, texts, failures and sequences")
    func results() async throws {
        let stub = mock.on(
            Items.all,
            respond: .sequence(
                .status(503), .failure(.hostNotFound), .json(#"[{"name": "pen", "price": 2}]"#), .value([])))
        var errors: [RequestError?] = []
        for _ in 0..<2 { errors.append(await #expect(throws: RequestError.self) { try await shop.perform(Items.all) }) }
        #expect(errors.map { $0?.response?.status } == [503, nil] && errors[1]?.reason == .hostNotFound)
        #expect(try await shop.perform(Items.all) == [pen])
        #expect(try await shop.perform(Items.all) == [])
        #expect(stub.callCount == 4)
        try mock.verify()
    }

    @Test("a fault of the second call is retried, as over a network")
    func faults() async throws {
        mock.on(Items.all, respond: .value([pen]).with(fault: .refuse, onCall: 2)).expecting(calls: 3)
        let retrying = Client(ShopAPI(), executor: mock.retrying(.retryNetworkFailure(with: .retryOnce)))
        for _ in 0..<2 {
            let items = try await retrying.perform(Items.all)
            #expect(items == [pen])
        }
        try mock.verify()
    }

    @Test("a delay on the clock of the mock takes no time, and time limits apply to it")
    func delays() async throws {
        let mock = MockExecutor(clock: MockClock())
        mock.on(Items.all, respond: .value([pen]).delayed(by: .seconds(50)))
        let shop = Client(ShopAPI(), executor: mock)
        #expect(try await shop.perform(Items.all) == [pen])
        mock.on(Items.all, respond: .value([pen]).delayed(by: .seconds(900)))
        let error = await #expect(throws: RequestError.self) { try await shop.perform(Items.all) }
        #expect(error?.reason == .timedOut(.firstByte))
    }

    @Test("a request without a stub is intercepted, or passes to another executor")
    func unmatched() async throws {
        let intercepting = Client(ShopAPI(), executor: MockExecutor(unmatched: .intercepting))
        let error = await #expect(throws: RequestError.self) { try await intercepting.perform(Items.all) }
        #expect(error?.response?.isInterceptedByMock == true)
        mock.on(Items.all, return: [pen])
        let passing = Client(ShopAPI(), executor: MockExecutor(unmatched: .passingThrough(to: mock)))
        #expect(try await passing.perform(Items.all) == [pen])
    }

    @Test("a request has its own result")
    func mockedRequests() async throws {
        let api = ShopAPI()
        let request = api.get(.json([Item].self), from: "/items")
        #expect(try await shop.perform(request.mocked(with: [pen])) == [pen])
        await #expect(throws: RequestError.self) { try await shop.perform(request.mocked(.status(404))) }
    }
}
