import RequestsMock
import Testing

@testable import Shop

private let order = Order(items: [pen], note: "as a gift")

@Suite("More stubs", .timeLimit(.minutes(10)))
struct MoreStubTests {
    let mock = MockExecutor()
    var shop: Client<ShopAPI> { Client(ShopAPI(), executor: mock) }

    @Test("a file is a result, with the content type of its name")
    func files() async throws {
        let file = FileManager.default.temporaryDirectory.appending(path: "items-\(UUID().uuidString).json")
        try JSONEncoder().encode([pen]).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        mock.on(Items.all, respond: .file(file))
        let items = try await shop.perform(Items.all)
        #expect(items == [pen])
    }

    @Test("the last result of a sequence can be repeated")
    func repeatedSequences() async throws {
        let stub = mock.on(Items.all, respond: .sequence(.status(503), .value([pen]), repeatsLastResponse: true))
        await #expect(throws: RequestError.self) { try await shop.perform(Items.all) }
        for _ in 0..<3 {
            let items = try await shop.perform(Items.all)
            #expect(items == [pen])
        }
        #expect(stub.callCount == 4 && stub.requests.count == 4)
    }

    @Test(
        "a fault ends the call with the reason that a real one has",
        arguments: [
            (.cut(afterBytes: 4), .connectionLost), (.garbage, .protocolViolation), (.stall, .timedOut(.firstByte)),
            (.drip(bytes: 8, every: .seconds(90)), .timedOut(.betweenBytes)),
        ] as [(MockExecutor.Fault, RequestError.Reason)])
    func faults(fault: MockExecutor.Fault, reason: RequestError.Reason) async throws {
        let mock = MockExecutor(clock: MockClock())
        mock.on(Items.all, respond: .value([pen]).with(fault: fault))
        let shop = Client(ShopAPI(), executor: mock)
        let error = await #expect(throws: RequestError.self) { try await shop.perform(Items.all) }
        #expect(error?.reason == reason)
    }

    @Test("the order of the first calls is verified, and an optional stub needs no call")
    func verification() async throws {
        let search = mock.on(Items.named("pen"), return: [pen])
        let purchase = mock.on(Orders.pen, return: order)
        let bought = try await Buyer(shop: shop).buy(.pen)
        #expect(bought == order)
        try mock.verify(order: search, purchase)
        #expect(throws: MockExecutor.VerificationError.self) { try mock.verify(order: purchase, search) }
        let unused = mock.on(Items.all, return: [])
        #expect(throws: MockExecutor.VerificationError.self) { try mock.verify() }
        unused.optional()
        try mock.verify()
    }

    @Test("a function selects the requests that are intercepted, also after a sequence")
    func interception() async throws {
        let mock = MockExecutor(unmatched: .choosing { $0.method == .get ? .intercepting(status: 404) : .throwing })
        mock.on(Items.named("pen"), respond: .sequence(.value([pen])))
        let shop = Client(ShopAPI(), executor: mock)
        let items = try await shop.perform(Items.named("pen"))
        #expect(items == [pen])
        for item in [Items.named("pen"), .all] {
            let error = await #expect(throws: RequestError.self) { try await shop.perform(item) }
            #expect(error?.response?.status == 404)
            #expect(error?.response?.isInterceptedByMock == true)
        }
        let error = await #expect(throws: RequestError.self) { try await shop.perform(Orders.pen) }
        #expect(error?.underlying is MockExecutor.UnmatchedRequest)
    }

    @Test("the first route that matches responds, and other requests are intercepted")
    func routes() async throws {
        let mock = MockExecutor(
            routes: .on(.get, "/api/items/{}", try .json([pen])),
            .on(nil, "/api/echo") { request in .ok(request.method.rawValue) })
        let shop = Client(ShopAPI(), executor: mock)
        let items = try await shop.perform(Items.named("pen"))
        #expect(items == [pen])
        let text = try await shop.perform(shop.api.get(.text, from: "/echo"))
        #expect(text == "GET")
        let error = await #expect(throws: RequestError.self) { try await shop.perform(Items.all) }
        #expect(error?.response?.isInterceptedByMock == true)
    }
}
