import RequestsMock
import Testing

@testable import Shop

@Suite("Wire texts", .timeLimit(.minutes(10)))
struct WireTests {
    let shop = Client(ShopAPI(), executor: MockExecutor())

    @Test("an endpoint has the wire text in the test")
    func inline() throws {
        try shop.assertWire(
            Items.named("pen"),
            matches: """
                GET /api/items/pen HTTP/1.1
                Host: shop.test
                Accept: application/json
                """)
    }

    @Test("all cases have the wire texts in a file")
    func recorded() throws {
        try shop.assertWire(allCasesOf: Orders.self, recordedIn: "orders.txt")
    }
}
